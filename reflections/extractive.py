"""Drafts without a model: the sentences that carry a cluster, word for word.

Pure and deterministic: every sentence is a verbatim piece of its source, nothing is rephrased, and no date is read from
text. Work grows linearly with the length of the sources.
"""

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final
from uuid import UUID

from reflections.naming import named_apart

MAX_SENTENCES: Final = 6
MAX_CHARACTERS: Final = 900

_UNITS_READ: Final = 4000  # sentences of one source that are considered; 200 kB of prose has fewer
_COMPARED: Final = 400  # sentences of all sources that are compared pair by pair
_SAME: Final = 0.8  # shared words over all words, from which two sentences say the same
_SUBJECT_WORDS: Final = 3  # fewer words than this, and a number is what a sentence is about
_CARRYING: Final = 0.3  # share of the best score below which a sentence does not carry the cluster
_AGAIN: Final = 0.5  # each further sentence of one source counts so much less
_ENTITY_LIFT: Final = 0.5
_FULL_LENGTH: Final = 5  # words; shorter sentences count less
_QUESTION: Final = 0.3  # a question states nothing, so it counts so much less
_QUESTION_MARKS: Final = ("?", "？", "؟")


@dataclass(frozen=True, slots=True)
class Source:
    id: UUID | str | int
    created_at: datetime
    text: str
    vector: Iterable[float] | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    source_id: UUID | str | int


@dataclass(frozen=True, slots=True)
class Draft:
    """``content`` is the sentences, one a line, oldest source first; empty when the sources hold no words."""

    kind: str
    content: str
    sentences: tuple[Sentence, ...]
    rationale: str


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    source: int
    position: int
    tokens: tuple[str, ...]  # distinct, as they appear: the order of a set differs from process to process
    subject: frozenset[str]

    @property
    def place(self) -> tuple[int, int]:
        return self.source, self.position


def draft(episodes: Sequence[Source], shared_entities: Sequence[str]) -> Draft:
    """The most central sentences of all *episodes*, oldest first, the later of two near-repeats standing for both.

    ``shared_entities`` are names, the most widely shared first; sentences that mention them count more.
    """
    sources = sorted(episodes, key=lambda source: (source.created_at, str(source.id)))
    parts = _parts(sources)
    if not parts:
        return Draft("fact", "", (), "The episodes hold no words to draft from.")
    scores = _scores(parts, sources, shared_entities)
    chosen = sorted(_choose(_without_repeats(parts, scores, len(sources)), scores), key=lambda part: part.place)
    sentences = tuple(Sentence(part.text, sources[part.source].id) for part in chosen)
    content = "\n".join(sentence.text for sentence in sentences)
    return Draft(_kind(sentences), content, sentences, _rationale(chosen, sources, shared_entities))


# Sentences -----------------------------------------------------------------------------------

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_FENCES: Final = ("```", "~~~")
_LIST_MARK: Final = re.compile(r"\s*(?:(?:[-*+•‣–—]|#{1,6}|>+|\d{1,3}[.)]|\[[ xX]\])\s+)*")
_BOILERPLATE: Final = re.compile(
    r"(?:[A-Z][a-z]+(?:-[a-z]+)*-by|Cc|Change-Id|git-svn-id): |Merge (?:pull request|(?:remote-tracking )?branch|tag) "
)
_WRAPPED_FROM: Final = 50  # characters; a shorter line ended on purpose
_END: Final = re.compile(
    r"(?P<code>`[^`]++`)"
    r"|(?<![.!?…])(?P<stop>[.!?…]++)[\"'”’»)\]*_]*+(?=\s|\Z)"
    r"|[。！？｡।॥؟۔።]++[」』】）”’)\]]*+"
)
_ABBREVIATION: Final = re.compile(
    r"(?:[^\W\d_]\.)+[^\W\d_]|approx|bzw|ca|cf|dr|eq|evtl|excl|fig|ggf|incl|mrs?|ms|nr|prof|resp|st|vgl|vs"
)
_ABBREVIATION_THAT_MAY_END: Final = re.compile(r"[^\W\d_]|al|etc|inc|jr|ltd|max|min|no|sec|usw|ver|vol")


