"""Every read of the queues, by the name of its use."""

from reflections.querysets.candidates import ORDERS, TABS, CandidateQuerySet
from reflections.querysets.disputes import DOUBTS, STATUSES, DisputeQuerySet
from reflections.querysets.failed_clusters import FailedClusterQuerySet
from reflections.querysets.judged import JudgedQuerySet
from reflections.querysets.model_calls import ModelCallQuerySet
from reflections.querysets.rules import StandingRuleQuerySet
from reflections.querysets.runs import RunQuerySet
from reflections.querysets.transcripts import TranscriptQuerySet

__all__ = [
    "DOUBTS",
    "ORDERS",
    "STATUSES",
    "TABS",
    "CandidateQuerySet",
    "DisputeQuerySet",
    "FailedClusterQuerySet",
    "JudgedQuerySet",
    "ModelCallQuerySet",
    "RunQuerySet",
    "StandingRuleQuerySet",
    "TranscriptQuerySet",
]
