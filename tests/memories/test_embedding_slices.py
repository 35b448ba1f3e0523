import pytest

from memories import embedding_queue
from memories.access import actor_for_user
from memories.embedding_queue import BATCHES_A_SLICE, WINDOWS_A_BATCH
from memories.models import Memory
from memories.services import remember

pytestmark = pytest.mark.django_db


def test_a_text_of_thousands_of_windows_does_not_keep_short_ones_waiting(owner, scope):
    actor = actor_for_user(owner)
    huge = remember(actor=actor, scope=scope, content="harbour " * 40_000, ring=False).memory
    assert huge.windows.count() > BATCHES_A_SLICE * WINDOWS_A_BATCH
    embedding_queue.embed_one(huge.pk)
    short = remember(actor=actor, scope=scope, content="The light is green.", ring=False).memory
    embedding_queue.embed_waiting(seconds=0.01)
    assert Memory.objects.get(pk=short.pk).embedded_at
    assert not Memory.objects.get(pk=huge.pk).embedded_at
    assert huge.embeddings.count() >= BATCHES_A_SLICE * WINDOWS_A_BATCH


def test_slices_finish_a_long_text_in_the_end(owner, scope, monkeypatch):
    monkeypatch.setattr(embedding_queue, "BATCHES_A_SLICE", 1)
    actor = actor_for_user(owner)
    long = remember(actor=actor, scope=scope, content="harbour light " * 8_000, ring=False).memory
    windows = long.windows.count()
    assert windows > 2 * WINDOWS_A_BATCH
    embedding_queue.embed_waiting()
    assert Memory.objects.get(pk=long.pk).embedded_at
    assert long.embeddings.count() == windows
