from memories.errors import ZeroMemoryError

type Place = int | str
"""Where something stands in what is read: the number of its line, or its file and its place in it."""


class TransferError(ZeroMemoryError):
    """An import or export that cannot be done: where, in which field, why, and what to do."""

    code, status = "validation_failed", 400

    def __init__(self, problem: str, *, line: Place | None = None, field: str | None = None) -> None:
        place = [told(line).capitalize() if isinstance(line, int) else line, field] if line else []
        super().__init__(": ".join([*filter(None, place), problem]), field=field)
        self.line = line


def told(place: Place) -> str:
    return f"line {place}" if isinstance(place, int) else place
