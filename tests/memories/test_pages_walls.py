"""Nobody sees anything of a scope that is not theirs: on any page there is, also on those not written yet."""

import re
from datetime import timedelta
from types import SimpleNamespace

import pytest
import time_machine
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone

from memories.access import actor_for_user
from memories.facets import Choice
from memories.models import (
    Alias,
    Anchor,
    AuditEntry,
    Import,
    Membership,
    Memory,
    Repository,
    RetentionCycle,
    Scope,
    Token,
)
from memories.selection import Selection
from memories.services import forget, pin, remember, supersede
from memories.services.bulk import forget_many
from memories.services.tokens import create_token
from reflections.models import Candidate, CandidateMember, Dispute, FailedCluster, Run, StandingRule
from reflections.services.disputes import challenge
from tests.factories import add_entity, make_member, make_memory, make_scope, make_token, make_user
from tests.insights.asking import make_recall
from tests.memories.handing_in import lines, make_import
from tests.memories.pages import named_pages
from tests.reflections.factories import make_candidate, make_episodes, make_failed_cluster
from tests.reflections.ruling import make_proposal, make_rule

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("Z79")]

MARK = "zanzibar"  # in every text that belongs to the other person, and nowhere else
PAGES = named_pages()
WITHOUT_VALUES = [name for name, values in PAGES if not values]
WITH_VALUES = [(name, values) for name, values in PAGES if values]
# Addresses that name nobody's rows, so there is nothing foreign to ask for.
OF_NOBODY = {"secret", "name", "evaluation_id"}
HTMX = {"HX-Request": "true"}
TABLES: tuple[type[Model], ...] = (
    Memory,
    Scope,
    Membership,
    Token,
    Candidate,
    CandidateMember,
    Dispute,
    FailedCluster,
    Run,
    StandingRule,
    Import,
    Repository,
    Anchor,
)


@pytest.fixture
def theirs(db):
    """Somebody with something of everything, all of it marked."""
    user = make_user(username=f"{MARK}-person")
    scope = make_scope(user, slug=f"{MARK}-scope", name=f"The {MARK} scope")
    actor = actor_for_user(user)
    memory = remember(actor=actor, scope=scope, content=f"The {MARK} statement.", source=f"{MARK}-source").memory
    add_entity(memory, f"{MARK}-entity")
    pin(actor=actor, memory=memory)
    forget(actor=actor, memory=make_memory(f"Forgotten {MARK}", scope=scope), reason=f"{MARK} reason")
    supersede(actor=actor, memory=make_memory(f"Old {MARK}", scope=scope), replacement=memory, reason=f"{MARK} again")
    episodes = make_episodes(scope, entities=[f"{MARK}-cache"], agent=f"{MARK}-agent")
    make_recall(user, [memory], query=f"The {MARK} question", agent=f"{MARK}-agent", session=f"{MARK}-session")
    candidate = make_candidate(scope, sources=episodes, draft=f"The {MARK} draft.")
    challenge(actor=actor, memory=memory, reason=f"The {MARK} reason.", evidence=f"{MARK} evidence")
    failed = make_failed_cluster(scope, episodes[:1], reason=f"No {MARK} answer.")
    rule = make_rule(scope, f"The {MARK} rule.")
    make_rule(scope, f"The revoked {MARK} rule.", state="revoked", reason=f"{MARK} reason")
    make_rule(make_scope(user, slug="core", name=f"{MARK} core"), f"The {MARK} rule of everywhere.")
    make_proposal(scope, f"The proposed {MARK} rule.")
    run = Run.objects.create(requested_by=user)
    run.scopes.add(scope)
    gone = make_memory(f"Old {MARK} episode", scope=scope, kind="episode", age_days=900)
    selection = Selection(Choice(scope=scope), before=gone.created_at + timedelta(days=1))
    operation = forget_many(actor=actor, selection=selection, expected=1, reason=f"{MARK} bulk").operation
    token, _ = create_token(actor=actor, name=f"{MARK}-token", scopes=[scope])
    make_member(scope, user=make_user(username=f"{MARK}-member"))
    raw = lines(1, content=f"The {MARK} line.", external_id=f"{MARK}-line")
    repository = Repository.objects.create(owner=user, name=f"{MARK}-code", path=f"/srv/{MARK}")
    repository.scopes.add(scope)
    cycle = RetentionCycle.objects.create(scope=scope, trigger="button", actor=MARK)
    alias = Alias.objects.create(scope=scope, term=f"{MARK}-term", alias=f"{MARK}-alias", created_by=MARK)
    return SimpleNamespace(
        user=user,
        alias=alias,
        cycle=cycle,
        repository=repository,
        arrival=make_import(scope, raw, file_name=f"{MARK}.jsonl"),
        scope=scope,
        memory=memory,
        candidate=candidate,
        cluster=failed,
        run=run,
        rule=rule,
        token=token,
        operation=operation,
    )


