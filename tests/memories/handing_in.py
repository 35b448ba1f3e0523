"""Files that are handed in to be imported."""

import json
from typing import Any

from memories.access import actor_for_user
from memories.models import Import, Scope
from memories.services import transfers
from memories.transfer import background


def lines(count: int = 3, **more: Any) -> bytes:
    told = [{"content": f"Told {number}.", "external_id": f"t{number}"} | more for number in range(count)]
    return "".join(f"{json.dumps(line)}\n" for line in told).encode()


def handed_in(scope: Scope, raw: bytes | None = None, **asked: Any) -> Import:
    values = {"format": "jsonl", "file_name": "told.jsonl", "pieces": [lines() if raw is None else raw]}
    return transfers.hand_in(**{"actor": actor_for_user(scope.owner), "scope": scope} | values | asked)


def make_import(scope: Scope, raw: bytes | None = None, **asked: Any) -> Import:
    """One that a worker has checked, and that waits for its person."""
    row = handed_in(scope, raw, **asked)
    background.work_on(str(row.pk))
    return Import.objects.get(pk=row.pk)
