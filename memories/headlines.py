"""PURE. What a text is called in a list."""

from typing import Final

HEADLINE: Final = 140


def headline(text: str) -> str:
    """The first line with something on it, at most 140 characters, cut between words where there are any."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), text.strip())
    if len(line) <= HEADLINE:
        return line
    cut = line[: HEADLINE - 1]
    whole_words = cut if line[HEADLINE - 1] == " " else cut.rpartition(" ")[0]
    return (whole_words if len(whole_words) > HEADLINE // 2 else cut).rstrip() + "…"
