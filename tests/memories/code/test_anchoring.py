"""A memory says which code it is about; that code is read when it is saved."""

import os

import pytest

from memories.access import actor_for_user
from memories.errors import Conflict, NotFound, ValidationFailed
from memories.models import Anchor, AuditEntry, Verification
from memories.services import LATEST, AnchorSpec, edit, forget, reanchor, remember
from tests.factories import make_memory, make_scope
from tests.memories.code.trees import RANKING, commit, git, make_tree, register, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "shop")


@pytest.fixture
def shop(scope, tree):
    return register(scope, tree)


@pytest.fixture
def actor(owner, shop):
    return actor_for_user(owner)


def anchored(actor, scope, *specs, content="Results are ordered by relevance.", kind="decision"):
    return remember(actor=actor, scope=scope, content=content, kind=kind, anchors=specs, ring=False)


def the_anchor():
    return Anchor.objects.get(retired_at=None)


@pytest.mark.behaviour("H1")
def test_what_is_recorded(actor, scope, tree):
    anchored(actor, scope, AnchorSpec("Shop", "rank.py", "relevance"))
    anchor = the_anchor()
    assert (anchor.path, anchor.symbol, anchor.language) == ("rank.py", "relevance", "python")
    assert anchor.exact.startswith("v1:python:")
    assert anchor.masked.startswith("v1:python:")
    assert anchor.revision == git(tree, "rev-parse", "HEAD")
    assert anchor.code == RANKING.split("\n\n\n")[1]
    assert anchor.actor == actor.label


@pytest.mark.behaviour("H24")
def test_a_symbol_that_is_not_there_is_refused_with_those_that_are_near(actor, scope):
    with pytest.raises(ValidationFailed) as refused:
        anchored(actor, scope, AnchorSpec("shop", "rank.py", "relevanse"))
    assert "relevance" in refused.value.message
    assert refused.value.field == "anchors"
    with pytest.raises(ValidationFailed, match=r"rank\.py"):
        anchored(actor, scope, AnchorSpec("shop", "ranks.py", "relevance"))
    assert not Anchor.objects.exists()
    assert not AuditEntry.objects.filter(action="remember").exists()


@pytest.mark.behaviour("H30")
def test_a_short_name_that_means_several_symbols_is_refused_with_all_of_them(actor, scope, tree):
    write(tree, {"two.py": "class A:\n    def run(self): pass\nclass B:\n    def run(self): pass\n"})
    with pytest.raises(ValidationFailed, match=r"A\.run, B\.run"):
        anchored(actor, scope, AnchorSpec("shop", "two.py", "run"))
    anchored(actor, scope, AnchorSpec("shop", "two.py", "B.run"))
    assert the_anchor().symbol == "B.run"


OUT = ["../secret.py", "/etc/passwd", "a/../../b.py", ".git/config", "a\\b.py", "./rank.py", ""]


@pytest.mark.behaviour("H25", "F51")
@pytest.mark.parametrize("path", OUT)
def test_a_path_that_leads_out_is_refused(actor, scope, path):
    with pytest.raises(ValidationFailed):
        anchored(actor, scope, AnchorSpec("shop", path, "relevance"))
    assert not Anchor.objects.exists()


@pytest.mark.behaviour("H25", "F51")
def test_a_link_out_of_the_tree_a_large_file_and_one_that_is_no_text_are_not_read(actor, scope, tree, tmp_path):
    write(tmp_path, {"outside.py": RANKING})
    (tree / "link.py").symlink_to(tmp_path / "outside.py")
    (tree / "folder").symlink_to(tmp_path)
    (tree / "binary.py").write_bytes(b"def f(): pass\0")
    (tree / "large.py").write_text("x = 1\n" * 1_000_000)
    os.mkfifo(tree / "pipe.py")
    paths = ["link.py", "folder/outside.py", "binary.py", "large.py", "pipe.py"]
    remembered = anchored(actor, scope, *(AnchorSpec("shop", path) for path in paths))
    assert len(remembered.notices) == len(paths)
    assert all(f"Not anchored to {path}" in notice for path, notice in zip(paths, remembered.notices, strict=True))
    assert not Anchor.objects.exists()


