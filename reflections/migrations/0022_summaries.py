from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reflections", "0021_what_a_search_came_to"),
    ]

    operations = [
        migrations.AddField(
            model_name="candidate",
            name="purpose",
            field=models.CharField(
                choices=[("draft", "Draft from episodes"), ("summary", "Summary of what is fading")],
                db_default="draft",
                default="draft",
                help_text="Whether its sources stay beside it, or are retired in its favour.",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="candidate",
            constraint=models.CheckConstraint(
                condition=models.Q(("purpose__in", ["draft", "summary"])), name="candidate_purpose_known"
            ),
        ),
    ]
