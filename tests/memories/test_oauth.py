"""Grants beneath the protocol: who may register, what a person's answer gives, and when it ends."""

from __future__ import annotations

import hashlib
import uuid
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from django.db.models import F
from django.utils import timezone

from memories.access import actor_for_token, actor_for_user
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import AuditEntry, OAuthClient, OAuthCode, OAuthGrant, Token
from memories.services import oauth_asking, oauth_clients, oauth_grants
from memories.services.oauth_asking import Asked
from memories.services.oauth_clients import TooManyRegistrations
from memories.services.tokens import authenticate
from tests.factories import make_scope, make_token, make_user
from tests.secret_shapes import SHAPES

pytestmark = pytest.mark.django_db
BACK = "http://127.0.0.1:49152/back"


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


def register(**overrides):
    values = {"client_id": uuid.uuid4(), "name": "Scribe", "redirect_uris": [BACK], "address": "192.0.2.1"}
    return oauth_clients.register(**values | overrides)


def question(client, **overrides):
    values = {
        "client_id": str(client.pk), "redirect_uri": BACK, "redirect_uri_was_sent": True, "challenge": "c" * 43,
        "issuer": "http://127.0.0.1:8000", "state": "s",
    }  # fmt: skip
    return oauth_asking.pack(Asked(**values | overrides))


def allow(actor, packed, *scopes, **rights):
    rights = {"can_write": True, "can_adjudicate": False} | rights
    return parse_qs(urlsplit(oauth_asking.allow(actor=actor, packed=packed, scopes=scopes, **rights)).query)


def let_in(actor, scope, client=None):
    client = client or register()
    (secret,) = allow(actor, question(client), scope)["code"]
    return client, oauth_grants.redeem(oauth_grants.code_with(client.pk, secret))


def renew(client, refresh):
    grant = oauth_grants.grant_with(client.pk, refresh)
    return grant and oauth_grants.renew(grant, refresh, can_write=True, can_adjudicate=False)


# Registration --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "https://agent.example/back?to=1",
        "http://127.0.0.1/back",
        "http://[::1]:8080/back",
        "http://localhost:3000",
        "https://agent.example:8443/back",
        "cursor://anysphere.cursor-retrieval/oauth/user-agent/callback",
        "vscode://an.extension/back",
        "com.example.agent:/back",
        "com.example.agent://back/here?to=1",
    ],
)
def test_people_can_be_sent_back_over_https_or_to_their_own_computer(address):
    assert register(redirect_uris=[address]).redirect_uris == [address]


@pytest.mark.parametrize(
    "address",
    [
        "http://agent.example/back",
        "http://127.0.0.1.agent.example/back",
        "http://localhost@agent.example/back",
        "https://person@agent.example/back",
        "https://agent.example/back#part",
        "https://agent.example/back#",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://127.0.0.1/back",
        "agent:back",
        "agent://back",
        "vbscript:msgbox",
        "blob:https://agent.example/1",
        "about:blank",
        "cursor://person@back/here",
        "com.example.agent:/back#part",
        "https:///back",
        "//agent.example/back",
        "https://agent.example:port/back",
        "https://[broken/back",
        "https://agent.example/\x00",
        "https://agent.example/" + "x" * 2000,
        "",
    ],
)
def test_people_are_sent_nowhere_else(address):
    with pytest.raises(ValidationFailed) as refused:
        register(redirect_uris=[BACK, address])
    assert refused.value.field == "redirect_uris"
    assert not OAuthClient.objects.exists()


@pytest.mark.parametrize("number", [0, 11])
def test_a_client_names_some_addresses_and_not_too_many(number):
    with pytest.raises(ValidationFailed, match="1 to 10"):
        register(redirect_uris=[BACK] * number)


@pytest.mark.parametrize("name", ["x" * 81, "a\x00b", SHAPES[7][1]])
def test_a_name_is_short_and_holds_no_secret(name):
    with pytest.raises(ValidationFailed) as refused:
        register(name=name)
    assert refused.value.field == "name"
    assert not OAuthClient.objects.exists()


def test_an_address_holds_no_secret():
    with pytest.raises(ValidationFailed, match="secret_content_rejected"):
        register(redirect_uris=["https://agent.example/?key=ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"])


