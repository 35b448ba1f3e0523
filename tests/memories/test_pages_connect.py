"""The page on which a person lets an agent in: what it says, what it offers, and where it goes on to."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from memories.access import actor_for_user
from memories.models import AuditEntry, OAuthClient, OAuthCode, Token
from memories.services import oauth_asking, oauth_grants
from tests.factories import make_scope, make_token, make_user
from tests.memories.pages import Html, text_of
from tests.memories.planted import MARKUP
from tests.memories.test_oauth import BACK, let_in, question, register
from tests.memories.test_pages_inert import wrongs
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def page_of(packed):
    return reverse("connect", query={"request": packed})


def going_to(answer):
    """Where the browser is sent, by the page itself and by the link on it."""
    (by_itself,) = re.findall(r'<meta http-equiv="refresh" content="0;url=([^"]+)">', answer.text)
    (link,) = [element for element in Html(answer).all("a") if element.text.startswith("Go on to")]
    assert link.attributes["href"] == unescape(by_itself)
    return unescape(by_itself)


def told(answer):
    return parse_qs(urlsplit(going_to(answer)).query)


def test_the_page_says_who_asks_where_it_leads_and_that_nobody_checked(mine):
    shown = text_of(mine.get(page_of(question(register(name="Claude Code")))))
    assert "Calls itself Claude Code" in shown
    assert "Sends you back to 127.0.0.1:49152 , a program on the computer you are sitting at" in shown
    assert "Will act as owner" in shown
    assert "Nobody has checked that name." in shown


def test_a_site_on_the_internet_is_told_apart_from_this_computer(mine):
    client = register(redirect_uris=["https://agent.example/back"])
    shown = text_of(mine.get(page_of(question(client, redirect_uri="https://agent.example/back"))))
    assert "agent.example , a site on the internet" in shown


def test_allowing_goes_back_with_a_code_for_what_was_ticked(mine, scope, owner):
    other = make_scope(owner, slug="other")
    client = register()
    packed = question(client)
    answer = mine.post(page_of(packed), {"scopes": [other.pk], "answer": "allow"})
    address = going_to(answer)
    assert address.startswith(f"{BACK}?")
    code = OAuthCode.objects.get()
    assert (code.user, list(code.scopes.all()), code.can_write, code.can_adjudicate) == (owner, [other], False, False)
    assert oauth_grants.code_with(client.pk, told(answer)["code"][0]) == code
    assert told(answer)["state"] == ["s"]


def test_the_page_that_goes_on_is_kept_by_nobody_and_opens_no_policy(mine, scope):
    answer = mine.post(page_of(question(register())), {"scopes": [scope.pk], "answer": "allow"})
    assert "no-store" in answer.headers["Cache-Control"]
    assert "form-action 'self'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "same-origin"


def test_refusing_needs_nothing_ticked_and_goes_back_with_the_refusal(mine):
    answer = mine.post(page_of(question(register())), {"answer": "refuse"})
    assert told(answer)["error"] == ["access_denied"]
    assert "code" not in told(answer)
    assert OAuthCode.objects.get().used_at
    assert AuditEntry.objects.get(action="refuse_client").actor == "owner"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "This field is required."),
        ({"scopes": ["9999"]}, "9999 is not one of the available choices."),
        ({"scopes": ["x"]}, "is not a valid value."),
        ({"scopes": ["home"], "can_adjudicate": "on"}, "A token that settles disputes has to write"),
    ],
)
def test_an_answer_that_will_not_do_lets_nobody_in_and_can_be_given_again(mine, scope, sent, said):
    if sent.get("scopes") == ["home"]:
        sent = sent | {"scopes": [scope.pk]}
    packed = question(register())
    answer = mine.post(page_of(packed), {"answer": "allow"} | sent)
    assert answer.status_code == 422
    assert said in text_of(answer)
    assert not OAuthCode.objects.exists()
    assert told(mine.post(page_of(packed), {"answer": "allow", "scopes": [scope.pk]}))["code"]


def test_a_foreign_scope_is_not_offered_and_not_taken(mine):
    foreign = make_scope(make_user(), slug="foreign")
    packed = question(register())
    assert "foreign" not in text_of(mine.get(page_of(packed)))
    assert mine.post(page_of(packed), {"answer": "allow", "scopes": [foreign.pk]}).status_code == 422
    assert not OAuthCode.objects.exists()


@pytest.mark.parametrize(
    ("rights", "ticked"),
    [
        ((), {"can_write"}),
        (("read",), set()),
        (("read", "write"), {"can_write"}),
        (("read", "write", "adjudicate"), {"can_write"}),
    ],
)
def test_what_is_asked_for_is_ticked_beforehand_and_settling_disputes_never(mine, rights, ticked):
    html = Html(mine.get(page_of(question(register(), rights=rights))))
    boxes = [element for element in html.all("input", type="checkbox") if "checked" in element.attributes]
    assert {box.attributes["name"] for box in boxes} == ticked | {"scopes"}  # the only scope there is


def test_of_several_scopes_the_person_chooses(mine, owner):
    make_scope(owner)
    html = Html(mine.get(page_of(question(register()))))
    assert not [box for box in html.all("input", name="scopes") if "checked" in box.attributes]


def test_whoever_is_not_signed_in_signs_in_and_is_back_at_the_question(client, owner, scope):
    page = page_of(question(register()))
    answer = client.get(page)
    assert answer.status_code == 302
    login = client.post(answer.headers["Location"], {"username": "owner", "password": "a long test passphrase"})
    assert login.headers["Location"] == page
    assert "Calls itself Scribe" in text_of(client.get(page))


def test_another_site_cannot_press_the_button(owner, scope):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner)
    answer = browser.post(page_of(question(register())), {"scopes": [scope.pk], "answer": "allow"})
    assert answer.status_code == 403
    assert not OAuthCode.objects.exists()


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_question_that_is_none_is_answered_with_what_to_do(mine, method):
    answer = getattr(mine, method)(page_of("made up"))
    assert answer.status_code == 400
    assert "Start again from the agent" in text_of(answer)


def test_a_question_that_grew_old_is_answered_with_what_to_do(client_of, owner):
    packed = question(register())
    with time_machine.travel(timezone.now() + timedelta(minutes=31)):
        answer = client_of(owner).get(page_of(packed))
    assert answer.status_code == 400
    assert "older than 30 minutes" in text_of(answer)


def test_pressing_allow_twice_gives_one_code(mine, scope):
    packed = question(register())
    mine.post(page_of(packed), {"scopes": [scope.pk], "answer": "allow"})
    answer = mine.post(page_of(packed), {"scopes": [scope.pk], "answer": "allow"})
    assert "This request was answered already." in text_of(answer)
    assert OAuthCode.objects.count() == 1


def test_whoever_has_no_scope_is_told_what_to_do(client_of):
    shown = text_of(client_of(make_user()).get(page_of(question(register()))))
    assert "There is no scope to let it into" in shown
    assert "Create a scope first" in shown


def test_without_a_question_the_page_says_how_to_get_one(mine):
    assert "Nothing asks to be let in" in text_of(mine.get("/connect/", headers={"host": "localhost"}))
    assert "http://localhost/mcp" in text_of(mine.get("/connect/", headers={"host": "localhost"}))
    with override_settings(ALLOWED_HOSTS=["memory.example"]):
        assert "Agents cannot ask for access here" in text_of(mine.get("/connect/", headers={"host": "memory.example"}))
        assert "https://memory.example/mcp" in text_of(
            mine.get("/connect/", headers={"host": "memory.example"}, secure=True)
        )


# Hostile programs ----------------------------------------------------------------------------


def hostile():
    client = register()
    OAuthClient.objects.update(name=MARKUP[:80])
    client.refresh_from_db()
    return client


@pytest.mark.behaviour("F32")
def test_a_name_that_is_markup_is_words_wherever_it_stands(mine, scope, owner):
    client = hostile()
    page = page_of(question(client))
    for answer in (mine.get(page), mine.post(page, {"answer": "allow"})):
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
        assert wrongs(answer) == []
    _, issued = let_in_as(owner, scope, client)
    assert issued
    shown = mine.get("/tokens/")
    assert shown.text.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 2
    assert wrongs(shown) == []


def let_in_as(user, scope, client):
    return let_in(actor_for_user(user), scope, client)


def test_what_cannot_be_seen_in_a_name_or_passes_for_another_letter_is_marked(mine):
    shown = text_of(mine.get(page_of(question(register(name="Cl\u0430ude\u202e")))))
    assert "U+0430" in shown
    assert "U+202E" in shown


def test_an_address_that_is_markup_is_an_address(mine, scope):
    address = 'https://agent.example/"><script>alert(1)</script>?a=\'"><b>'
    client = register(redirect_uris=[address])
    packed = question(client, redirect_uri=address, state='"><script>')
    answer = mine.post(page_of(packed), {"scopes": [scope.pk], "answer": "allow"})
    assert "<script>alert" not in answer.text
    assert going_to(answer).startswith("https://agent.example/")


# The tokens page -----------------------------------------------------------------------------


def test_a_connected_agent_is_one_row_that_says_how_it_came(mine, owner, scope):
    client, issued = let_in_as(owner, scope, register(name="Claude Code"))
    oauth_grants.renew(
        oauth_grants.grant_with(client.pk, issued.refresh), issued.refresh, can_write=True, can_adjudicate=False
    )
    shown = text_of(mine.get("/tokens/"))
    assert shown.count("Claude Code") == 3  # how to connect one, its name, and what it calls itself
    assert "Connected by itself, as “ Claude Code ”, through 127.0.0.1:49152" in shown
    assert "you revoke it; unused, it ends in 4 weeks" in shown


def test_connected_agents_cost_the_page_no_query_more(mine, owner, scope):
    make_token(owner, [scope])
    few = queries_of(lambda: mine.get("/tokens/"))
    for _ in range(3):
        let_in_as(owner, scope, register())
    assert queries_of(lambda: mine.get("/tokens/")) == few == recorded_queries("tokens")


def test_between_two_renewals_it_is_in_force_and_after_thirty_days_it_has_ended(client_of, owner, scope):
    let_in_as(owner, scope, register())
    with time_machine.travel(timezone.now() + timedelta(days=2)):
        assert "Ended" not in text_of(client_of(owner).get("/tokens/"))
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        assert "ended unused 1" in text_of(client_of(owner).get("/tokens/"))


def test_revoking_it_ends_its_renewals(mine, owner, scope):
    client, issued = let_in_as(owner, scope, register())
    mine.post(reverse("token_revoke", args=[Token.objects.get().pk]))
    assert oauth_grants.grant_with(client.pk, issued.refresh) is None


def test_what_was_asked_is_in_no_log(mine, scope, caplog):
    answer = mine.post(page_of(question(register())), {"scopes": [scope.pk], "answer": "allow"})
    assert told(answer)["code"][0] not in caplog.text + str(list(AuditEntry.objects.values()))
    assert timedelta(minutes=5) == oauth_asking.CODE_LIFETIME