@pytest.fixture
def me(db):
    """Somebody with a little of their own, so that pages have something to show."""
    user = make_user(username="me")
    scope = make_scope(user, slug="mine", name="Mine")
    make_memory("What I know myself.", scope=scope, entities=["garden"])
    make_candidate(scope)
    make_token(user, [scope], name="my token")
    return user


def values_of(theirs, names):
    known = {
        "memory_id": theirs.memory.pk,
        "candidate_id": theirs.candidate.pk,
        "cluster_id": theirs.cluster.pk,
        "run_id": theirs.run.pk,
        "rule_id": theirs.rule.pk,
        "scope_id": theirs.scope.pk,
        "user_id": theirs.user.pk,
        "token_id": theirs.token.pk,
        "operation_id": theirs.operation,
        "alias_id": theirs.alias.pk,
        "cycle_id": theirs.cycle.pk,
        "import_id": theirs.arrival.pk,
        "repository": theirs.repository.name,
        "anchor_id": theirs.memory.pk,
        "secret": "guessed",
        "name": "age",
        "evaluation_id": 1,
        "source": "draft",
        "item_id": theirs.candidate.pk,
        "action": "dismiss",
    }
    assert set(names) <= known.keys(), f"This test must learn what a foreign {set(names) - known.keys()} is."
    return {name: known[name] for name in names}


def rows_of(*tables):
    return {table.__name__: list(table.objects.order_by("pk").values()) for table in tables}


def posted(theirs):
    """What a form could send to reach into another person's scope."""
    return {
        "scope": theirs.scope.pk,
        "scopes": theirs.scope.pk,
        "content": "An intruder's text.",
        "kind": "fact",
        "entities": "",
        "source": "",
        "version": theirs.memory.version,
        "name": "intruder",
        "path": "/tmp",
        "slug": "intruder",
        "username": "me",
        "role": "admin",
        "can_write": "on",
        "until": "2099-01-01",
        "reason": "",
    }


def test_every_page_is_known_by_name():
    assert {"today", "memory_list", "memory_detail", "scope_list", "token_list", "settings_page", "insights"} <= {
        name for name, _ in PAGES
    }


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
@pytest.mark.parametrize("name", WITHOUT_VALUES)
def test_a_page_shows_nothing_of_somebody_elses(name, headers, me, theirs, client_of):
    answer = client_of(me).get(reverse(name), headers=headers)
    assert answer.status_code in (200, 302, 405)
    assert MARK not in answer.content.decode().lower()
    assert MARK not in str(answer.headers).lower()


@pytest.mark.parametrize("name", WITHOUT_VALUES)
def test_head_answers_like_the_page_without_its_body(name, me, client_of):
    got, asked = client_of(me).get(reverse(name)), client_of(me).head(reverse(name))
    assert (asked.status_code, asked.content) == (got.status_code, b"")


