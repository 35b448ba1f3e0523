"""Sentences of one shape about differently named things."""

import pytest

from reflections.naming import named_apart, of_one_shape, texts_named_apart, texts_of_one_shape

CEO = "The CEO of Northwind signs every contract above ten thousand."
CTO = "The CTO of Northwind signs every contract above ten thousand."


@pytest.mark.behaviour("F6")
@pytest.mark.parametrize(
    ("one", "another"),
    [
        (CEO, CTO),
        ("The head office of Northwind is in Lyon.", "The head office of Northwind is in Turin."),
        ("The office of Northwind moved to New York last week.", "The office of Northwind moved to Porto last week."),
        ("API keys are kept in Vault by the team.", "SSH keys are kept in Vault by the team."),
    ],
)
def test_roles_places_and_names_are_told_apart(one, another):
    assert named_apart(one, another)
    assert named_apart(another, one)


@pytest.mark.parametrize(
    ("one", "another"),
    [
        (CEO, CEO),
        (CEO, "The CEO of Northwind signs every contract above twenty thousand."),  # another value, and so news
        ("The export of Northwind runs on Monday night.", "The export of Northwind runs on Friday night."),
        (
            "The cache of service 4 was rebuilt after incident 7.",
            "The cache of service 5 was rebuilt after incident 8.",
        ),
        ("The office of Northwind is in Lyon.", "Deploys go out from Turin every week."),  # another shape
        ("The office is in Lyon.", "The office is in Lyon and has a garden."),  # goes on
        ("Every office of Northwind has a garden.", "Each office of Northwind has a garden."),
        ("", ""),
    ],
)
def test_what_changes_goes_on_or_has_another_shape_is_not(one, another):
    assert not named_apart(one, another)


def test_one_such_sentence_in_two_texts_is_enough():
    assert texts_named_apart(["A longer story begins here.", CEO], [CTO, "And another one ends."])
    assert not texts_named_apart(["A longer story begins here."], [CTO])


@pytest.mark.parametrize(
    ("one", "another"),
    [
        (CEO, CTO),
        ("Passwords are hashed with Argon2.", "passwords are hashed with bcrypt"),
        ("Pull requests need two reviews before the merge.", "Pull requests need no review before the merge."),
    ],
)
def test_sentences_that_differ_in_a_few_words_are_of_one_shape(one, another):
    assert of_one_shape(one, another)
    assert texts_of_one_shape(["A longer story begins here.", one], [another, "And another one ends."])


@pytest.mark.parametrize(
    ("one", "another"),
    [
        (CEO, CEO),
        ("Redis is up.", "Redis is down."),  # too short to have a shape
        ("The parser does not accept tabs.", "The dashboard does not refresh by itself."),
        ("", ""),
    ],
)
def test_equal_short_and_otherwise_built_sentences_are_not(one, another):
    assert not of_one_shape(one, another)
    assert not texts_of_one_shape([one], [another])
