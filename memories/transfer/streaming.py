"""An export as a download: never held whole, whichever server sends it.

It is made before it is sent: a slow reader keeps neither a connection of the pool nor a moment of the database.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import ExitStack
from typing import IO, Final

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
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

PIECE: Final = 64 * 1024  # bytes; each is a way from thread to thread


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
    """What cannot be exported is an error like others: nothing was sent by then."""
    file = _spooled(pieces)
    content = _in_turn(file) if isinstance(request, ASGIRequest) else _pieces_of(file)
    answer = StreamingHttpResponse(content, content_type=format.media_type)
    answer["Content-Length"] = str(file.seek(0, os.SEEK_END))
    file.seek(0)
    answer["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    answer["Cache-Control"] = "no-store"
    return answer


def _spooled(pieces: Generator[bytes]) -> IO[bytes]:
    """A file without a name, for this user of the machine alone, which is gone when it is closed."""
    try:
        with ExitStack() as unless_made:
            file = unless_made.enter_context(tempfile.TemporaryFile(dir=settings.DATA_FOLDER))
            file.writelines(pieces)
            file.flush()
            unless_made.pop_all()
    except OSError as error:
        raise TransferError(f"The export cannot be written: {error.strerror}. Make room in the data folder.") from error
    if not connection.in_atomic_block:
        connection.close()  # back into the pool, which has few
    return file


def _pieces_of(file: IO[bytes]) -> Generator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece


async def _in_turn(file: IO[bytes]) -> AsyncIterator[bytes]:
    """Django would read a plain iterator to its end before it sends a byte."""
    with file:
        while piece := await sync_to_async(file.read)(PIECE):
            yield piece
