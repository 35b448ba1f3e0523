"""Clusters measured on what those who wrote the episodes called one piece of work."""

import gzip
import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.core.management import call_command

from reflections import talks
from reflections.change_notes import read
from reflections.clustering import Rule
from reflections.evaluation import Labelled
from reflections.pieces import Joined, halves, joined, precision, recall, whole
from tests.reflections.factories import pairwise

START = datetime(2026, 1, 1, tzinfo=UTC)
CORE = """\
=== release 1.2 ===

2026-01-23 19:29:34 +0000  First Author <first@example.org>

\t* NEWS:
\t  Release 1.2

2026-01-20 10:00:00 +0100  Second Author <second@example.org>

\t* gst/pad.c:
\t* gst/pad.h:
\t  pad: keep the lock while linking
\t  Fixes #1722 and !99, see https://example.org/issues/1722
\t  Part-of: <https://example.org/core/-/merge_requests/7>

2026-01-20 11:00:00 +0100  Second Author <second@example.org>

\t* gst/pad.c:
\t  pad: test the lock of gst_pad_link()
\t  Part-of: <https://example.org/core/-/merge_requests/7>

2026-01-19 09:00:00 +0000  First Author <first@example.org>

\t* gst/bin.c:
\t  bin: do not leak an element
\t  Part-of: <https://example.org/core/-/merge_requests/8>
"""
PLUGINS = """\
2026-01-20 10:00:00 +0100  Second Author <second@example.org>

\t* ext/pads/padsink.c:
\t  pad: keep the lock while linking
\t  Fixes #1722 and !99, see https://example.org/issues/1722
\t  Part-of: <https://example.org/core/-/merge_requests/7>
"""


def note(number, piece, **overrides) -> Labelled:
    values = {"content": f"Text {number}.", "entities": frozenset({"a"}), "place": "somebody"} | overrides
    return Labelled(id=str(number), created_at=START + timedelta(minutes=number), piece=piece, **values)


def test_commits_of_one_merge_request_are_one_piece_of_their_author():
    first, second, third = read([CORE])
    assert [first.piece, second.piece, third.piece] == ["8", "7", "7"]
    assert [first.place, second.place] == ["First Author", "Second Author"]
    assert second.created_at == datetime(2026, 1, 20, 9, tzinfo=UTC)


def test_what_tells_the_piece_is_taken_out_of_the_text():
    _, second, third = read([CORE])
    assert second.content == "pad: keep the lock while linking\nFixes  and , see"
    assert third.content == "pad: test the lock of gst_pad_link()"


def test_files_and_identifiers_are_the_entities_of_a_commit():
    _, second, third = read([CORE])
    assert {"gst/pad.c", "gst/pad.h"} <= second.entities
    assert "gst_pad_link" in third.entities


def test_a_commit_in_the_changelogs_of_two_parts_is_one_episode_with_the_files_of_both():
    episodes = read([CORE, PLUGINS])
    assert len(episodes) == 3
    assert {"gst/pad.c", "ext/pads/padsink.c"} <= episodes[1].entities


def test_a_commit_without_a_merge_request_or_with_two_is_left_out():
    assert read([CORE.replace("merge_requests/8", "issues/8")])[0].piece == "7"
    named_twice = CORE.replace("do not leak an element", "revert https://example.org/core/-/merge_requests/3")
    assert [episode.piece for episode in read([named_twice])] == ["7", "7"]


def test_pairs_are_counted_by_owner_as_right_wrong_and_wanted():
    labelled = [note(0, "x"), note(1, "x"), note(2, "y"), note(3, "x", place="somebody else")]
    found = joined(labelled, np.array(pairwise(0.6, 4)), whole(Rule(), 4))
    assert found == [Joined(right=1, wrong=2, wanted=1, clusters=1, episodes=3)]
    assert precision(found).value == pytest.approx(1 / 3)
    assert recall(found).value == 1


def test_without_shared_entities_more_pairs_are_found():
    labelled = [note(0, "x", entities=frozenset({"a"})), note(1, "x", entities=frozenset({"b"}))]
    vectors = np.array(pairwise(0.6, 2))
    assert recall(joined(labelled, vectors, whole(Rule(), 2))).value == 0
    assert recall(joined(labelled, vectors, whole(Rule(share_entity=False), 2))).value == 1


