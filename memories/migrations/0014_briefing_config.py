from django.db import migrations, models


def write_row(apps, schema_editor):
    apps.get_model("memories", "BriefingConfig").objects.get_or_create(id=1)


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0013_signals_in_months"),
    ]

    operations = [
        migrations.CreateModel(
            name="BriefingConfig",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                (
                    "loop_days",
                    models.FloatField(
                        default=14,
                        help_text="Days that a task or an open question is told of; recall finds it after that too.",
                    ),
                ),
                ("recent_days", models.FloatField(default=14, help_text="Days that a memory counts as new.")),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "verbose_name": "briefing configuration",
                "verbose_name_plural": "briefing configuration",
                "db_table": "briefing_config",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="briefing_config_single_row"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("loop_days__gt", 0),
                            ("loop_days__lte", 3650),
                            ("recent_days__gt", 0),
                            ("recent_days__lte", 3650),
                        ),
                        name="briefing_config_days_sane",
                    ),
                ],
            },
        ),
        migrations.RunPython(write_row, migrations.RunPython.noop, elidable=True),
    ]
