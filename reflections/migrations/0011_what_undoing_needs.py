import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0011_withdrawn_challenges"),
        ("reflections", "0010_refused_questions"),
    ]

    operations = [
        migrations.AlterField(
            model_name="dispute",
            name="merged",
            field=models.ForeignKey(
                blank=True,
                help_text="What both, or a corrected one, became.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="memories.memory",
            ),
        ),
        migrations.AlterField(
            model_name="dispute",
            name="retired",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="To undo by: [{memory, at, updated_at}] retired, or [{memory, version, updated_at}] refiled.",
            ),
        ),
    ]