def test_the_interval_tells_how_much_hangs_on_single_owners():
    alike = precision([Joined(3, 1, 4)] * 50)
    unlike = precision([Joined(6, 0, 6), Joined(0, 2, 2)])
    assert (alike.low, alike.value, alike.high) == pytest.approx((0.75, 0.75, 0.75))
    assert (unlike.low, unlike.high) == (0, 1)
    assert np.isnan(precision([Joined(0, 0, 5)]).value)


def test_the_halves_share_no_owner():
    labelled = [note(number, "x", place=f"owner {number % 9}") for number in range(90)]
    first, second = ({labelled[row].place for row in rows} for rows in halves(labelled))
    assert first
    assert second
    assert not first & second


@pytest.mark.django_db
def test_the_command_measures_each_folder_of_changelogs(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ZEROMEMORY_EVAL_DATA", str(tmp_path))
    folder = tmp_path / "clusters" / "pads"
    folder.mkdir(parents=True)
    (folder / "core.gz").write_bytes(gzip.compress(CORE.encode()))
    (folder / "plugins").write_text(PLUGINS)
    call_command("evaluate_clusters")
    said = capsys.readouterr().out
    assert said.startswith("## pads")
    assert "3 episodes of 2 owners, of 2 pieces of work." in said
    assert "| in force, every pair | all | 1.000 (1.00 to 1.00) | 1.000 (1.00 to 1.00) | 1 | 2 |" in said


@pytest.mark.django_db
def test_lines_of_json_may_name_owner_and_piece(tmp_path, capsys):
    path = tmp_path / "notes.jsonl"
    told = {"content": "The lock of the pad", "owner": "o", "piece": "p"}
    lines = [told | {"id": number, "created_at": f"2026-01-01T0{number}:00"} for number in range(3)]
    path.write_text("\n".join(map(json.dumps, lines)))
    call_command("evaluate_clusters", str(path))
    assert "3 episodes of 1 owners, of 1 pieces of work." in capsys.readouterr().out


def test_without_labelled_episodes_the_command_says_where_to_put_them(monkeypatch, capsys):
    monkeypatch.delenv("ZEROMEMORY_EVAL_DATA", raising=False)
    call_command("evaluate_clusters")
    assert "No labelled episodes were found" in capsys.readouterr().out


TALK = (
    '{"type": "doc", "corpus": "kitchen", "id": "1", "text": "The oven runs hot.", "time": "2026-03-01T08:00:00", '
    '"speaker": "Cook", "session": "one", "order": 1}',
    '{"type": "doc", "corpus": "kitchen", "id": "2", "text": "By how much?", "time": "2026-03-01T08:00:00", '
    '"speaker": "Guest", "session": "one", "order": 2}',
    '{"type": "doc", "corpus": "kitchen", "id": "3", "text": "Said at no time.", "speaker": "Cook", "session": "one"}',
    '{"type": "query", "corpus": "kitchen", "id": "q", "text": "what about the oven", "gold": ["1"]}',
)


def test_what_a_speaker_says_in_a_session_is_a_piece_half_a_minute_apart():
    first, second = talks.read("\n".join(TALK))
    assert (first.piece, first.place, second.place) == ("kitchen/one", "kitchen/Cook", "kitchen/Guest")
    assert (first.content, first.entities) == ("Cook: The oven runs hot.", {"Cook"})
    assert second.created_at - first.created_at == timedelta(seconds=30)
    assert first.created_at.tzinfo is not None


def test_who_talk_to_one_another_are_in_one_half():
    labelled = [note(n, "x", place=f"talk {n % 9}/{side}") for n in range(90) for side in "ab"]
    first, second = ({labelled[row].place.split("/")[0] for row in rows} for rows in halves(labelled))
    assert first
    assert not first & second


@pytest.mark.django_db
def test_the_command_reads_conversations(tmp_path, capsys):
    path = tmp_path / "talk.jsonl"
    path.write_text("\n".join(TALK))
    call_command("evaluate_clusters", str(path))
    assert "2 episodes of 2 owners, of 1 pieces of work." in capsys.readouterr().out
