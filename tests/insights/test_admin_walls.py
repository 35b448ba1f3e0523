import pytest
from django.utils import timezone

from memories.models import AuditEntry
from tests.factories import make_memory, make_scope, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client_of, owner):
    return client_of(owner)


@pytest.mark.behaviour("Z79")
def test_the_audit_in_the_administration_stops_at_the_walls_of_scopes(staff, scope):
    foreign = make_scope(make_user())
    for place, reason in ((foreign, "their secret reason"), (scope, "my own reason"), (None, "an account")):
        AuditEntry.objects.create(
            actor="somebody", action="forget", object_type="memory", object_id="1", scope=place, reason=reason
        )
    page = staff.get("/admin/memories/auditentry/").content.decode()
    assert "their secret reason" not in page
    assert "my own reason" in page
    assert "an account" in page


def test_a_foreign_audit_entry_has_no_page_in_the_administration(staff):
    entry = AuditEntry.objects.create(
        actor="somebody", action="forget", object_type="memory", object_id="1", scope=make_scope(make_user())
    )
    assert staff.get(f"/admin/memories/auditentry/{entry.pk}/change/").status_code == 302


@pytest.mark.behaviour("Z79")
def test_the_administration_does_not_name_a_foreign_successor(staff, scope):
    successor = make_memory("their secret successor")
    memory = make_memory(
        scope=scope, superseded_by=successor, invalidated_at=timezone.now(), invalidated_actor="somebody"
    )
    page = staff.get(f"/admin/memories/memory/{memory.pk}/change/")
    assert page.status_code == 200
    assert b"their secret successor" not in page.content
