"""When the model gives no usable answer, or none at all: what a search leaves, and what it says."""

import json

import pytest

from memories.models import AuditEntry, Embedding, Memory
from reflections.models import Candidate, CandidateMember, FailedCluster, ModelCall, ReflectionConfig, Run
from reflections.services import find_candidates, retry_cluster, survey
from reflections.services.asking import BudgetSpent
from reflections.services.candidates import NotDrafted
from tests.factories import make_memory
from tests.llm.server import answer, arguments, cut_off, prose, refusal, slow, status, thinking
from tests.reflections.distilling import distillate, make_clusters, rows_of, searched
from tests.reflections.factories import STAMP, make_episodes, pairwise, person
from tests.reflections.stepping import run_step
from zeromemory.embedding import get_embedder
from zeromemory.llm import ModelBusy, ModelTimedOut, ModelUnavailable

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _pinned_band(db):
    """These tests are about the drafts, not about the band that ships."""
    ReflectionConfig.objects.update_or_create(id=1, defaults={"cosine_min": 0.78, "cosine_max": 0.92})


WHOLE = json.dumps(distillate())
MISBEHAVIOURS = {
    "prose": prose("The cache is rebuilt after every incident."),
    "a field is missing": arguments(json.dumps({key: v for key, v in distillate().items() if key != "kind"})),
    "an empty list": arguments("[]"),
    "cut off in the middle": arguments(WHOLE[: len(WHOLE) // 2]),
    "single quotes": arguments(str(distillate())),
    "two objects": arguments(f"{WHOLE}\n{WHOLE}"),
    "code fences": prose(f"```\n{WHOLE[:-1]}\n```"),
    "thinking and no answer": thinking("let me think", prose("I have thought.")),
    "a refusal": refusal(),
    "a brace": arguments("{"),
}


@pytest.mark.behaviour("F1")
@pytest.mark.behaviour("Z58")
@pytest.mark.parametrize("reply", MISBEHAVIOURS.values(), ids=MISBEHAVIOURS)
def test_an_unusable_answer_changes_nothing_over_fifty_episodes(scope, model_server, reply):
    make_clusters(scope, 5, of=10)
    before = rows_of(Memory)
    model_server.always(reply)
    with pytest.raises(NotDrafted, match=r"^5 of the clusters could not be drafted"):
        find_candidates(scope=scope, stamp=STAMP)
    assert rows_of(Memory) == before
    assert len(before) == 50
    assert (Candidate.objects.count(), CandidateMember.objects.count()) == (0, 0)
    assert len(model_server.requests) <= 3 * 5
    assert {call.outcome for call in ModelCall.objects.all()} == {"rejected"}
    assert all(call.raw and call.reason for call in ModelCall.objects.all())


def embedded_by_the_one_in_use() -> None:
    embedder = get_embedder()
    Embedding.objects.update(model=embedder.name, model_version=embedder.version)
    Memory.objects.update(embedded_with=embedder.stamp)


@pytest.mark.behaviour("F1")
def test_the_run_says_failed_with_the_reason_and_goes_on_to_say_done_when_the_model_answers(scope, model_server):
    make_episodes(scope)
    embedded_by_the_one_in_use()
    model_server.will(*[prose("no")] * 3, distillate())
    failed = run_step("reflection", scope)
    assert (failed.state, state_of(failed), failed.done) == ("failed", "failed", 0)
    assert failed.note.startswith(
        "1 of the clusters could not be drafted; their episodes are free for the next search."
    )
    assert "cannot be used" in failed.note
    done = run_step("reflection", scope)
    assert (done.state, state_of(done), done.found, done.done) == ("done", "done", 3, 1)


def state_of(step) -> str:
    return Run.objects.get(pk=step.run_id).state


@pytest.mark.behaviour("Z58")
def test_after_a_failure_the_same_episodes_are_drafted_in_the_next_search(scope, model_server):
    episodes = make_episodes(scope)
    model_server.will(prose("no"), prose("no"), prose("no"), distillate())
    assert searched(scope) == []
    (candidate,) = searched(scope)
    assert list(candidate.episodes.order_by("candidacy__position")) == episodes
    assert not FailedCluster.objects.exists()


@pytest.mark.behaviour("F1")
def test_one_cluster_that_fails_does_not_keep_the_others_from_being_drafted(scope, model_server):
    make_clusters(scope, 3)
    model_server.will(*[prose("no")] * 3, distillate(), distillate())
    with pytest.raises(NotDrafted, match=r"^1 of the clusters could not be drafted.*free for the next search"):
        find_candidates(scope=scope, stamp=STAMP)
    assert Candidate.objects.count() == 2


@pytest.mark.behaviour("F1")
def test_after_three_failures_a_cluster_is_parked_and_nobody_is_asked_about_it(scope, model_server):
    episodes = make_episodes(scope)
    model_server.always(prose("no"))
    for _ in range(3):
        searched(scope)
    asked = len(model_server.requests)
    assert find_candidates(scope=scope, stamp=STAMP) == 0
    assert len(model_server.requests) == asked == 9
    (parked,) = FailedCluster.objects.parked()
    assert (parked.failures, parked.scope) == (3, scope)
    assert set(parked.episodes.all()) == set(episodes)
    assert parked.call.raw == "no\n\nno\n\nno"
    assert [len(group.clusters) for group in survey(scope, STAMP)] == [0]


def test_a_parked_cluster_with_one_more_episode_is_another_and_is_asked_about(scope, model_server):
    *_, last = pairwise(0.80, 4)
    make_episodes(scope)
    model_server.always(prose("no"))
    for _ in range(3):
        searched(scope)
    model_server.always(answer(distillate()))
    make_memory(kind="episode", scope=scope, author=scope.owner, vector=last, entities=["cache"])
    (candidate,) = searched(scope)
    assert candidate.members.count() == 4
    assert not FailedCluster.objects.exists()


def test_a_person_may_have_a_parked_cluster_tried_again(owner, scope, model_server):
    make_episodes(scope)
    model_server.always(prose("no"))
    for _ in range(3):
        searched(scope)
    retry_cluster(actor=person(owner), cluster_id=FailedCluster.objects.get().pk)
    model_server.always(answer(distillate()))
    assert len(searched(scope)) == 1
    assert AuditEntry.objects.get(object_type="failedcluster", action="retry").user == owner


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (status(401), ModelUnavailable),
        (status(429, retry_after=600), ModelBusy),
        (cut_off(distillate()), ModelUnavailable),
    ],
    ids=["refused key", "asked to wait", "cut off"],
)
@pytest.mark.behaviour("Z58")
def test_a_model_that_does_not_answer_stops_the_search_and_is_no_failure_of_the_cluster(
    scope, model_server, failure, error
):
    make_clusters(scope, 3)
    model_server.will(distillate())
    model_server.always(failure)
    with pytest.raises(error):
        find_candidates(scope=scope, stamp=STAMP)
    assert Candidate.objects.count() == 1
    assert ModelCall.objects.count() == 2
    assert not FailedCluster.objects.exists()


