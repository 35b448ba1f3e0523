from django.db import models
from django.db.models import Q

from memories.models import Memory, Scope
from reflections.models.model_calls import REASON_LENGTH, ModelCall
from reflections.querysets import FailedClusterQuerySet

MOST_FAILURES = 3  # then the cluster is parked until somebody asks to try again


class FailedCluster(models.Model):
    """A cluster that the model was asked about and gave no usable answer. Its episodes are in no candidacy."""

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="failed_clusters")
    key = models.CharField(max_length=64, help_text="Of exactly these episodes.")
    episodes = models.ManyToManyField(Memory, related_name="+", db_table="reflection_failed_member")
    failures = models.PositiveIntegerField()
    failed_at = models.DateTimeField()
    reason = models.CharField(max_length=REASON_LENGTH)
    call = models.ForeignKey(ModelCall, on_delete=models.PROTECT, related_name="+", help_text="The last one.")

    objects = FailedClusterQuerySet.as_manager()

    class Meta:
        db_table = "reflection_failed_cluster"
        ordering = ["-failed_at", "-pk"]
        constraints = [
            # Found by its episodes before the model is asked again.
            models.UniqueConstraint(fields=["scope", "key"], name="failed_cluster_once"),
            models.CheckConstraint(condition=Q(failures__gte=1), name="failed_cluster_has_failed"),
        ]

    def __str__(self) -> str:
        return f"{self.failures} of {MOST_FAILURES} failures"

    @property
    def is_parked(self) -> bool:
        return self.failures >= MOST_FAILURES
