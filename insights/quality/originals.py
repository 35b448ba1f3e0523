"""The published files of known retrieval sets, as they come from their authors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

from insights.quality.datasets import Dataset, DatasetError, Document, Query, as_utc, checked, opened


class Reader(Protocol):
    def __call__(self, path: Path, name: str, *, sessions: bool) -> Dataset: ...


@dataclass(frozen=True, slots=True)
class Shape:
    """``keys`` all stand near the beginning of such a file; with ``has_sessions`` it also makes a set of sessions."""

    keys: tuple[str, ...]
    read: Reader
    has_sessions: bool


@contextmanager
def _told(path: Path, shape: str) -> Iterator[None]:
    try:
        yield
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise DatasetError(f"{path.name} does not fit the shape of {shape}: {error!r}.") from error


def _json(path: Path) -> Any:
    with opened(path) as file:
        return json.load(file)


# LoCoMo --------------------------------------------------------------------------------------

_LOCOMO_CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}  # 5 has no answer
_TURN: Final = re.compile(r"D:?(\d+):(\d+)")
_LOCOMO_TIME: Final = "%I:%M %p on %d %B, %Y"


def _locomo(path: Path, name: str, *, sessions: bool) -> Dataset:
    documents: list[Document] = []
    queries: list[Query] = []
    with _told(path, "LoCoMo"):
        for sample in _json(path):
            turns = list(_locomo_turns(sample["sample_id"], sample["conversation"]))
            documents += _joined(turns) if sessions else turns
            queries += _locomo_queries(sample, {turn.id: turn for turn in turns}, sessions=sessions)
    return checked(name, documents, queries)


def _locomo_turns(corpus: str, conversation: dict[str, Any]) -> Iterator[Document]:
    numbers = sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key))
    order = 0
    for number in numbers:
        said = datetime.strptime(conversation[f"session_{number}_date_time"], _LOCOMO_TIME)  # noqa: DTZ007 (made aware at once)
        for turn in conversation[f"session_{number}"]:
            order += 1
            yield Document(
                id=f"{corpus}/{turn['dia_id']}",
                corpus=corpus,
                text=_with_photo(turn),
                time=as_utc(said),
                speaker=turn["speaker"],
                session=f"session_{number}",
                order=order,
            )


def _with_photo(turn: dict[str, Any]) -> str:
    photo = f"[shares a photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn.get('text') or ''} {photo}".strip()


def _locomo_queries(sample: dict[str, Any], turns: dict[str, Document], *, sessions: bool) -> Iterator[Query]:
    """Evidence is written by hand: several ids in one string, stray signs, turns that do not exist."""
    corpus = sample["sample_id"]
    for number, asked in enumerate(sample["qa"]):
        if asked["category"] not in _LOCOMO_CATEGORIES:
            continue
        named = _TURN.findall(" ".join(asked.get("evidence") or []))
        gold = [turns[id] for session, turn in named if (id := f"{corpus}/D{int(session)}:{int(turn)}") in turns]
        yield Query(
            id=f"{corpus}_q{number}",
            corpus=corpus,
            text=asked["question"],
            gold=frozenset(f"{corpus}/{turn.session}" if sessions else turn.id for turn in gold),
            category=_LOCOMO_CATEGORIES[asked["category"]],
        )


def _joined(turns: list[Document]) -> list[Document]:
    """One document a session: who said what, line by line."""
    lines: dict[str, list[Document]] = {}
    for turn in turns:
        lines.setdefault(turn.session, []).append(turn)
    return [
        Document(
            id=f"{said[0].corpus}/{session}",
            corpus=said[0].corpus,
            text="\n".join(f"{turn.speaker}: {turn.text}" for turn in said),
            time=said[0].time,
            session=session,
            order=place,
        )
        for place, (session, said) in enumerate(lines.items(), 1)
    ]


# CoSQA ---------------------------------------------------------------------------------------

COSQA_CODE: Final = "code_idx_map.txt"


def _cosqa(path: Path, name: str, *, sessions: bool) -> Dataset:
    """The questions' file; the functions they are asked of stand in ``code_idx_map.txt`` beside it."""
    beside = path.with_name(COSQA_CODE)
    if not beside.exists():
        raise DatasetError(f"{path.name} needs {COSQA_CODE}, the functions it asks for, in the same folder.")
    with _told(beside, "CoSQA's functions"):
        places: dict[str, int] = _json(beside)
        documents = [
            Document(id=f"code/{place}", corpus="code", text=code, order=place) for code, place in places.items()
        ]
    with _told(path, "CoSQA"):
        queries = [_cosqa_query(row, places) for row in _json(path) if row.get("label", 1)]
    return checked(name, documents, queries)


def _cosqa_query(row: dict[str, Any], places: dict[str, int]) -> Query:
    place = places[row["code"]] if row["code"] in places else row["retrieval_idx"]
    return Query(id=str(row["idx"]), corpus="code", text=row["doc"], gold=frozenset({f"code/{place}"}), category="code")


# LongMemEval ---------------------------------------------------------------------------------

_LONGMEMEVAL_TIME: Final = "%Y/%m/%d (%a) %H:%M"
_UNANSWERABLE: Final = "_abs"


def _longmemeval(path: Path, name: str, *, sessions: bool) -> Dataset:
    """Every question has a history of its own."""
    documents: list[Document] = []
    queries: list[Query] = []
    with _told(path, "LongMemEval"):
        for asked in _json(path):
            if asked["question_id"].endswith(_UNANSWERABLE):
                continue
            turns, gold = _longmemeval_turns(asked)
            documents += _joined(turns) if sessions else turns
            queries.append(_longmemeval_query(asked, _sessions_of(asked) if sessions else gold))
    return checked(name, documents, queries)


def _longmemeval_turns(asked: dict[str, Any]) -> tuple[list[Document], frozenset[str]]:
    corpus = asked["question_id"]
    turns, gold = [], set()
    for place, (date, said) in enumerate(zip(asked["haystack_dates"], asked["haystack_sessions"], strict=True)):
        time = as_utc(datetime.strptime(date, _LONGMEMEVAL_TIME))  # noqa: DTZ007 (made aware at once)
        for number, turn in enumerate(said, 1):
            id = f"{corpus}/{place}:{number}"
            turns.append(Document(id, corpus, turn["content"], time, turn["role"], f"session_{place}", number))
            if turn.get("has_answer"):
                gold.add(id)
    return turns, frozenset(gold)


def _sessions_of(asked: dict[str, Any]) -> frozenset[str]:
    wanted = set(asked["answer_session_ids"])
    places = [
        place
        for place, (id, said) in enumerate(zip(asked["haystack_session_ids"], asked["haystack_sessions"], strict=True))
        if id in wanted and said
    ]
    return frozenset(f"{asked['question_id']}/session_{place}" for place in places)


def _longmemeval_query(asked: dict[str, Any], gold: frozenset[str]) -> Query:
    return Query(asked["question_id"], asked["question_id"], asked["question"], gold, asked["question_type"])


SHAPES: Final = (
    Shape(("question_id", "question_type"), _longmemeval, has_sessions=True),
    Shape(("sample_id", "conversation"), _locomo, has_sessions=True),
    Shape(("qa", "question", "evidence"), _locomo, has_sessions=True),
    Shape(("idx", "doc", "code"), _cosqa, has_sessions=False),
)
