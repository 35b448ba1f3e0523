"""REST over import and export: the formats of the registry, as streams."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Annotated, Any, Final
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest
from ninja import Query, Router, Schema

from memories.access import Actor, scope_for, write_target
from memories.api.routes import ERRORS, acting
from memories.api.shapes import Text
from memories.errors import ValidationFailed
from memories.models import Scope
from memories.services import transfers
from memories.transfer import kept_files, offered
from memories.transfer.background import counts
from memories.transfer.errors import TransferError
from memories.transfer.importing import import_from
from memories.transfer.registry import format_called
from memories.transfer.streaming import exported

router = Router()
PIECE: Final = 64 * 1024  # bytes
IN_MEMORY: Final = 4 * 1024 * 1024  # bytes; larger bodies wait in a file that has no name
_FILE: Final = {"type": "string", "format": "binary"}
_BODY: Final = {
    "required": True,
    "content": {
        "application/octet-stream": {"schema": _FILE},
        "multipart/form-data": {"schema": {"type": "object", "properties": {"file": _FILE}, "required": ["file"]}},
    },
}
_DOWNLOAD: Final = {
    "200": {
        "description": "The file.",
        "content": {format.media_type: {"schema": _FILE} for format in offered.writable()},
    }
}
Format = Annotated[str, Query(description="One of the formats; jsonl is the lossless one.")]


class ImportOut(Schema):
    read: int
    written: int
    existing: int
    links: int
    kinds: dict[str, int]
    differing: list[str]
    differing_count: int
    skipped: dict[str, int]
    notes: dict[str, int]
    carried: dict[str, int]
    scopes: list[str]
    created_scopes: list[str]
    dry_run: bool


@router.get(
    "/export",
    response={**ERRORS},
    summary="Export a scope, or all that the token reads, as a stream",
    openapi_extra={"responses": _DOWNLOAD},
)
def export_memories(
    request: HttpRequest,
    format: Format = "jsonl",
    scope: Annotated[Text | None, Query(description="Slug, or owner/slug. Left out: all that the token reads.")] = None,
) -> Any:
    actor = acting(request)
    return exported(request, actor, format, None if scope is None else [scope_for(actor, scope)])


@router.post(
    "/import",
    response={200: ImportOut, **ERRORS},
    summary="Import a file: all of it or nothing, and a second time nothing new",
    openapi_extra={"requestBody": _BODY},
)
def import_memories(
    request: HttpRequest,
    format: Format = "jsonl",
    scope: Annotated[
        Text | None, Query(description="All goes into it. Left out: the only one the token may write to.")
    ] = None,
    dry_run: Annotated[bool, Query(description="Count what would be written, and write nothing.")] = False,
) -> Any:
    actor = acting(request)
    target = write_target(actor, scope)
    chosen = format_called(format)
    if not (chosen.reads and chosen.takes_file):
        raise TransferError(f"The format {format} is not read from a file.", field="format")
    with _body(request) as file:
        return _imported(actor, target, format, file, dry_run=dry_run)


def _imported(actor: Actor, scope: Scope, format: str, file: IO[bytes], *, dry_run: bool) -> dict[str, Any]:
    written: list[UUID] = []
    with transaction.atomic():
        report = counts(
            import_from(format_called(format)(), file, actor=actor, scope=scope, dry_run=dry_run, wrote=written.extend)
        )
        if written and not dry_run:
            transfers.record_done(actor=actor, scope=scope, format=format, report=report, memories=written)
    return report


@contextmanager
def _body(request: HttpRequest) -> Iterator[IO[bytes]]:
    """The file that was sent, alone or as the field ``file`` of a form, in a place that can be read twice."""
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        length = 0
        for piece in _pieces(request):
            length += len(piece)
            kept_files.refuse_larger(length)
            file.write(piece)
        if not length:
            raise ValidationFailed("The body is empty: send the file as it is, or as the field file of a form.")
        file.seek(0)
        yield file  # type: ignore[misc]  # it is a file in all but its class


def _pieces(request: HttpRequest) -> Iterator[bytes]:
    if request.content_type == "multipart/form-data":
        given = request.FILES.get("file")
        if given is None:
            raise ValidationFailed("The form has no file: send it as the field file.", field="file")
        yield from given.chunks()
        return
    while piece := request.read(PIECE):
        yield piece
