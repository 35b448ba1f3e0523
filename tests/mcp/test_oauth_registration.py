"""Registration over HTTP: open to whoever reaches the door, and bounded."""

from __future__ import annotations

import httpx
import pytest

from memories.models import OAuthClient
from memories.services import oauth_clients
from tests.mcp.connecting import BACK, ByHand, Person, register


@pytest.fixture
def root(door):
    return door.removesuffix("/mcp")


def test_the_answer_says_what_is_kept_and_gives_no_secret(root):
    answer = register(
        root,
        token_endpoint_auth_method="client_secret_post",
        grant_types=["authorization_code"],
        scope="everything of-everybody",
        logo_uri="https://agent.example/logo.png",
        contacts=["somebody@agent.example"],
    )
    told = answer.json()
    assert answer.status_code == 201
    assert OAuthClient.objects.get(pk=told.pop("client_id")).name == "Scribe"
    assert told.pop("client_id_issued_at") > 0
    assert told == {
        "client_name": "Scribe",
        "redirect_uris": [BACK],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
        "scope": "read write adjudicate",
    }


WRONG = [
    ({"redirect_uris": ["javascript:alert(1)"]}, "invalid_redirect_uri"),
    ({"redirect_uris": ["http://agent.example/"]}, "invalid_redirect_uri"),
    ({"redirect_uris": []}, "invalid_client_metadata"),
    ({"redirect_uris": None}, "invalid_redirect_uri"),
    ({"client_name": "x" * 81}, "invalid_client_metadata"),
    ({"client_name": "a\x00b"}, "invalid_client_metadata"),
    ({"client_name": 7}, "invalid_client_metadata"),
    ({"grant_types": ["password"]}, "invalid_client_metadata"),
    ({"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
]


def test_what_cannot_be_is_refused_by_its_name(root):
    for wrong, error in WRONG:
        answer = register(root, **wrong)
        assert (answer.status_code, answer.json()["error"]) == (400, error), wrong
        assert answer.json()["error_description"], wrong
    assert not OAuthClient.objects.exists()


def test_a_body_that_is_no_registration_is_refused_without_an_accident(root):
    for body in (b"", b"{", b"[]", b"null", b'{"client_name": "\\ud800"}', b"\xff" * 20):
        answer = httpx.post(f"{root}/register", content=body, trust_env=False)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata"), body


def test_a_registration_that_is_too_large_is_refused_unread(root):
    assert register(root, software_id="x" * 70_000).status_code == 413


def test_who_registers_too_often_is_told_to_wait(root, monkeypatch):
    monkeypatch.setattr(oauth_clients, "MOST_IN_AN_HOUR", 1)
    assert register(root).status_code == 201
    answer = register(root)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "3600")
    assert "Try later" in answer.json()["error_description"]
    assert OAuthClient.objects.count() == 1


def test_a_right_that_means_nothing_here_is_passed_over(root, owner, scope):
    client = ByHand.registered(root, scope="profile")
    assert "code" in Person(root, owner, scope).decide(client.question(scope="openid profile write"))


def test_nobody_is_sent_to_an_address_that_was_not_registered(root):
    client = ByHand.registered(root)
    disguised = BACK.replace("http://", "http://known.example@")
    for address in (disguised, "http://127.0.0.1:5/else", "https://elsewhere.example/back", "javascript:x", "x"):
        answer = httpx.get(client.question(redirect_uri=address), trust_env=False)
        assert (answer.status_code, "location" in answer.headers) == (400, False), address


def test_a_client_on_this_computer_comes_back_at_the_port_it_has_today(root, owner, scope):
    client = ByHand.registered(root)
    today = BACK.replace("49152", "50000")
    said = Person(root, owner, scope).decide(client.question(redirect_uri=today))
    assert said["address"].startswith(f"{today}?")
    assert client.fetch(said["code"], redirect_uri=today).status_code == 200


def test_a_client_that_names_no_address_comes_back_to_its_only_one(root, owner, scope):
    client = ByHand.registered(root)
    said = Person(root, owner, scope).decide(client.question(redirect_uri=None))
    assert said["address"].startswith(f"{BACK}?")


def test_a_client_that_never_registered_gets_nowhere(root):
    for unknown in ("x", "", "00000000-0000-0000-0000-000000000000", "\x00"):
        client = ByHand(root, unknown)
        answer = httpx.get(client.question(), trust_env=False)
        assert (answer.status_code, "location" in answer.headers) == (400, False), unknown
        assert client.renew("x").status_code == 401, unknown
        assert client.give_back("x").status_code == 401, unknown
