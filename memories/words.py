"""PURE. The words of a query: what the text leg looks for, whatever characters somebody typed."""

import re
import unicodedata
import uuid
from dataclasses import dataclass
from typing import Final

QUERY_LENGTH: Final = 8000
MOST_WORDS: Final = 200  # the database keeps the 63 that matter most
LONGEST_NAME: Final = 3  # words

UNSTORABLE: Final = re.compile(r"[\x00\ud800-\udfff]")
_CORE: Final = re.compile(r"[\W_]*(.*[^\W_])?", re.DOTALL)  # what is left without what stands around it
# Scripts written without spaces (and Korean, whose particles cling to the word): searched by pairs of characters.
UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_QUOTED: Final = re.compile(r'"([^"\n]+)"|“([^”\n]+)”|«([^»\n]+)»')
_POSSESSIVE: Final = re.compile(r"['’]s?$")
_RUNS: Final = re.compile(rf"[{UNSPACED}]+|[^\s{UNSPACED}]+")
_UNSPACED_RUN: Final = re.compile(rf"[{UNSPACED}]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_DIGIT: Final = re.compile(r"\d")
# One look each: a query may be one word of QUERY_LENGTH characters, and a ".*" begins anew at each of them.
_IDENTIFIER: Final = re.compile(
    r"\w_\w|\w::\w|\w[/\\@#]\w"  # snake_case, a/b
    r"|[a-z][A-Z]"  # camelCase
    r"|^\d{4,}$"
)
_JOINED: Final = re.compile(r"\w[_./:\\@#-]+?\w")  # a.b of pkg.mod.name; another joint has to follow
_JOINT: Final = re.compile(r"[_./:\\@#]")


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    identifier: bool = False


def searchable(query: str) -> str:
    """The query as PostgreSQL can store it and in composed form, cut to QUERY_LENGTH characters."""
    return unicodedata.normalize("NFKC", UNSTORABLE.sub(" ", query[:QUERY_LENGTH]))


def words_of(query: str) -> list[Word]:
    """Distinct words in order, at most MOST_WORDS. What stands in quotation marks is one word, to be found as it is."""
    words: dict[str, Word] = {}
    for quoted in _quoted(query):
        words.setdefault(quoted.text.casefold(), quoted)
    for run in _RUNS.findall(_QUOTED.sub(" ", query)):
        for word in _words_in(run):
            words.setdefault(word.text.casefold(), word)
    found = list(words.values())[:MOST_WORDS]
    if len(found) == 1 and found[0].text.isupper() and len(found[0].text) > 2:
        return [Word(found[0].text, identifier=True)]  # ECONNREFUSED alone is a code; HTTP in a sentence is a word
    return found


def names_in(query: str) -> set[str]:
    """What in the query may be somebody's or something's name: each run of up to LONGEST_NAME words, in the spelling of
    ``memories.entities.canonical_name``."""
    words = [_POSSESSIVE.sub("", _bare(run)) for run in query.casefold().split()[:MOST_WORDS]]
    runs = (words[at : at + length] for length in range(1, LONGEST_NAME + 1) for at in range(len(words)))
    return {" ".join(run) for run in runs if all(run)}


def memory_id_in(query: str) -> uuid.UUID | None:
    """The memory id that the query consists of, if it does."""
    try:
        return uuid.UUID(query.strip().removeprefix("zm://memory/"))
    except ValueError:
        return None


def _quoted(query: str) -> list[Word]:
    stretches = (next(filter(None, groups)) for groups in _QUOTED.findall(query))
    return [Word(bare, identifier=True) for bare in (_bare(stretch) for stretch in stretches) if bare]


def _bare(text: str) -> str:
    found = _CORE.match(text)
    return (found and found[1]) or ""


def _words_in(run: str) -> list[Word]:
    if _UNSPACED_RUN.match(run):
        return [Word(run[at : at + 2]) for at in range(max(1, len(run) - 1))]
    bare = _bare(run)
    return [Word(bare, identifier=_is_identifier(bare))] if bare else []


def _is_identifier(word: str) -> bool:
    if _IDENTIFIER.search(word) or (_LETTER.search(word) and _DIGIT.search(word)):  # E1042, 3rdparty
        return True
    joined = _JOINED.search(word)
    return joined is not None and _JOINT.search(word, joined.end()) is not None
