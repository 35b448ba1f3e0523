from __future__ import annotations

from typing import Any

from django.db import models


class EvaluationRun(models.Model):
    """One measurement of the ranking: what was asked of which configuration, and what came out. Never changed.

    ``results`` holds what is shown (see insights/quality/runs.py), ``values`` the figures of every question, so that
    two runs can be compared question by question.
    """

    name = models.CharField(max_length=200, help_text="The retrieval set, or ageing.")
    kind = models.CharField(max_length=16, blank=True, default="", help_text="What the documents were stored as.")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    revision = models.CharField(max_length=64, blank=True, default="", help_text="Of the program, where it is known.")
    configuration = models.JSONField(help_text="Ranking and fusion rows in force, with their versions.")
    embedder = models.CharField(max_length=270, blank=True, default="")
    corpus_size = models.PositiveIntegerField(default=0)
    queries = models.PositiveIntegerField()
    results = models.JSONField()
    values = models.JSONField(default=dict)

    class Meta:
        db_table = "evaluation_run"
        indexes = [
            # The list of runs, newest first.
            models.Index(fields=["-started_at", "-id"], name="evaluation_run_recent"),
            # The run before on the same set.
            models.Index(fields=["name", "kind", "-started_at"], name="evaluation_run_of_set"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(finished_at__gte=models.F("started_at")), name="evaluation_run_times_ordered"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.started_at:%d %b %Y %H:%M}"

    @property
    def seconds(self) -> float:
        return (self.finished_at - self.started_at).total_seconds()

    @property
    def versions(self) -> str:
        """``fusion 3, ranking 1–2``: the versions of the rows in force."""
        ranking = sorted({row["version"] for row in self.configuration.get("ranking", [])})
        fusion: dict[str, Any] = self.configuration.get("fusion", {})
        spread = f"{ranking[0]}–{ranking[-1]}" if len(ranking) > 1 else "".join(map(str, ranking))
        return f"fusion {fusion.get('version', '?')}, ranking {spread or '?'}"
