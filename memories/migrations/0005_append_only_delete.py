from django.db import migrations

from memories.sql import load


class Migration(migrations.Migration):
    dependencies = [("memories", "0004_embedded_with")]

    operations = [migrations.RunSQL(load("append_only_delete"), load("append_only_delete_undo"))]
