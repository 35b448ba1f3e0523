"""Recall over thousands of memories: the plan uses both partial indexes, and the index finds what comparing finds."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from memories.candidates import Filters, Search, _parameters, _statement, candidates
from memories.configuration import ranking_rules
from memories.facets import Choice, narrowed
from memories.models import Memory, Scope, User
from memories.words import words_of
from tests.factories import MODEL, MODEL_VERSION, make_memory, make_scope, make_user
from tests.memories.searching import meaning

pytestmark = pytest.mark.django_db

ROWS = 5000
SMALL = 20
FILL = """
WITH made AS (
    INSERT INTO memories (id, scope_id, kind, content, content_sha256, provenance, author_kind, agent, session, source,
        verbatim, created_at, recorded_at, updated_at, version, invalidated_actor, invalidation_reason, pinned,
        accessed_at, access_count, weight, external_id, idempotency_key, embedding_error)
    SELECT gen_random_uuid(), %(scope)s, CASE WHEN n %% 200 = 0 THEN 'gotcha' ELSE 'fact' END,
        'note about topic' || chr(97 + n %% 26) || (SELECT string_agg(' ' || md5(n || ' ' || word), '')
            FROM generate_series(1, 15) AS word), '', 1, 'agent', '', '', '', '',
        now() - n * interval '1 hour', now(), now(), 1, '', '', false, now(), 0, 1, '', '', ''
    FROM generate_series(1, %(rows)s) AS n
    RETURNING id, content
)
INSERT INTO memory_window (memory_id, position, start, stop, text, live)
SELECT id, 0, 0, length(content), content, true FROM made
"""
EMBED = """
INSERT INTO memory_embedding (window_id, memory_id, model, model_version, dimensions, vector, live, created_at)
SELECT w.id, w.memory_id, %(model)s, %(version)s, 384,
    (SELECT array_agg(sin(w.id * axis * 0.37) + random()) FROM generate_series(1, 384) AS axis)::vector, true, now()
FROM memory_window w
"""


@pytest.fixture(scope="module")
def crowd(django_db_setup, django_db_blocker):
    """A scope of ROWS embedded memories, made once for this module."""
    with django_db_blocker.unblock():
        scope = make_scope(make_user())
        with connection.cursor() as cursor:
            cursor.execute(FILL, {"scope": scope.pk, "rows": ROWS})
            cursor.execute(EMBED, {"model": MODEL, "version": MODEL_VERSION})
            cursor.execute("ANALYZE memories, memory_window, memory_embedding")
        yield scope
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE memories CASCADE")
        Scope.objects.filter(pk=scope.pk).delete()
        User.objects.filter(pk=scope.owner_id).delete()


@pytest.fixture
def small_scope(crowd):
    scope = make_scope(crowd.owner)
    for number in range(SMALL):
        make_memory(f"note {number}", scope=scope, vector=np.random.default_rng(number).uniform(0, 2, size=384))
    return scope


def search_in(scope, query="topicf", *, seed=1, **more):
    vector = np.random.default_rng(seed).uniform(0, 2, size=384)
    filters = {name: more.pop(name) for name in list(more) if name in Filters.__dataclass_fields__}
    return Search(Filters(scopes={scope.pk}, **filters), words_of(query), meaning(vector), **more)


def plan_nodes(statement, parameters):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
        answer = cursor.fetchone()[0]
    return list(nodes(json.loads(answer)[0]["Plan"] if isinstance(answer, str) else answer[0]["Plan"]))


def nodes(node):
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)


def scans(search):
    """Index scans that ran, and the tables read from end to end."""
    return scans_of(_statement(search), _parameters(search))


def scans_of(statement, parameters):
    ran = [node for node in plan_nodes(statement, parameters) if node["Actual Loops"]]
    whole = [node for node in ran if node["Node Type"] == "Seq Scan" and rows_read(node) >= ROWS]
    return {node["Index Name"] for node in ran if "Index Name" in node}, [node["Relation Name"] for node in whole]


def rows_read(node):
    """Let through or not, in all loops and by all workers together."""
    return (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]


def scans_of_page(rows, *, size=40):
    """The same of one page of a list, which reads one row more to know whether there is another page."""
    return scans_of(*rows.order_by("-created_at", "-pk")[: size + 1].query.sql_with_params())


@pytest.mark.behaviour("F29")
def test_both_partial_indexes_serve_a_recall_and_no_big_table_is_read_whole(crowd):
    indexes, read_whole = scans(search_in(crowd))
    assert {"embedding_live_hnsw_384", "window_live_document"} <= indexes
    assert read_whole == []


@pytest.mark.behaviour("F29")
def test_a_recall_in_one_small_scope_beside_a_huge_one_reads_no_big_table_whole(crowd, small_scope):
    assert scans(search_in(small_scope, "note"))[1] == []
    assert len(candidates(search_in(small_scope, "note")).found) == SMALL


@pytest.mark.behaviour("F29")
@pytest.mark.parametrize("state", ["live", ""])
def test_a_page_of_the_list_reads_no_big_table_whole(crowd, small_scope, state):
    for scopes in ([crowd.pk], [small_scope.pk], [crowd.pk, small_scope.pk]):
        rows = narrowed(Memory.objects.in_scopes(scopes), Choice(state=state), ranking_rules(), timezone.now())
        assert scans_of_page(rows.for_list())[1] == []


@pytest.mark.behaviour("F29")
def test_a_page_far_down_the_list_reads_no_big_table_whole(crowd):
    behind = timezone.now() - timedelta(hours=ROWS // 2)
    rows = Memory.objects.in_scopes([crowd.pk]).live().filter(created_at__lt=behind)
    assert scans_of_page(rows.for_list())[1] == []


def test_with_a_rare_kind_the_few_are_compared_one_by_one(crowd):
    indexes, _ = scans(search_in(crowd, kinds=["gotcha"]))
    assert "embedding_live_hnsw_384" not in indexes
    assert len(candidates(search_in(crowd, "nothing", kinds=["gotcha"])).found) == ROWS // 200


def test_the_index_finds_nearly_all_that_comparing_one_by_one_finds(crowd):
    shared = 0
    for seed in range(10):
        indexed = {hit.candidate.id for hit in candidates(search_in(crowd, "nothing", seed=seed)).found}
        compared = {
            hit.candidate.id for hit in candidates(search_in(crowd, "nothing", seed=seed, exact_up_to=ROWS)).found
        }
        assert len(indexed) == len(compared) == 40
        shared += len(indexed & compared)
    assert shared >= 0.9 * 400


def test_the_index_goes_on_until_the_filters_have_let_enough_through(crowd):
    found = candidates(search_in(crowd, "nothing", kinds=["gotcha"], exact_up_to=0)).found
    assert len(found) >= 0.9 * ROWS // 200


def test_what_the_scan_needed_to_be_told_does_not_outlive_the_statement(crowd):
    with ThreadPoolExecutor(1) as elsewhere:  # a connection of its own, outside the test's transaction
        during, after = elsewhere.submit(told_during_and_after, search_in(crowd)).result()
    assert (during, after) == ("relaxed_order", "off")


def told_during_and_after(search):
    try:
        with transaction.atomic():
            candidates(search)
            during = iterative_scan()
        candidates(search)
        return during, iterative_scan()
    finally:
        connections.close_all()


def iterative_scan():
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('hnsw.iterative_scan')")
        return cursor.fetchone()[0]
