import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0014_briefing_config"),
    ]

    operations = [
        migrations.AlterField(
            model_name="configversion",
            name="changed_at",
            field=models.DateTimeField(default=django.utils.timezone.now, editable=False),
        ),
    ]
