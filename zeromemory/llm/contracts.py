"""The questions Zero Memory asks a model. Prompts name no dates of their own: dates come from the records alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from zeromemory.llm.contract import Confidence, Contract, Output, UnusableAnswer
from zeromemory.llm.fencing import Fence, moment

MOST_EVIDENCE = 3
type Relation = Literal["duplicate", "a_supersedes_b", "b_supersedes_a", "contradiction", "complementary", "unrelated"]


# What is shown ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Episode:
    id: str
    text: str
    captured_at: datetime
    author: str = ""

    def texts(self) -> tuple[str, ...]:
        return self.id, self.text, self.author

    def quoted(self, fence: Fence) -> str:
        about = {"id": self.id, "captured": moment(self.captured_at), "by": self.author or "unknown"}
        return fence.quote(about, self.text)


@dataclass(frozen=True, slots=True)
class MemoryShown:
    """``provenance`` is a word for who stands behind the text, such as ``agent`` or ``human``."""

    id: str
    kind: str
    text: str
    captured_at: datetime
    provenance: str = ""

    def texts(self) -> tuple[str, ...]:
        return self.id, self.kind, self.text, self.provenance

    def quoted(self, fence: Fence, *, called: str = "") -> str:
        name = {"called": called} if called else {}
        about = {"id": self.id, "kind": self.kind, "captured": moment(self.captured_at)}
        return fence.quote(name | about | {"provenance": self.provenance or "unknown"}, self.text)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a search of the web gave back."""

    url: str
    title: str
    text: str

    def texts(self) -> tuple[str, ...]:
        return self.url, self.title, self.text

    def quoted(self, fence: Fence) -> str:
        return fence.quote({"url": self.url, "title": self.title}, self.text)


# Distil -------------------------------------------------------------------------------------


class Sentence(Output):
    text: str
    sources: tuple[str, ...]


class Distillate(Output):
    consolidate: bool
    content: str
    kind: Literal["fact", "convention"]
    confidence: Confidence
    rationale: str
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Distil(Contract[Distillate]):
    """Many episodes of one piece of work into one standing statement, or a refusal: ``consolidate`` is then false."""

    episodes: tuple[Episode, ...]

    output = Distillate
    instructions = """\
You turn episodes, short notes taken during work, into one memory for readers who will never see the episodes.
State the standing outcome: what holds now, not the story of how it came about. Current state first. Where episodes \
disagree, the one captured later wins. The text stands by itself: no "this", "the above" or "as discussed" that only \
the episodes explain. Keep identifiers literal: names, paths, commands, versions and numbers exactly as written. One \
paragraph, nothing that no episode says, and no date that no episode names.
kind is "convention" for how things are to be done, else "fact".
sentences lists the sentences of content in order, each with the ids of the episodes that say it.
When the episodes are only loosely related and have no common outcome, set consolidate to false, leave content and \
sentences empty, and say why in rationale.
confidence, from 0 to 1, is how sure you are that a reader of content alone is told what holds now."""

    def texts(self) -> Iterator[str]:
        for episode in self.episodes:
            yield from episode.texts()

    def prompt(self, fence: Fence) -> str:
        oldest_first = sorted(self.episodes, key=lambda episode: episode.captured_at)
        quoted = "\n\n".join(episode.quoted(fence) for episode in oldest_first)
        return f"{len(self.episodes)} episodes, in the order of their capture:\n\n{quoted}\n\nWhat holds now?"

    def checked(self, value: Distillate) -> Distillate:
        content = " ".join(value.content.split())
        if not value.consolidate or not content:  # having nothing to say is a refusal, whatever it is called
            return value.model_copy(update={"consolidate": False, "content": "", "sentences": ()})
        shown = {episode.id for episode in self.episodes}
        sentences = tuple(_supported(sentence, shown) for sentence in value.sentences if sentence.text.strip())
        return value.model_copy(update={"content": content, "sentences": sentences})


def _supported(sentence: Sentence, shown: set[str]) -> Sentence:
    sources = tuple(dict.fromkeys(source for source in sentence.sources if source in shown))
    return sentence.model_copy(update={"text": " ".join(sentence.text.split()), "sources": sources})


# Judge a pair -------------------------------------------------------------------------------


