"""What is kept about memories goes where they go: rules, disputes and drafts, and how the cycle is set."""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from memories.models import Memory
from memories.transfer import carried
from memories.transfer.carried import Carried
from reflections.delivery import wordings_of
from reflections.models import Candidate, Dispute, FailedCluster, HygieneConfig, ReflectionConfig, StandingRule

TABLES: Final = (
    Carried(StandingRule, signed=("promoted_by", "decided_by")),
    Carried(Dispute),
    Carried(Candidate, without={"run": "Runs stay where they ran."}, signed=("decided_by",)),
    Carried(FailedCluster, stays="they hang on calls of the model, which stay where they were made"),
)


def register() -> None:
    for table in TABLES:
        carried.register(table)
    carried.register_configuration(ReflectionConfig, HygieneConfig)
    carried.register_ruled(ruled_among)


def ruled_among(memories: Collection[UUID]) -> set[UUID]:
    """Those of which a rule stands, made of whichever wording."""
    rules = StandingRule.objects.filter(state=StandingRule.State.PROMOTED)
    found = set(rules.filter(memory__in=memories).values_list("memory", flat=True))
    others = Memory.objects.filter(pk__in=set(memories) - found).only("pk")
    return found | {memory.pk for memory in others if rules.filter(memory__in=wordings_of(memory)).exists()}