@pytest.mark.parametrize(
    ("asked", "kept", "is_it"),
    [
        ("http://127.0.0.1:1/back", "http://127.0.0.1:2/back", True),
        ("http://127.0.0.1:1/back", "http://127.0.0.1/back", True),
        ("http://localhost:1", "http://localhost/", True),
        ("http://[::1]:1/back", "http://[::1]/back", True),
        ("http://localhost:1/back", "http://127.0.0.1:1/back", False),
        ("http://127.0.0.1:1/back/on", "http://127.0.0.1:1/back", False),
        ("http://127.0.0.1:1/back?to=1", "http://127.0.0.1:1/back", False),
        ("https://agent.example:1/back", "https://agent.example:2/back", False),
        ("https://agent.example/back", "https://agent.example/back", True),
        ("https://agent.example/Back", "https://agent.example/back", False),
        ("https://agent.example/back", "http://agent.example/back", False),
        ("https://agent.example.org/back", "https://agent.example/back", False),
        ("https://known.example@agent.example/back", "https://agent.example/back", False),
        ("http://known.example@127.0.0.1:1/back", "http://127.0.0.1:1/back", False),
        ("https://@agent.example/back", "https://agent.example/back", False),
        ("https://Agent.example/back", "https://agent.example/back", True),
        ("https://agent.example:port/back", "https://agent.example/back", False),
        ("cursor://back/here", "cursor://back/here", True),
        ("cursor://back/there", "cursor://back/here", False),
        ("cursor://elsewhere/here", "cursor://back/here", False),
        ("com.example.other:/back", "com.example.agent:/back", False),
    ],
)
def test_an_address_is_the_one_that_was_registered_save_for_the_port_on_loopback(asked, kept, is_it):
    assert oauth_clients.is_registered(asked, OAuthClient(redirect_uris=[kept])) is is_it


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://known.example@agent.example:8443/back", "agent.example:8443"),
        ("https://known.example:x@agent.example/back", "agent.example"),
        ("http://[::1]:8080/back", "[::1]:8080"),
        ("cursor://known.example/back", "cursor:"),
    ],
)
def test_a_user_name_that_looks_like_a_host_is_not_shown_as_one(address, host):
    assert oauth_clients.host_of(address) == host


def test_one_place_registers_twenty_times_an_hour():
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for number in range(20):
            register(address=f"2001:db8:1:2::{number}")
        with pytest.raises(TooManyRegistrations):
            register(address="2001:db8:1:2:ffff::1")
        register(address="2001:db8:1:3::1")
        register(address="::ffff:192.0.2.1")
        clock.shift(timedelta(hours=1, seconds=1))
        register(address="2001:db8:1:2::1")


def test_the_network_address_itself_is_kept_nowhere():
    register(address="192.0.2.77")
    assert "192.0.2.77" not in str(list(OAuthClient.objects.values())) + str(list(AuditEntry.objects.values()))


def test_the_oldest_that_nobody_allowed_anything_make_room(monkeypatch, actor, scope):
    monkeypatch.setattr(oauth_clients, "MOST_NEVER_ALLOWED", 3)
    allowed = register()
    let_in(actor, scope, allowed)
    clients = [register() for _ in range(3)]
    OAuthClient.objects.update(created_at=F("created_at") - timedelta(minutes=31))
    assert set(OAuthClient.objects.all()) == {allowed, *clients}
    latest = register()
    assert set(OAuthClient.objects.all()) == {allowed, *clients[1:], latest}


def test_none_makes_room_while_a_person_may_be_answering_it(monkeypatch):
    monkeypatch.setattr(oauth_clients, "MOST_NEVER_ALLOWED", 3)
    clients = {register() for _ in range(3)}
    with pytest.raises(TooManyRegistrations, match="Try later"):
        register()
    assert set(OAuthClient.objects.all()) == clients


def test_what_nobody_allowed_anything_for_a_day_is_forgotten(actor, scope):
    let_in(actor, scope, allowed := register())
    register()
    OAuthClient.objects.update(created_at=timezone.now() - timedelta(days=1, seconds=1))
    latest = register()
    assert set(OAuthClient.objects.all()) == {allowed, latest}
    assert AuditEntry.objects.filter(action="register_client").latest("pk").detail == {"pruned": 1}


# The question --------------------------------------------------------------------------------


