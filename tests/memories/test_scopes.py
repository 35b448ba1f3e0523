"""Scopes as a service: their names, and who may let whom in."""

import pytest

from memories import services
from memories.access import actor_for_token, actor_for_user, scope_for
from memories.belonging import role_words, sizes
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import AuditEntry, Membership, Role, Scope
from memories.presentation import scope_names
from memories.services.scopes import canonical_slug, create_scope, remove_member, rename_scope, set_member
from tests.factories import make_member, make_memory, make_scope, make_token, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


@pytest.mark.parametrize(
    ("typed", "slug"),
    [
        ("My Project", "my-project"),
        ("my_project", "my-project"),
        ("my.project", "my-project"),
        ("  my   project ", "my-project"),
        ("My - Project", "my-project"),
        ("-edge-", "edge"),
        ("ＦＵＬＬ width", "full-width"),
        ("a1", "a1"),
        ("7", "7"),
    ],
)
def test_names_that_differ_in_case_and_separators_are_one(typed, slug):
    assert canonical_slug(typed) == slug


@pytest.mark.parametrize("typed", ["", "   ", "---", "a/b", "größe", "a\x00b", "x" * 81, "<b>", "a,b", "🙂", "\ud800"])
def test_a_short_name_that_programs_could_not_write_is_refused(typed):
    with pytest.raises(ValidationFailed) as refused:
        canonical_slug(typed)
    assert refused.value.field == "slug"


def test_a_new_scope_belongs_to_whoever_made_it(actor, owner):
    made = create_scope(actor=actor, slug="My Garden", name="The garden")
    assert (made.slug, made.name, made.owner, made.retention) == ("my-garden", "The garden", owner, "ageing")
    assert scope_for(actor_for_user(owner), "my-garden") == made
    assert AuditEntry.objects.get(action="create_scope").scope == made


def test_one_person_has_one_scope_of_a_name_and_another_may_have_the_same(actor):
    create_scope(actor=actor, slug="garden")
    with pytest.raises(Conflict):
        create_scope(actor=actor, slug="Garden")
    create_scope(actor=actor_for_user(make_user()), slug="garden")
    assert Scope.objects.filter(slug="garden").count() == 2


@pytest.mark.parametrize("name", ["", "   ", "x" * 121, "a\x00b"])
def test_a_name_is_one_to_120_characters(actor, scope, name):
    with pytest.raises(ValidationFailed):
        rename_scope(actor=actor, scope=scope, name=name)
    scope.refresh_from_db()
    assert scope.name == "Home"


def test_renaming_keeps_the_short_name(actor, scope):
    rename_scope(actor=actor, scope=scope, name="  Our house  ")
    scope.refresh_from_db()
    assert (scope.name, scope.slug) == ("Our house", "home")


@pytest.mark.parametrize("role", Role.values)
def test_an_admin_lets_people_in_and_changes_their_role(actor, scope, role):
    person = make_user(username="visitor")
    set_member(actor=actor, scope=scope, username=" visitor ", role=Role.READER)
    set_member(actor=actor, scope=scope, username="visitor", role=role)
    assert Membership.objects.get(scope=scope, user=person).role == role
    rights = actor_for_user(person)
    assert scope.pk in rights.readable
    assert (scope.pk in rights.writable) == (role != Role.READER)
    assert (scope.pk in rights.administered) == (role == Role.ADMIN)


@pytest.mark.parametrize("role", [Role.READER, Role.WRITER])
def test_only_admins_decide_about_a_scope(scope, role):
    member = actor_for_user(make_member(scope, role))
    other = make_member(scope)
    with pytest.raises(Forbidden):
        rename_scope(actor=member, scope=scope, name="Mine now")
    with pytest.raises(Forbidden):
        set_member(actor=member, scope=scope, username=member.user.username, role=Role.ADMIN)
    with pytest.raises(Forbidden):
        remove_member(actor=member, scope=scope, user_id=other.pk)


def test_no_token_decides_about_a_scope(owner, scope):
    token = actor_for_token(make_token(owner, [scope])[0])
    with pytest.raises(Forbidden):
        set_member(actor=token, scope=scope, username=make_user().username, role=Role.ADMIN)


