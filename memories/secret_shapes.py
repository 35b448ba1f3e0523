"""PURE. What a secret looks like. It is named and masked, never repeated.

Every pattern takes time linear in the text, also in a hostile one: what may be long begins only where no such run is
under way, and whether a run was drawn at random is seen once it is found.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

# Zero-width characters and soft hyphens, which a copied key may hold and nobody sees.
_UNSEEN: Final = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_RUN: Final = re.compile(r"[A-Za-z0-9]+")
_BLANKED: Final = re.compile(r"[xX._*-]+")
# A variable, a word in brackets, dots: where documentation has no password.
_PLACEHOLDER: Final = re.compile(
    r"\$\{[^}]*\}|\$[A-Z_][A-Z0-9_]*|%[A-Z_]+%|%\(\w+\)s|%s|\{+\w*\}+|<[^>]*>|\[[^\]]*\]|[*•]+|…|\.{3}|[xX]{3,}"
)


def _always(found: re.Match[str]) -> bool:
    return True


def _is_no_blank(found: re.Match[str]) -> bool:
    """Not ``ghp_xxxx…``, as documentation shows it."""
    return not _BLANKED.fullmatch(found[0][len(found["shown"]) :])


def _is_drawn(found: re.Match[str]) -> bool:
    """Letters and digits drawn at random, not words between hyphens."""
    rest = found[0][len(found["shown"]) :]
    runs = _RUN.findall(rest)
    if any(len(run) >= 24 or (len(run) >= 16 and _has_digit(run)) for run in runs):
        return _is_no_blank(found)
    mixed = _has_digit(rest) and any(map(str.isupper, rest)) and any(map(str.islower, rest))
    return len(rest) >= 40 and mixed


def _has_number(found: re.Match[str]) -> bool:
    rest = found[0][len(found["shown"]) :]
    return _is_no_blank(found) and (_has_digit(rest) or any(len(run) >= 20 for run in _RUN.findall(rest)))


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _is_no_placeholder(found: re.Match[str]) -> bool:
    return not _PLACEHOLDER.fullmatch(found["password"])


@dataclass(frozen=True, slots=True)
class _Family:
    """The group ``shown`` of the pattern may be repeated: it tells the family, not the secret. A text without any of
    the *marks* holds none. Where a pattern begins with a literal, what may not stand before it is looked at after it:
    so most of a text is passed over by a search for that literal."""

    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[re.Match[str]], bool] = _is_no_blank

    def sample_or_text(self, found: re.Match[str]) -> str:
        return _sample(found) if self.is_secret(found) else found[0]


_FAMILIES: Final = {
    "private_key": _Family(
        ("-----BEGIN ",),
        re.compile(
            r"(?P<shown>-----BEGIN )[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
            r"[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"  # also one that was cut off
        ),
        _always,
    ),
    "github_token": _Family(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        re.compile(r"(?P<shown>gh[pousr]_)(?<![A-Za-z0-9].{4})[A-Za-z0-9]{36,}"),
    ),
    "github_fine_grained_token": _Family(
        ("github_pat_",), re.compile(r"(?P<shown>github_pat_)(?<![A-Za-z0-9].{11})[A-Za-z0-9_]{20,}"), _is_drawn
    ),
    "aws_access_key": _Family(
        ("AKIA", "ASIA"), re.compile(r"(?P<shown>A[KS]IA)(?<![A-Za-z0-9].{4})[A-Z0-9]{16}(?![A-Za-z0-9])")
    ),
    "slack_token": _Family(
        ("xox",), re.compile(r"(?P<shown>xox[baprs]-)(?<![A-Za-z0-9].{5})[A-Za-z0-9-]{10,}"), _has_number
    ),
    "json_web_token": _Family(
        ("ey", "ew"),
        re.compile(r"(?<![\w-])(?P<shown>e[wy][A-Za-z])[\w-]{6,}\.e[wy][\w-]{6,}\.[\w-]{8,}"),
    ),
    "password_in_url": _Family(
        ("://",),
        re.compile(
            r"(?<![a-z0-9+.-])(?P<shown>[a-z][a-z0-9+.-]*://)[^\s:/?#@]*:(?P<password>[^\s/?#]+)@", re.IGNORECASE
        ),
        _is_no_placeholder,
    ),
    "anthropic_key": _Family(
        ("sk-ant-",), re.compile(r"(?P<shown>sk-ant-)(?<![A-Za-z0-9].{7})[\w-]{16,}", re.ASCII), _is_drawn
    ),
    "stripe_key": _Family(
        ("k_live_", "k_test_"), re.compile(r"(?<![A-Za-z0-9])(?P<shown>[rs]k_(?:live|test)_)[A-Za-z0-9]{16,}")
    ),
    "openai_key": _Family(("sk-",), re.compile(r"(?P<shown>sk-)(?<![\w-].{3})[\w-]{16,}", re.ASCII), _is_drawn),
    "google_api_key": _Family(("AIza",), re.compile(r"(?P<shown>AIza)(?<![A-Za-z0-9].{4})[\w-]{35}", re.ASCII)),
    "zero_memory_token": _Family(("zm_",), re.compile(r"(?P<shown>zm_)(?<![\w-].{3})[\w-]{43}", re.ASCII), _is_drawn),
}
DETECTORS: Final = tuple(_FAMILIES)


@dataclass(frozen=True, slots=True)
class Secret:
    """``sample`` is safe to show: the mark of the family and how long the rest was."""

    detector: str
    sample: str


def secret_in(text: str) -> Secret | None:
    """The first secret of *text*, in the order of the families."""
    text = _UNSEEN.sub("", text)
    for detector, family in _FAMILIES.items():
        if any(mark in text for mark in family.marks):
            for found in family.pattern.finditer(text):
                if family.is_secret(found):
                    return Secret(detector, _sample(found))
    return None


def masked(text: str) -> str:
    """*text* with a sample in the place of each secret: for words of a machine that quotes what it was shown."""
    if secret_in(text) is None:
        return text
    text = _UNSEEN.sub("", text)
    for family in _FAMILIES.values():
        text = family.pattern.sub(family.sample_or_text, text)
    return text


def _sample(found: re.Match[str]) -> str:
    rest = len(found[0]) - len(found["shown"])
    return f"{found['shown']}…({rest} more characters)"
