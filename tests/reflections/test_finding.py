import numpy as np
import pytest
from django.utils import timezone

from memories.models import AuditEntry, Embedding, Memory, Window
from reflections.configuration import cluster_rule
from reflections.models import Candidate, ReflectionConfig
from reflections.models.candidates import sources_of
from reflections.services import find_candidates
from tests.factories import MODEL, MODEL_VERSION, at_cosine, make_memory, make_scope, make_user
from tests.reflections.factories import STAMP, make_candidate, make_episodes, pairwise
from zeromemory.embedding import EmbedderError

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _pinned_band():
    """These tests are about the rule, not about the band that ships, and most of them are not about pieces of work."""
    ReflectionConfig.objects.update_or_create(
        id=1, defaults={"cosine_min": 0.78, "cosine_max": 0.92, "work_cosine": 1.0}
    )


def found(scope) -> list[Candidate]:
    find_candidates(scope=scope, stamp=STAMP)
    return list(Candidate.objects.filter(scope=scope))


def members(candidate) -> list[Memory]:
    return list(candidate.episodes.order_by("candidacy__position"))


@pytest.mark.behaviour("Z53")
def test_three_alike_episodes_that_share_an_entity_make_one_candidate(scope):
    episodes = make_episodes(scope, 3, cosine=0.80)
    (candidate,) = found(scope)
    assert members(candidate) == episodes
    assert candidate.similarity == pytest.approx(0.80, abs=1e-6)
    assert (candidate.state, candidate.origin, candidate.confidence) == ("pending", "extractive", None)


@pytest.mark.behaviour("Z53")
def test_without_a_shared_entity_there_is_no_candidate(scope):
    make_episodes(scope, 3, entities=())
    assert found(scope) == []


@pytest.mark.behaviour("Z53")
def test_entities_that_only_one_episode_has_do_not_join(scope):
    for number, vector in enumerate(pairwise(0.80, 3)):
        make_memory(kind="episode", scope=scope, author=scope.owner, vector=vector, entities=[f"thing {number}"])
    assert found(scope) == []


@pytest.mark.behaviour("Z53")
def test_two_episodes_are_not_enough(scope):
    make_episodes(scope, 2)
    assert found(scope) == []


@pytest.mark.behaviour("Z53")
def test_an_episode_of_another_scope_does_not_count(owner, scope):
    other = make_scope(owner)
    for home, vector in zip((scope, scope, other), pairwise(0.80, 3), strict=True):
        make_memory(kind="episode", scope=home, author=owner, vector=vector, entities=["cache"])
    assert found(scope) == []
    assert found(other) == []


@pytest.mark.behaviour("Z53")
def test_an_episode_of_another_owner_does_not_count(owner, scope):
    for author, vector in zip((owner, owner, make_user()), pairwise(0.80, 3), strict=True):
        make_memory(kind="episode", scope=scope, author=author, vector=vector, entities=["cache"])
    assert found(scope) == []


def test_an_episode_without_an_author_is_the_scope_owners(owner, scope):
    for author, vector in zip((owner, None, None), pairwise(0.80, 3), strict=True):
        make_memory(kind="episode", scope=scope, author=author, vector=vector, entities=["cache"])
    assert len(found(scope)) == 1


@pytest.mark.behaviour("Z54")
@pytest.mark.parametrize(("cosine", "joins"), [(0.779, False), (0.78, True), (0.919, True), (0.92, False)])
def test_the_band_holds_its_lower_end_and_not_its_upper(scope, cosine, joins):
    make_episodes(scope, 3, cosine=cosine)
    assert bool(found(scope)) is joins


def test_the_band_in_the_configuration_row_counts_from_the_next_run_on(scope):
    make_episodes(scope, 3, cosine=0.70)
    assert found(scope) == []
    ReflectionConfig.objects.update(cosine_min=0.65)
    assert len(found(scope)) == 1


def test_what_was_written_within_hours_is_one_piece_of_work_though_it_is_less_alike(scope):
    ReflectionConfig.objects.update(work_cosine=0.4)
    vectors = pairwise(0.70, 3)
    for hour, vector in enumerate(vectors):
        make_memory(f"Step {hour}", kind="episode", scope=scope, author=scope.owner, vector=vector, entities=("cache",),
                    age_days=hour / 24)  # fmt: skip
    assert len(found(scope)) == 1


def test_a_missing_configuration_row_behaves_as_the_defaults():
    ReflectionConfig.objects.all().delete()
    defaults = ReflectionConfig()
    rule = cluster_rule()
    assert (rule.cosine_min, rule.cosine_max) == (defaults.cosine_min, defaults.cosine_max)
    assert (rule.min_members, rule.max_members) == (3, 10)
    measured = (12, 0.24, 0.30)
    assert (rule.work_minutes, rule.work_cosine, rule.work_step) == measured
    assert (defaults.work_minutes, defaults.work_cosine, defaults.work_step) == measured


