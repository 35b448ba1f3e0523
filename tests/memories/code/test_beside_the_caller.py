"""A working tree beside the caller: it counts for the answers to that caller, and for nothing else."""

from dataclasses import replace

import pytest

from memories.access import actor_for_user
from memories.anchors import looked_at, seen_as
from memories.api.answers import whole_answer
from memories.models import Anchor
from memories.recall import recall
from memories.services import AnchorSpec, remember
from tests.memories.code.trees import RANKING, git, make_tree, register, write

pytestmark = pytest.mark.django_db

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age")


@pytest.fixture
def tree(tmp_path, scope):
    made = make_tree(tmp_path / "shop")
    register(scope, made)
    return made


@pytest.fixture
def branch(tmp_path, tree):
    git(tree, "worktree", "add", "-q", "-b", "branch", str(tmp_path / "branch"))
    return tmp_path / "branch"


def beside(scope, folder):
    return replace(actor_for_user(scope.owner), checkouts={"shop": str(folder)})


def anchored(actor, scope, *specs):
    content = "Results are ordered by relevance."
    return remember(actor=actor, scope=scope, content=content, kind="decision", anchors=specs, ring=False)


def verdict(actor):
    (result,) = recall(actor=actor, query="ordered by relevance").results
    return str(result.anchors[0].verdict)


@pytest.mark.behaviour("H28")
def test_each_caller_is_answered_by_its_own_checkout_and_nothing_of_it_is_kept(scope, tree, branch):
    server = actor_for_user(scope.owner)
    memory = anchored(server, scope, AnchorSpec("Shop", "rank.py", "relevance")).memory
    stored = list(Anchor.objects.values())
    write(branch, {"rank.py": REWRITTEN})
    assert [verdict(beside(scope, branch)), verdict(server)] == ["changed", "unchanged"]
    write(tree, {"rank.py": REWRITTEN})
    write(branch, {"rank.py": RANKING})
    assert [verdict(beside(scope, branch)), verdict(server)] == ["unchanged", "changed"]
    assert whole_answer(memory, beside(scope, branch))["anchors"][0]["verdict"] == "unchanged"
    assert list(Anchor.objects.values()) == stored
    assert [str(now.verdict) for now in looked_at([memory.pk])[memory.pk]] == ["changed"]


@pytest.mark.behaviour("H12", "H13")
def test_what_moved_in_the_checkout_of_the_caller_is_found_there(scope, tree, branch):
    anchored(actor_for_user(scope.owner), scope, AnchorSpec("shop", "rank.py", "relevance"))
    (branch / "rank.py").rename(branch / "order.py")
    assert verdict(beside(scope, branch)) == "moved"
    write(branch, {"order.py": RANKING.replace("def relevance", "def closeness")})
    assert verdict(beside(scope, branch)) == "renamed"


def test_code_is_anchored_as_it_stands_beside_whoever_remembers(scope, tree, branch):
    write(branch, {"fresh.py": "def fresh(): pass\n"})
    remembered = anchored(beside(scope, branch), scope, AnchorSpec("shop", "fresh.py", "fresh"))
    assert remembered.notices == ()
    assert verdict(beside(scope, branch)) == "unchanged"
    assert verdict(actor_for_user(scope.owner)) == "gone"


def test_a_checkout_that_went_away_is_unknown_and_not_stale(scope, tree, tmp_path):
    anchored(actor_for_user(scope.owner), scope, AnchorSpec("shop", "rank.py", "relevance"))
    assert verdict(beside(scope, tmp_path / "nowhere")) == "unknown"


@pytest.mark.behaviour("H25")
def test_a_link_out_of_the_checkout_is_not_followed(scope, tree, branch, tmp_path):
    anchored(actor_for_user(scope.owner), scope, AnchorSpec("shop", "rank.py", "relevance"))
    write(tmp_path, {"outside.py": RANKING})
    (branch / "rank.py").unlink()
    (branch / "rank.py").symlink_to(tmp_path / "outside.py")
    assert verdict(beside(scope, branch)) == "unknown"


def test_a_fingerprint_that_is_the_same_is_not_said_to_differ_in_layout(scope, tree):
    server = actor_for_user(scope.owner)
    anchored(server, scope, AnchorSpec("shop", "rank.py", "relevance"))
    seen = seen_as("shop", "rank.py", "relevance", fingerprint=Anchor.objects.get().exact)
    (result,) = recall(actor=server, query="ordered by relevance", code_seen=dict([seen])).results
    assert str(result.anchors[0].verdict) == "unchanged"
    assert result.anchors[0].judged.detail == "By its fingerprint."
