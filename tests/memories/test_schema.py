import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from memories.models import AuditEntry, ConfigVersion, FusionConfig, Memory, RankingConfig, UsageEvent, Window
from tests.factories import make_memory, unit

pytestmark = pytest.mark.django_db


def index_definition(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %s", [name])
        return cursor.fetchone()[0]


def plan(sql: str, parameters: list | None = None) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {sql}", parameters)
        return "\n".join(row[0] for row in cursor.fetchall())


def test_the_vector_index_covers_live_rows_only():
    definition = index_definition("embedding_live_hnsw_384")
    assert "USING hnsw" in definition
    assert "WHERE (live" in definition


def test_the_text_index_covers_live_rows_only():
    definition = index_definition("window_live_document")
    assert "USING gin" in definition
    assert definition.endswith("WHERE live")


def test_a_vector_query_over_live_rows_uses_the_partial_index():
    make_memory(vector=unit(1))
    nearest = (
        "SELECT id FROM memory_embedding WHERE live AND dimensions = 384 "
        "ORDER BY vector::halfvec(384) <=> %s::halfvec(384) LIMIT 5"
    )
    assert "embedding_live_hnsw_384" in plan(nearest, [str(unit(1).tolist())])


def test_a_text_query_over_live_rows_uses_the_partial_index():
    make_memory("cache invalidation")
    assert "window_live_document" in plan("SELECT id FROM memory_window WHERE live AND document @@ 'cache'::tsquery")


def test_windows_and_vectors_follow_the_liveness_of_their_memory():
    memory = make_memory(vector=unit(1))
    memory.invalidated_at, memory.invalidated_actor = timezone.now(), "somebody"
    memory.save()
    assert not memory.windows.get().live
    assert not memory.embeddings.get().live
    memory.invalidated_at = None
    memory.save()
    assert memory.windows.get().live
    assert memory.embeddings.get().live


def test_a_window_of_a_retired_memory_is_born_retired():
    memory = make_memory(invalidated_at=timezone.now(), invalidated_actor="somebody")
    late = Window.objects.create(memory=memory, position=1, start=0, stop=1, text="x")
    late.refresh_from_db()
    assert not late.live


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "rumour"},
        {"content": ""},
        {"provenance": 3},
        {"weight": 1.5},
        {"invalidated_at": timezone.now()},
    ],
)
def test_the_database_refuses_a_memory_that_cannot_be(wrong):
    with pytest.raises(IntegrityError), transaction.atomic():
        make_memory(**wrong)


def test_the_database_refuses_a_vector_whose_dimension_is_a_lie():
    memory = make_memory(vector=unit(1))
    with pytest.raises(IntegrityError), transaction.atomic():
        memory.embeddings.update(dimensions=768)


def test_history_cannot_be_rewritten():
    entry = AuditEntry.objects.create(actor="a", action="forget", object_type="memory", object_id="1")
    entry.reason = "something else"
    with pytest.raises(IntegrityError), transaction.atomic():
        entry.save()


def test_history_cannot_be_removed():
    AuditEntry.objects.create(actor="a", action="forget", object_type="memory", object_id="1")
    ConfigVersion.objects.create(table="ranking_config", row="fact", version=2)
    for table in (AuditEntry, ConfigVersion):
        with pytest.raises(IntegrityError, match="never removed"), transaction.atomic():
            table.objects.all().delete()
        assert table.objects.exists()


def removed_for_good(rows) -> None:
    """Deleted, and looked at by the constraints that wait for the commit."""
    with transaction.atomic():
        rows.delete()
        connection.check_constraints()


def test_evidence_is_removed_only_with_its_memory():
    memory = make_memory()
    UsageEvent.objects.create(memory=memory, at=timezone.now(), source="direct", useful=True)
    with pytest.raises(IntegrityError, match="while their memory stands"):
        removed_for_good(UsageEvent.objects.all())
    assert UsageEvent.objects.exists()
    removed_for_good(Memory.objects.filter(pk=memory.pk))
    assert not UsageEvent.objects.exists()


def test_a_fresh_database_has_a_row_for_each_kind_and_one_for_fusion():
    assert RankingConfig.objects.count() == 9
    assert FusionConfig.objects.get().rrf_k == 60


@pytest.mark.parametrize("half_life", [0, -1, 40000])
def test_the_database_refuses_a_half_life_out_of_range(half_life):
    with pytest.raises(IntegrityError), transaction.atomic():
        RankingConfig.objects.filter(kind="fact").update(half_life_days=half_life)
