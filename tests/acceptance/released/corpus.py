"""A year of a small team, and what its people see of it: hits, queues, charts."""

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction

from insights import queries
from memories import embedding_queue, services
from memories.access import Actor, actor_for_user
from memories.models import Memory, User
from memories.recall import recall
from memories.services.config import change_ranking
from memories.services.verification import verify
from reflections.inbox.sources import waiting
from reflections.models import Candidate, Dispute, StandingRule
from tests.factories import make_memory, make_scope, make_token, make_user
from tests.reflections.disputing import make_pair, make_single
from tests.reflections.factories import make_candidate, make_episodes
from tests.reflections.ruling import make_proposal, make_rule, useful

OWNER = "owner"
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
QUESTIONS = ("tide tables of the harbour", "how deep is the fairway", "who signs the release", "blue whale migration")
TOLD = {
    "Tide tables are computed every night from the harbour's gauges.": ("fact", 300),
    "The fairway is dredged to eleven metres.": ("fact", 200),
    "Releases are signed by two people.": ("convention", 120),
    "We keep the gauges' raw readings, because the model is refitted each spring.": ("decision", 90),
    "The gauge at the north pier stops when it freezes.": ("gotcha", 60),
    "Refit the model in March.": ("task", 20),
    "Who replaces the gauge at the north pier?": ("open-question", 10),
    "Measured the fairway anew: eleven metres and twenty.": ("episode", 3),
}


def fill() -> None:
    owner = make_user(username=OWNER, is_staff=True)
    scope = make_scope(owner, slug="harbour", name="Harbour")
    make_token(owner, [scope], name="agent")
    told = [
        make_memory(
            text, scope=scope, kind=kind, created_at=NOW - timedelta(days=age), entities=["harbour"], author=owner
        )
        for text, (kind, age) in TOLD.items()
    ]
    _live_with(actor_for_user(owner), told)
    _judge(owner, scope)
    while embedding_queue.embed_for(60):
        pass


@transaction.atomic
def _live_with(actor: Actor, told: list[Memory]) -> None:
    tides, fairway, release, gauges, *_ = told
    services.edit(actor=actor, memory=fairway, expected_version=1, content="The fairway is dredged to twelve metres.")
    services.link(actor=actor, source=gauges, target=tides, type="relates_to")
    services.pin(actor=actor, memory=release)
    services.forget(actor=actor, memory=make_memory("Gone.", scope=tides.scope), reason="Old.")
    verify(actor=actor, memory=tides, note="Looked it up.")
    useful(gauges, "one", "two")


def _judge(owner: User, scope) -> None:
    make_candidate(scope, sources=make_episodes(scope), draft="The harbour silts up in spring.")
    make_pair(scope, "supersedes")
    make_single(scope)
    make_rule(scope, "Two people sign every release.")
    make_proposal(scope, "Gauges are read before the model is refitted.")
    change_ranking(user=owner, kind="fact", weight=1.5, reason="Facts first.")


def seen() -> dict:
    """What the owner sees, in words that JSON keeps."""
    actor = actor_for_user(User.objects.get(username=OWNER))
    found = {
        "hits": {question: hits(actor, question) for question in QUESTIONS},
        "queues": {
            "inbox": waiting(actor),
            "drafts": Candidate.objects.filter(state="pending").count(),
            "disputes": Dispute.objects.filter(status="pending").count(),
            "rules": StandingRule.objects.filter(state="promoted").count(),
        },
        "ageing": asdict(queries.ageing(actor=actor, now=NOW)),
    }
    return json.loads(json.dumps(found, cls=DjangoJSONEncoder))


def hits(actor: Actor, question: str) -> list[str]:
    """Without what the day of the look changes."""
    found = recall(actor=actor, query=question, k=3, ignore=frozenset({"age"})).results
    return [result.memory.content for result in found]
