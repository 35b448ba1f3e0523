"""PURE. Numbers of things in words."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 memory`` or ``1,204 memories``: *plural* where it is more than the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