@pytest.mark.parametrize(
    ("username", "role", "field"),
    [("nobody", "reader", "username"), ("a\x00b", "reader", "username"), ("visitor", "king", "role")],
)
def test_whom_nobody_knows_is_not_let_in(actor, scope, username, role, field):
    make_user(username="visitor")
    with pytest.raises(ValidationFailed) as refused:
        set_member(actor=actor, scope=scope, username=username, role=role)
    assert refused.value.field == field


def test_whoever_can_no_longer_sign_in_is_not_let_in(actor, scope):
    make_user(username="gone", is_active=False)
    with pytest.raises(ValidationFailed):
        set_member(actor=actor, scope=scope, username="gone", role=Role.READER)


def test_the_owner_stays_an_admin(actor, scope, owner):
    with pytest.raises(Conflict):
        set_member(actor=actor, scope=scope, username=owner.username, role=Role.READER)
    assert not remove_member(actor=actor, scope=scope, user_id=owner.pk)
    assert scope.pk in actor_for_user(owner).administered


def test_a_member_may_leave(scope):
    member = make_member(scope)
    assert remove_member(actor=actor_for_user(member), scope=scope, user_id=member.pk)
    assert scope.pk not in actor_for_user(member).readable


def test_what_a_member_wrote_stays_and_their_tokens_no_longer_reach_it(actor, scope):
    member = make_member(scope, Role.WRITER)
    token, _ = make_token(member, [scope])
    memory = services.remember(actor=actor_for_user(member), scope=scope, content="Written by a member.").memory
    remove_member(actor=actor, scope=scope, user_id=member.pk)
    memory.refresh_from_db()
    assert (memory.author, memory.state) == (member, "live")
    assert not actor_for_token(token).readable
    with pytest.raises(NotFound):
        scope_for(actor_for_token(token), "home")


def test_removing_somebody_twice_leaves_one_trace(actor, scope):
    member = make_member(scope)
    assert remove_member(actor=actor, scope=scope, user_id=member.pk)
    assert not remove_member(actor=actor, scope=scope, user_id=member.pk)
    assert AuditEntry.objects.filter(action="remove_member").count() == 1


def test_scopes_of_one_name_are_told_apart_by_their_owner(owner, scope):
    twin = make_scope(make_user(username="visitor"), slug="HOME")
    other = make_scope(owner, slug="garden")
    names = scope_names([scope, twin, other])
    assert names == {scope.pk: "owner/home", twin.pk: "visitor/HOME", other.pk: "garden"}
    make_member(twin, user=owner)
    assert [scope_for(actor_for_user(owner), names[row.pk]) for row in (scope, twin, other)] == [scope, twin, other]


def test_sizes_count_live_memories_and_people_who_can_sign_in(actor, scope, owner):
    services.forget(actor=actor, memory=make_memory(scope=scope))
    make_memory(scope=scope)
    make_member(scope)
    make_member(scope, user=make_user(is_active=False))
    empty = make_scope(owner)
    found = sizes([scope, empty])
    assert (found[scope.pk].live, found[scope.pk].people) == (1, 2)
    assert (found[empty.pk].live, found[empty.pk].people) == (0, 1)


def test_the_role_is_said_in_a_word(owner, scope):
    people = {role: actor_for_user(make_member(scope, role)) for role in Role.values}
    assert role_words(actor_for_user(owner), scope) == "Owner"
    assert {role: role_words(person, scope) for role, person in people.items()} == {
        "reader": "Reader",
        "writer": "Writer",
        "admin": "Admin",
    }


@pytest.mark.parametrize("name", ["ho\x00me", "\ud800", "own\x00er/home", "\udfff/home"])
def test_a_name_that_no_text_may_be_is_no_scope(owner, scope, name):
    with pytest.raises(NotFound):
        scope_for(actor_for_user(owner), name)


@pytest.mark.parametrize(
    ("slug", "is_core"), [("core", True), ("core-banking", False), ("core_banking", False), ("score", False)]
)
def test_the_core_scope_is_the_one_of_exactly_that_name(slug, is_core):
    assert Scope(slug=slug).is_core is is_core
