"""Tokens as a service: made, recognised, revoked."""

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from memories import services
from memories.access import actor_for_token, actor_for_user
from memories.errors import Forbidden, NotFound, ValidationFailed
from memories.models import AuditEntry, Role, Token
from memories.services.tokens import authenticate, create_token, revoke
from tests.factories import make_member, make_scope, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


def make(actor, *scopes, **overrides):
    return create_token(actor=actor, scopes=scopes, **({"name": "builder"} | overrides))


def test_the_secret_is_nowhere_in_the_database(actor, scope):
    token, secret = make(actor, scope)
    assert secret.startswith("zm_")
    assert len(secret) >= 43
    assert token.secret_sha256 == hashlib.sha256(secret.encode()).hexdigest()
    assert secret.startswith(token.hint)
    assert len(token.hint) < 10
    assert secret not in str(list(Token.objects.values())) + str(list(AuditEntry.objects.values()))


def test_two_tokens_never_share_a_secret(actor, scope):
    assert make(actor, scope)[1] != make(actor, scope)[1]


def test_a_token_is_recognised_by_its_secret_alone(actor, scope):
    token, secret = make(actor, scope)
    assert authenticate(secret)[0] == token
    for wrong in (secret[:-1], secret + "x", secret.upper(), token.hint, token.secret_sha256, "", "\x00", "\ud800"):
        assert authenticate(wrong) is None


def test_a_token_reaches_its_scopes_and_no_others_of_its_person(actor, owner, scope):
    make_scope(owner)
    token, _ = make(actor, scope)
    rights = actor_for_token(token)
    assert rights.readable == rights.writable == {scope.pk}
    assert rights.administered == frozenset()
    assert not rights.is_person


def test_a_token_that_only_reads_writes_nothing(actor, scope):
    token, _ = make(actor, scope, can_write=False)
    with pytest.raises(Forbidden):
        services.remember(actor=actor_for_token(token), scope=scope, content="x")


def test_a_token_has_no_more_rights_than_its_person(scope):
    reader = make_member(scope, Role.READER)
    token, _ = make(actor_for_user(reader), scope)
    assert actor_for_token(token).writable == frozenset()
    scope.memberships.update(role=Role.WRITER)
    assert actor_for_token(token).writable == {scope.pk}


def test_a_scope_that_is_not_mine_is_not_there(actor):
    with pytest.raises(NotFound):
        make(actor, make_scope())
    assert not Token.objects.exists()


@pytest.mark.parametrize(
    ("overrides", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"scopes": []}, "scopes"),
        ({"expires_at": timezone.now() - timedelta(days=1)}, "expires_at"),
    ],
)
def test_nonsense_is_refused_with_the_field_to_blame(actor, scope, overrides, field):
    with pytest.raises(ValidationFailed) as refused:
        create_token(actor=actor, **({"name": "x", "scopes": [scope]} | overrides))
    assert refused.value.field == field
    assert not Token.objects.exists()


def test_an_expired_token_is_not_recognised(actor, scope):
    token, secret = make(actor, scope, expires_at=timezone.now() + timedelta(hours=1))
    assert authenticate(secret)[0] == token
    now = timezone.now()
    Token.objects.update(created_at=now - timedelta(days=2), expires_at=now - timedelta(seconds=1))
    assert authenticate(secret) is None


def test_a_token_of_somebody_who_was_switched_off_is_not_recognised(actor, owner, scope):
    _, secret = make(actor, scope)
    owner.is_active = False
    owner.save()
    assert authenticate(secret) is None


def test_a_revoked_token_is_never_recognised_again(actor, scope):
    token, secret = make(actor, scope)
    revoke(actor=actor, token=token)
    assert authenticate(secret) is None


def test_revoking_twice_keeps_the_first_time_and_one_trace(actor, scope):
    token, _ = make(actor, scope)
    revoke(actor=actor, token=token)
    first = Token.objects.get().revoked_at
    revoke(actor=actor, token=token)
    assert Token.objects.get().revoked_at == first
    assert AuditEntry.objects.filter(action="revoke_token").count() == 1


def test_nobody_revokes_a_token_of_somebody_else(actor, scope):
    token, secret = make(actor, scope)
    admin = actor_for_user(make_member(scope, Role.ADMIN, make_user(is_staff=True, is_superuser=True)))
    with pytest.raises(NotFound):
        revoke(actor=admin, token=token)
    assert authenticate(secret)[0] == token


def test_use_is_noted_at_most_once_a_minute(actor, scope):
    _, secret = make(actor, scope)
    assert Token.objects.get().last_used_at is None
    authenticate(secret)
    first = Token.objects.get().last_used_at
    assert first
    authenticate(secret)
    assert Token.objects.get().last_used_at == first
    Token.objects.update(last_used_at=first - timedelta(minutes=1))
    authenticate(secret)
    assert Token.objects.get().last_used_at > first


def test_the_first_write_is_noted_once(actor, scope):
    token, _ = make(actor, scope)
    services.remember(actor=actor_for_token(token), scope=scope, content="first")
    first = Token.objects.get().first_write_at
    assert first
    services.remember(actor=actor_for_token(Token.objects.get()), scope=scope, content="second")
    assert Token.objects.get().first_write_at == first