@pytest.mark.behaviour("Z55")
def test_of_eleven_members_the_newest_ten_stay_in_time_order(scope):
    episodes = make_episodes(scope, 11)
    (candidate,) = found(scope)
    assert members(candidate) == episodes[1:]


@pytest.mark.behaviour("Z56")
@pytest.mark.parametrize("state", ["pending", "snoozed", "approved", "dismissed"])
def test_members_of_any_candidacy_never_cluster_again(scope, state):
    candidate = make_candidate(scope, sources=make_episodes(scope, 3))
    outcome = {
        "snoozed": {"snoozed_until": timezone.now()},
        "approved": {"memory": make_memory(scope=scope), "decided_by": scope.owner, "decided_at": timezone.now()},
    }
    Candidate.objects.filter(pk=candidate.pk).update(state=state, **outcome.get(state, {}))
    assert found(scope) == [candidate]


@pytest.mark.behaviour("Z56")
def test_a_member_that_was_reworded_since_never_clusters_again(scope):
    episodes = make_episodes(scope, 3)
    make_candidate(scope, sources=episodes)
    for generation in range(2):
        for episode, reworded in zip(episodes, make_episodes(scope, 3), strict=True):
            Memory.objects.filter(pk=episode.pk).update(
                superseded_by=reworded, invalidated_at=timezone.now(), invalidated_actor=f"edit {generation}"
            )
        episodes = list(Memory.objects.live().filter(scope=scope, kind="episode"))
    assert len(episodes) == 3
    assert len(found(scope)) == 1


@pytest.mark.parametrize("kind", ["fact", "convention", "decision", "gotcha", "task"])
@pytest.mark.behaviour("F41")
def test_only_episodes_cluster(scope, kind):
    make_episodes(scope, 3)
    Memory.objects.update(kind=kind)
    assert found(scope) == []


def test_a_forgotten_episode_does_not_cluster(scope):
    episodes = make_episodes(scope, 3)
    Memory.objects.filter(pk=episodes[0].pk).update(invalidated_at=timezone.now(), invalidated_actor="somebody")
    assert found(scope) == []


def test_an_episode_that_is_not_embedded_yet_does_not_cluster(scope):
    episodes = make_episodes(scope, 3)
    Memory.objects.filter(pk=episodes[0].pk).update(embedded_at=None, embedded_with="")
    assert found(scope) == []


def test_vectors_of_another_model_are_not_compared(scope):
    episodes = make_episodes(scope, 3)
    Embedding.objects.filter(memory=episodes[0]).update(model_version="2")
    assert found(scope) == []


def test_a_long_episode_is_compared_by_the_mean_of_its_windows(scope):
    target, *others = pairwise(0.80, 3)
    lean = at_cosine(0.0, axis=300)
    long = make_memory(
        kind="episode", scope=scope, author=scope.owner, vector=normal(target + 0.5 * lean), entities=["cache"]
    )
    window = Window.objects.create(memory=long, position=1, start=0, stop=1, text="x")
    Embedding.objects.create(
        window=window,
        memory=long,
        model=MODEL,
        model_version=MODEL_VERSION,
        dimensions=len(target),
        vector=normal(target - 0.5 * lean),
    )
    for vector in others:
        make_memory(kind="episode", scope=scope, author=scope.owner, vector=vector, entities=["cache"])
    (candidate,) = found(scope)
    assert candidate.similarity == pytest.approx(0.80, abs=1e-6)


def normal(vector):
    return vector / np.linalg.norm(vector)


def test_a_draft_quotes_its_sources_word_for_word(scope):
    episodes = {str(episode.pk): episode for episode in make_episodes(scope, 4)}
    (candidate,) = found(scope)
    assert candidate.sentences
    for sentence in candidate.sentences:
        (source,) = sources_of(sentence)
        assert sentence["text"] in episodes[source].content
    assert candidate.draft == "\n".join(sentence["text"] for sentence in candidate.sentences)


def test_finding_again_proposes_nothing_new(scope):
    make_episodes(scope, 3)
    assert find_candidates(scope=scope, stamp=STAMP) == 1
    assert find_candidates(scope=scope, stamp=STAMP) == 0


def test_finding_writes_no_memory_and_touches_none(scope):
    make_episodes(scope, 3)
    before = list(Memory.objects.order_by("pk").values())
    find_candidates(scope=scope, stamp=STAMP)
    assert list(Memory.objects.order_by("pk").values()) == before


def test_each_proposal_is_in_the_audit_trail(scope):
    make_episodes(scope, 3)
    (candidate,) = found(scope)
    entry = AuditEntry.objects.get(object_type="candidate", object_id=str(candidate.pk))
    assert (entry.action, entry.user, entry.scope) == ("propose", None, scope)


def test_without_an_embedder_nothing_is_compared(scope, settings):
    settings.EMBEDDER = "none"
    make_episodes(scope, 3)
    with pytest.raises(EmbedderError, match="ZEROMEMORY_EMBEDDER"):
        find_candidates(scope=scope)
    assert not Candidate.objects.exists()
