"""The pages of scopes: who belongs where, and who may change that."""

import pytest
from django.urls import reverse

from memories.models import Membership, Role, Scope
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.memories.pages import Html, text_of
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def at(name, scope, *more):
    return reverse(f"scope_{name}", args=[scope.pk, *more])


def actions_of(answer):
    return {form.attributes["action"] for form in Html(answer).all("form", method="post")} - {reverse("sign_out")}


def test_the_list_tells_my_role_the_people_the_memories_and_the_policy(mine, scope, client_of):
    make_memory(scope=scope)
    member = make_member(scope, Role.WRITER)
    shown = text_of(mine.get("/scopes/"))
    assert "Home home Owner 2 people 1 live memory Ageing: nothing is ever removed by age." in shown
    assert "Writer 2 people" in text_of(client_of(member).get("/scopes/"))


def test_the_number_of_memories_leads_to_them(mine, scope, owner):
    twin = make_scope(make_user(username="visitor"), slug="home")
    make_member(twin, user=owner)
    for row, count in ((scope, 2), (twin, 3)):
        for _ in range(count):
            make_memory(scope=row)
    links = [link for link in Html(mine.get("/scopes/")).all("a") if "live memories" in link.text]
    led_to = [mine.get(link.attributes["href"]).context["total"] for link in links]
    assert sorted(led_to) == [2, 3]
    assert led_to == [int(link.text.split()[0]) for link in links]


def test_a_scope_is_created_with_a_plain_form(mine, owner):
    answer = mine.post("/scopes/", {"name": "The Garden", "slug": ""})
    made = Scope.objects.get(slug="the-garden")
    assert answer.headers["Location"] == at("detail", made)
    assert (made.owner, made.name) == (owner, "The Garden")


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"name": ""}, "This field is required."),
        ({"name": "Garten", "slug": "größe"}, "lower-case letters and digits"),
        ({"name": "庭"}, "lower-case letters and digits"),
        ({"name": "Again", "slug": "HOME"}, "You have a scope called &#x27;home&#x27; already."),
        ({"name": "a\x00b"}, "Null characters are not allowed."),
    ],
)
def test_a_name_that_will_not_do_is_said_and_kept(mine, scope, sent, said):
    answer = mine.post("/scopes/", {"slug": ""} | sent)
    assert answer.status_code == 422
    assert said in answer.text
    assert Scope.objects.count() == 1
    if "\x00" not in sent["name"]:
        assert Html(answer).field("name") == sent["name"]


def test_somebody_without_a_scope_is_told_what_to_do(client_of):
    assert "You belong to no scope yet" in text_of(client_of(make_user()).get("/scopes/"))


def test_an_admin_lets_in_changes_and_removes(mine, scope):
    visitor = make_user(username="visitor")
    answer = mine.post(at("set_member", scope), {"username": "visitor", "role": "reader"}, follow=True)
    assert "visitor is reader here." in text_of(answer)
    mine.post(at("set_member", scope), {"username": "visitor", "role": "writer"})
    assert Membership.objects.get(user=visitor).role == "writer"
    answer = mine.post(at("remove_member", scope, visitor.pk), follow=True)
    assert "Removed. What they wrote stays." in text_of(answer)
    assert not Membership.objects.exists()
    assert "They were no member any more." in text_of(mine.post(at("remove_member", scope, visitor.pk), follow=True))


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"username": "nobody", "role": "reader"}, "Nobody here has this user name."),
        ({"username": "owner", "role": "reader"}, "The owner is an admin of the scope already"),
        ({"username": "visitor", "role": "king"}, "Select a valid choice."),
        ({"username": "", "role": "reader"}, "This field is required."),
    ],
)
def test_whom_one_cannot_let_in_is_said_and_kept(mine, scope, sent, said):
    make_user(username="visitor")
    answer = mine.post(at("set_member", scope), sent)
    assert answer.status_code == 422
    assert said in text_of(answer)
    assert sent["username"] in [
        field.attributes.get("value", "") for field in Html(answer).all("input", name="username")
    ]


def test_a_scope_is_renamed_and_keeps_its_short_name(mine, scope):
    mine.post(at("rename", scope), {"name": "Our house"})
    scope.refresh_from_db()
    assert (scope.name, scope.slug) == ("Our house", "home")
    assert mine.post(at("rename", scope), {"name": " "}).status_code == 422


@pytest.mark.parametrize("role", [Role.READER, Role.WRITER])
def test_a_member_sees_who_else_is_here_and_changes_nothing_about_it(client_of, scope, role):
    make_member(scope, user=make_user(username="visitor"))
    member = make_member(scope, role)
    theirs = client_of(member)
    answer = theirs.get(at("detail", scope))
    assert "visitor" in text_of(answer)
    writes = {f"/scopes/{scope.pk}/aliases/"} if role == Role.WRITER else set()
    assert actions_of(answer) == {at("leave", scope)} | writes
    for address in (at("rename", scope), at("set_member", scope)):
        assert theirs.post(address, {"name": "x", "username": member.username, "role": "admin"}).status_code == 403
    assert theirs.post(at("remove_member", scope, scope.owner_id)).status_code == 403
    assert theirs.post(at("leave", scope), follow=True).redirect_chain == [("/scopes/", 302)]
    assert theirs.get(at("detail", scope)).status_code == 404


def test_a_second_admin_may_do_what_the_owner_may_and_leave(client_of, scope):
    admin = client_of(make_member(scope, Role.ADMIN))
    assert {at("rename", scope), at("set_member", scope), at("leave", scope)} <= actions_of(
        admin.get(at("detail", scope))
    )


def test_the_owner_is_not_offered_to_leave_and_cannot(mine, scope):
    assert at("leave", scope) not in actions_of(mine.get(at("detail", scope)))
    assert "The owner cannot leave a scope." in text_of(mine.post(at("leave", scope), follow=True))
    assert mine.get(at("detail", scope)).status_code == 200


@pytest.mark.parametrize("name", ["leave", "rename", "set_member"])
def test_changes_are_posted(mine, scope, name):
    assert mine.get(at(name, scope)).status_code == 405
    assert mine.get(at("remove_member", scope, 1)).status_code == 405


@pytest.mark.parametrize("number", ["0", "99999", "9" * 30, "9" * 5000])
def test_a_number_of_no_scope_is_not_found(mine, number):
    assert mine.get(f"/scopes/{number}/").status_code == 404
    assert mine.post(f"/scopes/{number}/leave/").status_code == 404
    assert mine.post(f"/scopes/{number}/members/{number}/remove/").status_code == 404


def test_a_number_of_no_person_changes_nothing(mine, scope):
    assert mine.post(f"/scopes/{scope.pk}/members/{'9' * 30}/remove/").status_code == 302


def test_the_queries_do_not_grow_with_scopes_and_members(mine, owner, scope):
    few, few_inside = queries_of(lambda: mine.get("/scopes/")), queries_of(lambda: mine.get(at("detail", scope)))
    for _ in range(12):
        make_memory(scope=make_scope(owner))
        make_member(scope)
    assert queries_of(lambda: mine.get("/scopes/")) == few == recorded_queries("scopes")
    assert queries_of(lambda: mine.get(at("detail", scope))) == few_inside == recorded_queries("scope")