@pytest.mark.parametrize(("name", "values"), WITH_VALUES, ids=[name for name, _ in WITH_VALUES])
def test_an_address_with_somebody_elses_row_finds_nothing(name, values, me, theirs, client_of):
    address = reverse(name, kwargs=values_of(theirs, values))
    for answer in (client_of(me).get(address), client_of(me).get(address, headers=HTMX)):
        if not set(values) <= OF_NOBODY:
            assert answer.status_code in (404, 405)
        assert MARK not in answer.content.decode().lower()


@pytest.mark.parametrize(("name", "values"), PAGES, ids=[name for name, _ in PAGES])
def test_nothing_that_is_sent_changes_somebody_elses_rows(name, values, me, theirs, client_of):
    before, acts = rows_of(*TABLES), AuditEntry.objects.filter(scope=theirs.scope).count()
    address = reverse(name, kwargs=values_of(theirs, values))
    answer = client_of(me).post(address, posted(theirs))
    assert answer.status_code < 500
    if values and not set(values) <= OF_NOBODY:
        assert answer.status_code in (404, 405)
    after = rows_of(*TABLES)
    for table, rows in before.items():
        assert [row for row in after[table] if row in rows] == rows, table
    assert AuditEntry.objects.filter(scope=theirs.scope).count() == acts
    assert not Token.objects.exclude(pk=theirs.token.pk).filter(scopes=theirs.scope).exists()
    assert MARK not in answer.content.decode().lower()


SEARCHES = [
    f"?q={MARK}",
    f"?entity={MARK}-entity",
    "?state=all",
    "?state=invalidated",
    "?state=superseded",
    "?pinned=1",
    "?waiting=1",
]


def as_seen(client, address, headers=None):
    """The page without what differs from one request to the next."""
    html = client.get(address, headers=headers).content.decode()
    html = re.sub(r'(name="csrfmiddlewaretoken" value=|name="form" value=|"X-CSRFToken": )"[^"]*"', "", html)
    return re.sub(r"found in \d+ ms", "", html)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
def test_pages_are_the_same_whether_or_not_somebody_else_has_anything(headers, me, client_of, request):
    mine = client_of(me)
    addresses = [reverse(name) for name in WITHOUT_VALUES]
    addresses += [reverse("memory_list") + search for search in SEARCHES]
    addresses += [
        "/reflections/?state=approved",
        "/inbox/?state=decided",
        "/rules/?state=proposed",
        "/rules/?state=revoked",
    ]
    # Time stands still, so that nothing ages between the two looks.
    with time_machine.travel(timezone.now() + timedelta(seconds=1), tick=False):
        before = {address: as_seen(mine, address, headers) for address in addresses}
        request.getfixturevalue("theirs")
        assert {address: as_seen(mine, address, headers) for address in addresses} == before


def test_an_own_memory_shows_no_tie_to_a_foreign_one(me, theirs, client_of):
    mine = Memory.objects.filter(scope__owner=me, kind="fact").get()
    mine.links_out.create(target=theirs.memory, type="relates_to")
    mine.links_in.create(source=theirs.memory, type="derived_from")
    assert MARK not in client_of(me).get(reverse("memory_detail", args=[mine.pk])).content.decode().lower()


def test_whoever_has_left_sees_nothing_any_more(theirs, client_of):
    former = make_member(theirs.scope)
    page = reverse("memory_detail", args=[theirs.memory.pk])
    assert MARK in client_of(former).get(page).content.decode()
    Membership.objects.filter(user=former).delete()
    assert client_of(former).get(page).status_code == 404
    assert MARK not in client_of(former).get("/").content.decode()
    assert MARK not in client_of(former).get("/memories/").content.decode()


@pytest.mark.parametrize(("name", "values"), PAGES, ids=[name for name, _ in PAGES])
def test_nobody_sees_a_page_without_signing_in(name, values, theirs, client):
    answer = client.get(reverse(name, kwargs=values_of(theirs, values)))
    assert MARK not in answer.content.decode().lower()
    if name not in {"sign_in", "sign_in_link", "sign_out", "healthz", "readyz"}:
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith(reverse("sign_in"))
