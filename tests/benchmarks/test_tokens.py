"""The table of tokens, from a real run of the product; it depends on nothing but the texts and the search."""

import pytest

from memories.access import actor_for_user
from tests.benchmarks import tokens
from tests.factories import make_scope

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("G44")]


def test_recall_spares_a_prompt_what_was_predicted(owner, settings):
    settings.EMBEDDER = "none"
    scope = make_scope(owner, slug="sales", retention="decaying")

    found = tokens.figures(actor_for_user(owner), scope)

    assert [one.sessions for one in found] == [1, 10, 30, 100]
    for one in found:
        assert one.reduction == pytest.approx(tokens.PREDICTED[one.sessions], abs=tokens.BAND)
    assert [one.given for one in found] == [1, 8, 8, 8]
    printed = tokens.table(found)
    assert tokens.METHOD in printed
    assert f"| 100 | {found[-1].full:,.0f} tokens |" in printed


def test_an_observation_is_a_paragraph_and_the_same_in_each_run():
    texts = tokens.observations()
    assert texts == tokens.observations()
    assert len(set(texts)) == 100
    assert all(45 <= len(text.split()) <= 75 for text in texts)
