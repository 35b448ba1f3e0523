from django.db import models
from django.db.models import Q

from memories.models.config import SingleRow


class BriefingConfig(SingleRow):
    """The single row of how far back a briefing looks. A missing row behaves as the defaults."""

    loop_days = models.FloatField(
        default=14, help_text="Days that a task or an open question is told of; recall finds it after that too."
    )
    recent_days = models.FloatField(default=14, help_text="Days that a memory counts as new.")

    class Meta:
        db_table = "briefing_config"
        verbose_name = verbose_name_plural = "briefing configuration"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="briefing_config_single_row"),
            models.CheckConstraint(
                condition=Q(loop_days__gt=0, loop_days__lte=3650) & Q(recent_days__gt=0, recent_days__lte=3650),
                name="briefing_config_days_sane",
            ),
        ]

    def __str__(self) -> str:
        return "Briefing"
