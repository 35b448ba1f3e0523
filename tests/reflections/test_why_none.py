"""A search that drafts nothing says what it looked at and what kept a draft from being made."""

import pytest

from reflections.models import Candidate, Run
from reflections.presentation import progress_of
from reflections.services import find_candidates
from reflections.services.candidates import NotDrafted
from reflections.why_none import summed, why_none
from tests.factories import make_memory, make_scope
from tests.llm.server import prose
from tests.reflections.distilling import distillate
from tests.reflections.factories import STAMP, make_candidate, make_episodes, pairwise
from tests.reflections.stepping import near, run_step

pytestmark = pytest.mark.django_db


def a_run(scope):
    run = Run.objects.create(state=Run.State.RUNNING, attempts=1)
    run.scopes.add(scope, through_defaults={"is_open": False})
    return run


def told(scope, run=None):
    """What the page says once the search has ended."""
    run = run or a_run(scope)
    find_candidates(scope=scope, run=run, stamp=STAMP)
    run.refresh_from_db()
    run.state = Run.State.DONE
    return progress_of(run)["text"]


def test_without_episodes_there_is_nothing_to_look_through(scope):
    make_memory(scope=scope)
    run = Run.objects.create(state=Run.State.DONE, looked={})
    assert progress_of(run)["text"] == "Found 0 new drafts in 0 episodes."
    assert why_none(summed([]), 3) == "There are no episodes to look through yet."


def test_groups_that_are_too_small_are_counted_with_how_many_a_draft_takes(scope):
    make_episodes(scope, 2)
    for number, vector in enumerate(pairwise(0.80, 2)):
        make_memory(f"Tide {number}", kind="episode", scope=scope, author=scope.owner, vector=vector, entities=["tide"])
    assert told(scope) == "Found 0 new drafts in 4 episodes. 2 groups are too small. A draft takes 3 episodes."


def test_where_nothing_is_alike_that_is_said(scope):
    for number, vector in enumerate(pairwise(0.1, 3)):
        make_memory(
            f"Note {number}", kind="episode", scope=scope, author=scope.owner, vector=vector, age_days=9 * number
        )
    assert told(scope).endswith(
        "in 3 episodes. No two of them are alike enough for the time between them, or share what they are about."
    )


@pytest.mark.parametrize("state", ["pending", "dismissed"])
def test_episodes_that_were_part_of_a_draft_are_told_apart(scope, state):
    make_candidate(scope, sources=make_episodes(scope, 3), state=state)
    assert told(scope) == "Found 0 new drafts in 0 episodes. 3 were part of a draft before."
    make_memory(kind="episode", scope=scope)
    assert told(scope).endswith("1 is not embedded yet, or repeats what was known.")


def test_a_parked_group_is_named(scope, model_server):
    make_episodes(scope, 3)
    model_server.always(prose("no"))
    for _ in range(3):
        with pytest.raises(NotDrafted):
            find_candidates(scope=scope, stamp=STAMP)
    assert "1 group is parked after the model failed on it." in told(scope)


def test_what_the_model_was_unsure_of_is_named(scope, model_server):
    make_episodes(scope, 3)
    model_server.will(distillate(confidence=0.3))
    assert "The model was too unsure about 1 group." in told(scope)
    assert Candidate.objects.get().state == "dismissed"


def test_a_search_that_finds_something_says_no_more(scope):
    make_episodes(scope, 3)
    assert told(scope) == "Found 1 new draft in 3 episodes."


def test_looking_twice_counts_a_scope_once_and_each_scope_for_itself(scope):
    other = make_scope(scope.owner, slug="other")
    make_episodes(scope, 2)
    make_episodes(other, 2)
    run = a_run(scope)
    for one in (scope, scope, other):
        find_candidates(scope=one, run=run, stamp=STAMP)
    assert summed(run.looked.values())["too_small"] == 2


def test_the_step_of_the_cycle_says_it_too(scope):
    for number in range(2):
        near(scope, f"Tide {number}", 0.9, axis=number + 1, kind="episode", author=scope.owner, entities=["tide"])
    assert run_step("reflection", scope).note == "1 group is too small. A draft takes 3 episodes."
