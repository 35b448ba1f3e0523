"""Plain questions for tests; every part can be given."""

from datetime import UTC, datetime
from typing import Any

from zeromemory.llm import (
    CheckWorldFact,
    CloseLoop,
    Distil,
    Episode,
    Finding,
    JudgePair,
    JudgeUsefulness,
    KindAudit,
    MemoryShown,
    Summarise,
)

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
KINDS = {"fact": "something that is so", "convention": "how things are to be done"}


def episode(identity: str = "e1", text: str = "The export now runs on Tuesday.", **given: Any) -> Episode:
    return Episode(**{"id": identity, "text": text, "captured_at": AT, "author": "crew"} | given)


def memory(identity: str = "m1", text: str = "The export runs on Tuesday.", **given: Any) -> MemoryShown:
    return MemoryShown(
        **{"id": identity, "kind": "fact", "text": text, "captured_at": AT, "provenance": "agent"} | given
    )


def finding(**given: Any) -> Finding:
    return Finding(**{"url": "https://example.org/a", "title": "Release notes", "text": "Version 3 is out."} | given)


def distil(*episodes: Episode) -> Distil:
    return Distil(episodes=episodes or (episode("e1"), episode("e2", "The mail server restarts on Monday.")))


def pair(a: MemoryShown | None = None, b: MemoryShown | None = None) -> JudgePair:
    return JudgePair(a=a or memory("m1"), b=b or memory("m2", "Exports happen every Tuesday."))


def usefulness(*memories: MemoryShown, transcript: str = "It worked as the note said.") -> JudgeUsefulness:
    return JudgeUsefulness(transcript=transcript, memories=memories or (memory("m1"), memory("m2")))


def loop(*evidence: MemoryShown) -> CloseLoop:
    task = memory("t1", "Move the export to Tuesday.", kind="task")
    return CloseLoop(loop=task, evidence=evidence or (memory("m1"), memory("m2")))


def audit(**given: Any) -> KindAudit:
    return KindAudit(memory=memory(**given), kinds=KINDS)


def summarise(*memories: MemoryShown) -> Summarise:
    return Summarise(memories=memories or (memory("m1"), memory("m2", "The mail server restarts on Monday.")))


def world_fact(*findings: Finding) -> CheckWorldFact:
    return CheckWorldFact(fact=memory("m1", "The newest version is 2."), findings=findings or (finding(),))
