"""The formats by name. A new one is its own file, its test, and one line here."""

from django.utils.module_loading import import_string

from memories.transfer.contract import Format
from memories.transfer.errors import TransferError

FORMATS = {
    "git": "memories.transfer.git.Git",
    "jsonl": "memories.transfer.jsonl.Jsonl",
    "markdown": "memories.transfer.markdown.Markdown",
}


def format_called(name: str) -> type[Format]:
    if name not in FORMATS:
        raise TransferError(f"There is no format {name!r}. Choose from {', '.join(sorted(FORMATS))}.", field="format")
    found: type[Format] = import_string(FORMATS[name])
    return found
