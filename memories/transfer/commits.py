"""PURE. What one git commit says: dates, parents and the words a person wrote, whatever its encoding."""

import codecs
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from zeromemory.lib.unseen import is_blank

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHEN = re.compile(rb"(?:[> ]|^)(\d{1,15}) [+-]?\d{1,9}\s*$")
# Everything below a space that no text needs; a tab and a line break stay.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_PERSON = re.compile(r"[\w-]+-by: .*<[^<>@\s]+@[^<>\s]*>$", re.IGNORECASE)
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: \S|\(cherry picked from commit ")
_BOOKKEEPING = re.compile(
    r"(?:[\w-]+-by|cc|change-id|reviewed-on|git-svn-id|message-id): |\(cherry picked from commit ", re.IGNORECASE
)
_MERGE = re.compile(r"Merge (?:(?:remote-tracking )?branch(?:es)?|pull request|merge request|tag|commit|changes) \S")
_MERGE_LIST = re.compile(r"\* .+:$|\s+\S|See merge request \S+$|#?\s*Conflicts:$|#\t\S|-{3,}$")


@dataclass(frozen=True, slots=True)
class Commit:
    """Bytes of hexadecimal object names; dates are None where the commit has none that can be read."""

    tree: bytes
    parents: tuple[bytes, ...]
    authored_at: datetime | None
    committed_at: datetime | None
    message: str

    @property
    def own_text(self) -> str:
        """The message without bookkeeping; of a merge, without the sentence that git wrote. May be empty."""
        text = self.message
        if len(self.parents) > 1:
            text = _without_merge_boilerplate(text)
        text = without_trailers(text)
        return "" if is_blank(text) else text


def parse_commit(raw: bytes) -> Commit:
    """Read a commit object. Odd headers are passed over: history cannot be corrected any more."""
    head, _, body = raw.partition(b"\n\n")
    headers: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        headers.setdefault(name, []).append(value)
    encoding = headers.get(b"encoding", [b""])[0]
    return Commit(
        tree=headers.get(b"tree", [b""])[0],
        parents=tuple(headers.get(b"parent", ())),
        authored_at=_date(headers.get(b"author", [b""])[0]),
        committed_at=_date(headers.get(b"committer", [b""])[0]),
        message=clean(decode(body, encoding.decode("ascii", "replace"))),
    )


def _date(identity: bytes) -> datetime | None:
    found = _WHEN.search(identity)
    if not found:
        return None
    try:
        return _EPOCH + timedelta(seconds=int(found[1]))
    except OverflowError:
        return None


def decode(raw: bytes, encoding: str = "") -> str:
    """Text in the encoding a commit declares, else UTF-8, else Windows-1252, which every byte is some character of."""
    try:
        codecs.lookup(encoding or "utf-8")
        return raw.decode(encoding or "utf-8")
    except (LookupError, ValueError):
        return raw.decode("cp1252" if _is_not_utf8(raw) else "utf-8", "replace")


def _is_not_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def clean(text: str) -> str:
    """Line breaks as ``\\n``, no surrogates (some encodings make them), control characters as U+FFFD."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def without_trailers(text: str) -> str:
    """Drop sign-offs, co-authors and tool bookkeeping; a trailer that says something (``Fixes: #12``) stays."""
    lines = [line for line in text.split("\n") if not _PERSON.match(line)]
    start = _last_paragraph(lines)
    last = lines[start:]
    if start and all(_TRAILER.match(line) or line.startswith((" ", "\t")) for line in last if line.strip()):
        last = [line for line in last if not _BOOKKEEPING.match(line)]
    return _squeezed([*lines[:start], *last])


def _last_paragraph(lines: list[str]) -> int:
    stop = len(lines)
    while stop and not lines[stop - 1].strip():
        stop -= 1
    while stop and lines[stop - 1].strip():
        stop -= 1
    return stop


def _squeezed(lines: list[str]) -> str:
    text = "\n".join(line.rstrip() for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _without_merge_boilerplate(text: str) -> str:
    subject, _, rest = text.partition("\n")
    if not _MERGE.match(subject):
        return text
    return "\n".join(line for line in rest.split("\n") if not _MERGE_LIST.match(line))
