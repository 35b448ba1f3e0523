"""What became of the code, read from real working trees at every look."""

import itertools
import os
import shutil
import subprocess

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.anchors import looked_at, seen_as
from memories.errors import ValidationFailed
from memories.models import Anchor
from memories.services import AnchorSpec, remember
from tests.memories.code.trees import RANKING, commit, git, make_tree, register, write
from tests.queries import queries_of

pytestmark = pytest.mark.django_db

RELEVANCE = RANKING.split("\n\n\n")[1] + "\n"
REWRITTEN = RANKING.replace("match / (1 + age)", "match - age")


@pytest.fixture
def tree(tmp_path, scope):
    made = make_tree(tmp_path / "shop")
    register(scope, made)
    return made


@pytest.fixture
def memory(owner, scope, tree):
    spec = AnchorSpec("shop", "rank.py", "relevance")
    made = remember(
        actor=actor_for_user(owner), scope=scope, content="Ordered by relevance.", anchors=[spec], ring=False
    )
    return made.memory


def now(memory, **asked):
    (found,) = looked_at([memory.pk], **asked)[memory.pk]
    return found.judged


def verdict(memory):
    return now(memory).verdict.value


@pytest.mark.behaviour("H8", "H9", "H10", "H11", "F51")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RANKING, "unchanged"),
        ("import os\n\n\n" + RANKING, "unchanged"),
        (RANKING.replace("\n", "\r\n"), "unchanged"),
        (RANKING.replace("reverse=True", "reverse=False"), "unchanged"),
        (RANKING.replace("The best match first.", "Another description."), "cosmetic"),
        (RANKING.replace("    return match", "    # why\n    return match"), "cosmetic"),
        (REWRITTEN, "changed"),
        (RANKING.replace("match, age", "match, age, day"), "changed"),
        ("def relevance(:\n", "unknown"),
        ("x = 1\n", "gone"),
        ("", "gone"),
    ],
)
def test_what_is_written_into_the_file(memory, tree, text, expected):
    write(tree, {"rank.py": text})
    assert verdict(memory) == expected


@pytest.mark.behaviour("H7")
def test_ten_times_there_and_back_with_no_wait(memory, tree):
    for _ in range(10):
        write(tree, {"rank.py": REWRITTEN})
        assert verdict(memory) == "changed"
        write(tree, {"rank.py": RANKING})
        assert verdict(memory) == "unchanged"


@pytest.mark.behaviour("H11")
def test_touching_and_cloning_change_nothing(memory, tree, tmp_path, scope):
    os.utime(tree / "rank.py", (1, 1))
    assert verdict(memory) == "unchanged"
    git(tmp_path, "clone", "-q", str(tree), "copy")
    scope.repositories.update(path=str(tmp_path / "copy"))
    assert verdict(memory) == "unchanged"


@pytest.mark.behaviour("H12", "F51")
def test_code_that_moved_is_found_and_code_that_was_copied_is_ambiguous(memory, tree):
    rest = RANKING.replace(RELEVANCE, "")
    write(tree, {"rank.py": rest, "order/by.py": RELEVANCE})
    judged = now(memory)
    assert (judged.verdict, judged.place.path, judged.place.symbol) == ("moved", "order/by.py", "relevance")
    write(tree, {"order/also.py": RELEVANCE})
    assert verdict(memory) == "ambiguous"


@pytest.mark.behaviour("H13", "F51")
def test_code_under_a_new_name_is_found_and_under_two_it_is_not_guessed(memory, tree):
    write(tree, {"rank.py": RANKING.replace("def relevance", "def closeness")})
    judged = now(memory)
    assert (judged.verdict, judged.place.symbol) == ("renamed", "closeness")
    twice = RELEVANCE.replace("relevance", "nearness")
    write(tree, {"rank.py": RANKING.replace("def relevance", "def closeness") + "\n\n" + twice})
    assert verdict(memory) == "ambiguous"


