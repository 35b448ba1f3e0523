"""Which episodes belong together: similar, not copies, and about the same thing."""

import random
import time
import tracemalloc
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflections.clustering import BLOCK_ROWS, Cluster, Episode, Rule, find_clusters

START = datetime(2030, 1, 1, tzinfo=UTC)
RULE = Rule()


def make_episode(
    id: str | int, vector: Iterable[float], *, day: float = 0, entities: Iterable[int | str] = ("billing",)
) -> Episode:
    return Episode(id, START + timedelta(days=day), np.asarray(vector, dtype=np.float64), frozenset(entities))


def vectors_at(cosines: Sequence[Sequence[float]]) -> np.ndarray:
    """Unit vectors with exactly these pairwise cosines."""
    return np.linalg.cholesky(np.asarray(cosines, dtype=np.float64))


def alike(count: int, cosine: float) -> np.ndarray:
    """So many unit vectors, every pair at the same cosine."""
    return vectors_at(np.full((count, count), cosine) + (1 - cosine) * np.eye(count))


def chain(cosine: float) -> np.ndarray:
    """Three vectors: the first joins the second and the second the third, both at *cosine*; the outer two do not."""
    return vectors_at([[1, cosine, 0.75], [cosine, 1, cosine], [0.75, cosine, 1]])


def episodes_of(vectors: Iterable[Iterable[float]], **overrides: Any) -> list[Episode]:
    return [make_episode(f"e{number}", vector, day=number, **overrides) for number, vector in enumerate(vectors)]


def members(found: list[Cluster]) -> list[tuple[Any, ...]]:
    return [cluster.members for cluster in found]


def test_three_similar_episodes_with_a_shared_entity_are_a_cluster() -> None:
    (cluster,) = find_clusters(episodes_of(alike(3, 0.80)), RULE)
    assert cluster.members == ("e0", "e1", "e2")
    assert cluster.similarity_mean == pytest.approx(0.80)
    assert cluster.shared_entities == ("billing",)


def test_without_a_shared_entity_they_are_none() -> None:
    vectors = alike(3, 0.80)
    apart = [make_episode(number, vector, entities=[f"thing {number}"]) for number, vector in enumerate(vectors)]
    bare = [make_episode(number, vector, entities=[]) for number, vector in enumerate(vectors)]
    assert find_clusters(apart, RULE) == find_clusters(bare, RULE) == []


def test_two_episodes_are_none() -> None:
    assert find_clusters(episodes_of(alike(2, 0.80)), RULE) == []


def test_no_episodes_are_none() -> None:
    assert find_clusters([], RULE) == []


@pytest.mark.parametrize("cosine", [0.78, 0.800001, 0.919])
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_a_cosine_inside_the_band_joins(cosine: float, precision: type[np.floating]) -> None:
    assert members(find_clusters(episodes_of(chain(cosine).astype(precision)), RULE)) == [("e0", "e1", "e2")]


@pytest.mark.parametrize("cosine", [0.5, 0.779])
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_a_cosine_below_the_band_does_not_join(cosine: float, precision: type[np.floating]) -> None:
    assert find_clusters(episodes_of(alike(3, cosine).astype(precision)), RULE) == []


@pytest.mark.parametrize("cosine", [0.92, 0.95, 0.999999])
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_a_cosine_at_the_top_of_the_band_or_above_does_not_join(cosine: float, precision: type[np.floating]) -> None:
    assert find_clusters(episodes_of(alike(3, cosine).astype(precision)), RULE) == []


def test_the_band_is_the_rule_s() -> None:
    episodes = episodes_of(alike(3, 0.5))
    assert members(find_clusters(episodes, Rule(cosine_min=0.4, cosine_max=0.6))) == [("e0", "e1", "e2")]


@pytest.mark.parametrize("length", [1e-6, 1, 2.5, 1e6])
def test_the_length_of_a_vector_does_not_matter(length: float) -> None:
    (cluster,) = find_clusters(episodes_of(alike(3, 0.80) * length), RULE)
    assert cluster.similarity_mean == pytest.approx(0.80)


def test_a_zero_vector_joins_nothing() -> None:
    episodes = [*episodes_of(alike(3, 0.80)), make_episode("zero", [0, 0, 0], day=9)]
    assert members(find_clusters(episodes, RULE)) == [("e0", "e1", "e2")]


def test_vectors_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="same shape"):
        find_clusters([*episodes_of(alike(3, 0.80)), make_episode("short", [1, 0])], RULE)


def test_members_may_be_joined_through_one_another() -> None:
    (cluster,) = find_clusters(episodes_of(chain(0.85)), RULE)
    assert cluster.similarity_mean == pytest.approx((0.85 + 0.85 + 0.75) / 3)


def test_a_chain_may_pass_from_entity_to_entity() -> None:
    first, second, third = chain(0.85)
    (cluster,) = find_clusters(
        [
            make_episode(1, first, day=1, entities=["queue"]),
            make_episode(2, second, day=2, entities=["queue", "retry", "unrelated"]),
            make_episode(3, third, day=3, entities=["retry"]),
        ],
        RULE,
    )
    assert cluster == Cluster((1, 2, 3), pytest.approx(0.8166667), ("queue", "retry"))


