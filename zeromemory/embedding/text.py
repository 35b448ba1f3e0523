"""Make any string safe to encode. Only what the model sees changes, never what is stored."""

import re

LONGEST_WORD = 100  # characters; WordPiece turns a longer word into one unknown token
PART_OF_WORD = 16  # short, because WordPiece takes time quadratic in the word

_UNENCODABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_IN_WORD = r"[^\s!-/:-@\[-`{-~]"
_TOO_LONG = re.compile(rf"{_IN_WORD}{{{LONGEST_WORD + 1},}}")


def encodable(text: str) -> str:
    """Control characters and lone surrogates become spaces, one for one, so that offsets still hold."""
    return _UNENCODABLE.sub(" ", text)


def break_long_words(text: str) -> tuple[str, list[int]]:
    """The text with spaces inside words that are too long for the model, and where those spaces went in."""
    breaks = [
        place
        for word in _TOO_LONG.finditer(text)
        for place in range(word.start() + PART_OF_WORD, word.end(), PART_OF_WORD)
    ]
    if not breaks:
        return text, breaks
    pieces = [text[start:stop] for start, stop in zip([0, *breaks], [*breaks, len(text)], strict=True)]
    return " ".join(pieces), breaks