@pytest.mark.behaviour("H13")
def test_a_twin_that_stood_elsewhere_already_is_no_new_name(owner, scope, tree):
    write(tree, {"twin.py": RELEVANCE.replace("relevance", "closeness")})
    commit(tree)
    spec = AnchorSpec("shop", "rank.py", "relevance")
    memory = remember(actor=actor_for_user(owner), scope=scope, content="A.", anchors=[spec], ring=False).memory
    write(tree, {"rank.py": RANKING.replace(RELEVANCE, "")})
    assert verdict(memory) == "gone"


@pytest.mark.behaviour("H14", "F51")
def test_a_file_that_was_deleted_is_gone_and_the_memory_stays(memory, tree):
    (tree / "rank.py").unlink()
    assert verdict(memory) == "gone"
    memory.refresh_from_db()
    assert memory.state == "live"


@pytest.mark.behaviour("H16")
def test_a_whole_file_is_followed_by_its_text(owner, scope, tree):
    spec = AnchorSpec("shop", "rank.py")
    memory = remember(actor=actor_for_user(owner), scope=scope, content="A.", anchors=[spec], ring=False).memory
    write(tree, {"rank.py": RANKING.replace("1 + age", "2 + age")})
    assert verdict(memory) == "changed"
    (tree / "rank.py").unlink()
    assert verdict(memory) == "gone"
    write(tree, {"moved/rank.py": RANKING})
    assert now(memory).place.path == "moved/rank.py"


@pytest.mark.behaviour("H15", "F53")
def test_a_repository_that_cannot_be_reached_is_unknown_and_never_gone(memory, tree, tmp_path, scope):
    tree.rename(tmp_path / "away")
    assert verdict(memory) == "unknown"
    tree.mkdir()
    assert "mounted" in now(memory).detail
    tree.rmdir()
    scope.repositories.all().delete()
    assert "not registered" in now(memory).detail


@pytest.mark.behaviour("F53")
def test_a_file_that_may_not_be_read_is_unknown(memory, tree):
    (tree / "rank.py").unlink()
    (tree / "rank.py").mkdir()
    assert verdict(memory) == "unknown"


@pytest.mark.behaviour("F53")
def test_without_git_nothing_is_lost_but_the_revision(memory, tree, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert verdict(memory) == "unchanged"
    write(tree, {"rank.py": RANKING.replace(RELEVANCE, ""), "by.py": RELEVANCE})
    assert verdict(memory) == "moved"


@pytest.mark.behaviour("F53")
def test_a_git_that_hangs_is_not_waited_for(memory, tree, tmp_path, monkeypatch):
    monkeypatch.setattr("memories.checkout.GIT_SECONDS", 0.2)
    slow = tmp_path / "bin"
    write(slow, {"git": "#!/bin/sh\nexec sleep 20\n"})
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(slow), prepend=os.pathsep)
    write(tree, {"rank.py": RANKING.replace(RELEVANCE, ""), "by.py": RELEVANCE})
    assert verdict(memory) == "moved"


@pytest.mark.behaviour("H28", "F51", "F52")
def test_the_verdict_follows_the_branch_that_is_checked_out(memory, tree):
    git(tree, "checkout", "-q", "-b", "other")
    write(tree, {"rank.py": REWRITTEN})
    commit(tree)
    assert verdict(memory) == "changed"
    git(tree, "checkout", "-q", "main")
    assert verdict(memory) == "unchanged"
    anchor = Anchor.objects.get()
    assert anchor.retired_at is None


@pytest.mark.behaviour("H26")
def test_what_is_not_committed_counts(memory, tree):
    write(tree, {"rank.py": REWRITTEN})
    assert git(tree, "status", "--porcelain") == "M rank.py"
    assert verdict(memory) == "changed"


@pytest.mark.behaviour("F51")
def test_a_submodule_is_part_of_the_tree(owner, scope, tree, tmp_path):
    inner = make_tree(tmp_path / "inner")
    command = ["git", "-C", str(tree), "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib"]
    subprocess.run(command, check=True, capture_output=True)
    spec = AnchorSpec("shop", "lib/rank.py", "relevance")
    memory = remember(actor=actor_for_user(owner), scope=scope, content="A.", anchors=[spec], ring=False).memory
    assert verdict(memory) == "unchanged"
    write(tree / "lib", {"rank.py": REWRITTEN})
    assert verdict(memory) == "changed"


