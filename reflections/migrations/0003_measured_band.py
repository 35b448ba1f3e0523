from django.db import migrations, models


def write_row(apps, schema_editor):
    apps.get_model("reflections", "ReflectionConfig").objects.get_or_create(id=1)


class Migration(migrations.Migration):
    dependencies = [("reflections", "0002_runs_and_candidates")]

    operations = [
        migrations.AlterField(
            model_name="reflectionconfig",
            name="cosine_min",
            field=models.FloatField(default=0.65, help_text="Pairs join from here on."),
        ),
        migrations.AlterField(
            model_name="reflectionconfig",
            name="cosine_max",
            field=models.FloatField(default=0.9, help_text="Pairs at or above are duplicates and do not join."),
        ),
        migrations.RunPython(write_row, migrations.RunPython.noop),
    ]
