"""Let in by OAuth: the official client from its first refusal to its last, with a person's answer in between."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.apps import apps
from django.utils import timezone
from mcp.client.auth import OAuthFlowError

from memories.access import actor_for_token, actor_for_user
from memories.errors import Forbidden
from memories.models import AuditEntry, Memory, OAuthClient, OAuthCode, OAuthGrant, Token
from memories.services.tokens import revoke
from reflections.services.decisions import approve
from tests.factories import make_memory, make_scope
from tests.mcp.connecting import BACK, ByHand, Connecting, Person
from tests.mcp.test_door import post
from tests.reflections.factories import make_candidate


@pytest.fixture
def root(door):
    return door.removesuffix("/mcp")


@pytest.fixture
def person(root, owner, scope):
    return Person(root, owner, scope, can_write="on")


def let_in(root, person):
    """A client that was let in, and what it was given."""
    client = ByHand.registered(root)
    return client, client.fetch(person.decide(client.question())["code"]).json()


# The official client -------------------------------------------------------------------------


@pytest.mark.behaviour("F43")
def test_a_client_without_a_token_finds_its_way_in_and_stays_until_it_is_revoked(door, person, owner):
    client = Connecting(door, person)

    async def talk(connected):
        await connected.call_tool("remember", {"content": "The ferry leaves at eight."})
        first = client.kept.tokens
        client.believe_an_hour_went_by()
        await connected.call_tool("describe_scope", {})
        return first

    first, second = client.talk(talk), client.kept.tokens
    assert Memory.objects.get().agent == "Scribe"
    assert first.access_token != second.access_token
    assert first.refresh_token != second.refresh_token
    assert len(client.opened) == 1  # nobody was asked again
    token = Token.objects.get()
    assert (token.name, token.user, token.can_write, token.can_adjudicate) == ("Scribe", owner, True, False)
    assert timedelta(minutes=59) < token.expires_at - timezone.now() <= timedelta(hours=1)

    revoke(actor=actor_for_user(owner), token=token)
    assert post(door, second.access_token).status_code == 401
    refused = ByHand(person.root, client.kept.client.client_id).renew(second.refresh_token)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")


def test_what_a_person_refuses_the_client_is_told(door, root, owner, scope):
    client = Connecting(door, Person(root, owner, scope, answer="refuse"))
    with pytest.RaisesGroup(OAuthFlowError, allow_unwrapped=True, flatten_subgroups=True):
        client.told("describe_scope")
    assert client.returned["error"] == "access_denied"
    assert client.returned["state"] == parse_qs(urlsplit(client.opened[0]).query)["state"][0]
    assert not Token.objects.exists()
    assert OAuthCode.objects.get().used_at
    entry = AuditEntry.objects.get(action="refuse_client")
    assert (entry.user, entry.object_id) == (owner, str(OAuthClient.objects.get().pk))


def test_a_client_reaches_the_scopes_that_were_ticked_and_no_others_of_the_person(door, person, owner, scope):
    make_memory("The harbour gate.", scope=scope)
    make_memory("The harbour wall.", scope=make_scope(owner, slug="other"))
    found = Connecting(door, person).told("recall", query="harbour")
    assert [row["content"] for row in found["results"]] == ["The harbour gate."]


@pytest.mark.behaviour("F36")
def test_a_client_that_was_let_in_approves_nothing(root, owner, scope):
    judge = Person(root, owner, scope, can_write="on", can_adjudicate="on")
    let_in(root, judge)
    agent = actor_for_token(Token.objects.get())
    assert agent.may_adjudicate
    assert not agent.is_person
    draft = make_candidate(scope)
    with pytest.raises(Forbidden):
        approve(actor=agent, candidate=draft, version=draft.version)


@pytest.mark.parametrize(
    ("ticked", "scope_said"),
    [
        ({}, "read"),
        ({"can_write": "on"}, "read write"),
        ({"can_write": "on", "can_adjudicate": "on"}, "read write adjudicate"),
    ],
)
def test_the_client_is_told_what_it_may_do_and_it_may_do_no_more(root, owner, scope, ticked, scope_said):
    _, given = let_in(root, Person(root, owner, scope, **ticked))
    assert given["scope"] == scope_said
    token = Token.objects.get()
    assert (token.can_write, token.can_adjudicate) == ("can_write" in ticked, "can_adjudicate" in ticked)


def test_a_client_with_a_pasted_token_is_never_asked(door, agent):
    assert agent.told("describe_scope")
    assert not OAuthClient.objects.exists()


# What it finds -------------------------------------------------------------------------------


def test_a_refusal_says_where_to_begin(door, root):
    where = post(door).headers["www-authenticate"]
    assert where == f'Bearer resource_metadata="{root}/.well-known/oauth-protected-resource/mcp"'
    about = httpx.get(where.split('"')[1], trust_env=False).json()
    assert about["resource"] == door
    assert about["authorization_servers"] == [root]
    server = httpx.get(f"{root}/.well-known/oauth-authorization-server", trust_env=False).json()
    assert server["issuer"] == root
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["authorization_response_iss_parameter_supported"] is True
    assert server["token_endpoint_auth_methods_supported"] == ["none"]
    assert {server[f"{name}_endpoint"] for name in ("authorization", "token", "registration", "revocation")} == {
        f"{root}/{name}" for name in ("authorize", "token", "register", "revoke")
    }


def test_over_plain_http_under_another_name_nobody_is_sent_anywhere(door, root, settings):
    settings.ALLOWED_HOSTS.append("memory.example")
    elsewhere = {"Host": "memory.example"}
    assert post(door, **elsewhere).headers["www-authenticate"] == "Bearer"


def test_behind_a_proxy_the_address_is_the_one_that_people_use(door, settings):
    settings.ALLOWED_HOSTS.append("memory.example")
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    where = post(door, **{"Host": "memory.example", "X-Forwarded-Proto": "https"}).headers["www-authenticate"]
    assert '"https://memory.example/.well-known/' in where


def test_a_page_of_another_site_and_another_name_are_kept_out_as_at_the_door(root):
    for path in ("authorize", "token", "register", "revoke", ".well-known/oauth-authorization-server"):
        for headers, status in (({"Origin": "https://elsewhere.example"}, 403), ({"Host": "elsewhere.example"}, 421)):
            assert httpx.post(f"{root}/{path}", headers=headers, trust_env=False).status_code == status, path


def test_a_name_of_another_host_is_never_repeated(door):
    answer = post(door, Host="elsewhere.example")
    assert answer.headers["www-authenticate"] == "Bearer"


# Codes ---------------------------------------------------------------------------------------


def test_without_a_proof_key_of_sha_256_nobody_is_asked(root):
    client = ByHand.registered(root)
    for wrong in (
        {"code_challenge": None},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": None},
        {"code_challenge": "no-digest"},
    ):
        answer = httpx.get(client.question(**wrong), trust_env=False)
        back = httpx.URL(answer.headers["location"])
        assert (answer.status_code, str(back.copy_with(query=None))) == (302, BACK), wrong
        assert dict(back.params) | {"error_description": ""} == {
            "error": "invalid_request", "error_description": "", "state": "s&=é", "iss": root,
        }  # fmt: skip


def test_a_code_is_worth_nothing_without_its_verifier(root, person):
    client = ByHand.registered(root)
    code = person.decide(client.question())["code"]
    for wrong in ({"code_verifier": "x" * 43}, {"redirect_uri": f"{BACK}/else"}, {"code": "x" * 43}):
        answer = client.fetch(**{"code": code} | wrong)
        assert answer.status_code == 400, wrong
    assert not Token.objects.exists()
    assert client.fetch(code).status_code == 200


def test_a_code_is_worth_nothing_to_another_client(root, person):
    client, other = ByHand.registered(root), ByHand.registered(root)
    code = person.decide(client.question())["code"]
    other.verifier = client.verifier
    assert other.fetch(code).json()["error"] == "invalid_grant"
    assert client.fetch(code).status_code == 200


def test_a_code_that_comes_twice_ends_what_came_of_it(door, root, person):
    client = ByHand.registered(root)
    code = person.decide(client.question())["code"]
    given = client.fetch(code).json()
    assert post(door, given["access_token"]).status_code == 200
    assert client.fetch(code).json()["error"] == "invalid_grant"
    assert post(door, given["access_token"]).status_code == 401
    assert client.renew(given["refresh_token"]).status_code == 400
    assert "second time" in AuditEntry.objects.get(action="revoke_token").reason


# Renewals ------------------------------------------------------------------------------------


def test_a_renewal_ends_both_secrets_before_it(door, root, person):
    client, given = let_in(root, person)
    renewed = client.renew(given["refresh_token"]).json()
    assert post(door, given["access_token"]).status_code == 401
    assert post(door, renewed["access_token"]).status_code == 200
    assert Token.objects.count() == 1


def test_a_refresh_token_that_comes_twice_ends_the_whole_grant(door, root, person):
    client, given = let_in(root, person)
    renewed = client.renew(given["refresh_token"]).json()
    assert client.renew(given["refresh_token"]).json()["error"] == "invalid_grant"
    assert post(door, renewed["access_token"]).status_code == 401
    assert client.renew(renewed["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_refresh_token_that_was_never_given_ends_nothing(door, root, person):
    client, given = let_in(root, person)
    for mangled in ("x", ".", "", "zm_x.y", "\x00", "é"):
        assert client.renew(mangled).status_code == 400, mangled
    other = ByHand.registered(root)
    assert other.renew(given["refresh_token"]).json()["error"] == "invalid_grant"
    assert post(door, given["access_token"]).status_code == 200


def test_a_renewal_may_ask_for_less_and_never_for_more(root, person):
    client, given = let_in(root, person)
    less = client.renew(given["refresh_token"], scope="read").json()
    assert less["scope"] == "read"
    assert not Token.objects.get().can_write
    assert client.renew(less["refresh_token"], scope="read adjudicate").json()["error"] == "invalid_scope"
    assert client.renew(less["refresh_token"]).json()["scope"] == "read write"


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
def test_a_client_gives_back_either_secret_and_is_out(door, root, person, which):
    client, given = let_in(root, person)
    assert client.give_back(given[which]).status_code == 200
    assert post(door, given["access_token"]).status_code == 401
    assert client.renew(given["refresh_token"]).status_code == 400
    assert Token.objects.get().revoked_at


def test_a_client_gives_back_nothing_of_anybody_else(door, root, person, agent):
    _, given = let_in(root, person)
    other = ByHand.registered(root)
    for secret in (given["access_token"], given["refresh_token"], agent.secret, "nonsense"):
        assert other.give_back(secret).status_code == 200
    assert not Token.objects.exclude(revoked_at=None).exists()
    assert post(door, agent.secret).status_code == 200


# What is kept --------------------------------------------------------------------------------


def test_no_secret_is_in_any_table(root, person):
    client = ByHand.registered(root)
    code = person.decide(client.question())["code"]
    given = client.fetch(code).json()
    renewed = client.renew(given["refresh_token"]).json()
    models = [model for model in apps.get_models() if model._meta.managed]
    stored = "".join(str(row) for model in models for row in model._base_manager.values_list())
    secrets = [code, client.verifier, *(part for each in (given, renewed) for part in each["refresh_token"].split("."))]
    for secret in [*secrets, given["access_token"], renewed["access_token"]]:
        assert len(secret) >= 43
        assert secret not in stored


def test_a_token_is_good_at_the_address_it_was_asked_for_and_at_no_other(root, person, door):
    client = ByHand.registered(root)
    tokens = client.fetch(person.decide(client.question(resource=door))["code"]).json()
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert httpx.get(f"{root}/api/v1/memories", headers=bearer, trust_env=False).status_code == 200
    OAuthGrant.objects.update(resource="https://elsewhere.example/mcp")
    assert httpx.get(f"{root}/api/v1/memories", headers=bearer, trust_env=False).status_code == 401
    assert httpx.post(door, headers=bearer, json={}, trust_env=False).status_code == 401


def test_a_resource_of_somebody_else_is_refused(root, person, door):
    client = ByHand.registered(root)
    answer = httpx.get(client.question(resource="https://elsewhere.example/mcp"), trust_env=False)
    assert httpx.URL(answer.headers["location"]).params["error"] == "invalid_target"
    assert "code" in person.decide(client.question(resource=door))
    assert OAuthCode.objects.get().resource == door
