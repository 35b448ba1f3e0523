"""Texts and questions as agents write them, from a seed: words by Zipf's law, names, dates, identifiers."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from zeromemory.lib.folders import PROJECT

VOCABULARY: Final = 8000
TOPICS: Final = 250
TOPIC_WORDS: Final = 60
SHARE_OF_TOPIC: Final = 0.35  # of the words of a text that come from its topic
SHARE_SWAPPED: Final = 0.2  # of the words of a text that a variation replaces
SHORTEST, LONGEST = 8, 32  # words
SHARE_WITH_IDENTIFIER: Final = 0.4
SHARE_WITH_DATE: Final = 0.3
FRAMES: Final = (
    "what did we decide about {}",
    "why does {} fail",
    "{}",
    "when was {} changed",
    "how is {} configured for {}",
    "who asked for {} and {}",
)
SUFFIXES: Final = ("py", "sql", "ts", "toml", "md")
MONTHS: Final = ("January", "March", "April", "June", "August", "October", "December")


@cache
def vocabulary() -> tuple[str, ...]:
    """English words, the most frequent first: those the packaged tokenizer keeps whole are in that order."""
    told = json.loads((PROJECT / "zeromemory" / "embedding" / "minilm_tokenizer.json").read_text(encoding="utf-8"))
    numbers: dict[str, int] = told["model"]["vocab"]
    words = [word for word in sorted(numbers, key=numbers.__getitem__) if word.isascii() and word.isalpha()]
    return tuple(word for word in words if len(word) > 1)[:VOCABULARY]


@cache
def _cumulated(words: int, exponent: float) -> np.ndarray:
    weights = 1 / np.arange(1, words + 1) ** exponent
    return np.cumsum(weights / weights.sum())


@dataclass(frozen=True, slots=True)
class Text:
    topic: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        sentence = " ".join(self.words)
        return f"{sentence[0].upper()}{sentence[1:]}."


class Writer:
    """The same seed writes the same texts."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)
        self._topics = np.random.default_rng(5).integers(100, VOCABULARY, size=(TOPICS, TOPIC_WORDS))

    def texts(self, count: int) -> list[Text]:
        return [self._text() for _ in range(count)]

    def variation(self, text: Text, number: int) -> str:
        """*text* with some words swapped, and a number."""
        words = [self._word(text.topic) if self._chance(SHARE_SWAPPED) else word for word in text.words]
        return f"{Text(text.topic, tuple(words))} Note {number}."

    def questions(self, about: Sequence[Text]) -> Iterator[str]:
        """Without end, and none twice: each one asks for words of one text."""
        asked: set[str] = set()
        while True:
            question = self._question(about[int(self._draw.integers(len(about)))])
            if question not in asked:
                asked.add(question)
                yield question

    def _question(self, text: Text) -> str:
        frame = FRAMES[int(self._draw.integers(len(FRAMES)))]
        start = int(self._draw.integers(max(1, len(text.words) - 6)))
        kept = [word for word in text.words[start : start + 7] if not self._chance(0.25)] or list(text.words[:3])
        half = max(1, len(kept) // frame.count("{}"))
        return frame.format(*(" ".join(kept[at : at + half]) for at in (0, half)))

    def _text(self) -> Text:
        topic = int(self._draw.integers(TOPICS))
        words = [self._word(topic) for _ in range(int(self._draw.integers(SHORTEST, LONGEST + 1)))]
        words[0] = self._name()
        for share, made in ((SHARE_WITH_IDENTIFIER, self._identifier), (SHARE_WITH_DATE, self._date)):
            if self._chance(share):
                words.insert(int(self._draw.integers(1, len(words))), made())
        return Text(topic, tuple(words))

    def _word(self, topic: int) -> str:
        if self._chance(SHARE_OF_TOPIC):
            return vocabulary()[self._topics[topic][self._rank(TOPIC_WORDS, 0.8)]]
        return vocabulary()[self._rank(VOCABULARY, 1.0)]

    def _rank(self, words: int, exponent: float) -> int:
        return int(np.searchsorted(_cumulated(words, exponent), self._draw.random()))

    def _chance(self, share: float) -> bool:
        return bool(self._draw.random() < share)

    def _name(self) -> str:
        return vocabulary()[int(self._draw.integers(1000, 1400))].capitalize()

    def _date(self) -> str:
        month = MONTHS[int(self._draw.integers(len(MONTHS)))]
        return f"on {int(self._draw.integers(1, 29))} {month} {int(self._draw.integers(2022, 2026))}"

    def _identifier(self) -> str:
        first, second = (vocabulary()[int(self._draw.integers(500, 2500))] for _ in range(2))
        number = int(self._draw.integers(100, 10000))
        suffix = SUFFIXES[int(self._draw.integers(len(SUFFIXES)))]
        made = (f"E{number}", f"{first}_{second}", f"{first}/{second}.{suffix}", f"v{number // 100}.{number % 100}")
        return made[int(self._draw.integers(len(made)))]
