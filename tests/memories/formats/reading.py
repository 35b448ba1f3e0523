"""Files of other products into memories."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memories.access import actor_for_user
from memories.models import Scope
from memories.transfer.contract import Format
from memories.transfer.errors import TransferError
from memories.transfer.importing import Report, import_from
from memories.transfer.records import MemoryRecord


def a_file(text: str | bytes, name: str = "") -> io.BytesIO:
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    file.name = name  # as an upload has it
    return file


def a_json_file(value: Any, name: str = "memories.json") -> io.BytesIO:
    return a_file(json.dumps(value, ensure_ascii=False), name)


def a_zip(files: Mapping[str, str | bytes]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    file.seek(0)
    return file


def a_folder(top: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return top


def records(format: Format, source: Any) -> list[MemoryRecord]:
    found = list(format.read(source))
    assert all(isinstance(record, MemoryRecord) for record in found)
    return [record for record in found if isinstance(record, MemoryRecord)]


def load(format: Format, source: Any, scope: Scope, **asked: Any) -> Report:
    asked = {"actor": actor_for_user(scope.owner), "scope": scope, "trusted": True} | asked
    return import_from(format, source, **asked)


def refusal(format: Format, source: Any) -> str:
    with pytest.raises(TransferError) as caught:
        list(format.read(source))
    return caught.value.message
