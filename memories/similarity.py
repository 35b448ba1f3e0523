"""Live memories that say almost the same as a new one: shown to whoever wrote it, never merged on their own."""

from difflib import SequenceMatcher
from typing import Final

from memories.models import Memory
from memories.sql import load
from memories.words import searchable, words_of

ALIKE: Final = 0.8  # SequenceMatcher's ratio
MOST: Final = 3
COMPARED: Final = 1500  # characters of each text; the ratio takes quadratic time
_WORDS: Final = 12


def near_equal(memory: Memory) -> tuple[Memory, ...]:
    """At most MOST of the scope's live memories, most alike first."""
    words = _telling_words(memory.content)
    if not words:
        return ()
    found = Memory.objects.raw(load("sharing_words"), {"memory": memory.pk, "scope": memory.scope_id, "words": words})
    ratios = [(_ratio(memory.content, vars(other)["opening"]), other) for other in found]
    alike = sorted((pair for pair in ratios if pair[0] >= ALIKE), key=lambda pair: -pair[0])
    return tuple(other for _, other in alike[:MOST])


def _telling_words(content: str) -> list[str]:
    """The longest words of the opening: rarer than the short ones, so few memories share them by chance."""
    words = [word.text for word in words_of(searchable(content[:COMPARED]))]
    return sorted(words, key=len, reverse=True)[:_WORDS]


def _ratio(mine: str, other: str) -> float:
    matcher = SequenceMatcher(None, mine[:COMPARED], other[:COMPARED], autojunk=False)
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return 0.0
    return matcher.ratio()
