"""PURE. A baseline for the search by words: term frequency times inverse document frequency, by the length of a text.

``count · ln((n + 1) / (df + 1)) / (length + 1)``, summed over the words of the query; df of n texts hold the word.
Recall itself counts a word by its rarity alone and orders equals by density; this is what to compare it with.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

_WORD: Final = re.compile(r"[a-z0-9]{2,}")
STOP_WORDS: Final = frozenset(
    ("a", "an", "the", "is", "it", "in", "on", "at", "to", "for", "of", "and", "or", "but", "not", "with", "this",
     "that", "was", "are", "be", "by", "as", "from", "up", "has", "had", "have", "its", "my", "me", "we", "he", "she",
     "they", "you", "i")
)  # fmt: skip


def words(text: str) -> list[str]:
    """Lower case, of two characters and more, without stop words."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


def keyword_scores(query: str, texts: Sequence[str]) -> dict[int, float]:
    """By place in *texts*, those above 0 alone; nothing for an empty query and for no texts."""
    counts = [Counter(words(text)) for text in texts]
    held = Counter(word for count in counts for word in count)
    scores = {place: _score(words(query), count, held, len(texts)) for place, count in enumerate(counts)}
    return {place: score for place, score in scores.items() if score > 0}


def _score(asked: Sequence[str], count: Counter[str], held: Counter[str], texts: int) -> float:
    worth = math.fsum(count[word] * math.log((texts + 1) / (held[word] + 1)) for word in asked)
    return worth / (count.total() + 1)
