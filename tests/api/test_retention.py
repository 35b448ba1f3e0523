"""REST over decaying scopes."""

from __future__ import annotations

from typing import Any

import pytest

from memories.models import RetentionCycle, RetentionPolicy, Scope
from reflections.consolidation import work_on
from tests.factories import make_member, make_memory, make_scope, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def decaying(scope: Scope) -> Scope:
    scope.retention = Scope.Retention.DECAYING
    scope.save()
    RetentionPolicy.objects.create(scope=scope, threshold=2, half_life_hours=240)
    make_memory("Asked for.", scope=scope, access_count=3)
    make_memory("Not asked for.", scope=scope, age_days=90)
    return scope


def test_a_cycle_is_started_and_its_outcome_read(api: Any, decaying: Scope) -> None:
    before = api.get(f"/scopes/{decaying.slug}/retention").json()

    started = api.post(f"/scopes/{decaying.slug}/consolidate")
    work_on(decaying.pk, "agent", decaying.owner_id, "claude")

    after = api.get(f"/scopes/{decaying.slug}/retention").json()
    assert (started.status_code, started.json()["started"]) == (202, True)
    assert (before["last_cycle"], before["would_leave"], before["all"]) == (None, 1, 2)
    assert [(one["headline"], one["weight"]) for one in before["leaving"]] == [("Not asked for.", 1.0)]
    assert (before["policy"]["half_life_hours"], before["policy"]["floor"]) == (240, 0.01)
    assert (after["all"], after["archived"], after["would_leave"], after["running"]) == (1, 1, 0, False)
    assert (after["last_cycle"]["actor"], after["last_cycle"]["archived"]) == ("claude", 1)


def test_a_scope_that_ages_lets_nothing_go(api: Any, scope: Scope) -> None:
    make_memory(scope=scope, age_days=3000)

    told = api.get(f"/scopes/{scope.slug}/retention").json()
    refused = api.post(f"/scopes/{scope.slug}/consolidate")

    assert (told["retention"], told["would_leave"], told["leaving"]) == ("ageing", 0, [])
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "does not decay" in refused.json()["message"]


def test_too_few_are_told_and_start_nothing(api: Any, scope: Scope) -> None:
    Scope.objects.filter(pk=scope.pk).update(retention="decaying")

    answer = api.post(f"/scopes/{scope.slug}/consolidate").json()

    assert answer["started"] is False
    assert answer["message"] == "Nothing was done: the scope holds 0; a cycle runs from 20 on."
    assert not RetentionCycle.objects.exists()


def test_a_reader_reads_and_starts_nothing(api_of: Any, decaying: Scope) -> None:
    reader = api_of(make_member(decaying), decaying)

    assert reader.get(f"/scopes/{decaying.slug}/retention").status_code == 200
    assert reader.post(f"/scopes/{decaying.slug}/consolidate").status_code == 403


def test_a_foreign_scope_is_not_there(api_of: Any, decaying: Scope) -> None:
    stranger = make_user()
    elsewhere = api_of(stranger, make_scope(stranger))

    assert elsewhere.get(f"/scopes/{decaying.slug}/retention").status_code == 404
    assert elsewhere.post(f"/scopes/{decaying.slug}/consolidate").status_code == 404


def test_of_two_scopes_of_one_name_the_owner_tells_which(api_of: Any, decaying: Scope) -> None:
    other = make_scope(slug=decaying.slug)
    both = api_of(make_member(other, "writer", user=decaying.owner), decaying, other)

    assert both.get(f"/scopes/{decaying.slug}/retention").status_code == 409
    told = both.get(f"/scopes/{decaying.slug}/retention?owner={decaying.owner.username}")
    assert told.json()["all"] == 2
