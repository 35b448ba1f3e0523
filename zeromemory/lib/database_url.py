"""``DATABASE_URL``, read so that a password pasted as it is works: ``$ # ' " / ? @`` and percent-encoding."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

# The last @ that is followed by a well-formed rest ends the password, so a password may hold any character.
_ADDRESS = re.compile(
    r"""^(?:postgres|postgresql|pgsql)://
    (?:(?P<user>[^:@/]*)(?::(?P<password>.*))?@)?
    (?P<host>\[[0-9A-Fa-f:.]+\]|[^:/?\#@\[\]\s]*)
    (?::(?P<port>[0-9]{1,9}))?
    (?:/(?P<name>[^/?\#@]*))?
    (?:\?(?P<options>[^\#]*))?$""",
    re.VERBOSE,
)
LONGEST_NAME = 63  # characters


class DatabaseUrlError(ValueError):
    """The sentence says what is wrong and never repeats the password."""


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    user: str
    password: str = field(repr=False)
    host: str
    port: str
    name: str
    options: dict[str, str]


def parse(url: str) -> DatabaseAddress:
    """Split *url* into its parts, percent-decoded. Raises DatabaseUrlError."""
    url = url.strip()
    if not re.match(r"(postgres|postgresql|pgsql)://", url):
        raise DatabaseUrlError(
            "is not a PostgreSQL address. Write postgresql://user:password@host:5432/name; "
            "Zero Memory needs PostgreSQL 16 or newer with pgvector."
        )
    found = _ADDRESS.match(url)
    if not found:
        raise DatabaseUrlError(
            "cannot be read. Write postgresql://user:password@host:5432/name, and percent-encode "
            "special characters in the user and the name (@ is %40, / is %2F)."
        )
    part = {name: unquote(value or "") for name, value in found.groupdict().items()}
    if part["port"] and not 0 < int(part["port"]) < 65536:
        raise DatabaseUrlError(f"names port {part['port']}; a port is between 1 and 65535.")
    options = dict(parse_qsl(found["options"] or "", keep_blank_values=True))
    _refuse_nul([*part.values(), *options, *options.values()])
    address = DatabaseAddress(
        user=part["user"],
        password=part["password"],
        host=options.pop("host", "") or part["host"].strip("[]"),
        port=options.pop("port", "") or part["port"],
        name=options.pop("dbname", "") or part["name"] or part["user"],
        options=options,
    )
    _check_name(address.name)
    return address


def _refuse_nul(texts: list[str]) -> None:
    if any("\x00" in text for text in texts):
        raise DatabaseUrlError("holds a NUL (%00), which no part of an address may. Remove it.")


def _check_name(name: str) -> None:
    if not name:
        raise DatabaseUrlError("names no database. Write postgresql://user:password@host:5432/name.")
    if len(name) > LONGEST_NAME:
        raise DatabaseUrlError(f"names a database of {len(name)} characters; PostgreSQL allows {LONGEST_NAME}.")
