import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from memories.sql import load


def write_row(apps, schema_editor):
    apps.get_model("memories", "FreshnessConfig").objects.get_or_create(id=1)


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0012_recall_activity"),
    ]

    operations = [
        migrations.CreateModel(
            name="FreshnessConfig",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                (
                    "fact_days",
                    models.PositiveSmallIntegerField(default=180, help_text="Days a core fact may go without a check."),
                ),
                (
                    "reference_days",
                    models.PositiveSmallIntegerField(default=90, help_text="The same for a core reference."),
                ),
                (
                    "most_memories",
                    models.PositiveSmallIntegerField(
                        default=10, help_text="Memories that one run of the web check looks at."
                    ),
                ),
                (
                    "most_searches",
                    models.PositiveSmallIntegerField(default=5, help_text="Searches of the web about one memory."),
                ),
                ("confidence", models.FloatField(default=0.7, help_text="From here on an answer of the model counts.")),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name": "freshness configuration",
                "verbose_name_plural": "freshness configuration",
                "db_table": "freshness_config",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="freshness_config_single_row"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("fact_days__gte", 1),
                            ("fact_days__lte", 3650),
                            ("reference_days__gte", 1),
                            ("reference_days__lte", 3650),
                        ),
                        name="freshness_config_days_sane",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("most_memories__gte", 1),
                            ("most_memories__lte", 10),
                            ("most_searches__gte", 1),
                            ("most_searches__lte", 5),
                        ),
                        name="freshness_config_run_bounded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                        name="freshness_config_confidence_in_unit",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Verification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                (
                    "verdict",
                    models.CharField(
                        choices=[("current", "Still true"), ("unverifiable", "Cannot be told")], max_length=12
                    ),
                ),
                (
                    "method",
                    models.CharField(
                        choices=[("person", "A person"), ("agent", "An agent"), ("web_search", "Web search")],
                        max_length=10,
                    ),
                ),
                (
                    "actor",
                    models.CharField(
                        help_text="As shown: a person, an agent or a scanner with its model.", max_length=200
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        blank=True, default="", help_text="Where it is said: an address.", max_length=2000
                    ),
                ),
                ("note", models.CharField(blank=True, default="", max_length=2000)),
                (
                    "confidence",
                    models.FloatField(blank=True, help_text="Of a model; people and agents give none.", null=True),
                ),
                ("model", models.CharField(blank=True, default="", max_length=200)),
                (
                    "memory",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verifications",
                        to="memories.memory",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "memory_verification",
                "indexes": [models.Index(fields=["memory", "-at"], name="verification_memory_at")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("verdict__in", ["current", "unverifiable"])),
                        name="verification_verdict_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("method__in", ["person", "agent", "web_search"])),
                        name="verification_method_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("actor", ""), _negated=True), name="verification_attributed"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("confidence__isnull", True),
                            models.Q(("confidence__gte", 0), ("confidence__lte", 1)),
                            _connector="OR",
                        ),
                        name="verification_confidence_in_unit",
                    ),
                ],
            },
        ),
        migrations.RunSQL(load("verification_append_only"), load("verification_append_only_undo")),
        migrations.RunPython(write_row, migrations.RunPython.noop),
    ]
