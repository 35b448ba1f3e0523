"""Which two memories that lie less near each other are worth a question."""

from datetime import UTC, datetime

import pytest

from reflections.ladder import Pair, Side
from reflections.worth_asking import is_worth_asking, names_shared

A_DAY = datetime(2026, 5, 1, tzinfo=UTC)


def side(content, *entities, number=1):
    return Side(id=number, content=content, created_at=A_DAY, entities=frozenset(entities))


def pair(one, another):
    """Each is a text, or a text and its entities."""
    sides = [(given,) if isinstance(given, str) else given for given in (one, another)]
    return Pair(side(*sides[0], number=1), side(*sides[1], number=2))


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("Session data is stored in Redis.", "Session data is stored in PostgreSQL."),
        ("A note first. Passwords are hashed with Argon2.", "Passwords are hashed with bcrypt. A note last."),
        (("Sessions outlive a restart.", "redis"), ("All keys are volatile.", "redis")),
        (("Sessions outlive a restart.", "redis"), "Redis forgets all when it starts."),
        ("Redis's keys are volatile.", ("Sessions outlive a restart.", "redis")),
        (("Book it for six hours.", "north quay"), "On the North Quay nobody stays the night."),
        ("Set retry_limit to five.", "We gave up on retry_limit; it is read from the table."),
        ("E1042 means a full disk.", "The pager shows E1042 when the token is stale."),
        ("The rate is set in web/limits.py.", "web/limits.py was removed."),
    ],
)
def test_sentences_of_one_shape_and_texts_about_one_named_thing_are(one, another):
    assert is_worth_asking(pair(one, another))
    assert is_worth_asking(pair(another, one))


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("The parser does not accept tabs.", "The dashboard does not refresh by itself."),
        ("Redis is up.", "Postgres is down."),
        (("Sessions outlive a restart.", "redis"), ("All keys are volatile.", "memcached")),
        (("Sessions outlive a restart.", "redis"), "Keys in rediscover are volatile."),
        ("In 2026 the mole is raised.", "The choir was founded in 2026."),  # a number names nothing
        ("Tokens live for 24h.", "Within 24h the crane is inspected."),
        ("Set retry_limit to five.", "Set retry_limits."),
    ],
)
def test_jargon_negations_and_numbers_alone_are_not(one, another):
    assert not is_worth_asking(pair(one, another))
    assert not is_worth_asking(pair(another, one))


def test_what_everybody_names_says_nothing_of_two_that_share_it():
    two = pair(("Sessions outlive a restart.", "redis"), ("All keys are volatile.", "redis"))
    assert names_shared(two) == {"redis"}
    assert not is_worth_asking(two, widely_named={"redis"})
    both = pair(("Set retry_limit to five.", "redis"), ("We gave up on retry_limit.", "redis"))
    assert is_worth_asking(both, widely_named={"redis"})


def test_a_shape_counts_whatever_is_named_everywhere():
    one, another = "The cache of Redis lives for one hour.", "The cache of Redis lives for six hours."
    assert is_worth_asking(pair((one, "redis"), (another, "redis")), widely_named={"redis"})


def test_what_stands_far_behind_in_a_text_is_not_read():
    filling = "word " * 2000
    assert not is_worth_asking(pair(f"{filling} retry_limit", "We gave up on retry_limit."))
