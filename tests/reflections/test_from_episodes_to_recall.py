"""The whole way with the packaged embedder: episodes, a cluster, a draft, an approval, a recall."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.embedding_queue import embed_waiting
from memories.models import Memory
from memories.recall import recall
from memories.services import EntitySpec, remember
from reflections.models import Candidate, ReflectionConfig
from reflections.services import approve, find_candidates
from tests.reflections.factories import person

pytestmark = pytest.mark.django_db

HAPPENED = [
    "The nightly import left its database sessions open and the web pages ran out of connections again.",
    "Web pages timed out during the nightly import because every database connection was taken by it.",
    "After the nightly import kept its connections open, pages failed until the importer was restarted.",
]
PARAPHRASE = "why do pages fail to get a database connection at night"


@pytest.fixture
def actor(owner, scope):
    ReflectionConfig.objects.update_or_create(id=1, defaults={"cosine_min": 0.4, "cosine_max": 0.97})
    actor = person(owner)
    for number, text in enumerate(HAPPENED):
        remember(
            actor=actor,
            scope=scope,
            content=text,
            kind="episode",
            created_at=timezone.now() - timedelta(days=60, hours=-number),
            entities=[EntitySpec("importer")],
        )
    remember(actor=actor, scope=scope, content="The office moved to the third floor.", kind="episode")
    embed_waiting()
    return actor


@pytest.mark.behaviour("Z62")
def test_an_approved_distillate_is_recalled_by_a_paraphrase_above_its_old_sources(actor, scope):
    assert find_candidates(scope=scope) == 1
    distillate = approve(actor=actor, candidate=Candidate.objects.get(), version=1)
    embed_waiting()
    found = [result.memory.pk for result in recall(actor=actor, query=PARAPHRASE).results]
    sources = list(Candidate.objects.get().episodes.values_list("pk", flat=True))
    assert found[0] == distillate.pk
    assert len(sources) == 3
    assert set(sources) < set(found)


@pytest.mark.behaviour("Z62")
def test_without_the_age_factor_the_sources_would_not_be_that_far_behind(actor, scope):
    """The distillate leads by its age: what the test above asserts is not an accident of words."""
    find_candidates(scope=scope)
    distillate = approve(actor=actor, candidate=Candidate.objects.get(), version=1)
    embed_waiting()

    def lead(ignore=frozenset()) -> float:
        scores = {
            result.memory.pk: result.score for result in recall(actor=actor, query=PARAPHRASE, ignore=ignore).results
        }
        return scores.pop(distillate.pk) / max(scores[pk] for pk in scores if pk in old)

    old = set(Memory.objects.filter(entities__canonical="importer", kind="episode").values_list("pk", flat=True))
    assert lead() == pytest.approx(4 * lead(frozenset({"age"})), rel=0.05)
