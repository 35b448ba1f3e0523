from django.db import migrations, models
from django.db.models import Q

from memories.sql import load

SOURCES = ["direct", "link", "judge", "challenge", "withdrawn", "reinstated"]


def write_defaults(apps, schema_editor):
    apps.get_model("memories", "ReinforcementConfig").objects.create(id=1)


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0013_verification"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="usageevent",
            name="usage_event_source_known",
        ),
        migrations.AddField(
            model_name="usageevent",
            name="relevant",
            field=models.BooleanField(help_text="Whether it was about what was asked; only a judge says.", null=True),
        ),
        migrations.AlterField(
            model_name="usageevent",
            name="source",
            field=models.CharField(
                choices=[
                    ("direct", "Direct report"),
                    ("link", "Link of a newer memory"),
                    ("judge", "Judge"),
                    ("challenge", "Challenge"),
                    ("withdrawn", "Challenge withdrawn"),
                    ("reinstated", "Challenge reinstated"),
                ],
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="usageevent",
            constraint=models.CheckConstraint(condition=Q(source__in=SOURCES), name="usage_event_source_known"),
        ),
        migrations.AddConstraint(
            model_name="usageevent",
            constraint=models.CheckConstraint(
                condition=Q(relevant__isnull=True) | Q(source="judge"), name="usage_event_relevant_by_judge"
            ),
        ),
        migrations.RunSQL(load("usage_event_months"), load("usage_event_months_undo")),
        migrations.CreateModel(
            name="ReinforcementConfig",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ("window_days", models.PositiveSmallIntegerField(default=90, help_text="How long a signal counts.")),
                (
                    "judge_minimum",
                    models.FloatField(default=0.6, help_text="Confidence below which a judge counts nothing."),
                ),
                (
                    "boost",
                    models.FloatField(default=0.15, help_text="Rise for each natural logarithm of 1 + useful signals."),
                ),
                ("boost_limit", models.FloatField(default=1.4, help_text="Highest multiplier, from 1 to 2.")),
                (
                    "penalty",
                    models.FloatField(
                        default=0.25, help_text="Fall for each natural logarithm of 1 + misleading signals."
                    ),
                ),
                ("floor", models.FloatField(default=0.5, help_text="Lowest multiplier, above 0 and at most 1.")),
                (
                    "promoted",
                    models.FloatField(default=0.6, help_text="Multiplier of a memory that became a standing rule."),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name": "reinforcement configuration",
                "verbose_name_plural": "reinforcement configuration",
                "db_table": "reinforcement_config",
                "constraints": [
                    models.CheckConstraint(condition=Q(id=1), name="reinforcement_config_single_row"),
                    models.CheckConstraint(
                        condition=Q(window_days__gte=1, window_days__lte=3650),
                        name="reinforcement_config_window_sane",
                    ),
                    models.CheckConstraint(
                        condition=Q(judge_minimum__gte=0, judge_minimum__lte=1),
                        name="reinforcement_config_judge_in_unit",
                    ),
                    models.CheckConstraint(
                        condition=Q(boost__gte=0, boost__lte=2, penalty__gte=0, penalty__lte=2),
                        name="reinforcement_config_steps_sane",
                    ),
                    models.CheckConstraint(
                        condition=Q(boost_limit__gte=1, boost_limit__lte=2)
                        & Q(floor__gt=0, floor__lte=1)
                        & Q(promoted__gt=0, promoted__lte=2),
                        name="reinforcement_config_bounds_sane",
                    ),
                ],
            },
        ),
        migrations.RunPython(write_defaults, migrations.RunPython.noop),
    ]
