"""PURE. What a commit is about: the paths it touched, their packages, and the identifiers in its message."""

import re
from collections import Counter
from collections.abc import Iterable

PATHS = 20
PACKAGES = 6
IDENTIFIERS = 20
LONGEST_NAME = 300  # characters of an entity's name
_SCANNED = 20_000  # characters of a message; what it is about is said before that

_CONTAINER = re.compile(r"apps?|cmd|crates|internal|libs?|modules|packages|pkg|plugins|projects|source|src")
_NOISE = re.compile(
    r"""
    (?:.*/)?(?:node_modules|vendor(?:ed)?|third[_-]party|bower_components|dist|build|target|__pycache__|\.venv
        |__snapshots__|fixtures|testdata)/.*
  | (?:.*/)?(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|bun\.lockb|go\.sum|\.DS_Store)
  | .*(?:\.lock(?:file)?|\.min\.(?:js|css)|\.map|\.snap|\.pb\.go|_pb2\.pyi?|\.png|\.jpe?g|\.gif|\.ico|\.svg|\.woff2?
        |\.ttf|\.pdf|\.zip|\.gz|\.jar|\.[mp]o)
    """,
    re.VERBOSE | re.DOTALL,
)
_LESS_TELLING = re.compile(
    r"(?:.*/)?(?:readme|license|tests?|specs?|__tests__|docs?|examples|changelogs?)(?:[/.].*)?", re.DOTALL
)

# Every repetition is bounded or starts on a word, so that hostile text costs no more than its length.
_ADDRESS = re.compile(r"\b[a-z][a-z+.-]{1,15}://\S+|\b[\w.+-]{1,64}@[\w-]+\.[\w.-]+", re.IGNORECASE)
_CODE_SPAN = re.compile(r"`([^`\n]{1,80})`")
_ISSUE = re.compile(r"(?<![\w&/])(?:#|GH-)(\d{1,9})\b")
_IDENTIFIER = re.compile(
    r"""\b(?:
        (?P<call>[A-Za-z_]\w{0,99}(?:\.\w{1,99}){0,8})\(\)
      | (?P<dotted>[A-Za-z_]\w+(?:\.[A-Za-z_]\w+){1,8})\b
      | (?P<snake>_{0,2}[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+_{0,2}|__[a-z]+__)\b
      | (?P<camel>(?:[A-Z]+[a-z0-9]+){2,}[A-Z]?|[A-Z]{2,}[a-z][a-z0-9]{2,}|[a-z]+(?:[A-Z]+[a-z0-9]+)+)\b
    )""",
    re.VERBOSE,
)
_DOMAINS = frozenset(["com", "org", "net", "io", "dev"])
_EVERYDAY = frozenset(["github", "gitlab", "javascript", "typescript"])

type Mention = tuple[str, str]
"""An entity's type and name."""


def about(paths: Iterable[str], message: str) -> list[Mention]:
    """What a commit touched, then what its message names besides: a path in backquotes is that path, named once."""
    found = touched(paths)
    names = {name.casefold() for _, name in found}
    return found + [(type, name) for type, name in mentioned(message) if name.casefold().rstrip("/") not in names]


def touched(paths: Iterable[str]) -> list[Mention]:
    """The most telling paths of a commit and the packages most of them lie in; none that a tool writes by itself."""
    telling = sorted({path for path in paths if is_telling(path)}, key=_importance)
    counted = Counter(package for path in telling if (package := package_of(path)))
    packages = sorted(counted, key=lambda package: (-counted[package], package))
    return [("path", path) for path in telling[:PATHS]] + [("package", name) for name in packages[:PACKAGES]]


def is_telling(path: str) -> bool:
    return 0 < len(path) <= LONGEST_NAME and not _NOISE.fullmatch(path)


def _importance(path: str) -> tuple[bool, int, str]:
    return (bool(_LESS_TELLING.fullmatch(path.lower())), path.count("/"), path)


def package_of(path: str) -> str:
    """The top folder, or two levels where the first only collects packages (``src/``, ``crates/``); '' at the top."""
    folders = path.split("/")[:-1]
    if not folders:
        return ""
    return "/".join(folders[:2]) if _CONTAINER.fullmatch(folders[0]) else folders[0]


def mentioned(message: str) -> list[Mention]:
    """Identifiers and issue numbers in the order of their appearance, each once."""
    text = _ADDRESS.sub(" ", message[:_SCANNED])
    spans = [(found.start(), found[1].strip().removesuffix("()")) for found in _CODE_SPAN.finditer(text)]
    plain = _CODE_SPAN.sub(lambda found: " " * len(found[0]), text)
    bare = [(found.start(), found[found.lastgroup]) for found in _IDENTIFIER.finditer(plain) if found.lastgroup]
    identifiers = _each_once(name for _, name in sorted(spans + bare) if _is_identifier(name))
    issues = _each_once(f"#{found[1]}" for found in _ISSUE.finditer(text))
    return [("identifier", name) for name in identifiers] + [("issue", name) for name in issues]


def _each_once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))[:IDENTIFIERS]


def _is_identifier(name: str) -> bool:
    return bool(name) and name.rpartition(".")[2].lower() not in _DOMAINS and name.lower() not in _EVERYDAY