def test_similar_episodes_about_other_things_stay_out() -> None:
    *three, stranger = alike(4, 0.80)
    episodes = [*episodes_of(three), make_episode("stranger", stranger, entities=["payroll"])]
    assert members(find_clusters(episodes, RULE)) == [("e0", "e1", "e2")]


def test_the_most_widely_shared_entities_come_first() -> None:
    carried = [["b", "a", 7], ["b", "a", 7], ["a", 7, "alone"]]
    vectors = alike(3, 0.80)
    episodes = [make_episode(n, v, entities=e) for n, (v, e) in enumerate(zip(vectors, carried, strict=True))]
    (cluster,) = find_clusters(episodes, RULE)
    assert cluster.shared_entities == ("a", 7, "b")


def test_of_eleven_members_the_newest_ten_remain_in_time_order() -> None:
    episodes = [make_episode(f"e{day}", vector, day=day) for day, vector in enumerate(alike(11, 0.80))]
    random.Random(5).shuffle(episodes)
    assert members(find_clusters(episodes, RULE)) == [tuple(f"e{day}" for day in range(1, 11))]


def test_the_mean_similarity_is_that_of_the_members_kept() -> None:
    old, *kept = vectors_at([[1, 0.9, 0.9, 0.9], [0.9, 1, 0.8, 0.8], [0.9, 0.8, 1, 0.8], [0.9, 0.8, 0.8, 1]])
    (cluster,) = find_clusters(episodes_of([old, *kept]), Rule(max_members=3))
    assert cluster.members == ("e1", "e2", "e3")
    assert cluster.similarity_mean == pytest.approx(0.8)


def test_members_of_one_instant_stand_by_id() -> None:
    episodes = [make_episode(id, vector) for id, vector in zip("cab", alike(3, 0.80), strict=True)]
    assert members(find_clusters(episodes, RULE)) == [("a", "b", "c")]


def test_the_cluster_with_the_newest_member_comes_first() -> None:
    vectors = alike(3, 0.80)
    early = [make_episode(f"early{n}", v, day=n, entities=["queue"]) for n, v in enumerate(vectors)]
    late = [make_episode(f"late{n}", v, day=n + 0.5, entities=["cache"]) for n, v in enumerate(vectors)]
    assert members(find_clusters(early + late, RULE)) == [
        ("late0", "late1", "late2"),
        ("early0", "early1", "early2"),
    ]


def random_episodes(count: int, seed: int, dimensions: int = 384, topics: int = 40) -> list[Episode]:
    """Episodes around topics, many pairs of a topic inside the band; all carry one entity, the project."""
    noise = np.random.default_rng(seed)
    centres = noise.normal(size=(topics, dimensions))
    topic = noise.integers(topics, size=count)
    vectors = (centres[topic] + 0.42 * noise.normal(size=(count, dimensions))).astype(np.float32)
    return [
        make_episode(number, vectors[number], day=number, entities=["project", f"topic {topic[number]}"])
        for number in range(count)
    ]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), shuffle=st.randoms(use_true_random=False))
def test_the_order_of_the_episodes_does_not_matter(seed: int, shuffle: random.Random) -> None:
    episodes = random_episodes(60, seed, dimensions=24, topics=8)
    shuffled = list(episodes)
    shuffle.shuffle(shuffled)
    assert find_clusters(shuffled, RULE) == find_clusters(episodes, RULE)


def components_pair_by_pair(episodes: Sequence[Episode], rule: Rule) -> set[frozenset[Any]]:
    """The definition, pair by pair, with nothing done at once."""
    groups = {episode.id: {episode.id} for episode in episodes}
    for one in episodes:
        for other in episodes:
            cosine = float(one.vector @ other.vector / np.linalg.norm(one.vector) / np.linalg.norm(other.vector))
            if rule.cosine_min <= cosine < rule.cosine_max and one.entities & other.entities:
                joined = groups[one.id] | groups[other.id]
                groups.update(dict.fromkeys(joined, joined))
    return {frozenset(group) for group in groups.values() if len(group) >= rule.min_members}


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000))
def test_clusters_are_the_connected_components_of_the_definition(seed: int) -> None:
    entities = random.Random(seed)
    episodes = [
        Episode(e.id, e.created_at, e.vector, frozenset(entities.sample(range(12), 2)))
        for e in random_episodes(60, seed, dimensions=24, topics=8)
    ]
    found = find_clusters(episodes, Rule(max_members=50))
    assert {frozenset(cluster.members) for cluster in found} == components_pair_by_pair(episodes, RULE)


def test_a_cluster_may_span_blocks_of_similarities() -> None:
    fillers = [make_episode(f"f{n}", np.eye(1, 3)[0], day=n + 0.5) for n in range(BLOCK_ROWS)]
    first, second, third = chain(0.85)
    spread = [make_episode("a", first, day=0), make_episode("b", second, day=600), make_episode("c", third, day=700)]
    (cluster,) = find_clusters(fillers + spread, Rule(max_members=2))
    assert cluster.members == ("b", "c")


def test_five_thousand_episodes_take_seconds_and_bounded_memory() -> None:
    episodes = random_episodes(5000, seed=6)
    tracemalloc.start()
    started = time.process_time()
    found = find_clusters(episodes, RULE)
    seconds = time.process_time() - started
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) > 10
    assert seconds < 30
    assert peak < 100 * 2**20, "all similarities at once would take 200 MB"
