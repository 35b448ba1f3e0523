from django.db import migrations, models

from memories.sql import load


class Migration(migrations.Migration):
    dependencies = [("memories", "0002_database_rules")]

    operations = [
        migrations.AddField(
            "memory",
            "embedding_claimed_at",
            models.DateTimeField(
                null=True,
                blank=True,
                editable=False,
                help_text="When a worker last took it up; a claim lapses by itself.",
            ),
        ),
        migrations.RunSQL(load("document_in_any_script"), load("document_in_any_script_undo")),
    ]
