from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.errors import PayloadTooLarge, ValidationFailed
from memories.models import Kind, Memory
from memories.services import EntitySpec, LinkSpec, remember
from tests.factories import make_memory

pytestmark = pytest.mark.django_db

NOW = timezone.now()
AHEAD = NOW + timedelta(days=1)  # the run that collected it may last
WRONG = [
    ("content", {"content": ""}),
    ("content", {"content": " \n\t\u3000"}),
    ("content", {"content": None}),
    ("content", {"content": 5}),
    ("content", {"content": "\x00\x1b"}),
    ("content", {"content": "half of a pair: \ud83d"}),
    ("kind", {"kind": "rumour"}),
    ("kind", {"kind": ""}),
    ("kind", {"kind": None}),
    ("source", {"source": "s" * 2001}),
    ("source", {"source": "a\x00"}),
    ("verbatim", {"verbatim": "a\udfff"}),
    ("session", {"session": "s" * 121}),
    ("idempotency_key", {"idempotency_key": "k" * 201}),
    ("external_id", {"external_id": "e" * 301}),
    ("entities", {"entities": [EntitySpec("n" * 301)]}),
    ("entities", {"entities": [EntitySpec("ﷺ" * 20)]}),
    ("entities", {"entities": [EntitySpec("")]}),
    ("entities", {"entities": [EntitySpec("   ")]}),
    ("entities", {"entities": [EntitySpec("a\x00")]}),
    ("entities", {"entities": [EntitySpec("a", "t" * 41)]}),
    ("entities", {"entities": [EntitySpec("a", "")]}),
    ("entities", {"entities": [EntitySpec(f"e{number}") for number in range(101)]}),
    ("links", {"links": [LinkSpec("owns", "x")]}),
    ("created_at", {"created_at": AHEAD}),
    ("created_at", {"created_at": datetime(2026, 1, 1)}),  # noqa: DTZ001  naive on purpose
    ("created_at", {"created_at": "2026-01-01"}),
    ("newest_source_at", {"newest_source_at": AHEAD}),
    ("valid_from", {"valid_from": datetime(2026, 1, 1)}),  # noqa: DTZ001  naive on purpose
    ("valid_until", {"valid_from": NOW, "valid_until": NOW}),
    ("valid_until", {"valid_from": NOW, "valid_until": NOW - timedelta(days=1)}),
    ("author_kind", {"author_kind": "robot"}),
    ("provenance", {"provenance": 7}),
]


@pytest.fixture
def write(owner, scope):
    return lambda **asked: remember(actor=actor_for_user(owner), scope=scope, **{"content": "x"} | asked)


@pytest.mark.parametrize(("field", "asked"), WRONG)
def test_what_cannot_be_is_refused_by_name_and_nothing_is_written(write, field, asked):
    with pytest.raises(ValidationFailed) as refused:
        write(**asked)
    assert refused.value.field == field
    assert refused.value.message.endswith(".")
    assert not Memory.objects.exists()


def test_the_refusal_of_a_kind_lists_all_nine(write):
    with pytest.raises(ValidationFailed) as refused:
        write(kind="rumour")
    assert all(kind in refused.value.message for kind in Kind.values)


def test_too_many_links_are_refused(write, scope):
    target = make_memory(scope=scope)
    with pytest.raises(ValidationFailed) as refused:
        write(links=[LinkSpec("relates_to", target.pk)] * 101)
    assert refused.value.field == "links"


@pytest.mark.parametrize("field", ["content", "verbatim"])
@pytest.mark.parametrize("letter", ["a", "ä", "🎉"])
def test_four_megabytes_fit_and_one_byte_more_does_not(write, field, letter):
    most = 4 * 1024 * 1024
    fitting = letter * (most // len(letter.encode()))
    with pytest.raises(PayloadTooLarge) as refused:
        write(**{field: fitting + "a"})
    assert refused.value.field == field
    if field == "verbatim":
        assert write(verbatim=fitting).memory.verbatim == fitting


@pytest.mark.parametrize(
    "asked",
    [
        {"source": "s" * 2000},
        {"session": "s" * 120},
        {"idempotency_key": "k" * 200},
        {"external_id": "e" * 300},
        {"entities": [EntitySpec("n" * 300, "t" * 40)]},
        {"created_at": NOW + timedelta(seconds=3)},
        {"created_at": datetime(1, 1, 3, tzinfo=timezone.get_fixed_timezone(60))},
        {"valid_until": NOW - timedelta(days=1)},
        {"content": "\u200b\u202e<script>alert(1)</script> javascript:alert(1) =cmd"},
        {"content": "🎉"},
    ],
)
def test_the_edges_of_what_is_allowed_are_allowed(write, asked):
    memory = write(**asked).memory
    memory.refresh_from_db()
    assert memory.content == asked.get("content", "x")
