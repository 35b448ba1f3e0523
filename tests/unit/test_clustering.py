"""Which episodes belong together: similar, not copies, and about the same thing."""

import random
import time
import tracemalloc
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflections.clustering import BLOCK_ROWS, MOST_LINKED, Cluster, Episode, Rule, find_clusters

START = datetime(2030, 1, 1, tzinfo=UTC)
RULE = Rule()
BY_THE_HOUR = Rule(work_minutes=60, work_cosine=0.4, work_step=0.25)
BAND = Rule(work_cosine=1)
"""However little time lies between two episodes, they need as much."""


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
    assert members(find_clusters(episodes_of(chain(cosine).astype(precision)), BY_THE_HOUR)) == [("e0", "e1", "e2")]


@pytest.mark.parametrize("cosine", [0.5, 0.779])
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_a_cosine_below_the_band_does_not_join(cosine: float, precision: type[np.floating]) -> None:
    assert find_clusters(episodes_of(alike(3, cosine).astype(precision)), BAND) == []


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


def groups_pair_by_pair(episodes: Sequence[Episode], rule: Rule) -> set[frozenset[Any]]:
    """The definition, group by group and pair by pair, with nothing done at once."""

    def cosine(one: Episode, other: Episode) -> float:
        return float(one.vector @ other.vector / np.linalg.norm(one.vector) / np.linalg.norm(other.vector))

    def margin(one: Episode, other: Episode) -> float:
        hours = abs((one.created_at - other.created_at).total_seconds()) / 3600
        tenfold = float(np.log10(max(hours * 60 / rule.work_minutes, 1)))
        needed = min(rule.cosine_min, rule.work_cosine + rule.work_step * tenfold)
        return cosine(one, other) - needed

    def nearness(some: Sequence[Episode], others: Sequence[Episode]) -> float:
        pairs = [(one, other) for one in some for other in others if cosine(one, other) < rule.cosine_max]
        joined = any(margin(*pair) >= 0 and pair[0].entities & pair[1].entities for pair in pairs)
        return float(np.mean([margin(*pair) for pair in pairs])) if joined else -1

    groups = [[episode] for episode in episodes]
    while len(groups) > 1:
        near = {(a, b): nearness(groups[a], groups[b]) for b in range(len(groups)) for a in range(b)}
        one, other = max(near, key=lambda pair: near[pair])
        if near[one, other] < 0:
            break
        groups[one] += groups.pop(other)
    return {frozenset(item.id for item in group) for group in groups if len(group) >= rule.min_members}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_clusters_are_the_groups_of_the_definition(seed: int) -> None:
    chance = random.Random(seed)
    episodes = [
        replace(
            e,
            created_at=START + timedelta(hours=chance.uniform(0, 60)),
            entities=frozenset(chance.sample(range(12), 3)),
        )
        for e in random_episodes(24, seed, dimensions=24, topics=5)
    ]
    found = find_clusters(episodes, Rule(max_members=50))
    assert {frozenset(cluster.members) for cluster in found} == groups_pair_by_pair(episodes, RULE)


@pytest.mark.parametrize(
    ("hours", "cosine", "joins"),
    [
        (0.01, 0.24, True),
        (0.01, 0.23, False),
        (0.1, 0.24, True),
        (0.1, 0.23, False),
        (1, 0.53, True),
        (1, 0.47, False),
        (5, 0.72, True),
        (5, 0.69, False),
        (500, 0.78, True),
        (500, 0.77, False),
    ],
)
def test_the_less_time_lies_between_the_less_alike_two_need_to_be(hours: float, cosine: float, joins: bool) -> None:
    episodes = episodes_of(alike(3, cosine))
    apart = [replace(e, created_at=START + timedelta(hours=hours * n)) for n, e in enumerate(episodes)]
    assert bool(find_clusters(apart, RULE)) is joins


@pytest.mark.parametrize(("cosine", "joins"), [(0.74, False), (0.75, True)])
def test_two_of_one_instant_need_what_a_day_needs(cosine: float, joins: bool) -> None:
    at_once = [make_episode(n, vector, day=0) for n, vector in enumerate(alike(3, cosine))]
    assert bool(find_clusters(at_once, BY_THE_HOUR)) is joins


def test_a_chain_of_neighbours_is_no_cluster() -> None:
    steps = np.radians(np.arange(8) * 35)  # neighbours at .82, next but one at .34
    episodes = [
        make_episode(number, (np.cos(angle), np.sin(angle)), day=40 * number) for number, angle in enumerate(steps)
    ]
    assert find_clusters(episodes, Rule(min_members=3)) == []
    assert len(find_clusters(episodes, Rule(min_members=2))) == 4


def test_copies_join_through_what_resembles_both() -> None:
    copies_and_a_third = vectors_at([[1, 0.99, 0.8], [0.99, 1, 0.8], [0.8, 0.8, 1]])
    assert members(find_clusters(episodes_of(copies_and_a_third), BAND)) == [("e0", "e1", "e2")]


def test_a_rule_may_do_without_shared_entities() -> None:
    apart = [make_episode(number, vector, day=number, entities=[]) for number, vector in enumerate(alike(3, 0.80))]
    assert members(find_clusters(apart, Rule(share_entity=False))) == [(0, 1, 2)]


def test_a_cluster_may_span_blocks_of_similarities() -> None:
    fillers = [make_episode(f"f{n}", np.eye(1, 4, 3)[0], day=n + 0.5) for n in range(BLOCK_ROWS)]
    first, second, third = np.pad(chain(0.85), ((0, 0), (0, 1)))
    spread = [make_episode("a", first, day=0), make_episode("b", second, day=600), make_episode("c", third, day=700)]
    (cluster,) = find_clusters(fillers + spread, Rule(max_members=2))
    assert cluster.members == ("b", "c")


def test_of_more_than_can_be_linked_the_newest_are() -> None:
    noise = np.random.default_rng(3)
    vectors = np.ones(64) + 0.55 * noise.normal(size=(MOST_LINKED + 5, 64))
    episodes = [make_episode(number, vector, day=number) for number, vector in enumerate(vectors)]
    (cluster,) = find_clusters(episodes, Rule(cosine_max=0.99, max_members=MOST_LINKED + 5, cosine_min=0.5))
    assert cluster.members == tuple(range(5, MOST_LINKED + 5))


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
