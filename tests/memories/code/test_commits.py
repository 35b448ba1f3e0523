"""Which commit the code of an anchor differs at, as far as git knows."""

import os

import pytest

from memories import commits
from memories.access import actor_for_user
from memories.checkout import Checkout
from memories.commits import NO_CHECKOUT, NOT_ASKED, NOT_COMMITTED, differs_at
from memories.models import Anchor
from memories.services import AnchorSpec, remember
from tests.memories.code.trees import RANKING, commit, git, make_tree, register, write

pytestmark = pytest.mark.django_db

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age")
OTHERWISE = RANKING.replace("reverse=True", "reverse=False")


@pytest.fixture
def tree(tmp_path, scope):
    made = make_tree(tmp_path / "shop")
    register(scope, made)
    return made


@pytest.fixture
def anchor(owner, scope, tree):
    specs = [AnchorSpec("shop", "rank.py", "relevance")]
    remember(actor=actor_for_user(owner), scope=scope, content="Ordered.", anchors=specs, ring=False)
    return Anchor.objects.get()


def committed(tree, text, message):
    write(tree, {"rank.py": text})
    return commit(tree, message)[:7]


def said(anchor, tree, **asked):
    return differs_at(anchor, Checkout(str(tree)), **asked)


@pytest.mark.behaviour("F52")
def test_it_is_the_commit_that_changed_the_symbol_and_not_the_newest_on_the_file(anchor, tree):
    revision = committed(tree, REWRITTEN, "Subtract the age")
    committed(tree, REWRITTEN.replace("reverse=True", "reverse=False"), "Sort the other way")
    committed(tree, "# why\n" + REWRITTEN.replace("reverse=True", "reverse=False"), "Say why")
    assert said(anchor, tree).startswith(f"It differs at commit {revision}, ")
    assert said(anchor, tree).endswith(": Subtract the age")


def test_of_several_changes_it_is_the_one_that_made_it_what_it_is(anchor, tree):
    committed(tree, REWRITTEN, "Subtract")
    committed(tree, RANKING, "Revert")
    revision = committed(tree, REWRITTEN, "Subtract again")
    assert f"commit {revision}, " in said(anchor, tree)


@pytest.mark.behaviour("F52")
def test_code_that_is_gone_names_the_commit_that_removed_it(anchor, tree):
    committed(tree, OTHERWISE, "Sort the other way")
    (tree / "rank.py").unlink()
    revision = commit(tree, "Remove the ranking")[:7]
    assert f"commit {revision}, " in said(anchor, tree)


def test_what_is_not_committed_is_said_so(anchor, tree):
    write(tree, {"rank.py": REWRITTEN})
    assert said(anchor, tree) == NOT_COMMITTED
    revision = commit(tree, "Subtract")[:7]
    write(tree, {"rank.py": RANKING.replace("match / (1 + age)", "0")})
    assert f"commit {revision}, " in said(anchor, tree)
    assert said(anchor, tree).endswith("(in the working tree it differs once more)")


@pytest.mark.behaviour("F52")
def test_an_older_checkout_is_the_commit_that_is_checked_out(owner, scope, tree):
    old = committed(tree, RANKING, "The old way")
    committed(tree, REWRITTEN, "The new way")
    specs = [AnchorSpec("shop", "rank.py", "relevance")]
    remember(actor=actor_for_user(owner), scope=scope, content="Ordered.", anchors=specs, ring=False)
    git(tree, "checkout", "-q", old)
    words = said(Anchor.objects.get(), tree)
    assert words.startswith(f"The checkout is older than the memory's anchor. It differs at commit {old}, ")


@pytest.mark.behaviour("F52", "F53")
def test_without_git_or_a_checkout_it_says_that_none_can_be_named(anchor, tree, tmp_path, monkeypatch):
    bare = make_tree(tmp_path / "bare", with_git=False)
    assert said(anchor, bare) == NO_CHECKOUT
    monkeypatch.setenv("PATH", "/nonexistent")
    assert said(anchor, tree) == NOT_ASKED


@pytest.mark.behaviour("F53")
def test_a_git_that_hangs_is_not_waited_for(anchor, tree, tmp_path, monkeypatch):
    monkeypatch.setattr("memories.checkout.GIT_SECONDS", 0.2)
    write(tmp_path / "bin", {"git": "#!/bin/sh\nexec sleep 20\n"})
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    assert said(anchor, tree) == NOT_ASKED


def test_beyond_the_commits_and_the_time_it_looks_through_only_the_newest_is_named(anchor, tree, monkeypatch):
    committed(tree, REWRITTEN, "Subtract")
    newest = committed(tree, REWRITTEN.replace("reverse=True", "reverse=False"), "Sort the other way")
    assert said(anchor, tree, seconds=0).startswith(f"The newest commit on the file is {newest}, ")
    monkeypatch.setattr(commits, "MOST_COMMITS", 1)
    assert said(anchor, tree).startswith(f"The newest commit on the file is {newest}, ")


def test_a_secret_in_a_subject_is_masked(anchor, tree):
    committed(tree, REWRITTEN, "Use ghp_" + "a1B2" * 9)
    assert "a1B2a1B2" not in said(anchor, tree)