def test_a_question_that_was_changed_or_grew_old_is_none():
    packed = question(register())
    for wrong in ("", "x", packed[:-1], packed.replace(":", "x"), "é\x00"):
        with pytest.raises(ValidationFailed, match="not of this server"):
            oauth_asking.unpack(wrong)
    with time_machine.travel(timezone.now() + timedelta(minutes=31)), pytest.raises(ValidationFailed, match="older"):
        oauth_asking.unpack(packed)


def test_a_question_of_a_client_that_was_forgotten_is_none():
    packed = question(client := register())
    client.delete()
    with pytest.raises(NotFound, match="not known here any more"):
        oauth_asking.unpack(packed)


def test_a_question_is_allowed_once(actor, scope):
    packed = question(register())
    allow(actor, packed, scope)
    with pytest.raises(Conflict, match="answered already"):
        allow(actor, packed, scope)
    assert OAuthCode.objects.count() == 1


def test_a_question_that_was_refused_is_answered(actor, scope):
    packed = question(register())
    oauth_asking.refuse(actor=actor, packed=packed)
    oauth_asking.refuse(actor=actor, packed=packed)
    with pytest.raises(Conflict, match="answered already"):
        allow(actor, packed, scope)
    assert not Token.objects.exists()


def test_what_was_allowed_cannot_be_refused_any_more(actor, scope):
    packed = question(register())
    allow(actor, packed, scope)
    with pytest.raises(Conflict, match="allowed already"):
        oauth_asking.refuse(actor=actor, packed=packed)


def test_the_way_back_to_a_program_is_its_own_scheme(actor):
    client = register(redirect_uris=["com.example.agent:/back"])
    back = oauth_asking.refuse(actor=actor, packed=question(client, redirect_uri="com.example.agent:/back"))
    assert back.startswith("com.example.agent:/back?error=access_denied")


def test_nobody_allows_what_is_not_theirs(actor):
    foreign = make_scope()
    with pytest.raises(NotFound):
        allow(actor, question(register()), foreign)
    assert not OAuthCode.objects.exists()


def test_an_agent_lets_no_other_agent_in(owner, scope):
    agent = actor_for_token(make_token(owner, [scope], can_adjudicate=True)[0])
    with pytest.raises(Forbidden):
        allow(agent, question(register()), scope)


@pytest.mark.parametrize(
    ("rights", "scopes", "field"),
    [({"can_write": False, "can_adjudicate": True}, 1, "can_adjudicate"), ({}, 0, "scopes")],
)
def test_an_answer_that_gives_no_token_gives_no_code(actor, scope, rights, scopes, field):
    with pytest.raises(ValidationFailed) as refused:
        allow(actor, question(register()), *[scope][:scopes], **rights)
    assert refused.value.field == field


def test_what_stood_in_the_address_stands_there_still(actor, scope):
    client = register(redirect_uris=[f"{BACK}?a=1&empty="])
    packed = question(client, redirect_uri=f"{BACK}?a=1&empty=", state='"<é&=')
    address = oauth_asking.allow(actor=actor, packed=packed, scopes=[scope], can_write=False, can_adjudicate=False)
    told = parse_qs(urlsplit(address).query, keep_blank_values=True)
    assert told.pop("code")
    assert told == {"a": ["1"], "empty": [""], "state": ['"<é&='], "iss": ["http://127.0.0.1:8000"]}


def test_a_client_without_a_name_is_called_by_where_it_sends_people(actor, scope):
    let_in(actor, scope, register(name=" "))
    assert Token.objects.get().name == "127.0.0.1:49152"


# Codes and renewals --------------------------------------------------------------------------


def test_a_code_is_known_by_its_digest_and_good_for_five_minutes(actor, scope):
    client = register()
    (secret,) = allow(actor, question(client), scope)["code"]
    code = OAuthCode.objects.get()
    assert code.secret_sha256 == hashlib.sha256(secret.encode()).hexdigest()
    with time_machine.travel(timezone.now() + timedelta(minutes=5, seconds=1)):
        assert oauth_grants.redeem(oauth_grants.code_with(client.pk, secret)) is None
    assert not Token.objects.exists()


def test_of_two_that_come_with_one_code_at_once_neither_stays(actor, scope):
    client = register()
    (secret,) = allow(actor, question(client), scope)["code"]
    both = [oauth_grants.code_with(client.pk, secret) for _ in range(2)]
    issued = oauth_grants.redeem(both[0])
    assert oauth_grants.redeem(both[1]) is None
    assert authenticate(issued.access) is None


