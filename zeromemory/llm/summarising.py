"""Several fading memories into one summary: what is asked and answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from zeromemory.llm.contract import Contract, Output
from zeromemory.llm.contracts import MemoryShown
from zeromemory.llm.fencing import Fence


class Disagreement(Output):
    a: str
    b: str
    rationale: str


class Summary(Output):
    summary: str
    consumed: tuple[str, ...]
    contradictions: tuple[Disagreement, ...]


@dataclass(frozen=True, slots=True)
class Summarise(Contract[Summary]):
    """Memories that are hardly used any more. An empty summary, or none consumed, is an answer: there is none."""

    memories: tuple[MemoryShown, ...]

    output = Summary
    instructions = """\
You are shown stored memories that are seldom used. Write one memory that can stand in for as many of them as possible \
for readers who will not see them any more.
summary says what they say and nothing else: shorter, in plain sentences that stand by themselves, with names, paths, \
commands, versions and numbers exactly as written, and no date that none of them names. Leave out a memory rather than \
blur what it says; where one tells a newer state of the same thing, give that.
consumed lists the ids of those memories whose content a reader of the summary still has. What is not in the summary \
is not consumed.
contradictions lists pairs that cannot both hold while nothing shows which one does, each with a sentence that names \
what they disagree about. Take neither side of such a pair into the summary.
When they have so little in common that one text would help nobody, leave summary and consumed empty."""

    def texts(self) -> Iterator[str]:
        for memory in self.memories:
            yield from memory.texts()

    def prompt(self, fence: Fence) -> str:
        quoted = "\n\n".join(memory.quoted(fence) for memory in self.memories)
        return f"{len(self.memories)} memories, oldest first:\n\n{quoted}\n\nWhat stands in for them?"

    def checked(self, value: Summary) -> Summary:
        """An id that was not shown is passed over, and one that is named twice counts once."""
        shown = {memory.id for memory in self.memories}
        pairs = {
            frozenset((pair.a, pair.b)): pair for pair in value.contradictions if {pair.a, pair.b} <= shown
        }  # a pair is one whichever side is named first
        return value.model_copy(
            update={
                "summary": value.summary.strip(),
                "consumed": tuple(dict.fromkeys(id for id in value.consumed if id in shown)),
                "contradictions": tuple(pair for ends, pair in pairs.items() if len(ends) == 2),
            }
        )
