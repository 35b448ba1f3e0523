"""Every read of the queues, by the name of its use."""

from reflections.querysets.candidates import ORDERS, TABS, CandidateQuerySet
from reflections.querysets.runs import RunQuerySet

__all__ = ["ORDERS", "TABS", "CandidateQuerySet", "RunQuerySet"]
