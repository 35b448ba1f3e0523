"""What an import retires is in the audit trail like whatever else retires a memory."""

import pytest

from memories.models import AuditEntry, Memory
from tests.factories import make_memory
from tests.memories.carrying import load

pytestmark = pytest.mark.django_db


def retirements():
    found = AuditEntry.objects.filter(action="supersede").order_by("pk")
    return [(entry.object_id, entry.detail["by"], entry.actor, entry.scope.slug, entry.reason) for entry in found]


def test_a_stored_memory_that_an_import_supersedes_has_an_entry_that_names_its_successor(scope):
    stored = make_memory("old", scope=scope, external_id="v1")
    load({"content": "new", "external_id": "v2", "links": [{"type": "supersedes", "target": "v1"}]}, scope=scope)
    new = Memory.objects.get(external_id="v2")
    assert retirements() == [(str(stored.pk), str(new.pk), "owner", "home", "Imported")]


def test_a_memory_that_was_retired_before_it_was_imported_has_none_of_its_own(scope):
    load(
        {
            "content": "old",
            "external_id": "v1",
            "superseded_by": "v2",
            "invalidated_at": "2024-01-01T00:00:00Z",
            "invalidated_actor": "somebody",
        },
        {"content": "new", "external_id": "v2"},
        scope=scope,
    )
    assert retirements() == []


def test_a_trial_run_leaves_no_entry(scope):
    make_memory("old", scope=scope, external_id="v1")
    line = {"content": "new", "external_id": "v2", "links": [{"type": "supersedes", "target": "v1"}]}
    load(line, scope=scope, dry_run=True)
    assert not AuditEntry.objects.exists()
