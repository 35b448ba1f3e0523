from memories.errors import ZeroMemoryError


class TransferError(ZeroMemoryError):
    """An import or export that cannot be done: on which line, in which field, why, and what to do."""

    code, status = "validation_failed", 400

    def __init__(self, problem: str, *, line: int | None = None, field: str | None = None) -> None:
        where = [f"Line {line}" if line else "", field or ""]
        super().__init__(": ".join([*filter(None, where), problem]), field=field)
        self.line = line
