"""What a change of code does to the rank of the memories about it, and what a reader is told."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.models import Anchor, CodeConfig, Memory
from memories.recall import recall
from memories.services import AnchorSpec, reanchor, remember
from tests.factories import make_memory, make_token
from tests.memories.code.trees import RANKING, make_tree, register, write
from tests.queries import queries_of

pytestmark = pytest.mark.django_db

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age")
QUESTION = "how are search results ordered"


@pytest.fixture
def tree(tmp_path, scope):
    made = make_tree(tmp_path / "shop")
    register(scope, made)
    return made


@pytest.fixture
def actor(owner, tree):
    return actor_for_user(owner)


def anchored(actor, scope, content, *symbols, age_days=0.0, kind="decision", path="rank.py"):
    return remember(
        actor=actor,
        scope=scope,
        content=content,
        kind=kind,
        created_at=timezone.now() - timedelta(days=age_days),
        anchors=[AnchorSpec("shop", path, symbol) for symbol in symbols],
        ring=False,
    ).memory


def found(actor, query=QUESTION, **asked):
    return {result.memory.pk: result for result in recall(actor=actor, query=query, **asked).results}


def order(actor, query=QUESTION, **asked):
    return list(found(actor, query, **asked))


@pytest.mark.behaviour("H2", "H19", "X1", "X2")
def test_a_change_multiplies_by_the_factor_of_the_configuration_and_by_nothing_else(actor, scope, tree):
    memory = anchored(actor, scope, "Search results are ordered by relevance.", "relevance", age_days=100)
    before = found(actor)[memory.pk]
    assert before.factors.structural == 1.0
    write(tree, {"rank.py": REWRITTEN})
    after = found(actor)[memory.pk]
    assert after.factors.structural == 0.15
    assert after.score == pytest.approx(after.factors.product, abs=1e-9)
    assert after.factors.age == pytest.approx(before.factors.age, abs=1e-6)
    assert "relevance in rank.py has changed since" in after.why
    CodeConfig.objects.update(changed_factor=0.4)
    assert found(actor)[memory.pk].factors.structural == 0.4


@pytest.mark.behaviour("H4", "X2")
def test_an_old_decision_on_untouched_code_comes_before_yesterdays_on_rewritten_code(actor, scope, tree):
    text = "Search results are ordered by {}."
    old = anchored(actor, scope, text.format("name"), "newest_first", age_days=180)
    new = anchored(actor, scope, text.format("date"), "relevance", age_days=1)
    assert order(actor) == [new.pk, old.pk]
    write(tree, {"rank.py": REWRITTEN})
    assert order(actor) == [old.pk, new.pk]
    assert order(actor, ignore=frozenset({"structural"})) == [new.pk, old.pk]


@pytest.mark.behaviour("H5", "H6")
def test_three_ways_of_remembering_before_and_after_the_function_was_rewritten(actor, scope, tree):
    def time_only():
        return order(actor, ignore=frozenset({"structural"}))

    assert order(actor) == []
    relevance = anchored(actor, scope, "Search results are ordered by relevance.", "relevance", age_days=180)
    newest = anchored(actor, scope, "Search results are ordered newest first.", "newest_first", age_days=2)
    assert time_only()[0] == order(actor)[0] == newest.pk
    write(tree, {"rank.py": RANKING.replace("reverse=True", "key=relevance")})
    assert time_only()[0] == newest.pk
    assert order(actor)[0] == relevance.pk
    assert "newest_first in rank.py has changed since" in found(actor)[newest.pk].why


@pytest.mark.behaviour("H7")
def test_a_revert_restores_the_rank_exactly_ten_times_over(actor, scope, tree):
    anchored(actor, scope, "Search results are ordered by relevance.", "relevance", age_days=3)
    anchored(actor, scope, "Search results were once ordered by name.", age_days=200)
    before = order(actor)
    for _ in range(10):
        write(tree, {"rank.py": REWRITTEN})
        assert order(actor) == before[::-1]
        write(tree, {"rank.py": RANKING})
        assert order(actor) == before
        assert found(actor)[before[0]].factors.structural == 1.0


@pytest.mark.behaviour("H17")
def test_several_anchors_count_once_by_the_worst_and_each_is_listed(actor, scope, tree):
    memory = anchored(actor, scope, "Search results have an order.", "relevance", "newest_first")
    write(tree, {"rank.py": REWRITTEN.replace("reverse=True", "reverse=False")})
    result = found(actor)[memory.pk]
    assert result.factors.structural == 0.15
    assert [(now.anchor.symbol, now.verdict) for now in result.anchors] == [
        ("relevance", "changed"),
        ("newest_first", "changed"),
    ]


@pytest.mark.behaviour("H23")
def test_what_is_lowered_is_returned_and_counted(actor, scope, tree):
    memory = anchored(actor, scope, "Search results are ordered by relevance.", "relevance")
    write(tree, {"rank.py": REWRITTEN})
    answer = recall(actor=actor, query=QUESTION)
    assert [result.memory.pk for result in answer.results] == [memory.pk]
    assert any(notice.startswith("1 of these memories ranks lower") for notice in answer.notices)


@pytest.mark.behaviour("H15", "F53")
def test_code_that_cannot_be_read_lowers_nothing_and_is_said(actor, scope, tree, tmp_path):
    memory = anchored(actor, scope, "Search results are ordered by relevance.", "relevance")
    tree.rename(tmp_path / "away")
    answer = recall(actor=actor, query=QUESTION)
    assert answer.results[0].memory == memory
    assert answer.results[0].factors.structural == 1.0
    assert "could not be checked" in answer.results[0].why
    assert "Of 1 of these memories the code could not be checked." in answer.notices


@pytest.mark.behaviour("H16")
def test_a_memory_without_code_costs_no_query_and_says_nothing(actor, scope, tree):
    make_memory("Search results are ordered by relevance.", scope=scope)
    without = queries_of(lambda: recall(actor=actor, query=QUESTION))
    assert found(actor)[Memory.objects.get().pk].anchors == ()
    anchored(actor, scope, "Search results have a second order.", "relevance")
    assert queries_of(lambda: recall(actor=actor, query=QUESTION)) == without + 2


def test_a_recall_of_a_past_day_leaves_the_code_out(actor, scope, tree):
    memory = anchored(actor, scope, "Search results are ordered by relevance.", "relevance", age_days=3)
    write(tree, {"rank.py": REWRITTEN})
    Memory.objects.filter(pk=memory.pk).update(recorded_at=timezone.now() - timedelta(days=3))
    past = recall(actor=actor, query=QUESTION, as_of=timezone.now() - timedelta(days=1))
    assert past.results[0].factors.structural == 1.0


@pytest.mark.behaviour("H20")
def test_still_holds_ends_the_demotion(actor, scope, tree):
    memory = anchored(actor, scope, "Search results are ordered by relevance.", "relevance")
    write(tree, {"rank.py": REWRITTEN})
    assert found(actor)[memory.pk].factors.structural == 0.15
    reanchor(actor=actor, memory=memory)
    assert found(actor)[memory.pk].factors.structural == 1.0
    assert Anchor.objects.filter(memory=memory).count() == 2


def ask(client, secret, path, body):
    headers = {"Authorization": f"Bearer {secret}"}
    return client.post(f"/api/v1{path}", body, content_type="application/json", headers=headers)


def test_the_same_over_rest(client, owner, scope, tree):
    _, secret = make_token(owner, [scope], can_write=True)
    body = {
        "content": "Search results are ordered by relevance.",
        "anchors": [{"repository": "shop", "path": "rank.py", "symbol": "relevance"}],
    }
    made = ask(client, secret, "/memories", body).json()
    assert [(each["symbol"], each["verdict"]) for each in made["anchors"]] == [("relevance", "unchanged")]
    write(tree, {"rank.py": REWRITTEN})
    (result,) = ask(client, secret, "/recall", {"query": QUESTION}).json()["results"]
    assert result["factors"]["structural"] == 0.15
    assert result["anchors"][0]["verdict"] == "changed"
    mine = body["anchors"][0] | {"fingerprint": result["anchors"][0]["fingerprint"]}
    (seen,) = ask(client, secret, "/recall", {"query": QUESTION, "code_state": [mine]}).json()["results"]
    assert seen["factors"]["structural"] == 1.0
    whole = ask(client, secret, f"/memories/{made['id']}/reanchor", {"reason": "Looked."}).json()
    assert whole["anchors"][0]["verdict"] == "unchanged"
    refused = ask(client, secret, "/memories", body | {"anchors": [body["anchors"][0] | {"symbol": "relevanse"}]})
    assert (refused.status_code, refused.json()["field"]) == (400, "anchors")
