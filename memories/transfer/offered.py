"""The formats that pages and programs may choose from."""

from memories.transfer.contract import Format
from memories.transfer.registry import FORMATS, format_called


def all_formats() -> list[type[Format]]:
    return [format_called(name) for name in sorted(FORMATS)]


def readable() -> list[type[Format]]:
    """Those that read a file; a repository or a folder is on the machine of the server alone."""
    return [format for format in all_formats() if format.reads and format.takes_file]


def writable() -> list[type[Format]]:
    return [format for format in all_formats() if format.writes]
