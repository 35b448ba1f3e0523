from django.db import migrations, models

FORMER = {"work_cosine": 0.40, "work_step": 0.25}
MEASURED = {"work_cosine": 0.24, "work_step": 0.30}
AN_HOUR = 60


def replace_what_nobody_chose(apps, schema_editor):
    """What shipped is replaced; what somebody set goes on to speak of an hour."""
    rows = apps.get_model("reflections", "ReflectionConfig").objects.all()
    rows.exclude(version=1, **FORMER).update(work_minutes=AN_HOUR)
    rows.filter(version=1, **FORMER).update(**MEASURED)


class Migration(migrations.Migration):
    dependencies = [
        ("reflections", "0019_what_an_uphold_withdrew"),
    ]

    operations = [
        migrations.AddField(
            model_name="reflectionconfig",
            name="work_minutes",
            field=models.PositiveSmallIntegerField(
                db_default=12, default=12, help_text="What is written within so many minutes is one sitting."
            ),
        ),
        migrations.AlterField(
            model_name="reflectionconfig",
            name="work_cosine",
            field=models.FloatField(
                default=0.24, help_text="Pairs of one sitting join from here on; at 1 they need as much as any."
            ),
        ),
        migrations.AlterField(
            model_name="reflectionconfig",
            name="work_step",
            field=models.FloatField(default=0.3, help_text="So much more for each tenfold time between the two."),
        ),
        migrations.RemoveConstraint(
            model_name="reflectionconfig",
            name="reflection_config_work_in_unit",
        ),
        migrations.AddConstraint(
            model_name="reflectionconfig",
            constraint=models.CheckConstraint(
                condition=models.Q(work_cosine__gte=0, work_cosine__lte=1, work_step__gte=0, work_step__lte=1)
                & models.Q(work_minutes__gte=1, work_minutes__lte=1440),
                name="reflection_config_work_in_unit",
            ),
        ),
        migrations.RunPython(replace_what_nobody_chose, migrations.RunPython.noop),
    ]