def split_sentences(text: str) -> Iterator[str]:
    """Verbatim sentences: a fenced block is one, a list entry starts one, wrapped lines are read as one paragraph."""
    for start, stop, fenced in _blocks(text):
        pieces = [text[start:stop]] if fenced else _pieces(text, start, stop)
        yield from filter(None, (piece.strip() for piece in pieces))


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start, end and whether it is fenced code; list marks stay outside."""
    lines = [match.span() for match in _LINE.finditer(text)]
    closings = {fence: [row for row, (a, b) in enumerate(lines) if text[a:b].strip() == fence] for fence in _FENCES}
    row = 0
    while row < len(lines):
        start, stop = lines[row]
        if not text[start:stop].strip():
            row += 1
            continue
        fence = _opened_fence(text[start:stop])
        closing = bisect_right(closings[fence], row) if fence else 0
        fenced = bool(fence) and closing < len(closings[fence])
        last = closings[fence][closing] if fenced else _paragraph_end(text, lines, row)
        mark = _LIST_MARK.match(text, start, stop)
        yield (mark.end() if mark and not fenced else start), lines[last][1], fenced
        row = last + 1


def _opened_fence(line: str) -> str:
    opening = line.lstrip()[:3]
    return opening if opening in _FENCES and line.count(opening) == 1 else ""


def _paragraph_end(text: str, lines: Sequence[tuple[int, int]], row: int) -> int:
    while row + 1 < len(lines):
        line, following = (text[start:stop].strip() for start, stop in lines[row : row + 2])
        if len(line) < _WRAPPED_FROM or not following or _starts_anew(following):
            break
        row += 1
    return row


def _starts_anew(line: str) -> bool:
    mark = _LIST_MARK.match(line)
    return bool(mark and mark.end()) or line.startswith(("|", *_FENCES)) or bool(_BOILERPLATE.match(line))


def _pieces(text: str, start: int, stop: int) -> Iterator[str]:
    for match in _END.finditer(text, start, stop):
        if match["code"] or (match["stop"] and not _ends_sentence(text, start, match)):
            continue
        yield text[start : match.end()]
        start = match.end()
    yield text[start:stop]


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 8].lstrip()[:1]
    if match["stop"] != ".":
        return not following.islower()
    before = text[max(start, match.start() - 24) : match.start()].split()
    word = before[-1].lstrip("([{\"'“‘") if before else ""
    initial = len(word) == 1 and word.isupper()
    numbered = word.isdigit() and text[start : match.start()].strip() == word
    if initial or numbered or _ABBREVIATION.fullmatch(word.casefold()):
        return False
    if _ABBREVIATION_THAT_MAY_END.fullmatch(word.casefold()):
        return following.isupper()
    return not following.islower() or len(word) > 3


# Words ---------------------------------------------------------------------------------------

_WORD: Final = re.compile(r"\w++(?:[./:@#+-]++\w++)*+")
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED_OR_NOT: Final = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_UNSPACED_START: Final = re.compile(f"[{_UNSPACED}]")
_VERSION: Final = re.compile(r"v\d+\.\d")


def _parts(sources: Sequence[Source]) -> list[_Part]:
    """Sentences with words in them; trailers and merge lines of commits only where there is nothing else."""
    worded = [part for row, source in enumerate(sources) for part in _parts_of(row, source.text)]
    return [part for part in worded if not _BOILERPLATE.match(part.text)] or worded


def _parts_of(source: int, text: str) -> Iterable[_Part]:
    """The sentences of one source; what it repeats counts once, as last said."""
    latest = {}
    for position, sentence in enumerate(islice(split_sentences(text), _UNITS_READ)):
        if tokens := _tokens(sentence):
            subject = _subject(tokens)
            latest[subject] = _Part(sentence, source, position, tokens, subject)
    return latest.values()


def _tokens(text: str) -> tuple[str, ...]:
    """Distinct words in order, paths and identifiers whole; pairs of characters where a script has no spaces."""
    runs = (run for word in _WORD.findall(text.casefold()) for run in _UNSPACED_OR_NOT.findall(word))
    return tuple(dict.fromkeys(token for run in runs for token in _run_tokens(run)))


def _run_tokens(run: str) -> Iterable[str]:
    if len(run) < 3 or not _UNSPACED_START.match(run):
        return (run,)
    return (run[i : i + 2] for i in range(len(run) - 1))


def _subject(tokens: Sequence[str]) -> frozenset[str]:
    """What a sentence is about, so that the same sentence with another number says the same."""
    words = frozenset(token for token in tokens if not (token[0].isdigit() or _VERSION.match(token)))
    return words if len(words) >= _SUBJECT_WORDS else frozenset(tokens)


# Choice --------------------------------------------------------------------------------------

type _Scores = Mapping[tuple[int, int], float]


def _scores(parts: Sequence[_Part], sources: Sequence[Source], shared_entities: Sequence[str]) -> _Scores:
    central = _centrality(parts, len(sources))
    closeness = _closeness(sources)
    entities = [names for names in (frozenset(_tokens(entity)) for entity in shared_entities[:20]) if names]
    scores = {}
    for part in parts:
        words = frozenset(part.tokens)
        mentioned = sum(names <= words for names in entities) / max(1, len(entities))
        length = min(1.0, len(words) / _FULL_LENGTH)
        stating = _QUESTION if part.text.endswith(_QUESTION_MARKS) else 1.0
        # Rounded, so that what is equal but for the order of a sum is a tie and position decides.
        score = closeness[part.source] * length * stating * (central[part.place] + _ENTITY_LIFT * mentioned)
        scores[part.place] = round(score, 9)
    return scores


def _centrality(parts: Sequence[_Part], source_count: int) -> _Scores:
    """Cosine of each sentence with what the *other* sources say, over tf-idf weights of distinct words.

    Every source has one vote of length 1, however long it is.
    """
    frequency = Counter(token for part in parts for token in part.tokens)
    weight = {token: math.log((1 + len(parts)) / (1 + count)) + 1 for token, count in frequency.items()}
    length = {part.place: math.sqrt(sum(weight[token] ** 2 for token in part.tokens)) for part in parts}
    votes: list[defaultdict[str, float]] = [defaultdict(float) for _ in range(source_count)]
    for part in parts:
        for token in part.tokens:
            votes[part.source][token] += weight[token] / length[part.place]
    everyone: defaultdict[str, float] = defaultdict(float)
    for vote in votes:
        size = math.sqrt(sum(value**2 for value in vote.values()))
        for token in vote:
            vote[token] /= size
            everyone[token] += vote[token]
    central = {}
    for part in parts:
        own: Mapping[str, float] = votes[part.source] if source_count > 1 else {}
        agreement = sum(weight[token] * (everyone[token] - own.get(token, 0.0)) for token in part.tokens)
        central[part.place] = agreement / length[part.place] / max(1, source_count - 1)
    return central


def _closeness(sources: Sequence[Source]) -> list[float]:
    """Cosine of each source's vector with the middle of all; 1 for each where the vectors cannot be compared."""
    vectors = [[float(value) for value in source.vector] for source in sources if source.vector is not None]
    if len(vectors) < len(sources) or len({len(vector) for vector in vectors}) != 1:
        return [1.0] * len(sources)
    units = [_unit(vector) for vector in vectors]
    middle = _unit([math.fsum(column) for column in zip(*units, strict=True)])
    return [max(0.0, math.sumprod(unit, middle)) for unit in units]


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.hypot(*vector) or 1.0
    return [value / length for value in vector]


