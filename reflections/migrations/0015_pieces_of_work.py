from django.db import migrations, models

FORMER = 0.65
MEASURED = 0.80


def raise_what_nobody_chose(apps, schema_editor):
    """The lower end that shipped is replaced; one that somebody set stays."""
    shipped = apps.get_model("reflections", "ReflectionConfig").objects.filter(id=1, version=1, cosine_min=FORMER)
    shipped.update(cosine_min=MEASURED)


class Migration(migrations.Migration):
    dependencies = [
        ("reflections", "0014_usefulness_judge"),
    ]

    operations = [
        migrations.AlterField(
            model_name="reflectionconfig",
            name="cosine_min",
            field=models.FloatField(
                default=MEASURED, help_text="Pairs join from here on, whatever time lies between them."
            ),
        ),
        migrations.AddField(
            model_name="reflectionconfig",
            name="work_cosine",
            field=models.FloatField(
                default=0.4, help_text="Pairs within an hour join from here on; at 1 they need as much as any."
            ),
        ),
        migrations.AddField(
            model_name="reflectionconfig",
            name="work_step",
            field=models.FloatField(default=0.25, help_text="So much more for each tenfold time between the two."),
        ),
        migrations.AddConstraint(
            model_name="reflectionconfig",
            constraint=models.CheckConstraint(
                condition=models.Q(work_cosine__gte=0, work_cosine__lte=1, work_step__gte=0, work_step__lte=1),
                name="reflection_config_work_in_unit",
            ),
        ),
        migrations.RunPython(raise_what_nobody_chose, migrations.RunPython.noop),
    ]
