"""How many rules of a layer are delivered, in which order, and why the others are not."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflections.rationing import MOST_UNPINNED, Standing, ration

pytestmark = pytest.mark.behaviour("Z88")
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def rule(number, *, pinned=False, useful=0.0, day=0, hindrance=""):
    return Standing(UUID(int=number), pinned, useful, BEGIN + timedelta(days=day), hindrance)


def numbers(ids):
    return [id.int for id in ids]


def test_twelve_unpinned_rules_are_delivered():
    rationed = ration([rule(number) for number in range(14)])
    assert MOST_UNPINNED == len(rationed.delivered) == 12
    assert numbers(id for id, _ in rationed.left_out) == [12, 13]
    assert rationed.left_out[0][1].startswith("12 others come first.")


def test_pinned_rules_are_delivered_beside_them_and_first():
    rationed = ration([rule(number, pinned=number >= 12) for number in range(30)])
    assert len(rationed.delivered) == 30
    assert numbers(rationed.delivered)[:18] == list(range(12, 30))


def test_the_most_useful_come_first_and_then_those_promoted_first():
    rules = [rule(1, useful=1, day=1), rule(2, useful=5, day=9), rule(3, day=2), rule(4, day=1), rule(5, useful=1)]
    assert numbers(ration(rules).delivered) == [2, 5, 1, 4, 3]


def test_what_cannot_be_delivered_takes_nobodys_place():
    rules = [rule(number, useful=9, hindrance="Its memory was forgotten.") for number in range(5)]
    rules += [rule(number) for number in range(5, 17)]
    rationed = ration(rules)
    assert numbers(rationed.delivered) == list(range(5, 17))
    assert {why for _, why in rationed.left_out} == {"Its memory was forgotten."}


def test_a_pinned_rule_whose_memory_is_gone_is_not_delivered():
    assert ration([rule(1, pinned=True, hindrance="Gone.")]).left_out == ((UUID(int=1), "Gone."),)


rules = st.lists(
    st.builds(
        Standing,
        id=st.uuids(),
        pinned=st.booleans(),
        useful=st.floats(0, 100),
        promoted_at=st.datetimes(timezones=st.just(UTC)),
        hindrance=st.sampled_from(["", "Gone."]),
    ),
    unique_by=lambda one: one.id,
    max_size=40,
)


@given(rules, st.randoms())
def test_whatever_the_order_each_rule_is_delivered_or_left_out_for_a_reason(given_rules, random):
    shuffled = list(given_rules)
    random.shuffle(shuffled)
    rationed = ration(given_rules)
    assert ration(shuffled) == rationed
    known = {one.id: one for one in given_rules}
    assert sorted([*rationed.delivered, *(id for id, _ in rationed.left_out)]) == sorted(known)
    assert all(why for _, why in rationed.left_out)
    assert sum(not known[id].pinned for id in rationed.delivered) <= MOST_UNPINNED
    assert {one.id for one in given_rules if one.pinned and not one.hindrance} <= set(rationed.delivered)
