from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0007_log_linear_fusion"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["-created_at", "-id"], name="memory_recent"),
        ),
    ]