def test_a_link_inside_the_tree_is_followed(actor, scope, tree):
    (tree / "link.py").symlink_to("rank.py")
    anchored(actor, scope, AnchorSpec("shop", "link.py", "relevance"))
    assert the_anchor().path == "link.py"


def test_a_repository_that_nobody_registered_costs_the_anchor_and_not_the_memory(actor, scope):
    remembered = anchored(actor, scope, AnchorSpec("elsewhere", "rank.py", "relevance"))
    assert remembered.memory.pk
    assert "elsewhere" in remembered.notices[0]
    assert not Anchor.objects.exists()


def test_a_repository_of_other_scopes_is_not_there(actor, owner, scope, shop):
    shop.scopes.clear()
    assert "registered" in anchored(actor, scope, AnchorSpec("shop", "rank.py", "relevance")).notices[0]


@pytest.mark.behaviour("H16")
def test_without_a_symbol_the_whole_file_is_meant(actor, scope):
    anchored(actor, scope, AnchorSpec("shop", "rank.py"))
    assert the_anchor().symbol == ""
    assert the_anchor().code == RANKING


@pytest.mark.behaviour("H29")
def test_a_language_without_a_parser_is_compared_by_its_text(actor, scope, tree):
    write(tree, {"schema.sql": "CREATE TABLE a (b int);\n"})
    with pytest.raises(ValidationFailed, match="No parser reads"):
        anchored(actor, scope, AnchorSpec("shop", "schema.sql", "a"))
    anchored(actor, scope, AnchorSpec("shop", "schema.sql"))
    assert the_anchor().exact.startswith("v1:text:")


def test_code_that_only_the_caller_sees_is_fingerprinted_as_if_it_were_read_here(actor, scope):
    anchored(actor, scope, AnchorSpec("shop", "rank.py", "relevance"))
    read = the_anchor()
    Anchor.objects.all().delete()
    code = RANKING.split("\n\n\n")[1]
    anchored(actor, scope, AnchorSpec("laptop", "rank.py", "relevance", code), content="The same from a laptop.")
    assert (the_anchor().exact, the_anchor().masked) == (read.exact, read.masked)
    with pytest.raises(ValidationFailed, match="does not define"):
        anchored(actor, scope, AnchorSpec("laptop", "rank.py", "other", code), content="Another.")


def test_the_same_text_again_adds_an_anchor_and_keeps_the_one_there_is(actor, scope):
    first = anchored(actor, scope, AnchorSpec("shop", "rank.py", "relevance"))
    kept = the_anchor()
    again = anchored(
        actor, scope, AnchorSpec("SHOP", "rank.py", "relevance"), AnchorSpec("shop", "rank.py", "newest_first")
    )
    assert again.memory == first.memory
    assert set(Anchor.objects.values_list("symbol", flat=True)) == {"relevance", "newest_first"}
    assert Anchor.objects.filter(pk=kept.pk).exists()


def test_code_that_holds_a_secret_is_kept_masked(actor, scope, tree):
    key = "ghp_" + "a1B2" * 9
    write(tree, {"keys.py": f'TOKEN = "{key}"\n'})
    anchored(actor, scope, AnchorSpec("shop", "keys.py", "TOKEN"))
    assert key not in the_anchor().code
    assert the_anchor().exact.startswith("v1:python:")


@pytest.mark.behaviour("F9")
def test_a_new_wording_keeps_the_anchors_with_their_dates(actor, scope):
    memory = anchored(actor, scope, AnchorSpec("shop", "rank.py", "relevance")).memory
    before = the_anchor()
    new = edit(actor=actor, memory=memory, expected_version=LATEST, content="Ordered by relevance, always.")
    kept = new.anchors.get()
    same = ("path", "symbol", "exact", "masked", "code", "created_at", "actor")
    assert [getattr(kept, name) for name in same] == [getattr(before, name) for name in same]
    assert memory.anchors.count() == 1


