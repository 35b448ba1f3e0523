"""`make bench`: recall beside its parts. ZEROMEMORY_BENCH_ROWS sets the size of the corpus (10,000)."""

import pytest

from memories.candidates import Filters
from memories.recall import find, recall
from zeromemory.embedding import get_embedder

pytestmark = [pytest.mark.django_db, pytest.mark.benchmark(group="recall, k = 10", min_rounds=30, warmup=True)]


def test_query_embedding_alone(benchmark, queries):
    embedder = get_embedder()
    benchmark(lambda: embedder.encode_query(queries()))


def test_recall_by_words_alone(benchmark, corpus, queries):
    filters = Filters(scopes=corpus.readable)
    assert benchmark(lambda: find(query=queries(), meaning=None, filters=filters))


def test_recall_by_words_and_meaning(benchmark, corpus, queries):
    assert benchmark(lambda: recall(actor=corpus, query=queries())).results
