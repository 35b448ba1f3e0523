"""Registrations and answers at the same moment, each with a real connection and a real transaction."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections, transaction

from memories.access import actor_for_user
from memories.errors import NotFound
from memories.models import OAuthClient, OAuthCode
from memories.services import oauth_asking, oauth_clients
from memories.services.oauth_clients import TooManyRegistrations
from tests.memories.test_oauth import question, register
from tests.memories.test_writing_at_once import at_once

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_registers_at_once_with_another_is_counted_behind_it(monkeypatch):
    monkeypatch.setattr(oauth_clients, "MOST_IN_AN_HOUR", 1)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first = register()
            second = pool.submit(at_once, register)
            with pytest.raises(TimeoutError):
                second.result(timeout=1)
        (refused,) = second.result(timeout=30)
    assert isinstance(refused, TooManyRegistrations)
    assert list(OAuthClient.objects.all()) == [first]


def test_a_client_that_is_forgotten_while_a_person_answers_is_not_found(owner, scope):
    packed, has_read = question(client := register()), threading.Event()

    def allow():
        actor = actor_for_user(owner)
        has_read.set()
        try:
            return oauth_asking.allow(actor=actor, packed=packed, scopes=[scope], can_write=True, can_adjudicate=False)
        except NotFound as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            client.delete()
            answer = pool.submit(allow)
            assert has_read.wait(30)
            with pytest.raises(TimeoutError):
                answer.result(timeout=0.5)
        assert isinstance(answer.result(timeout=30), NotFound)
    assert not OAuthCode.objects.exists()


def test_a_client_that_is_being_let_in_is_not_forgotten(monkeypatch, owner, scope):
    monkeypatch.setattr(oauth_clients, "NEVER_ALLOWED_FOR", timedelta(0))
    client = register()
    packed = question(client)
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        oauth_asking.allow(
            actor=actor_for_user(owner), packed=packed, scopes=[scope], can_write=True, can_adjudicate=False
        )
        (latest,) = pool.submit(at_once, register).result(timeout=20)
    assert set(OAuthClient.objects.all()) == {client, latest}
