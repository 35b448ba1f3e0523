"""Memories that lie near each other: by all comparing in small scopes, by the index in large ones."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memories.models import Embedding, Memory, Window
from reflections.models import Judged
from reflections.nearest import loop_evidence, nearest_pairs
from tests.factories import MODEL, MODEL_VERSION, at_cosine, make_memory, make_scope
from tests.memories.test_recall_at_scale import EMBED, FILL, plan_nodes
from tests.reflections.factories import STAMP

pytestmark = pytest.mark.django_db

LARGE = 1500
VECTOR_INDEX = "embedding_live_hnsw_384"
BOTH_WAYS = pytest.mark.parametrize("exact_up_to", [0, 1000], ids=["by the index", "all compared"])


def pairs_of(memory, **overrides):
    wanted = {"stamp": STAMP, "cosine": 0.78, "nearest": 3} | overrides
    return [near.other for near in nearest_pairs([memory.pk], **wanted)]


def evidence_of(loop, **overrides):
    wanted = {"scanner": "loop_closure", "stamp": STAMP, "cosine": 0.6, "nearest": 3} | overrides
    return [near.other for near in loop_evidence([loop.pk], **wanted)]


def long_memory(scope, *cosines, **given):
    """One memory with a window at each of these similarities."""
    memory = make_memory(scope=scope, vector=at_cosine(cosines[0], axis=1), **given)
    for position, cosine in enumerate(cosines[1:], start=1):
        window = Window.objects.create(memory=memory, position=position, start=0, stop=4, text="more")
        Embedding.objects.create(
            window=window,
            memory=memory,
            model=MODEL,
            model_version=MODEL_VERSION,
            dimensions=384,
            vector=at_cosine(cosine, axis=1 + position),
        )
    return memory


@pytest.fixture(autouse=True)
def _own_index():
    """Without the rows that other tests have rolled back: the graph of the index leads over them."""
    with connection.cursor() as cursor:
        cursor.execute(f"REINDEX INDEX {VECTOR_INDEX}")


@pytest.fixture
def subject(scope):
    return make_memory(scope=scope, vector=at_cosine(1.0), kind="task", age_days=9)


@pytest.fixture(params=[pairs_of, evidence_of], ids=["pairs", "evidence"])
def nearest_of(request):
    return request.param


@BOTH_WAYS
def test_a_long_memory_takes_one_place_however_many_of_its_windows_are_near(scope, subject, nearest_of, exact_up_to):
    long = long_memory(scope, 0.99, 0.98, 0.97, 0.96, 0.95)
    other = make_memory(scope=scope, vector=at_cosine(0.9, axis=8))
    assert nearest_of(subject, exact_up_to=exact_up_to, nearest=2) == [long.pk, other.pk]


@BOTH_WAYS
def test_the_nearest_window_of_a_memory_counts(scope, subject, nearest_of, exact_up_to):
    other = make_memory(scope=scope, vector=at_cosine(0.9, axis=8))
    long = long_memory(scope, 0.8, 0.85, 0.95)
    assert nearest_of(subject, exact_up_to=exact_up_to) == [long.pk, other.pk]


@BOTH_WAYS
def test_what_holds_no_longer_takes_no_place(scope, subject, nearest_of, exact_up_to):
    ended = timezone.now() - timedelta(minutes=1)
    for number in range(18):
        make_memory(scope=scope, vector=at_cosine(0.97, axis=10 + number), valid_until=ended)
    lasting = make_memory(scope=scope, vector=at_cosine(0.9, axis=8))
    ending = make_memory(scope=scope, vector=at_cosine(0.85, axis=9), valid_until=timezone.now() + timedelta(days=1))
    assert nearest_of(subject, exact_up_to=exact_up_to, nearest=2) == [lasting.pk, ending.pk]


def test_what_holds_no_longer_is_no_evidence_of_a_later_look_either(scope, subject):
    seen = make_memory(scope=scope, vector=at_cosine(0.9, axis=8))
    low, high = sorted((subject.pk, seen.pk))
    looked = timezone.now() - timedelta(days=1)
    Judged.objects.create(
        scanner="loop_closure", low_id=low, high_id=high, verdict="open", confidence=0.5, model="m", at=looked
    )
    given = {"scope": scope, "embedded_at": timezone.now()}
    make_memory(**given, vector=at_cosine(0.9, axis=9), valid_until=timezone.now() - timedelta(minutes=1))
    lasting = make_memory(**given, vector=at_cosine(0.9, axis=10))
    Memory.objects.filter(pk__in=[seen.pk]).update(embedded_at=looked - timedelta(days=1))
    assert evidence_of(subject) == [lasting.pk]


# A large store -------------------------------------------------------------------------------


@pytest.fixture
def crowd(scope):
    """Another scope of LARGE embedded memories, planned with what is known of them."""
    large = make_scope(scope.owner)
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"scope": large.pk, "rows": LARGE})
        cursor.execute(EMBED, {"model": MODEL, "version": MODEL_VERSION})
        cursor.execute("ANALYZE memories, memory_window, memory_embedding")
    return large


def indexes_of(act):
    """What the statement of *act* reads its rows by."""
    asked = []

    def note(execute, statement, parameters, many, context):
        asked.append((statement, parameters))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(note):
        act()
    return {node.get("Index Name") for node in plan_nodes(*asked[0]) if node["Actual Loops"]}


def test_a_large_scope_is_searched_by_the_index_and_a_small_one_compared_whole(crowd, scope, subject, nearest_of):
    other = make_memory(scope=scope, vector=at_cosine(0.9, axis=8))
    oldest = Memory.objects.filter(scope=crowd).earliest("created_at")
    assert VECTOR_INDEX in indexes_of(lambda: nearest_of(oldest))
    assert VECTOR_INDEX not in indexes_of(lambda: nearest_of(subject))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_sort = off; SET LOCAL hnsw.max_scan_tuples = 1; SET LOCAL hnsw.ef_search = 1")
    assert nearest_of(subject) == [other.pk]
    newest = Memory.objects.filter(scope=crowd).latest("created_at")
    assert VECTOR_INDEX not in indexes_of(lambda: evidence_of(newest))