class PairVerdict(Output):
    relation: Relation
    confidence: Confidence
    rationale: str


@dataclass(frozen=True, slots=True)
class JudgePair(Contract[PairVerdict]):
    a: MemoryShown
    b: MemoryShown

    output = PairVerdict
    instructions = """\
You compare two memories, A and B, and name the one relation between them:
duplicate: both say the same, so that a reader of one learns nothing from the other.
a_supersedes_b: both are about the same subject and A tells the newer state, so that B no longer holds.
b_supersedes_a: the same with B newer.
contradiction: both cannot hold, and nothing shows which one does.
complementary: about the same subject, both hold, and each says something the other does not.
unrelated: about different subjects, however alike the words.
Capture times say when a memory was stored; an older one is not wrong for being older. What differs in a number, a \
name, a version, a place or a condition is no duplicate.
confidence, from 0 to 1, is how sure you are of the relation. rationale is one or two sentences that name what in the \
texts decided."""

    def texts(self) -> Iterator[str]:
        yield from self.a.texts()
        yield from self.b.texts()

    def prompt(self, fence: Fence) -> str:
        pair = f"{self.a.quoted(fence, called='A')}\n\n{self.b.quoted(fence, called='B')}"
        return f"{pair}\n\nWhich relation do A and B have?"

    def checked(self, value: PairVerdict) -> PairVerdict:
        return value


# Judge usefulness ---------------------------------------------------------------------------


class Usefulness(Output):
    id: str
    useful: bool
    relevant: bool
    misled: bool
    confidence: Confidence


class UsefulnessVerdicts(Output):
    verdicts: tuple[Usefulness, ...]


@dataclass(frozen=True, slots=True)
class JudgeUsefulness(Contract[UsefulnessVerdicts]):
    """A piece of a conversation and the memories that were shown in it."""

    transcript: str
    memories: tuple[MemoryShown, ...]

    output = UsefulnessVerdicts
    instructions = """\
You read a piece of a conversation in which memories were shown to an assistant, and say of each memory:
useful: the work relied on it and went better for it.
relevant: it is about what the conversation is about, relied on or not.
misled: the work relied on it and it was wrong, so that something had to be undone or corrected. A memory that misled \
was not useful.
Judge by what the conversation shows, not by what a memory claims of itself. Give one verdict for each memory, by its \
id. confidence, from 0 to 1, is how sure you are; where the conversation shows nothing either way it is low."""

    def texts(self) -> Iterator[str]:
        yield self.transcript
        for memory in self.memories:
            yield from memory.texts()

    def prompt(self, fence: Fence) -> str:
        shown = "\n\n".join(memory.quoted(fence) for memory in self.memories)
        conversation = fence.quote({"what": "conversation"}, self.transcript)
        return f"The conversation:\n\n{conversation}\n\nThe memories shown in it:\n\n{shown}\n\nHow did each one do?"

    def checked(self, value: UsefulnessVerdicts) -> UsefulnessVerdicts:
        """One verdict for each memory shown: of several the least favourable, so that their order decides nothing."""
        shown = {memory.id for memory in self.memories}
        found: dict[str, Usefulness] = {}
        for verdict in sorted(value.verdicts, key=_unfavourable, reverse=True):
            if verdict.id in shown:
                found.setdefault(verdict.id, _consistent(verdict))
        if not found:
            raise UnusableAnswer("The answer names none of the memories shown. Give a verdict for each, by its id.")
        return UsefulnessVerdicts(verdicts=tuple(found[memory.id] for memory in self.memories if memory.id in found))


def _unfavourable(verdict: Usefulness) -> tuple[bool, bool, float]:
    return verdict.misled, not verdict.useful, -verdict.confidence


def _consistent(verdict: Usefulness) -> Usefulness:
    return verdict.model_copy(update={"useful": False}) if verdict.misled else verdict


# Close a loop -------------------------------------------------------------------------------


class LoopVerdict(Output):
    closes: bool
    evidence: str | None
    confidence: Confidence
    rationale: str


