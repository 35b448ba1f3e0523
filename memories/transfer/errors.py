from memories.errors import ZeroMemoryError


class TransferError(ZeroMemoryError):
    """An import or export that cannot be done: on which line, in which field, why, and what to do."""

    code, status = "validation_failed", 400

    def __init__(self, problem: str, *, line: int | None = None, field: str | None = None) -> None:
        place = [f"Line {line}", field] if line else []
        super().__init__(": ".join([*filter(None, place), problem]), field=field)
        self.line = line
