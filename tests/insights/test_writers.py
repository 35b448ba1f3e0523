"""What each agent wrote and what became of it: every number is a count, and nobody sees what is not theirs to read."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest
from django.utils import timezone

from insights.writers import Writer, writers
from memories.access import actor_for_token, actor_for_user
from memories.agent_recall import recall_for_agent
from memories.models import AuditEntry, Memory
from memories.services import LinkSpec, forget, remember
from memories.services.signals import mark_used
from tests.factories import make_memory, make_scope, make_token, make_user

pytestmark = pytest.mark.django_db

GATE = "The harbour gate opens at six. On Sundays it stays closed all day long."


def agent_of(user, scope, name="coder"):
    return actor_for_token(make_token(user, [scope])[0], agent=name)


def save(agent, scope, *texts, **given):
    return [remember(actor=agent, scope=scope, content=text, **given).memory for text in texts]


def season(owner, scope):
    """Two agents: one writes what is of use, the other floods."""
    coder, parrot = agent_of(owner, scope), agent_of(owner, scope, "parrot")
    first, second, third = save(coder, scope, "Cranes are oiled on Mondays.", "Ships wait outside.", "Tides are told.")
    save(coder, scope, "Ships wait in the outer basin.", links=[LinkSpec("supersedes", second.pk)])
    forget(actor=actor_for_user(owner), memory=third)
    mark_used(actor=coder, memory=first, useful=True, session="s")
    make_memory(GATE, scope=scope)
    recall_for_agent(actor=parrot, query="harbour gate", session="s")
    save(parrot, scope, GATE, f"From memory: {GATE}", GATE.lower(), GATE.replace("six", "nine"), session="s")


def found(owner, scope=None, days=30):
    return writers(actor=actor_for_user(owner), scope=scope, days=days, now=timezone.now())


@pytest.mark.behaviour("F24")
def test_a_flooder_is_seen_beside_one_who_is_of_use(owner, scope):
    season(owner, scope)
    assert found(owner) == [
        Writer("coder", "owner", 4, 0, 0, superseded=1, forgotten=1, useful=1, misled=0),
        Writer("parrot", "owner", written=1, repeated=3, reworded=1, superseded=0, forgotten=0, useful=0, misled=0),
    ]


@pytest.mark.behaviour("F24")
def test_every_number_is_a_count_of_rows(owner, scope):
    season(owner, scope)
    rows = found(owner)
    agents = Memory.objects.filter(agent__in=["coder", "parrot"])
    assert sum(row.written for row in rows) == agents.count()
    assert sum(row.repeated for row in rows) == AuditEntry.objects.filter(action="recognise").count()
    assert sum(row.superseded for row in rows) == agents.exclude(superseded_by=None).count()
    assert sum(row.forgotten for row in rows) == agents.filter(superseded_by=None).exclude(invalidated_at=None).count()
    assert sum(row.useful for row in rows) == agents.filter(usage_events__useful=True).distinct().count()
    ties = agents.filter(links_out__created_by="recognised as recalled")
    assert sum(row.reworded for row in rows) == ties.distinct().count()


def test_people_imports_and_foreign_scopes_are_not_counted(owner, scope):
    save(actor_for_user(owner), scope, "Typed by hand.")
    other = make_user()
    foreign = make_scope(other)
    save(agent_of(other, foreign), foreign, "Theirs.")
    assert found(owner) == []
    assert [row.written for row in found(other)] == [1]


def test_one_scope_and_one_period_are_looked_at(owner, scope):
    work = make_scope(owner, slug="work")
    save(agent_of(owner, scope), scope, "Here.")
    save(agent_of(owner, work), work, "There.")
    assert [row.written for row in found(owner)] == [2]
    assert [row.written for row in found(owner, work)] == [1]
    later = timezone.now() + timedelta(days=8)
    assert writers(actor=actor_for_user(owner), days=7, now=later) == []
    assert len(writers(actor=actor_for_user(owner), days=30, now=later)) == 1


def test_the_page_shows_the_table_or_says_that_nobody_wrote(client_of, owner, scope):
    page = client_of(owner).get("/insights/").content.decode()
    assert "No agent has written here in these 30 days." in page
    season(owner, scope)
    save(agent_of(owner, scope, "<b>bold</b>"), scope, "Marked up.")
    page = client_of(owner).get("/insights/?days=7").content.decode()
    assert "parrot" in page
    assert "<b>bold</b>" not in page
    assert "&lt;b&gt;bold" in page


def test_the_csv_holds_the_numbers_and_no_formula(client_of, owner, scope):
    save(agent_of(owner, scope, "=1+1"), scope, "Marked up.")
    rows = list(csv.reader(io.StringIO(client_of(owner).get("/insights/writers.csv").content.decode())))
    assert rows == [
        ["Agent", "For", "Wrote", "Saved again", "Reworded", "Superseded", "Forgotten", "Useful", "Misleading"],
        ["'=1+1", "owner", "1", "0", "0", "0", "0", "0", "0"],
    ]