@pytest.mark.behaviour("H20")
def test_still_holds_takes_the_code_as_it_is_now_and_keeps_the_former_in_the_history(actor, scope, tree):
    memory = anchored(actor, scope, AnchorSpec("shop", "rank.py", "relevance")).memory
    former = the_anchor()
    write(tree, {"rank.py": RANKING.replace("1 + age", "2 + age")})
    (now,) = reanchor(actor=actor, memory=memory, reason="Only the constant moved.")
    assert now.verdict == "unchanged"
    former.refresh_from_db()
    assert former.retired_actor == actor.label
    assert former.retired_reason == "Still holds: Only the constant moved."
    assert the_anchor().exact != former.exact
    assert Verification.objects.get(memory=memory).actor == actor.label
    assert AuditEntry.objects.get(action="reanchor").reason == "Only the constant moved."


@pytest.mark.behaviour("H13")
def test_still_holds_follows_a_new_name(actor, scope, tree):
    memory = anchored(actor, scope, AnchorSpec("shop", "rank.py", "relevance")).memory
    write(tree, {"rank.py": RANKING.replace("def relevance", "def closeness")})
    reanchor(actor=actor, memory=memory)
    assert the_anchor().symbol == "closeness"


def test_two_anchors_that_moved_to_one_place_become_one(actor, scope, tree):
    total = "def total(rows):\n    return sum(row.price for row in rows)\n"
    write(tree, {"a.py": total, "b.py": total})
    specs = [AnchorSpec("shop", "a.py", "total"), AnchorSpec("shop", "b.py", "total")]
    memory = anchored(actor, scope, *specs).memory
    (tree / "a.py").unlink()
    (tree / "b.py").unlink()
    write(tree, {"c.py": total})
    (now,) = reanchor(actor=actor, memory=memory)
    assert (now.anchor.path, now.verdict) == ("c.py", "unchanged")
    assert Anchor.objects.filter(memory=memory, retired_at__isnull=False).count() == 2


def test_what_git_ignores_is_not_read(actor, scope, tree):
    write(tree, {".gitignore": ".env\nkept.py\n", ".env": "PIN=4711\n", "kept.py": "def kept(): pass\n"})
    git(tree, "add", "-f", "kept.py")
    assert "git ignores" in anchored(actor, scope, AnchorSpec("shop", ".env")).notices[0]
    anchored(actor, scope, AnchorSpec("shop", "kept.py", "kept"), content="Tracked all the same.")
    assert the_anchor().path == "kept.py"


def test_still_holds_is_refused_where_there_is_no_code_to_hold_for(actor, scope, tree):
    memory = anchored(actor, scope, AnchorSpec("shop", "rank.py", "relevance")).memory
    (tree / "rank.py").unlink()
    with pytest.raises(Conflict, match="cannot be taken anew"):
        reanchor(actor=actor, memory=memory)
    assert the_anchor().retired_at is None
    with pytest.raises(ValidationFailed, match="names no code"):
        reanchor(actor=actor, memory=make_memory(scope=scope))
    with pytest.raises(NotFound):
        reanchor(actor=actor, memory=memory, anchors=[memory.pk])
    forget(actor=actor, memory=memory)
    with pytest.raises(Conflict, match="retired"):
        reanchor(actor=actor, memory=memory)


def test_others_cannot_say_that_it_still_holds(actor, scope):
    memory = anchored(actor, scope, AnchorSpec("shop", "rank.py", "relevance")).memory
    stranger = actor_for_user(make_scope().owner)
    with pytest.raises(NotFound):
        reanchor(actor=stranger, memory=memory)


def test_a_tree_without_git_is_read_too(owner, scope, tmp_path):
    register(scope, make_tree(tmp_path / "plain", with_git=False), "plain")
    anchored(actor_for_user(owner), scope, AnchorSpec("plain", "rank.py", "relevance"))
    assert the_anchor().revision == ""


def test_what_is_not_committed_counts(actor, scope, tree):
    commit(tree)
    write(tree, {"fresh.py": "def fresh(): pass\n"})
    anchored(actor, scope, AnchorSpec("shop", "fresh.py", "fresh"))
    assert the_anchor().symbol == "fresh"
