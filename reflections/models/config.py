from django.db import models
from django.db.models import F, Q

from memories.models.config import SingleRow


class ReflectionConfig(SingleRow):
    """The single row of clustering thresholds. A missing row behaves as the defaults.

    They were measured for the packaged embedder: docs/evaluation-clustering.md.
    """

    cosine_min = models.FloatField(default=0.80, help_text="Pairs join from here on, whatever time lies between them.")
    cosine_max = models.FloatField(default=0.90, help_text="Pairs at or above are duplicates and do not join.")
    work_minutes = models.PositiveSmallIntegerField(
        default=12, db_default=12, help_text="What is written within so many minutes is one sitting."
    )
    work_cosine = models.FloatField(
        default=0.24, help_text="Pairs of one sitting join from here on; at 1 they need as much as any."
    )
    work_step = models.FloatField(default=0.30, help_text="So much more for each tenfold time between the two.")
    min_members = models.PositiveSmallIntegerField(default=3)
    max_members = models.PositiveSmallIntegerField(default=10)
    snooze_days = models.PositiveSmallIntegerField(default=14)

    class Meta:
        db_table = "reflection_config"
        verbose_name = verbose_name_plural = "reflection configuration"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="reflection_config_single_row"),
            models.CheckConstraint(
                condition=Q(cosine_min__gte=0) & Q(cosine_max__lte=1) & Q(cosine_min__lt=F("cosine_max")),
                name="reflection_config_band_ordered",
            ),
            models.CheckConstraint(
                condition=Q(work_cosine__gte=0, work_cosine__lte=1, work_step__gte=0, work_step__lte=1)
                & Q(work_minutes__gte=1, work_minutes__lte=1440),
                name="reflection_config_work_in_unit",
            ),
            models.CheckConstraint(
                condition=Q(min_members__gte=2) & Q(max_members__gte=F("min_members")) & Q(max_members__lte=50),
                name="reflection_config_members_sane",
            ),
            models.CheckConstraint(
                condition=Q(snooze_days__gte=1) & Q(snooze_days__lte=365), name="reflection_config_snooze_sane"
            ),
        ]

    def __str__(self) -> str:
        return "Reflection"


class HygieneConfig(SingleRow):
    """The single row of what the steps of the hygiene cycle go by. A missing row behaves as the defaults."""

    pair_days = models.PositiveSmallIntegerField(default=7, help_text="Pair scan: memories written in so many days.")
    pair_cosine = models.FloatField(default=0.78, help_text="Pair scan: similarity from which two are compared.")
    pair_cosine_alike = models.FloatField(
        default=0.70,
        help_text="Pair scan, with a model: the same of two of one shape or about one named thing.",
    )
    pair_candidates = models.PositiveSmallIntegerField(default=3, help_text="Pair scan: the nearest of each memory.")
    pair_most = models.PositiveSmallIntegerField(
        default=100, help_text="Pair scan: pairs left for a person in one run."
    )
    same_words_cosine = models.FloatField(
        default=0.92, help_text="From here on a provisional note that adds nothing gives way by itself."
    )
    same_session_cosine = models.FloatField(default=0.95, help_text="From here on a session corrects itself.")
    duplicate_confidence = models.FloatField(default=0.90, help_text="From here on a duplicate is forgotten by itself.")
    supersedes_confidence = models.FloatField(default=0.95, help_text="From here on one replaces the other by itself.")
    authority_confidence = models.FloatField(
        default=0.20, help_text="From here on a provisional note gives way to an authoritative one by itself."
    )
    provisional_confidence = models.FloatField(
        default=0.40, help_text="From here on the older of two provisional notes gives way by itself."
    )
    loop_cosine = models.FloatField(default=0.60, help_text="Loop closure: similarity of evidence.")
    loop_evidence = models.PositiveSmallIntegerField(default=3, help_text="Loop closure: the nearest newer memories.")
    loop_confidence = models.FloatField(default=0.85, help_text="Loop closure: from here on a loop closes by itself.")
    loop_ask_confidence = models.FloatField(default=0.50, help_text="Loop closure: from here on a person is asked.")
    loop_most = models.PositiveSmallIntegerField(default=10, help_text="Loop closure: loops that one run closes.")
    kind_confidence = models.FloatField(default=0.80, help_text="Kind audit: from here on another kind is proposed.")
    kind_most = models.PositiveSmallIntegerField(default=20, help_text="Kind audit: memories that one run looks at.")
    reexamine_surfacings = models.PositiveSmallIntegerField(default=10, help_text="Re-examination: how often recalled.")
    reexamine_days = models.PositiveSmallIntegerField(default=90, help_text="Re-examination: within so many days.")
    reexamine_subjects = models.PositiveSmallIntegerField(default=5, help_text="Re-examination: memories in one run.")
    reexamine_rows = models.PositiveSmallIntegerField(default=2, help_text="Re-examination: new disputes in one run.")
    suspect_reports = models.PositiveSmallIntegerField(
        default=2, help_text="Stale suspects: reports that a memory misled, one a session."
    )
    suspect_days = models.PositiveSmallIntegerField(default=90, help_text="Stale suspects: within so many days.")
    code_share = models.FloatField(
        default=0.20,
        db_default=0.20,
        help_text="Changed code: above this share of a repository's anchored memories a person is asked first.",
    )
    rule_sessions = models.PositiveSmallIntegerField(
        default=3, help_text="Rule candidates: sessions that found a memory useful."
    )
    rule_days = models.PositiveSmallIntegerField(default=30, help_text="Rule candidates: within so many days.")
    rule_settled_days = models.PositiveSmallIntegerField(
        default=7, help_text="Rule candidates: unchanged for so many days."
    )

    class Meta:
        db_table = "hygiene_config"
        verbose_name = verbose_name_plural = "hygiene configuration"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="hygiene_config_single_row"),
            models.CheckConstraint(
                condition=Q(pair_cosine__gte=0, pair_cosine__lte=1)
                & Q(pair_cosine_alike__gte=0, pair_cosine_alike__lte=1)
                & Q(loop_cosine__gte=0, loop_cosine__lte=1)
                & Q(duplicate_confidence__gte=0, duplicate_confidence__lte=1)
                & Q(supersedes_confidence__gte=0, supersedes_confidence__lte=1)
                & Q(same_words_cosine__gte=0, same_words_cosine__lte=1)
                & Q(same_session_cosine__gte=0, same_session_cosine__lte=1)
                & Q(authority_confidence__gte=0, authority_confidence__lte=1)
                & Q(provisional_confidence__gte=0, provisional_confidence__lte=1)
                & Q(loop_ask_confidence__gte=0, loop_ask_confidence__lte=1)
                & Q(loop_confidence__gte=0, loop_confidence__lte=1)
                & Q(kind_confidence__gte=0, kind_confidence__lte=1)
                & Q(code_share__gte=0, code_share__lte=1),
                name="hygiene_config_shares_in_unit",
            ),
        ]

    def __str__(self) -> str:
        return "Hygiene"
