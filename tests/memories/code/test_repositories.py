"""Saying which folders of the server memories may name."""

import pytest
from django.test import override_settings

from memories.access import actor_for_token, actor_for_user
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import Anchor, AuditEntry, Repository, Role
from memories.services import AnchorSpec, remember
from memories.services.repositories import change, register, remove
from tests.factories import make_member, make_scope, make_token, make_user
from tests.memories.code.trees import make_tree

pytestmark = pytest.mark.django_db


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "shop")


@pytest.fixture
def staff(owner, scope):
    return actor_for_user(owner)


def test_a_folder_is_registered_by_its_real_path_with_an_entry_for_each_scope(staff, owner, scope, tree, tmp_path):
    (tmp_path / "link").symlink_to(tree)
    other = make_scope(owner)
    made = register(actor=actor_for_user(owner), name="shop", path=f"{tmp_path}/link/", scopes=[scope, other])
    assert (made.path, made.owner, set(made.scopes.all())) == (str(tree.resolve()), owner, {scope, other})
    entries = AuditEntry.objects.filter(action="register_repository")
    assert {entry.scope for entry in entries} == {scope, other}
    assert all(str(tmp_path) not in str(entry.detail) for entry in entries)


@pytest.mark.parametrize("name", ["", "a b", ".hidden", "shop/api", "x" * 81, "a\nb"])
def test_a_name_that_anchors_could_not_write_is_refused(staff, scope, tree, name):
    with pytest.raises(ValidationFailed) as refused:
        register(actor=staff, name=name, path=str(tree), scopes=[scope])
    assert refused.value.field == "name"
    assert not Repository.objects.exists()


def test_a_name_is_taken_in_any_case(staff, scope, tree):
    register(actor=staff, name="shop", path=str(tree), scopes=[scope])
    with pytest.raises(Conflict, match="registered already"):
        register(actor=staff, name="SHOP", path=str(tree), scopes=[scope])


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "from the root"),
        ("shop", "from the root"),
        ("/srv\0", "from the root"),
        ("/nowhere/at/all", "no such file or directory"),
        ("{tree}/rank.py", "not a directory"),
        ("{tree}/hollow", "empty"),
        ("/", "whole file system"),
    ],
)
def test_a_folder_that_cannot_be_read_is_refused_with_what_to_do(staff, scope, tree, path, said):
    (tree / "hollow").mkdir()
    with pytest.raises(ValidationFailed, match=said) as refused:
        register(actor=staff, name="shop", path=path.format(tree=tree), scopes=[scope])
    assert refused.value.field == "path"


@pytest.mark.parametrize("kept", [".", "var", ".."])
def test_the_folder_of_our_own_secrets_is_refused(staff, scope, tree, kept):
    (tree / "var").mkdir()
    with override_settings(DATA_FOLDER=tree / kept), pytest.raises(ValidationFailed, match="its own data"):
        register(actor=staff, name="shop", path=str(tree), scopes=[scope])


def test_only_staff_in_person_and_only_for_scopes_they_administer(scope, tree, owner):
    person = actor_for_user(make_member(scope, Role.ADMIN))
    token, _ = make_token(owner, [scope], can_write=True)
    for actor in (person, actor_for_token(token)):
        with pytest.raises(Forbidden, match="Only staff"):
            register(actor=actor, name="shop", path=str(tree), scopes=[scope])
    writer = make_member(scope, Role.WRITER, make_user(is_staff=True))
    with pytest.raises(Forbidden, match="Only admins"):
        register(actor=actor_for_user(writer), name="shop", path=str(tree), scopes=[scope])
    with pytest.raises(ValidationFailed, match="at least one scope"):
        register(actor=actor_for_user(owner), name="shop", path=str(tree), scopes=[])


def test_a_change_keeps_the_scopes_of_other_admins(owner, scope, tree, tmp_path):
    theirs = make_scope()
    make_member(theirs, Role.READER, owner)
    made = Repository.objects.create(owner=owner, name="shop", path=str(tree))
    made.scopes.set([scope, theirs])
    moved = make_tree(tmp_path / "moved")
    changed = change(actor=actor_for_user(owner), repository=made, path=str(moved), scopes=[])
    assert (changed.path, set(changed.scopes.all())) == (str(moved.resolve()), {theirs})
    with pytest.raises(ValidationFailed):
        change(actor=actor_for_user(owner), repository=made, path=str(tmp_path / "nothing"), scopes=[scope])
    assert Repository.objects.get().path == str(moved.resolve())


def test_removing_keeps_the_anchors(staff, scope, tree):
    made = register(actor=staff, name="shop", path=str(tree), scopes=[scope])
    anchors = [AnchorSpec("shop", "rank.py", "relevance")]
    remember(actor=staff, scope=scope, content="By relevance.", anchors=anchors, ring=False)
    remove(actor=staff, repository=made)
    assert (Repository.objects.count(), Anchor.objects.filter(retired_at=None).count()) == (0, 1)
    assert AuditEntry.objects.get(action="remove_repository").scope == scope


def test_who_may_not_see_it_may_not_change_it(scope, tree, owner):
    made = Repository.objects.create(owner=owner, name="shop", path=str(tree))
    made.scopes.add(scope)
    stranger = actor_for_user(make_user(is_staff=True))
    for act in (lambda: remove(actor=stranger, repository=made),
                lambda: change(actor=stranger, repository=made, path=str(tree), scopes=[])):  # fmt: skip
        with pytest.raises(NotFound):
            act()
    reader = actor_for_user(make_member(scope, Role.READER))
    with pytest.raises(Forbidden):
        remove(actor=reader, repository=made)


def test_it_is_seen_by_its_owner_and_by_readers_of_its_scopes(scope, tree, owner):
    theirs = make_scope()
    made = Repository.objects.create(owner=owner, name="shop", path=str(tree))
    made.scopes.set([theirs, make_scope(theirs.owner)])
    member = make_member(theirs)
    for user, seen in ((owner, [made]), (theirs.owner, [made]), (member, [made]), (make_user(is_staff=True), [])):
        assert list(Repository.objects.visible_to(actor_for_user(user))) == seen
