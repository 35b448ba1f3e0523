"""Memories into a file and out of one."""

import io
import json

import pytest
from django.db import connection

from memories.access import Actor, actor_for_user
from memories.models import Entity, Link, Memory, MemoryEntity, Reinforcement, Scope, UsageEvent, Verification, Window
from memories.transfer.errors import TransferError
from memories.transfer.exporting import export_to
from memories.transfer.importing import Report, import_from
from memories.transfer.jsonl import Jsonl


def as_file(*lines: dict | str) -> io.BytesIO:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return io.BytesIO("".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass"))


def load(*lines: dict | str, scope: Scope, **asked) -> Report:
    asked = {"actor": actor_for_user(scope.owner), "scope": scope, "trusted": True} | asked
    return import_from(Jsonl(), as_file(*lines), **asked)


def load_bytes(raw: bytes, *, actor: Actor, **asked) -> Report:
    return import_from(Jsonl(), io.BytesIO(raw), actor=actor, trusted=True, **asked)


def exported(*scopes: Scope) -> bytes:
    return b"".join(export_to(Jsonl(), scopes))


def erase_everything() -> None:
    """An empty database that still has its people."""
    Memory.objects.update(superseded_by=None)
    for model in (Verification, UsageEvent, Reinforcement, Link, MemoryEntity, Entity, Window, Memory):
        model.objects.all().delete()
    connection.check_constraints()  # now, because an import that follows may give a memory its id again


def failure(*lines: dict | str, scope: Scope, **asked) -> TransferError:
    with pytest.raises(TransferError) as caught:
        load(*lines, scope=scope, **asked)
    return caught.value
