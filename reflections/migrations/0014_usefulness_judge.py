import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import memories.models.memory


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0013_signals_in_months"),
        ("reflections", "0013_stale_suspects"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Transcript",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=memories.models.memory.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("actor", models.CharField(help_text="As shown: who handed it in.", max_length=200)),
                ("session", models.CharField(max_length=120)),
                (
                    "digest",
                    models.CharField(
                        help_text="A keyed digest of what was handed in: the same for the same.", max_length=64
                    ),
                ),
                ("text", models.TextField(blank=True, default="", help_text="Emptied as soon as it is read.")),
                (
                    "shown",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), help_text="The memories to judge: all were given to this caller."
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Waiting"),
                            ("running", "Being read"),
                            ("done", "Judged"),
                            ("skipped", "Not judged"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=8,
                    ),
                ),
                ("questions", models.PositiveSmallIntegerField(default=0, help_text="To the model, for all of it.")),
                ("asked", models.PositiveSmallIntegerField(default=0, help_text="Of these, so many so far.")),
                (
                    "unusable",
                    models.PositiveSmallIntegerField(default=0, help_text="Of these, so many without a usable answer."),
                ),
                ("verdicts", models.JSONField(default=list, help_text="[{id, useful, relevant, misled, confidence}]")),
                (
                    "note",
                    models.CharField(blank=True, default="", help_text="What a reader must know.", max_length=2000),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0, help_text="How often a worker took it up.")),
                ("requested_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now, help_text="Not before.")),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "token",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memories.token"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "transcript_judgement",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        fields=["due_at"],
                        name="transcript_unfinished",
                    ),
                    models.Index(fields=["user", "-requested_at"], name="transcript_of_user"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["queued", "running", "done", "skipped", "failed"])),
                        name="transcript_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("session", ""), _negated=True), name="transcript_names_a_session"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at__isnull", True), ("state__in", ["queued", "running"])),
                            models.Q(
                                ("finished_at__isnull", False),
                                ("state__in", ["done", "skipped", "failed"]),
                                ("text", ""),
                            ),
                            _connector="OR",
                        ),
                        name="transcript_forgotten_when_read",
                    ),
                    models.UniqueConstraint(fields=("user", "session", "digest"), name="transcript_once"),
                ],
            },
        ),
    ]
