"""Rows of a SQLite database that somebody sent: read from a copy, and never believed."""

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from memories.transfer.errors import TransferError
from memories.transfer.foreign import Entry
from memories.transfer.sources import LARGEST_FILE, LARGEST_WHOLE

_MAGIC: Final = b"SQLite format 3\x00"
_HEADER_LENGTH: Final = 100  # bytes, of which the format of SQLite tells
_PIECE: Final = 1024 * 1024
_STEPS: Final = 1_000_000  # of SQLite's machine between two looks at whether it takes too long
_MOST_LOOKS: Final = 20_000


def is_sqlite(file: Any) -> bool:
    if isinstance(file, Path):
        return False
    file.seek(0)
    found = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    return found


def rows_of(file: Any, tables: Mapping[str, str]) -> Iterator[tuple[str, Entry]]:
    """The rows of each of *tables* that is there, under the name that it is given.

    The copy is opened for reading alone. Views, virtual tables and triggers are not looked at.
    """
    with _copy_of(file) as path:
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
                yield from _rows(database, tables)
        except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as error:
            raise TransferError(
                f"This database cannot be read ({error}). Stop the program that writes it, and send the file again."
            ) from error


@contextmanager
def _copy_of(file: Any) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path, size = Path(folder) / "sent.db", 0
        with path.open("wb") as copy:
            while piece := file.read(_PIECE):
                size += len(piece)
                if size > LARGEST_WHOLE:
                    raise TransferError(f"This database is larger than {LARGEST_WHOLE:,} bytes. Export it as JSON.")
                copy.write(piece)
        _refuse_cut_off(path, size)
        yield path


def _refuse_cut_off(path: Path, size: int) -> None:
    """By the number of pages in the header, where SQLite itself holds that for valid: the rest would count as empty."""
    with path.open("rb") as file:
        header = file.read(_HEADER_LENGTH)
    page, counter, pages, valid_for = (
        int.from_bytes(header[start:stop]) for start, stop in ((16, 18), (24, 28), (28, 32), (92, 96))
    )
    wanted = (65536 if page == 1 else page) * pages
    if page != 1 and page.bit_count() != 1:
        return  # it is no database at all, and SQLite says so
    if len(header) < _HEADER_LENGTH or (counter == valid_for and size < wanted):
        raise TransferError(
            f"This database was cut off: it holds {size:,} of {wanted:,} bytes. Stop the program that writes it, and "
            "send the whole file again."
        )


def _rows(database: sqlite3.Connection, tables: Mapping[str, str]) -> Iterator[tuple[str, Entry]]:
    _restrain(database)
    ordinary = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'")
    names = {row[0] for row in ordinary}
    there = [name for name in tables if name in names]
    if not there:
        raise TransferError(f"This database has none of the tables {', '.join(tables)}. Is it the right one?")
    database.row_factory = sqlite3.Row
    for table in there:
        columns = ", ".join(_stored(database, table))
        for row in database.execute(f"SELECT rowid AS rowid_, {columns} FROM {table} ORDER BY rowid"):  # noqa: S608  # a name of ours, and quoted ones
            yield tables[table], Entry(dict(row), f"{table}[{row['rowid_']}]")


def _stored(database: sqlite3.Connection, table: str) -> list[str]:
    """The columns that hold what was written into them: one that is generated may take for ever in a single step."""
    told = database.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", [table])
    return ['"' + row[0].replace('"', '""') + '"' for row in told]


def _restrain(database: sqlite3.Connection) -> None:
    looks = iter(range(_MOST_LOOKS))
    database.set_progress_handler(lambda: next(looks, None) is None, _STEPS)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_FILE)
    for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
        database.execute(f"PRAGMA {pragma}")