@dataclass(frozen=True, slots=True)
class CloseLoop(Contract[LoopVerdict]):
    """An open task or question, and up to three newer memories that may settle it."""

    loop: MemoryShown
    evidence: tuple[MemoryShown, ...]

    output = LoopVerdict
    instructions = """\
You are shown an open loop, a task or a question, and memories that were stored after it. Say whether one of them \
settles it: the whole task is done, or the question is answered.
closes is true only when one memory by itself says so. A plan, an attempt, a part, or another thing of a like name \
does not close a loop. evidence is the id of that memory, or null when none closes it.
confidence, from 0 to 1, is how sure you are. rationale is one sentence that names what in the evidence decided."""

    def __post_init__(self) -> None:
        if len(self.evidence) > MOST_EVIDENCE:
            raise ValueError(f"at most {MOST_EVIDENCE} memories of evidence")

    def texts(self) -> Iterator[str]:
        for memory in (self.loop, *self.evidence):
            yield from memory.texts()

    def prompt(self, fence: Fence) -> str:
        loop = self.loop.quoted(fence, called="open loop")
        evidence = "\n\n".join(memory.quoted(fence) for memory in self.evidence)
        return f"{loop}\n\nThe evidence:\n\n{evidence}\n\nDoes one of these close the loop?"

    def checked(self, value: LoopVerdict) -> LoopVerdict:
        """What closes a loop was shown; without it nothing is closed."""
        closes = value.closes and value.evidence in {memory.id for memory in self.evidence}
        return value.model_copy(update={"closes": closes, "evidence": value.evidence if closes else None})


# Audit a kind -------------------------------------------------------------------------------


class KindVerdict(Output):
    kind: str
    confidence: Confidence
    rationale: str


@dataclass(frozen=True, slots=True)
class KindAudit(Contract[KindVerdict]):
    """``kinds`` gives each kind its meaning in a few words."""

    memory: MemoryShown
    kinds: Mapping[str, str]

    output = KindVerdict
    instructions = """\
You say of which kind a memory is, by what its text does for a reader and not by what it calls itself. kind is one of \
the words listed. When two fit, keep the kind it has.
confidence, from 0 to 1, is how sure you are. rationale is one sentence that names what in the text decided."""

    def texts(self) -> Iterator[str]:
        yield from self.memory.texts()
        yield from self.kinds
        yield from self.kinds.values()

    def prompt(self, fence: Fence) -> str:
        kinds = "\n".join(f"{kind}: {meaning}" for kind, meaning in self.kinds.items())
        return f"The kinds:\n{kinds}\n\n{self.memory.quoted(fence)}\n\nOf which kind is it?"

    def checked(self, value: KindVerdict) -> KindVerdict:
        if value.kind not in self.kinds:
            raise UnusableAnswer(f"kind must be one of: {', '.join(self.kinds)}.")
        return value


# Check a fact of the world ------------------------------------------------------------------


class WorldFactVerdict(Output):
    verdict: Literal["current", "outdated", "unclear"]
    confidence: Confidence
    what_changed: str
    source: str | None


@dataclass(frozen=True, slots=True)
class CheckWorldFact(Contract[WorldFactVerdict]):
    """A fact that others can change, and what a search of the web said of it."""

    fact: MemoryShown
    findings: tuple[Finding, ...]

    output = WorldFactVerdict
    instructions = """\
You are shown a stored fact and what a search of the web found. Say whether the findings confirm the fact or overtake \
it:
current: a finding says that it holds.
outdated: a finding says that something else holds now. what_changed says in one sentence what.
unclear: the findings are about something else, disagree with each other, or do not say. what_changed is then empty.
Judge by the findings alone, not by what you remember. source is the url of the finding that decided, or null when \
unclear. confidence, from 0 to 1, is how sure you are."""

    def texts(self) -> Iterator[str]:
        yield from self.fact.texts()
        for finding in self.findings:
            yield from finding.texts()

    def prompt(self, fence: Fence) -> str:
        findings = "\n\n".join(finding.quoted(fence) for finding in self.findings) or "(nothing)"
        return f"{self.fact.quoted(fence, called='stored fact')}\n\nThe findings:\n\n{findings}\n\nDoes the fact hold?"

    def checked(self, value: WorldFactVerdict) -> WorldFactVerdict:
        """A verdict rests on a page that was shown; without one it is unclear."""
        if value.verdict != "unclear" and value.source in {finding.url for finding in self.findings}:
            return value
        return value.model_copy(update={"verdict": "unclear", "what_changed": "", "source": None})
