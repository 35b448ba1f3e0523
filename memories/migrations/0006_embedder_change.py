from django.conf import settings
from django.db import migrations, models
from django.db.models import Count, Q
from django.utils import timezone

PACKAGED = "local:all-MiniLM-L6-v2-int8"


def record_what_answers(apps, schema_editor):
    """The store goes on with the embedder that made most of its vectors, whatever the setting says by now."""
    memories = apps.get_model("memories", "Memory").objects.exclude(embedded_with="").order_by()
    found = memories.values("embedded_with").annotate(count=Count("pk")).order_by("-count", "embedded_with").first()
    if found is None:
        return
    stamp = found["embedded_with"]
    now = timezone.now()
    apps.get_model("memories", "EmbedderChange").objects.create(
        stamp=stamp, choice=choice_of(stamp), state="finished", started_at=now, ended_at=now
    )


def choice_of(stamp):
    """What to load for a stamp. Empty for a folder of the owner's: its stamp does not tell where it is."""
    name = stamp.rpartition(" ")[0]
    if name != PACKAGED and not name.startswith("openai:"):
        return {}
    setting = "local" if name == PACKAGED else name
    return {"setting": setting, "path": "", "query_prefix": "", "document_prefix": ""}


class Migration(migrations.Migration):
    dependencies = [("memories", "0005_append_only_delete")]

    operations = [
        migrations.CreateModel(
            "EmbedderChange",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("former_stamp", models.CharField(blank=True, default="", max_length=270)),
                (
                    "former_choice",
                    models.JSONField(default=dict, help_text="Setting, folder and prefixes. Empty where unknown."),
                ),
                ("stamp", models.CharField(max_length=270)),
                ("choice", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Under way"),
                            ("paused", "Paused"),
                            ("finished", "Finished"),
                            ("rolled_back", "Rolled back"),
                        ],
                        default="running",
                        max_length=12,
                    ),
                ),
                (
                    "memories",
                    models.PositiveIntegerField(default=0, help_text="How many there were when it was finished."),
                ),
                ("started_at", models.DateTimeField(default=timezone.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "started_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "embedder_change",
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(state__in=["running", "paused", "finished", "rolled_back"]),
                        name="embedder_change_state_known",
                    ),
                    models.CheckConstraint(
                        condition=Q(state__in=["running", "paused"]) ^ Q(ended_at__isnull=False),
                        name="embedder_change_ended_when_closed",
                    ),
                    models.UniqueConstraint(
                        condition=Q(ended_at__isnull=True),
                        fields=["ended_at"],
                        name="embedder_change_one_open",
                        nulls_distinct=False,
                    ),
                ],
            },
        ),
        migrations.RunPython(record_what_answers, migrations.RunPython.noop),
    ]