@pytest.mark.behaviour("H21")
def test_a_fingerprint_of_another_method_is_made_anew_from_the_text_that_was_kept(memory, tree):
    Anchor.objects.update(exact="v0:python:0", masked="v0:python:0")
    assert verdict(memory) == "unchanged"
    write(tree, {"rank.py": REWRITTEN})
    assert verdict(memory) == "changed"


@pytest.mark.behaviour("H15")
def test_a_fingerprint_that_cannot_be_made_anew_is_unknown(memory):
    Anchor.objects.update(exact="v0:python:0", masked="v0:python:0", code="")
    assert verdict(memory) == "unknown"


def test_what_the_caller_sees_goes_before_what_stands_here_and_is_not_kept(memory, tree):
    mine = dict([seen_as("Shop", "rank.py", "relevance", code=RELEVANCE.replace("1 + age", "2 + age"))])
    assert now(memory, seen=mine).verdict == "changed"
    assert now(memory).verdict == "unchanged"
    assert now(memory, seen=dict([seen_as("shop", "rank.py", "relevance")])).verdict == "gone"
    fingerprint = Anchor.objects.get().exact
    same = dict([seen_as("shop", "rank.py", "relevance", fingerprint=fingerprint)])
    assert now(memory, seen=same).verdict == "unchanged"


def test_what_can_be_no_fingerprint_is_refused_and_one_of_another_method_says_nothing(memory):
    with pytest.raises(ValidationFailed, match="hexadecimal"):
        seen_as("shop", "rank.py", "relevance", fingerprint="anything")
    other = dict([seen_as("shop", "rank.py", "relevance", fingerprint=f"v0:python:{'0' * 64}")])
    assert now(memory, seen=other).verdict == "unknown"


def test_where_there_is_no_time_to_look_everywhere_it_is_unknown_and_not_gone(memory, tree, monkeypatch):
    (tree / "rank.py").unlink()
    monkeypatch.setattr("memories.checkout.time.monotonic", itertools.count(0, 10).__next__)
    write(tree, {"other.py": "x = 1\n"})
    judged = now(memory)
    assert judged.verdict == "unknown"
    assert "no time" in judged.detail


def test_the_queries_do_not_grow_with_what_is_gone(owner, scope, tree):
    specs = [AnchorSpec("shop", "rank.py", "relevance"), AnchorSpec("shop", "rank.py", "newest_first")]
    actor = actor_for_user(owner)
    made = [remember(actor=actor, scope=scope, content=f"{n}.", anchors=specs, ring=False).memory.pk for n in range(4)]
    (tree / "rank.py").unlink()
    assert queries_of(lambda: looked_at(made)) == 2


@pytest.mark.behaviour("H27")
def test_each_file_is_read_once_in_a_look(owner, scope, tree, monkeypatch):
    actor = actor_for_user(owner)
    specs = [AnchorSpec("shop", "rank.py", "relevance"), AnchorSpec("shop", "rank.py", "newest_first")]
    made = [remember(actor=actor, scope=scope, content=f"{n}.", anchors=specs, ring=False).memory for n in range(3)]
    opened = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, *rest: opened.append(str(path)) or real(path, *rest))
    looked_at([memory.pk for memory in made])
    assert [path for path in opened if path.endswith("rank.py")] == [str(tree / "rank.py")]


def test_nothing_is_written_by_looking(memory, tree):
    write(tree, {"rank.py": REWRITTEN})
    before = list(Anchor.objects.values())
    began = timezone.now()
    assert verdict(memory) == "changed"
    assert list(Anchor.objects.values()) == before
    memory.refresh_from_db()
    assert memory.updated_at < began


def test_a_tree_that_is_a_file_is_unknown(memory, tree):
    shutil.rmtree(tree)
    tree.write_text("not a folder")
    assert verdict(memory) == "unknown"
