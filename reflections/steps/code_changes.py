"""Read the code that memories are about, and ask a person about those whose code changed or is gone."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils import timezone

from memories.models import Scope
from memories.services.code_looks import note_looks
from reflections import configuration
from reflections.code_reading import Reading, subjects
from reflections.presentation import counted
from reflections.services.code_changes import ask_about, close_passed
from reflections.services.progress import Progress


def work(scope: Scope, progress: Progress) -> None:
    reading, looked_at = Reading(scope), timezone.now()
    for _ in reading.pieces():
        progress.count()
    _close(reading, progress)
    asked, held = reading.split(configuration.hygiene().code_share)
    for row in ask_about(asked):
        progress.count(found=1, done=int(row is not None), skipped=int(row is None))
    progress.count(found=len(held) + reading.waiting, skipped=len(held) + reading.waiting, failed=reading.unchecked)
    note_looks(scope=scope, found=reading.found(), at=looked_at)
    if said := " ".join(_said(scope, reading)):
        progress.note_also(said)


def survey(scope: Scope) -> str:
    number = subjects(scope).count()
    return f"would read the code of {number:,} memor{'y' if number == 1 else 'ies'}"


def _close(reading: Reading, progress: Progress) -> None:
    for back in reading.back:
        closed = close_passed(back.dispute, back.why)
        progress.count(found=1, done=int(closed), skipped=int(not closed))


def _said(scope: Scope, reading: Reading) -> Iterator[str]:
    for name, one in sorted(reading.found().items()):
        if one.held:
            yield (
                f"Of {one.memories:,} memories of {scope.slug} anchored in {name}, the code of {one.stale:,} changed "
                f"or is gone, and nobody was asked about {one.held:,} of them. Say on the page of the repository if "
                "they are to come to the inbox."
            )
    if reading.unchecked:
        yield f"The code of {counted(reading.unchecked, 'text')} could not be checked."
    if reading.unread:
        yield f"The code of {counted(reading.unread, 'text')} was not reached; the next run begins elsewhere."
