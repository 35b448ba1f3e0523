import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import memories.models.memory


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0012_recall_activity"),
        ("reflections", "0011_what_undoing_needs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="hygieneconfig",
            name="rule_days",
            field=models.PositiveSmallIntegerField(default=30, help_text="Rule candidates: within so many days."),
        ),
        migrations.AddField(
            model_name="hygieneconfig",
            name="rule_sessions",
            field=models.PositiveSmallIntegerField(
                default=3, help_text="Rule candidates: sessions that found a memory useful."
            ),
        ),
        migrations.AddField(
            model_name="hygieneconfig",
            name="rule_settled_days",
            field=models.PositiveSmallIntegerField(default=7, help_text="Rule candidates: unchanged for so many days."),
        ),
        migrations.CreateModel(
            name="StandingRule",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=memories.models.memory.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "text",
                    models.CharField(
                        help_text="What is delivered: as proposed, or as a person worded it.", max_length=4000
                    ),
                ),
                (
                    "layer",
                    models.CharField(
                        choices=[("core", "Everywhere its owner works"), ("scope", "In its scopes")], max_length=5
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("proposed", "Proposed"),
                            ("snoozed", "Snoozed"),
                            ("promoted", "Promoted"),
                            ("dismissed", "Dismissed"),
                            ("revoked", "Revoked"),
                        ],
                        default="proposed",
                        max_length=9,
                    ),
                ),
                (
                    "pinned",
                    models.BooleanField(
                        default=False, help_text="Delivered first, and beside the number of the others."
                    ),
                ),
                ("rationale", models.CharField(blank=True, default="", help_text="Why it is here.", max_length=300)),
                (
                    "sessions",
                    models.PositiveIntegerField(default=0, help_text="That found it useful, when it was proposed."),
                ),
                ("proposed_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "worded_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now, help_text="When its text was written or approved."
                    ),
                ),
                (
                    "version",
                    models.PositiveIntegerField(default=1, help_text="Moves with every decision; stale tabs are told."),
                ),
                ("promoted_at", models.DateTimeField(blank=True, null=True)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("reason", models.CharField(blank=True, default="", max_length=2000)),
                ("snoozed_until", models.DateTimeField(blank=True, null=True)),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "memory",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="standing_rule", to="memories.memory"
                    ),
                ),
                (
                    "promoted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "scope",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="standing_rules", to="memories.scope"
                    ),
                ),
                (
                    "scopes",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Of the layer scope: where it is delivered.",
                        related_name="delivered_rules",
                        to="memories.scope",
                    ),
                ),
            ],
            options={
                "db_table": "standing_rule",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["proposed", "snoozed"])),
                        fields=["scope", "proposed_at"],
                        name="standing_rule_waiting",
                    ),
                    models.Index(
                        condition=models.Q(("state", "promoted")),
                        fields=["scope", "promoted_at"],
                        name="standing_rule_promoted",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["proposed", "snoozed", "promoted", "dismissed", "revoked"])),
                        name="standing_rule_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("layer__in", ["core", "scope"])), name="standing_rule_layer_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("text", ""), _negated=True), name="standing_rule_says_something"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "revoked"), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="standing_rule_revoked_for_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("snoozed_until__isnull", False), ("state", "snoozed")),
                            models.Q(models.Q(("state", "snoozed"), _negated=True), ("snoozed_until__isnull", True)),
                            _connector="OR",
                        ),
                        name="standing_rule_snoozed_has_date",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state", "proposed"),
                            models.Q(("decided_at__isnull", False), ("decided_by__isnull", False)),
                            _connector="OR",
                        ),
                        name="standing_rule_decided_by_somebody",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("promoted_at__isnull", False),
                                ("promoted_by__isnull", False),
                                ("state__in", ["promoted", "revoked"]),
                            ),
                            models.Q(
                                ("pinned", False),
                                ("promoted_at__isnull", True),
                                ("state__in", ["proposed", "snoozed", "dismissed"]),
                            ),
                            _connector="OR",
                        ),
                        name="standing_rule_promoted_by_somebody",
                    ),
                ],
            },
        ),
    ]
