from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from memories.models import Token

pytestmark = pytest.mark.django_db


@pytest.mark.behaviour("F35")
def test_no_token_is_refused_on_localhost_too(nobody):
    for answer in (nobody.get("/memories"), nobody.post("/recall", {"query": "x"}), nobody.get("/config")):
        assert answer.status_code == 401
        assert answer.json()["code"] == "unauthorized"
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("secret", ["", "x", "zm_" + "a" * 43, "\u00e9", "a b", "Bearer x"])
def test_a_wrong_token_is_refused(with_token, secret):
    assert with_token(secret).get("/memories").status_code == 401


def test_a_revoked_token_is_refused(api):
    Token.objects.update(revoked_at=timezone.now())
    assert api.get("/memories").status_code == 401


def test_an_expired_token_is_refused(api_of, owner, scope):
    now = timezone.now()
    api = api_of(owner, scope, expires_at=now + timedelta(days=1))
    assert api.get("/memories").status_code == 200
    Token.objects.update(created_at=now - timedelta(days=2), expires_at=now - timedelta(seconds=1))
    assert api.get("/memories").status_code == 401


def test_a_token_of_somebody_who_left_is_refused(api, owner):
    owner.is_active = False
    owner.save()
    assert api.get("/memories").status_code == 401


def test_a_signed_in_session_is_no_token(owner):
    client = Client()
    client.force_login(owner)
    assert client.get("/api/v1/memories").status_code == 401


def test_an_agent_names_itself_and_the_memory_keeps_it(api):
    answer = api.call("post", "/memories", {"content": "x"}, **{"X-Agent": "builder\u200b\x07 one"})
    assert api.get(f"/memories/{answer.json()['id']}").json()["agent"] == "builder one"
