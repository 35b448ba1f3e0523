from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from reflections.changelog import read
from reflections.clustering import Rule
from reflections.evaluation import Labelled, above, clusters, compare, cut
from tests.reflections.factories import pairwise

START = datetime(2026, 1, 1, tzinfo=UTC)
CHANGELOG = """\
2022-04-13  Somebody  <somebody@example.org>

\ttail: detect closed stdout
\t* src/tail.c (check_output_alive): Use poll.

\tAlso handle POLLHUP.

\tbuild: update the submodule

2022-04-20  Somebody  <somebody@example.org>

\ttail: fix the check of stdout
\t* src/tail.c (check_output_alive): Do not use select.

2023-04-20  Somebody  <somebody@example.org>

\ttail: fix it once more
\t* src/tail.c (check_output_alive): Return early.

\tbuild: update the submodule
"""


def episode(number, **overrides) -> Labelled:
    values = {"content": f"Text {number}.", "entities": frozenset({"a"}), "place": "home"} | overrides
    return Labelled(id=str(number), created_at=START + timedelta(days=number), **values)


@pytest.fixture
def history(tmp_path):
    path = tmp_path / "ChangeLog"
    path.write_text(CHANGELOG)
    return read(path)


def test_each_commit_of_a_changelog_is_an_episode_with_its_whole_message(history):
    assert [item.content.split("\n")[0] for item in history] == [
        "tail: detect closed stdout",
        "build: update the submodule",
        "tail: fix the check of stdout",
        "tail: fix it once more",
        "build: update the submodule",
    ]
    assert history[0].content.endswith("Also handle POLLHUP.")
    assert history[0].created_at == datetime(2022, 4, 13, tzinfo=UTC)
    assert "src/tail.c" in history[0].entities


def test_commits_that_change_one_function_or_file_share_a_matter(history):
    assert history[0].matters == {"src/tail.c", "src/tail.c:check_output_alive"}
    assert history[0].matters & history[2].matters
    assert history[1].matters == frozenset()


def test_what_too_many_commits_change_is_no_matter(tmp_path):
    path = tmp_path / "ChangeLog"
    entry = "2022-04-13  Somebody  <somebody@example.org>\n\n\ttail: change {}\n\t* NEWS.md: Mention it.\n\n"
    path.write_text("".join(entry.format(number) for number in range(41)))
    assert {item.matters for item in read(path)} == {frozenset()}


def test_commits_with_one_subject_are_twins(history):
    assert history[1].twin == history[4].twin
    assert history[0].twin != history[2].twin


def test_lines_of_json_are_read_as_they_are_labelled(tmp_path):
    path = tmp_path / "episodes.jsonl"
    path.write_text(
        '{"id": "1", "content": "x", "created_at": "2026-01-01", "entities": ["a"], "matters": ["w"], "twin": "t"}\n'
    )
    (found,) = read(path)
    assert (found.content, found.matters, found.twin, found.entities) == ("x", {"w"}, "t", {"a"})


def test_pairs_are_told_apart_by_what_they_are():
    labelled = [
        episode(0, matters=frozenset({"w"})),
        episode(1, matters=frozenset({"w"})),
        episode(2, twin="t"),
        episode(3, twin="t"),
        episode(4, entities=frozenset({"b"})),
        episode(5, place="elsewhere"),
    ]
    pairs = compare(labelled, np.array(pairwise(0.8, 6)))
    assert (len(pairs.related), len(pairs.twins), len(pairs.other)) == (1, 1, 4)
    assert pairs.related == pytest.approx([0.8])


def test_a_cut_counts_what_lies_in_the_band():
    vectors = np.array(pairwise(0.8, 3))
    pairs = compare([episode(0, matters=frozenset({"w"})), episode(1, matters=frozenset({"w"})), episode(2)], vectors)
    found = cut(pairs, 0.7, 0.9)
    assert (found.precision, found.recall) == pytest.approx((1 / 3, 1.0))
    assert cut(pairs, 0.85, 0.9).recall == 0
    assert cut(pairs, 0.7, 0.75).recall == 0
    assert above(pairs.related, 0.79) == 1.0


def test_a_cluster_of_one_matter_is_pure_and_a_mixed_one_is_not():
    vectors = np.array(pairwise(0.8, 3))
    rule = Rule(cosine_min=0.78, cosine_max=0.92)
    pure = clusters([episode(number, matters=frozenset({"w"})) for number in range(3)], vectors, rule)
    mixed = clusters(
        [episode(0, matters=frozenset({"w"})), episode(1, matters=frozenset({"w"})), episode(2)], vectors, rule
    )
    assert (pure.clusters, pure.members, pure.pure, pure.purity) == (1, 3, 1, 1.0)
    assert (mixed.clusters, mixed.pure) == (1, 0)
    assert mixed.purity == pytest.approx(1 / 3)


@pytest.mark.django_db
def test_the_command_prints_its_tables_and_keeps_the_vectors(tmp_path, capsys):
    path, kept = tmp_path / "ChangeLog", tmp_path / "kept.npy"
    path.write_text(CHANGELOG)
    call_command("evaluate_clusters", str(path), "--vectors", str(kept))
    said = capsys.readouterr().out
    assert "\n5 episodes." in said
    assert "| related | 3 |" in said
    assert np.load(kept).shape == (5, 384)


@pytest.mark.django_db
@pytest.mark.parametrize("content", ["{", '{"id": "1"}'])
def test_what_is_not_labelled_episodes_is_refused_with_a_sentence(tmp_path, content):
    path = tmp_path / "broken.jsonl"
    path.write_text(content)
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("evaluate_clusters", str(path))
