"""Whether the parts around the store work, in words a person can act on."""

from __future__ import annotations

from dataclasses import dataclass

from memories.embedder_in_use import in_use
from zeromemory.embedding import EmbedderError
from zeromemory.lib import heartbeat


@dataclass(frozen=True, slots=True)
class Part:
    """``state`` is ``ok``, ``waiting``, ``down`` or ``off``."""

    name: str
    state: str
    text: str


def worker() -> Part:
    age = heartbeat.age()
    if age is None:
        return Part("Worker", "down", "has never answered: start it with make up")
    if heartbeat.is_fresh():
        return Part("Worker", "ok", "works")
    if heartbeat.is_stopped():
        return Part("Worker", "down", "was stopped: start it with make up")
    return Part("Worker", "down", f"silent for {_spoken(age)}: start it with make up")


def embedder() -> Part:
    try:
        used = in_use()
        if used.answering is None:
            return Part("Embedder", "off", "switched off, search by words only")
        text = f"{used.answering.name}, version {used.answering.version[:12]}"
        if used.coming:
            return Part("Embedder", "waiting", f"{text}, until {used.coming.name} has embedded all")
        return Part("Embedder", "ok", text)
    except EmbedderError as error:
        return Part("Embedder", "down", str(error))


def _spoken(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            amount = int(seconds // size)
            return f"{amount} {unit}{'' if amount == 1 else 's'}"
    return "under a minute"
