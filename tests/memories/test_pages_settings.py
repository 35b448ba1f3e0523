"""A person's settings: who they are, their password, their time zone, and how to take everything along."""

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from memories.models import AuditEntry
from memories.services import people
from tests.factories import PASSWORD, make_user
from tests.memories.pages import Html, text_of

pytestmark = pytest.mark.django_db
NEW = "quite another passphrase"


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def test_the_profile_is_saved_with_a_plain_form(mine, owner):
    sent = {"first_name": "Visitor", "last_name": "L", "email": "visitor@example.org", "time_zone": "Asia/Tokyo"}
    assert mine.post("/settings/", sent).headers["Location"] == "/settings/"
    owner.refresh_from_db()
    assert {name: getattr(owner, name) for name in sent} == sent
    entry = AuditEntry.objects.get(action="change_profile")
    assert entry.detail == {"fields": ["email", "first_name", "last_name", "time_zone"]}


def test_saving_without_a_change_leaves_no_trace(mine, owner):
    mine.post("/settings/", {"first_name": "", "last_name": "", "email": owner.email, "time_zone": ""})
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"email": "nowhere"}, "Enter a valid email address."),
        ({"time_zone": "Mars/Olympus"}, "Select a valid choice."),
        ({"time_zone": "localtime"}, "Select a valid choice."),
        ({"first_name": "x" * 151}, "at most 150 characters"),
        ({"first_name": "a\x00b"}, "Null characters are not allowed."),
    ],
)
def test_what_will_not_do_is_said_and_nothing_is_saved(mine, owner, sent, said):
    answer = mine.post("/settings/", {"first_name": "Visitor", "last_name": "", "email": "", "time_zone": ""} | sent)
    assert answer.status_code == 422
    assert said in text_of(answer)
    owner.refresh_from_db()
    assert owner.first_name == ""


@pytest.mark.parametrize("field", ["username", "is_staff", "is_superuser", "must_choose_password", "password"])
def test_no_other_field_can_be_sent(mine, owner, field):
    before = getattr(owner, field)
    mine.post("/settings/", {"first_name": "Visitor", "last_name": "", "email": "", "time_zone": "", field: "1"})
    owner.refresh_from_db()
    assert (owner.first_name, getattr(owner, field)) == ("Visitor", before)


def change_password(client, **sent):
    fields = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    return client.post("/settings/password/", fields | sent)


def test_the_password_is_changed_and_other_browsers_are_signed_out(mine, owner, client_of):
    elsewhere = client_of(owner)
    secret = people.create_sign_in_link(owner)
    assert change_password(mine).headers["Location"] == "/settings/"
    owner.refresh_from_db()
    assert owner.check_password(NEW)
    assert mine.get("/settings/").status_code == 200
    assert elsewhere.get("/settings/").status_code == 302
    assert not people.is_redeemable(secret)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"old_password": "wrong"}, "Your old password was entered incorrectly."),
        ({"new_password2": "other"}, "The two password fields"),
        ({"new_password1": "short", "new_password2": "short"}, "This password is too short."),
        ({"new_password1": "1234567890", "new_password2": "1234567890"}, "This password is too common."),
    ],
)
def test_a_password_that_will_not_do_is_said_and_never_shown_again(mine, owner, sent, said):
    answer = change_password(mine, **sent)
    assert answer.status_code == 422
    assert said in text_of(answer)
    assert NEW not in answer.text
    assert "no-store" in answer.headers["Cache-Control"]
    owner.refresh_from_db()
    assert owner.check_password(PASSWORD)


def test_the_password_is_posted_from_the_page(mine, owner):
    assert mine.get("/settings/password/").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(owner)
    assert change_password(strict).status_code == 403


def test_the_page_of_the_embedder_is_found_from_here(mine):
    links = [link.attributes["href"] for link in Html(mine.get("/settings/")).all("a")]
    assert reverse("embedder_page") in links
    assert mine.get(reverse("embedder_page")).status_code == 200


def test_the_page_tells_how_memories_are_found(mine, settings):
    assert "Embedder local:all-MiniLM-L6-v2-int8, version" in text_of(mine.get("/settings/"))
    settings.EMBEDDER = "none"
    assert "Embedder switched off, search by words only" in text_of(mine.get("/settings/"))


@override_settings(EMBEDDER="local", EMBEDDER_MODEL_PATH="/nowhere/at/all")
def test_a_broken_embedder_is_told_with_what_to_do(mine):
    answer = mine.get("/settings/")
    assert answer.status_code == 200
    assert "ZEROMEMORY_EMBEDDER_PATH must be a folder" in text_of(answer)


def test_the_commands_name_the_person(client_of):
    person = make_user(username="visitor")
    commands = " ".join(block.text for block in Html(client_of(person).get("/settings/")).all("pre"))
    assert "import_memories --repo PATH" in commands
    assert "--user visitor" in commands
    assert reverse("settings_page") == "/settings/"
