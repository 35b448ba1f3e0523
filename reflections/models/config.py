from django.db import models
from django.db.models import F, Q


class ReflectionConfig(models.Model):
    """The single row of clustering thresholds. A missing row behaves as the defaults.

    The band was measured for the packaged embedder: docs/evaluation-clustering.md.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    cosine_min = models.FloatField(default=0.65, help_text="Pairs join from here on.")
    cosine_max = models.FloatField(default=0.90, help_text="Pairs at or above are duplicates and do not join.")
    min_members = models.PositiveSmallIntegerField(default=3)
    max_members = models.PositiveSmallIntegerField(default=10)
    snooze_days = models.PositiveSmallIntegerField(default=14)
    version = models.PositiveIntegerField(default=1, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

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
                condition=Q(min_members__gte=2) & Q(max_members__gte=F("min_members")) & Q(max_members__lte=50),
                name="reflection_config_members_sane",
            ),
            models.CheckConstraint(
                condition=Q(snooze_days__gte=1) & Q(snooze_days__lte=365), name="reflection_config_snooze_sane"
            ),
        ]

    def __str__(self) -> str:
        return "Reflection"
