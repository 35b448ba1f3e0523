"""An export as a download: never held whole, whichever server sends it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from typing import Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header

from memories.access import Actor, readable_scopes
from memories.errors import Conflict
from memories.models import Scope
from memories.transfer.contract import Format
from memories.transfer.errors import TransferError
from memories.transfer.exporting import export_to
from memories.transfer.registry import format_called

PIECE: Final = 64 * 1024  # bytes; lines are short, and each piece is a way from thread to thread


def exported(request: HttpRequest, actor: Actor, format: str, scopes: Sequence[Scope] | None) -> StreamingHttpResponse:
    """The download of these scopes, or of all that *actor* reads; the settings come with it for staff alone, who may
    restore them. Raises TransferError for a format that is not written, and Conflict without a scope."""
    chosen = format_called(format)
    if not chosen.writes:
        raise TransferError(f"The format {format} can only be read, not written.", field="format")
    whole = scopes is None and actor.is_person and actor.user.is_staff
    found = readable_scopes(actor) if scopes is None else scopes
    if not found:
        raise Conflict("There is no scope to export. Create one first, or ask an admin of one to let you in.")
    pieces = export_to(chosen(), found, whole=whole)
    return _streamed(request, pieces, format=chosen, name=file_name(chosen, None if scopes is None else found[0]))


def file_name(format: type[Format], scope: Scope | None) -> str:
    """Of ASCII letters, digits, dots and dashes alone, whatever the scope is called."""
    return f"zero-memory-{scope.slug if scope else 'all'}-{timezone.now():%Y-%m-%d}{format.suffix}"


def _streamed(
    request: HttpRequest, pieces: Generator[bytes], *, format: type[Format], name: str
) -> StreamingHttpResponse:
    """The first piece is made before the answer begins, so that what cannot be exported is an error like others."""
    first = next(pieces, b"")
    gathered = _gathered(first, pieces)
    content = _in_turn(gathered) if isinstance(request, ASGIRequest) else gathered
    answer = StreamingHttpResponse(content, content_type=format.media_type)
    answer["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    answer["Cache-Control"] = "no-store"
    return answer


def _gathered(first: bytes, pieces: Generator[bytes]) -> Generator[bytes]:
    held, size = [first], len(first)
    try:
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size >= PIECE:
                yield b"".join(held)
                held, size = [], 0
        yield b"".join(held)
    finally:
        pieces.close()


async def _in_turn(pieces: Generator[bytes]) -> AsyncIterator[bytes]:
    """Django would read a plain iterator to its end before it sends a byte; and the export's transaction is of the
    thread that began it, which is the request's own."""
    try:
        while (piece := await sync_to_async(_next)(pieces)) is not None:
            yield piece
    finally:
        await sync_to_async(pieces.close)()


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)
