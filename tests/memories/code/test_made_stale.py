"""``manage.py anchors check``: what a change does to the memories that name the code."""

import io
import json
import re

import pytest
from django.core.management import CommandError, call_command

from memories.access import actor_for_user
from memories.services import AnchorSpec, remember
from memories.stale_report import fenced, span
from tests.factories import make_scope
from tests.memories.code.trees import RANKING, commit, git, make_tree, register, write

pytestmark = pytest.mark.django_db

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age")


@pytest.fixture
def tree(tmp_path, scope):
    made = make_tree(tmp_path / "shop")
    register(scope, made)
    return made


def anchored(scope, content="Results are ordered by relevance.", symbol="relevance", path="rank.py"):
    spec = AnchorSpec("shop", path, symbol)
    return remember(
        actor=actor_for_user(scope.owner), scope=scope, content=content, kind="decision", anchors=[spec], ring=False
    ).memory


def checked(tree, *arguments, since="HEAD"):
    """The exit code and what was written."""
    out = io.StringIO()
    try:
        call_command("anchors", "check", "--repo", str(tree), f"--since={since}", *arguments, stdout=out)
    except SystemExit as ended:
        return ended.code, out.getvalue()
    return 0, out.getvalue()


def refused(tree, *arguments, since="HEAD"):
    with pytest.raises(CommandError) as error:
        checked(tree, *arguments, since=since)
    assert error.value.returncode == 2
    return str(error.value)


@pytest.mark.behaviour("H26")
def test_an_edit_that_is_not_committed_lists_the_memory_with_its_code_then_and_now(scope, tree):
    memory = anchored(scope)
    write(tree, {"rank.py": REWRITTEN})
    code, told = checked(tree)
    assert code == 1
    assert told.startswith("### 1 memory stops applying\n")
    assert "#### `relevance` in `rank.py`: changed" in told
    assert f"- decision, anchored {memory.created_at:%Y-%m-%d}: `Results are ordered by relevance.`" in told
    assert f"`{memory.pk}`" in told
    assert "-    return match / (1 + age)\n+    return match - age\n" in told
    write(tree, {"rank.py": RANKING})
    assert checked(tree) == (0, told_of_nothing(tree))


def told_of_nothing(tree):
    since = git(tree, "rev-parse", "HEAD")[:12]
    return f"No memory is made stale by the change since `{since}`. 1 anchor to `shop` looked at.\n"


def test_what_was_stale_before_the_change_is_counted_apart(scope, tree):
    anchored(scope)
    anchored(scope, "The newest come first in lists.", "newest_first")
    write(tree, {"rank.py": REWRITTEN})
    commit(tree)
    assert "1 anchor was stale before, and still is." in checked(tree)[1]
    write(tree, {"rank.py": REWRITTEN.replace("reverse=True", "reverse=False")})
    code, told = checked(tree)
    assert code == 1
    assert "`newest_first` in `rank.py`" in told
    assert "`relevance`" not in told
    assert "1 anchor was stale before" in told
    code, told = checked(tree, since="HEAD~1")
    assert "### 2 memories stop applying" in told


@pytest.mark.behaviour("H12", "H14")
def test_a_move_makes_nothing_stale_and_what_moved_before_can_still_go(scope, tree):
    anchored(scope)
    write(tree, {"rank.py": "x = 1\n", "moved.py": RANKING})
    assert checked(tree)[0] == 0
    commit(tree)
    (tree / "moved.py").unlink()
    code, told = checked(tree)
    assert code == 1
    assert "`relevance` in `rank.py`: gone" in told
    assert "-    return match / (1 + age)" in told


def test_a_comment_a_new_neighbour_and_line_ends_make_nothing_stale(scope, tree):
    anchored(scope)
    write(tree, {"rank.py": RANKING.replace("match / (1 + age)", "match / (1 + age)  # so").replace("\n", "\r\n")})
    assert checked(tree)[0] == 0


