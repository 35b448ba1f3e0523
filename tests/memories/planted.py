"""A corpus in which every stored text is hostile."""

from __future__ import annotations

from types import SimpleNamespace

from memories import services
from memories.access import actor_for_token, actor_for_user
from memories.facets import Choice
from memories.models import Alias, Anchor, AuditEntry, Memory, Repository, RetentionCycle, User
from memories.selection import Selection
from memories.services.bulk import forget_many
from tests.factories import add_entity, make_member, make_memory, make_scope, make_token, make_user
from tests.insights.asking import make_recall
from tests.memories.handing_in import lines, make_import
from tests.reflections.factories import make_candidate, make_episodes, make_failed_cluster
from tests.reflections.ruling import make_proposal, make_rule, useful

MARKUP = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg/onload=alert(3)>"
    "<iframe src=javascript:alert(4)></iframe><style>*{display:none}</style>{{ 7|add:7 }}{% debug %}</textarea>"
    "<a href=javascript:alert(5)>x</a><!-- &lt;b&gt; ]]> --><form action=//evil.example><b>"
)


def plant(person: User, text: str = MARKUP) -> SimpleNamespace:
    """Rows of *person* that hold *text* wherever a text is stored."""
    scope = make_scope(person, slug="planted", name=text[:120])
    actor_for_user(person)
    token, _ = make_token(person, [scope], name=text[:80], hint="zm_<b>")
    agent = actor_for_token(token, agent=text[:100])
    memory = services.remember(
        actor=agent, scope=scope, content=text, verbatim=text, source=f"javascript:alert(6) {text}", session=text[:120]
    ).memory
    add_entity(memory, text[:300], type=text[:40])
    Memory.objects.filter(pk=memory.pk).update(embedding_error=text[:500])
    gone = make_memory(f"gone {text}", scope=scope, agent=text[:120])
    services.forget(actor=agent, memory=gone, reason=text)
    newer = services.edit(actor=agent, memory=memory, expected_version=1, content=f"newer {text}")
    services.link(actor=agent, source=newer, target=make_memory(f"tied {text}", scope=scope), type="relates_to")
    episodes = make_episodes(scope, agent=text[:120], source=text)
    candidate = make_candidate(scope, sources=episodes, draft=text, rationale=text, origin=text[:200])
    decided = make_candidate(
        scope,
        sources=make_episodes(scope),
        draft=text,
        state="dismissed",
        reason=text,
        decided_at=candidate.created_at,
    )
    cluster = make_failed_cluster(scope, make_episodes(scope), reason=text, raw=text)
    make_memory(f"old {text}", scope=scope, kind="episode", author_kind="import")
    imported = Selection(Choice(scope=scope, author="import"))
    operation = forget_many(actor=actor_for_user(person), selection=imported, expected=1, reason=text).operation
    rule = make_rule(scope, text)
    make_rule(scope, f"revoked {text}", state="revoked", reason=text)
    proposal = make_proposal(scope, f"proposed {text}", rationale=text[:300])
    useful(proposal.memory, text[:120])
    member = make_member(scope, user=make_user(username=text[:150]))
    make_recall(person, [newer, gone], query=text[:500], agent=text[:120], session=text[:120])
    repository = _anchored(newer, text)
    AuditEntry.objects.create(actor=text[:200], action=text[:60], scope=scope, object_type=text[:40], object_id="1")
    alias = Alias.objects.create(scope=scope, term=text[:120], alias=f"x{text}"[:120], created_by=text[:200])
    cycle = RetentionCycle.objects.create(
        scope=scope, trigger="command", actor=text[:200], state="failed", finished_at=candidate.created_at, note=text
    )
    arrival = make_import(scope, lines(1, content=f"imported {text}", source=text), file_name=text)
    return SimpleNamespace(
        alias=alias,
        cycle=cycle,
        arrival=arrival,
        scope=scope,
        memory=newer,
        old=memory,
        gone=gone,
        candidate=candidate,
        decided=decided,
        cluster=cluster,
        rule=rule,
        member=member,
        token=token,
        operation=operation,
        repository=repository,
    )


def _anchored(memory: Memory, text: str) -> Repository:
    """A repository that cannot be read, with an anchor in force and a former one of *memory*."""
    repository = Repository.objects.create(owner=memory.scope.owner, name="planted", path=f"/nowhere/{text}"[:400])
    repository.scopes.add(memory.scope)
    for retired in ({}, {"retired_at": memory.created_at, "retired_actor": text[:200], "retired_reason": text}):
        Anchor.objects.create(
            memory=memory,
            scope=memory.scope,
            repository=repository.name,
            path=f"{text}.py",
            symbol=text[:500],
            language="python",
            exact="v1:python:0",
            code=text,
            code_sha256="0",
            created_at=memory.created_at,
            actor=text[:200],
            **retired,
        )
    return repository
