"""Numbers as people read them. Pure; what is unknown stays None and is shown as a dash."""


def count(number: int, noun: str = "") -> str:
    """``1,204`` or ``1 memory`` / ``1,204 memories``."""
    if not noun:
        return f"{number:,}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def percent(share: float | None) -> str | None:
    """Rounded to whole per cent, but never to a 0 or 100 that is not exact."""
    if share is None:
        return None
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 < share < 1:
        return "over 99 %"
    return f"{100 * share:.0f} %"


def days(number: float | None) -> str | None:
    """``0.4 days``, ``12 days``, ``3.2 years``: two figures where they say something."""
    if number is None:
        return None
    if number >= 730:
        return f"{_short(number / 365)} years"
    text = _short(number)
    return f"{text} day{'' if text == '1' else 's'}"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 or f"{number:.1f}".endswith(".0") else f"{number:.1f}"
