from django.db import migrations

from memories.sql import load

# The query of recall's vector leg, for the embedders of 384 dimensions (the default among them).
# Another dimension gets its index when its embedder is first used.
VECTOR_INDEX = """
CREATE INDEX embedding_live_hnsw_384 ON memory_embedding
    USING hnsw ((vector::halfvec(384)) halfvec_cosine_ops) WHERE live AND dimensions = 384
"""

KINDS = [
    ("decision", 1.0, 3650),
    ("convention", 1.0, 3650),
    ("preference", 1.0, 1825),
    ("reference", 0.95, 1825),
    ("gotcha", 1.0, 1095),
    ("fact", 0.9, 365),
    ("episode", 0.7, 30),
    ("task", 0.7, 14),
    ("open-question", 0.7, 14),
]


def write_defaults(apps, schema_editor):
    ranking, fusion = apps.get_model("memories", "RankingConfig"), apps.get_model("memories", "FusionConfig")
    ranking.objects.bulk_create(ranking(kind=kind, weight=weight, half_life_days=days) for kind, weight, days in KINDS)
    fusion.objects.create(id=1)


class Migration(migrations.Migration):
    dependencies = [("memories", "0001_initial")]

    operations = [
        migrations.RunSQL(load("live_rows"), load("live_rows_undo")),
        migrations.RunSQL(load("append_only"), load("append_only_undo")),
        migrations.RunSQL(VECTOR_INDEX, "DROP INDEX embedding_live_hnsw_384"),
        migrations.RunPython(write_defaults, migrations.RunPython.noop),
    ]
