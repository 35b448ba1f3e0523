from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reflections", "0012_standing_rules"),
    ]

    operations = [
        migrations.AddField(
            model_name="hygieneconfig",
            name="suspect_days",
            field=models.PositiveSmallIntegerField(default=90, help_text="Stale suspects: within so many days."),
        ),
        migrations.AddField(
            model_name="hygieneconfig",
            name="suspect_reports",
            field=models.PositiveSmallIntegerField(
                default=2, help_text="Stale suspects: reports that a memory misled, one a session."
            ),
        ),
        migrations.AddField(
            model_name="dispute",
            name="reports",
            field=models.JSONField(
                blank=True,
                db_default=[],
                default=list,
                help_text="Of a stale suspect, who says that it misled: [{at, source, by, session, confidence}].",
            ),
        ),
    ]
