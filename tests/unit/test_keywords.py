"""The baseline by words."""

import math

import pytest

from insights.quality.keywords import keyword_scores

TEXTS = ["harbour light light", "the harbour wall is old", "a bell"]


@pytest.mark.behaviour("G31")
def test_a_word_counts_by_how_often_it_stands_there_how_rare_it_is_and_how_long_the_text_is() -> None:
    scores = keyword_scores("Light of the harbour", TEXTS)

    assert scores == {
        0: pytest.approx((2 * math.log(4 / 2) + 1 * math.log(4 / 3)) / (3 + 1)),
        1: pytest.approx(1 * math.log(4 / 3) / (3 + 1)),
    }


@pytest.mark.behaviour("G31")
@pytest.mark.parametrize(("query", "texts"), [("", TEXTS), ("the of", TEXTS), ("harbour", []), ("lantern", TEXTS)])
def test_nothing_asked_and_nothing_there_give_nothing(query: str, texts: list[str]) -> None:
    assert keyword_scores(query, texts) == {}


def test_a_word_of_every_text_is_worth_nothing() -> None:
    assert keyword_scores("harbour", ["harbour light", "harbour wall"]) == {}
