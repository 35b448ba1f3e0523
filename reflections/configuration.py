"""The thresholds in force. Read from the table at each call, so a change counts from the next run on."""

from reflections.clustering import Rule
from reflections.ladder import Thresholds
from reflections.models import HygieneConfig, ReflectionConfig


def current() -> ReflectionConfig:
    return ReflectionConfig.current()


def cluster_rule() -> Rule:
    row = current()
    return Rule(
        cosine_min=row.cosine_min,
        cosine_max=row.cosine_max,
        min_members=row.min_members,
        max_members=row.max_members,
        work_minutes=row.work_minutes,
        work_cosine=row.work_cosine,
        work_step=row.work_step,
    )


def hygiene() -> HygieneConfig:
    return HygieneConfig.current()


def thresholds(rule: HygieneConfig) -> Thresholds:
    """What the ladder goes by."""
    return Thresholds(
        duplicate=rule.duplicate_confidence,
        supersedes=rule.supersedes_confidence,
        authority=rule.authority_confidence,
        provisional=rule.provisional_confidence,
        same_words_cosine=rule.same_words_cosine,
        same_session_cosine=rule.same_session_cosine,
    )