def test_of_two_that_come_with_one_refresh_token_at_once_neither_stays(actor, scope):
    client, issued = let_in(actor, scope)
    both = [oauth_grants.grant_with(client.pk, issued.refresh) for _ in range(2)]
    first, second = (oauth_grants.renew(each, issued.refresh, can_write=True, can_adjudicate=False) for each in both)
    assert second is None
    assert authenticate(first.access) is None
    assert renew(client, first.refresh) is None


def test_a_scope_that_was_lost_meanwhile_is_not_reached(scope):
    member = make_user()
    membership = scope.memberships.create(user=member, role="writer")
    client = register()
    (secret,) = allow(actor_for_user(member), question(client), scope)["code"]
    membership.delete()
    assert oauth_grants.redeem(oauth_grants.code_with(client.pk, secret)) is None
    assert not Token.objects.exists()


def test_somebody_who_was_switched_off_lets_nobody_in_and_keeps_nobody(actor, scope, owner):
    client, issued = let_in(actor, scope)
    (late,) = allow(actor, question(client), scope)["code"]
    owner.is_active = False
    owner.save()
    assert oauth_grants.redeem(oauth_grants.code_with(client.pk, late)) is None
    assert renew(client, issued.refresh) is None


def test_a_renewed_token_is_the_same_row_with_another_secret(actor, scope):
    client, issued = let_in(actor, scope)
    before = Token.objects.get()
    renewed = renew(client, issued.refresh)
    after = Token.objects.get()
    assert (after.pk, after.created_at, after.hint) == (before.pk, before.created_at, renewed.access[:8])
    assert authenticate(issued.access) is None
    assert authenticate(renewed.access)[0].pk == before.pk
    assert OAuthGrant.objects.get().renewed_at


def test_between_two_renewals_a_client_is_still_connected(actor, scope):
    client, issued = let_in(actor, scope)
    with time_machine.travel(timezone.now() + timedelta(days=29)):
        assert authenticate(issued.access) is None
        assert Token.objects.get().is_in_force
        assert Token.objects.in_force(timezone.now()).exists()
        assert renew(client, issued.refresh)
    with time_machine.travel(timezone.now() + timedelta(days=60)):
        assert not Token.objects.get().is_in_force
        assert not Token.objects.in_force(timezone.now()).exists()


def test_whoever_does_not_come_back_for_thirty_days_is_forgotten(actor, scope):
    client, issued = let_in(actor, scope)
    with time_machine.travel(timezone.now() + timedelta(days=30, seconds=1)):
        assert renew(client, issued.refresh) is None


def test_a_token_of_the_tokens_page_is_no_clients_to_renew_or_give_back(owner, scope):
    _, secret = make_token(owner, [scope])
    assert oauth_grants.grant_of_access(secret) is None


def test_a_grant_ends_once_and_says_why(actor, scope):
    let_in(actor, scope)
    grant = OAuthGrant.objects.get()
    for _ in range(2):
        oauth_grants.end(grant, reason="The client gave it back.")
    entry = AuditEntry.objects.get(action="revoke_token")
    assert (entry.actor, entry.user, entry.reason) == ("Scribe (client of owner)", None, "The client gave it back.")


def test_codes_that_nobody_fetched_are_swept_up(actor, scope):
    client, _ = let_in(actor, scope)
    allow(actor, question(client), scope)
    with time_machine.travel(timezone.now() + timedelta(days=2)):
        allow(actor, question(client), scope)
    assert OAuthCode.objects.filter(token=None).count() == 1
    assert OAuthCode.objects.exclude(token=None).count() == 1


def test_the_trail_names_the_person_and_the_client(actor, scope):
    client, issued = let_in(actor, scope)
    renew(client, issued.refresh)
    oauth_asking.refuse(actor=actor, packed=question(client))
    assert dict(AuditEntry.objects.values_list("action", "actor")) == {
        "register_client": "open registration",
        "allow_client": "owner",
        "create_token": "owner",
        "renew_token": "Scribe (client of owner)",
        "refuse_client": "owner",
    }


def test_what_a_grant_keeps_goes_with_its_token(actor, scope):
    let_in(actor, scope)
    Token.objects.all().delete()
    assert not OAuthGrant.objects.exists()
    assert not OAuthCode.objects.exists()