@pytest.mark.parametrize("refused", [status(400), status(413), refusal("")], ids=["refused", "too long", "filtered"])
def test_a_question_that_cannot_be_asked_is_a_failure_of_its_cluster_and_the_others_are_drafted(
    scope, model_server, refused
):
    make_clusters(scope, 3)
    model_server.will(distillate(), refused, distillate())
    with pytest.raises(NotDrafted, match=r"^1 of the clusters could not be drafted"):
        find_candidates(scope=scope, stamp=STAMP)
    assert Candidate.objects.count() == 2
    (failed,) = FailedCluster.objects.all()
    assert (failed.failures, failed.call.outcome, failed.call.raw) == (1, "refused", "")


def test_a_cluster_that_is_not_answered_in_time_three_times_is_parked(scope, model_server, settings):
    settings.MODEL_TIMEOUT = 0.3
    make_clusters(scope, 2)
    model_server.will(*[slow(5, distillate())] * 3, distillate())
    for failures in (1, 2):
        with pytest.raises(ModelTimedOut):
            find_candidates(scope=scope, stamp=STAMP)
        assert FailedCluster.objects.get().failures == failures
    with pytest.raises(NotDrafted, match="the same question 3 times"):
        find_candidates(scope=scope, stamp=STAMP)
    assert FailedCluster.objects.parked().count() == Candidate.objects.count() == 1


@pytest.mark.behaviour("F40")
def test_a_spent_budget_stops_the_search_keeps_what_was_made_and_says_so(scope, model_server, settings):
    settings.MODEL_DAILY_TOKENS = 200
    make_clusters(scope, 3)
    model_server.always(answer(distillate()))
    with pytest.raises(BudgetSpent, match="200 tokens"):
        find_candidates(scope=scope, stamp=STAMP)
    assert Candidate.objects.count() == ModelCall.objects.count() == 2
    assert not FailedCluster.objects.exists()
