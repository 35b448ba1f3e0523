from django.db import migrations, models

from memories.sql import load


class Migration(migrations.Migration):
    dependencies = [("memories", "0003_search_any_script")]

    operations = [
        migrations.AddField(
            "memory",
            "embedded_with",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="Stamp of the embedder that embedded_at is about; "
                "vectors of earlier ones may stand beside its own.",
                max_length=270,
            ),
        ),
        migrations.AddIndex(
            "memory",
            models.Index(
                fields=["embedded_with"],
                condition=models.Q(invalidated_at__isnull=True),
                name="memory_live_embedded_with",
            ),
        ),
        migrations.AlterField(
            "memory",
            "valid_from",
            models.DateTimeField(
                null=True,
                blank=True,
                help_text="Shown, not enforced: a memory is recalled before this moment too.",
            ),
        ),
        migrations.AlterField(
            "memory",
            "valid_until",
            models.DateTimeField(null=True, blank=True, help_text="From then on it is not recalled."),
        ),
        migrations.RunSQL(load("stamp_embedded"), migrations.RunSQL.noop),
    ]