def test_code_and_memory_cannot_break_out_of_the_comment(scope, tree):
    anchored(scope, "Fences ``` and `ticks`, @everybody [x](javascript:1) <b>.", "relevance")
    write(tree, {"rank.py": RANKING.replace("match / (1 + age)", "'''\n````\n# @everybody\n'''")})
    told = checked(tree)[1]
    assert "````Fences ``` and `ticks`, @everybody [x](javascript:1) <b>.````" in told
    opened, block, closed = re.search(r"^(`{3,})diff\n(.*?)\n(`{3,})$", told, re.M | re.S).groups()
    assert opened == closed == "`" * 5
    assert "+````" in block


def test_fences_are_longer_than_any_run_within():
    assert fenced("a ````` b").startswith("`" * 6 + "\n")
    assert fenced("a").startswith("```\n")
    assert span("`") == "`` ` ``"
    assert span("a\nb\u200bc") == "`a b⟦U+200B⟧c`"
    assert span("") == "` `"


def test_a_long_change_says_that_there_is_more(scope, tree):
    anchored(scope)
    write(tree, {"rank.py": RANKING.replace("    return match", "    age += 1\n" * 200 + "    return match")})
    told = checked(tree)[1]
    assert "@@ and more @@" in told
    assert told.count("\n") < 90


def test_one_place_that_two_memories_name_is_shown_once(scope, tree):
    anchored(scope)
    anchored(scope, "Age divides, it never subtracts.")
    write(tree, {"rank.py": REWRITTEN})
    told = checked(tree)[1]
    assert told.count("#### ") == 1
    assert told.count("\n- decision, anchored") == 2


def test_json_says_the_same(scope, tree):
    memory = anchored(scope)
    write(tree, {"rank.py": REWRITTEN})
    code, told = checked(tree, "--json")
    answer = json.loads(told)
    assert code == 1
    assert [row["memory"]["id"] for row in answer["stale"]] == [str(memory.pk)]
    assert answer["stale"][0]["verdict"] == "changed"
    assert "match - age" in answer["stale"][0]["after"]
    assert (answer["repository"], answer["anchors"], answer["already_stale"]) == ("shop", 1, 0)
    write(tree, {"rank.py": RANKING})
    assert json.loads(checked(tree, "--json")[1])["stale"] == []


def test_what_cannot_be_read_is_named_and_does_not_fail_the_check(scope, tree):
    anchored(scope)
    (tree / "rank.py").write_bytes(b"def relevance(): pass\0")
    code, told = checked(tree)
    assert code == 0
    assert "1 could not be checked:" in told
    assert "`relevance` in `rank.py`: `The file is not text.`" in told


@pytest.mark.behaviour("H11", "H28")
def test_another_worktree_is_known_for_what_it_is_and_a_clone_is_named(scope, tree, tmp_path):
    anchored(scope)
    git(tree, "worktree", "add", "-q", "-b", "branch", str(tmp_path / "branch"))
    git(tmp_path, "clone", "-q", str(tree), "clone")
    for copy, named in ((tmp_path / "branch", ()), (tmp_path / "clone", ("--repo-name", "SHOP"))):
        write(copy, {"rank.py": REWRITTEN})
        assert checked(copy, *named)[0] == 1
    assert checked(tree)[0] == 0
    assert "No repository is registered at" in refused(tmp_path / "clone")
    assert "Registered are shop." in refused(tmp_path / "clone", "--repo-name", "other")


def test_what_is_wrong_is_said_with_what_to_do(scope, tree, tmp_path, monkeypatch):
    assert "Fetch it first" in refused(tree, since="nowhere")
    assert "Fetch it first" in refused(tree, since="--output=x")
    assert "cannot be read" in refused(tmp_path / "missing")
    register(scope, make_tree(tmp_path / "plain", with_git=False), "plain")
    assert "no git repository" in refused(tmp_path / "plain")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git is not installed" in refused(tree)


def test_nobody_is_told_of_what_they_may_not_read(scope, tree):
    anchored(scope)
    write(tree, {"rank.py": REWRITTEN})
    other = make_scope().owner
    assert "No repository is registered" in refused(tree, "--user", other.username)
    assert "no anchor names one" in refused(tree, "--user", other.username, "--repo-name", "shop")
