"""Reports of use over REST."""

import uuid

import pytest

from memories.models import Reinforcement, ReinforcementConfig, UsageEvent
from tests.factories import make_member, make_memory, make_scope

pytestmark = pytest.mark.django_db


def used(api, memory, **body):
    return api.post(f"/memories/{memory.pk}/used", body)


def factor(api, memory, query):
    found = {result["id"]: result for result in api.post("/recall", {"query": query}).json()["results"]}
    return found[str(memory.pk)]["factors"]["reinforcement"]


def test_a_report_answers_with_the_multiplier_that_the_next_recall_applies(api, scope):
    memory = make_memory("The harbour crane lifts forty tonnes.", scope=scope)
    make_memory("The harbour crane was painted.", scope=scope)
    assert factor(api, memory, "harbour crane") == 1.0
    answer = used(api, memory, useful=True, session="s1").json()
    assert (answer["useful"], answer["misled"]) == (1, 0)
    assert answer["multiplier"] == pytest.approx(1.10397, abs=5e-6)
    assert factor(api, memory, "harbour crane") == answer["multiplier"]
    assert used(api, memory, useful=True, session="s1").json() == answer


def test_the_later_word_of_the_session_replaces_the_earlier(api, scope):
    memory = make_memory(scope=scope)
    used(api, memory, useful=True, session="s1")
    assert used(api, memory, misled=True, session="s1").json()["multiplier"] == pytest.approx(0.82671, abs=5e-6)
    assert used(api, memory, useful=False, session="s1").json() == {"multiplier": 1.0, "useful": 0, "misled": 0}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"session": "s1"},
        {"useful": True, "misled": True},
        {"useful": "yes"},
        {"useful": True, "session": "s" * 121},
    ],
)
def test_a_report_that_says_nothing_or_too_much_is_refused(api, scope, body):
    answer = api.post(f"/memories/{make_memory(scope=scope).pk}/used", body)
    assert (answer.status_code, answer.json()["code"]) == (400, "validation_failed")
    assert not UsageEvent.objects.exists()


def test_a_reader_may_report_a_reading_token_may_not_and_a_stranger_finds_nothing(api_of, scope):
    memory, reader, stranger = make_memory(scope=scope), make_member(scope), make_scope()
    assert used(api_of(reader, scope), memory, useful=True).status_code == 200
    assert used(api_of(reader, scope, can_write=False), memory, useful=True).status_code == 403
    assert used(api_of(stranger.owner, stranger), memory, useful=True).status_code == 404
    assert UsageEvent.objects.count() == 1


@pytest.mark.parametrize("id", ["nonsense", str(uuid.UUID(int=7))])
def test_a_memory_that_is_not_there_is_a_404(api, id):
    assert api.post(f"/memories/{id}/used", {"useful": True}).status_code == 404


@pytest.mark.behaviour("Z19")
def test_without_a_row_the_factor_is_exactly_one_and_others_rows_change_no_other_score(api, scope):
    plain, other = (make_memory(f"The harbour crane, {word}.", scope=scope) for word in ("painted", "repaired"))

    def score():
        results = api.post("/recall", {"query": "harbour crane"}).json()["results"]
        return next(result["score"] for result in results if result["id"] == str(plain.pk))

    before = score()
    used(api, other, useful=True)
    assert score() == pytest.approx(before, abs=1e-7)
    Reinforcement.objects.all().delete()
    assert (score(), factor(api, plain, "harbour crane")) == (pytest.approx(before, abs=1e-7), 1.0)


def test_the_constants_in_force_are_read_with_the_rest_of_the_configuration(api):
    ReinforcementConfig.objects.update(boost=0.2)
    assert api.get("/config").json()["reinforcement"] == {
        "window_days": 90, "judge_minimum": 0.6, "boost": 0.2, "boost_limit": 1.4, "penalty": 0.25, "floor": 0.5,
        "promoted": 0.6, "version": 1,
    }  # fmt: skip