def _without_repeats(parts: Sequence[_Part], scores: _Scores, source_count: int) -> list[_Part]:
    """The best sentences of each source, less those that a later one says again."""
    best: defaultdict[int, list[_Part]] = defaultdict(list)
    for part in sorted(parts, key=lambda part: (-scores[part.place], part.position)):
        if len(best[part.source]) < max(MAX_SENTENCES, _COMPARED // source_count):
            best[part.source].append(part)
    kept: list[_Part] = []
    for part in sorted((part for group in best.values() for part in group), key=lambda part: part.place, reverse=True):
        if not any(_says_the_same(part, later) for later in kept):
            kept.append(part)
    return kept


def _says_the_same(one: _Part, later: _Part) -> bool:
    """Nearly the same words, or a later sentence that has them all in their order, and more; of the same names.

    Not the other way round: a later sentence with fewer words may have lost a "not".
    """
    if named_apart(one.text, later.text):
        return False
    shared = len(one.subject & later.subject)
    return shared >= _SAME * (len(one.subject) + len(later.subject) - shared) or _goes_on(one, later)


def _goes_on(one: _Part, later: _Part) -> bool:
    if len(one.subject) < _SUBJECT_WORDS or not one.subject <= later.subject:
        return False
    words = iter(later.tokens)
    return all(token in words for token in one.tokens if token in one.subject)


def _choose(parts: Sequence[_Part], scores: _Scores) -> list[_Part]:
    """Best first while they fit, with a turn for every source before a second sentence of one."""
    least = _CARRYING * max(scores[part.place] for part in parts)
    carrying = [part for part in parts if scores[part.place] >= least]
    chosen: list[_Part] = []
    taken: Counter[int] = Counter()
    room = MAX_CHARACTERS

    def worth(part: _Part) -> tuple[float, int, int]:
        return scores[part.place] * _AGAIN ** taken[part.source], -part.position, part.source

    while len(chosen) < MAX_SENTENCES:
        fitting = [part for part in carrying if len(part.text) <= room and part not in chosen]
        if not fitting:
            break
        best = max(fitting, key=worth)
        chosen.append(best)
        taken[best.source] += 1
        room -= len(best.text) + 1
    return chosen or [_cut(max(carrying, key=worth))]


def _cut(part: _Part) -> _Part:
    """The beginning that fits, up to a space where there is one."""
    text = part.text[: MAX_CHARACTERS + 1]
    head = text.rsplit(maxsplit=1)[0] if len(text.split(maxsplit=1)) > 1 else text[:MAX_CHARACTERS]
    return _Part(head, part.source, part.position, part.tokens, part.subject)


# What is said about it -----------------------------------------------------------------------

_RULE: Final = re.compile(
    r"\b(?:always|never|must|should|shall|prefer|avoid|do not|don['’]t|make sure|required)\b", re.IGNORECASE
)
_CHANGE: Final = re.compile(
    r"(?:feat|fix|chore|docs|refactor|perf|test|build|ci|style|revert)(?:\([^)]*\))?!?:|.*\(#\d+\)\Z", re.IGNORECASE
)


def _kind(sentences: Sequence[Sentence]) -> str:
    rules = sum(_states_rule(sentence.text) for sentence in sentences)
    return "convention" if rules * 2 > len(sentences) else "fact"


def _states_rule(text: str) -> bool:
    """Rules are recognised in English only. A question asks for one, and a note of a change only reports."""
    return bool(_RULE.search(text)) and not text.endswith(_QUESTION_MARKS) and not _CHANGE.match(text)


def _rationale(chosen: Sequence[_Part], sources: Sequence[Source], shared_entities: Sequence[str]) -> str:
    count, carrying = len(chosen), len({part.source for part in chosen})
    about = f" ({', '.join(shared_entities[:5])})" if shared_entities else ""
    return (
        f"{count} sentence{'' if count == 1 else 's'} word for word from {carrying} of {len(sources)} episodes, "
        f"chosen for what the episodes have in common{about}. Where two say nearly the same, the later one stands."
    )
