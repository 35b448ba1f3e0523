from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from memories.fusion import FEATURES
from memories.models.memory import Kind


class SingleRow(models.Model):
    """The single row of a table of configuration. A missing row behaves as the defaults."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    @classmethod
    def current(cls) -> Self:
        """The row; where it is missing, an unsaved one with the defaults."""
        return cls._default_manager.first() or cls()


class RankingConfig(models.Model):
    """How one kind weighs and ages. A missing row behaves as weight 0.85 and 365 days."""

    class Curve(models.TextChoices):
        EXPONENTIAL = "exponential", "Exponential: 2^(-age / half-life)"
        LINEAR = "linear", "Linear: max(0, 1 - age / (2 half-life))"

    kind = models.CharField(max_length=16, choices=Kind, primary_key=True)
    weight = models.FloatField(help_text="Factor on the score, above 0 and at most 2.")
    half_life_days = models.FloatField(help_text="Days after which the age factor is one half, up to 36500.")
    curve = models.CharField(max_length=12, choices=Curve, default=Curve.EXPONENTIAL)
    version = models.PositiveIntegerField(default=1, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "ranking_config"
        verbose_name = verbose_name_plural = "ranking configuration"
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="ranking_config_kind_known"),
            models.CheckConstraint(condition=Q(weight__gt=0) & Q(weight__lte=2), name="ranking_config_weight_sane"),
            models.CheckConstraint(
                condition=Q(half_life_days__gt=0) & Q(half_life_days__lte=36500),
                name="ranking_config_half_life_sane",
            ),
            models.CheckConstraint(condition=Q(curve__in=["exponential", "linear"]), name="ranking_config_curve_known"),
        ]

    def __str__(self) -> str:
        return self.kind


class FusionConfig(SingleRow):
    """The single row of fusion constants. A missing row behaves as the defaults."""

    class Method(models.TextChoices):
        LOG_LINEAR = "log_linear", "Log-linear: weighted features, calibrated"
        RRF = "rrf", "Reciprocal rank fusion: places alone"

    method = models.CharField(
        max_length=12,
        choices=Method,
        default=Method.LOG_LINEAR,
        help_text="Contrast means something else to each: 3 suits log-linear, 8 suits reciprocal ranks.",
    )
    rrf_k = models.FloatField(default=60)
    pool_multiplier = models.PositiveSmallIntegerField(default=4)
    vector_weight = models.FloatField(default=1)
    text_weight = models.FloatField(default=1)
    recency_weight = models.FloatField(default=0)
    contrast = models.FloatField(default=3)

    class Meta:
        db_table = "fusion_config"
        verbose_name = verbose_name_plural = "fusion configuration"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="fusion_config_single_row"),
            models.CheckConstraint(condition=Q(method__in=["log_linear", "rrf"]), name="fusion_config_method_known"),
            models.CheckConstraint(condition=Q(rrf_k__gt=0) & Q(rrf_k__lte=1000), name="fusion_config_rrf_k_sane"),
            models.CheckConstraint(
                condition=Q(pool_multiplier__gte=1) & Q(pool_multiplier__lte=20), name="fusion_config_pool_sane"
            ),
            models.CheckConstraint(
                condition=Q(vector_weight__gte=0, vector_weight__lte=10)
                & Q(text_weight__gte=0, text_weight__lte=10)
                & Q(recency_weight__gte=0, recency_weight__lte=10),
                name="fusion_config_weights_sane",
            ),
            models.CheckConstraint(
                condition=Q(vector_weight__gt=0) | Q(text_weight__gt=0), name="fusion_config_some_leg"
            ),
            models.CheckConstraint(
                condition=Q(contrast__gt=0) & Q(contrast__lte=64), name="fusion_config_contrast_sane"
            ),
        ]

    def __str__(self) -> str:
        return "Fusion"


class FusionWeights(SingleRow):
    """The single row of the log-linear model's weights. A missing row behaves as the untrained ones."""

    meaning = models.FloatField(default=3, help_text="Cosine similarity.")
    words = models.FloatField(default=4, help_text="Share of the query's words found, weighed by rarity.")
    trusted_meaning = models.FloatField(default=28, help_text="Cosine similarity times trust in the vector leg.")
    trusted_words = models.FloatField(default=-5, help_text="Share of words times trust in the vector leg.")
    phrase = models.FloatField(default=1.5, help_text="Share of neighbouring words found side by side.")
    identifier = models.FloatField(default=4, help_text="Share of identifiers and quoted phrases found.")
    named = models.FloatField(default=3, help_text="The query names the speaker, agent or an entity.")
    company = models.FloatField(default=5, help_text="The best match learned at about the same time.")

    class Meta:
        db_table = "fusion_weights"
        verbose_name = verbose_name_plural = "fusion weights"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="fusion_weights_single_row"),
            models.CheckConstraint(
                condition=Q(
                    **{f"{name}__{bound}": limit for name in FEATURES for bound, limit in (("gte", -100), ("lte", 100))}
                ),
                name="fusion_weights_sane",
            ),
        ]

    def __str__(self) -> str:
        return "Weights"


class ReinforcementConfig(SingleRow):
    """The single row of what signals count. A missing row behaves as the defaults; the roll-up reads it."""

    window_days = models.PositiveSmallIntegerField(default=90, help_text="How long a signal counts.")
    judge_minimum = models.FloatField(default=0.6, help_text="Confidence below which a judge counts nothing.")
    boost = models.FloatField(default=0.15, help_text="Rise for each natural logarithm of 1 + useful signals.")
    boost_limit = models.FloatField(default=1.4, help_text="Highest multiplier, from 1 to 2.")
    penalty = models.FloatField(default=0.25, help_text="Fall for each natural logarithm of 1 + misleading signals.")
    floor = models.FloatField(default=0.5, help_text="Lowest multiplier, above 0 and at most 1.")
    promoted = models.FloatField(default=0.6, help_text="Multiplier of a memory that became a standing rule.")

    class Meta:
        db_table = "reinforcement_config"
        verbose_name = verbose_name_plural = "reinforcement configuration"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="reinforcement_config_single_row"),
            models.CheckConstraint(
                condition=Q(window_days__gte=1, window_days__lte=3650), name="reinforcement_config_window_sane"
            ),
            models.CheckConstraint(
                condition=Q(judge_minimum__gte=0, judge_minimum__lte=1), name="reinforcement_config_judge_in_unit"
            ),
            models.CheckConstraint(
                condition=Q(boost__gte=0, boost__lte=2, penalty__gte=0, penalty__lte=2),
                name="reinforcement_config_steps_sane",
            ),
            # Together they keep every multiplier within the bounds of memory_reinforcement.
            models.CheckConstraint(
                condition=Q(boost_limit__gte=1, boost_limit__lte=2)
                & Q(floor__gt=0, floor__lte=1)
                & Q(promoted__gt=0, promoted__lte=2),
                name="reinforcement_config_bounds_sane",
            ),
        ]

    def __str__(self) -> str:
        return "Reinforcement"


class ConfigVersion(models.Model):
    """One change of a configuration row: who, when, old, new and why. Never changed, never removed."""

    table = models.CharField(max_length=40)
    row = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    old = models.JSONField(null=True)
    new = models.JSONField(null=True)
    reason = models.CharField(max_length=2000, blank=True, default="")
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    changed_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        db_table = "config_version"
        constraints = [
            models.UniqueConstraint(fields=["table", "row", "version"], name="config_version_unique"),
        ]
