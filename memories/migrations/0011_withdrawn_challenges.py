from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0010_surfacings"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="usageevent",
            name="usage_event_source_known",
        ),
        migrations.AlterField(
            model_name="usageevent",
            name="source",
            field=models.CharField(
                choices=[
                    ("direct", "Direct report"),
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
            constraint=models.CheckConstraint(
                condition=models.Q(("source__in", ["direct", "judge", "challenge", "withdrawn", "reinstated"])),
                name="usage_event_source_known",
            ),
        ),
    ]
