"""The errors people, programs and agents see. Each message says what to do."""

from __future__ import annotations

from memories.secret_shapes import masked


class ZeroMemoryError(Exception):
    """Base of all errors with a stable ``code``, a sentence and, where one is to blame, a ``field``.

    What it quotes of a caller's words is quoted without the secrets in them.
    """

    code = "internal"
    status = 500

    def __init__(self, message: str, *, field: str | None = None) -> None:
        self.message = masked(message)
        super().__init__(self.message)
        self.field = field and masked(field)


class ValidationFailed(ZeroMemoryError):
    code, status = "validation_failed", 400


class Unauthorized(ZeroMemoryError):
    code, status = "unauthorized", 401


class Forbidden(ZeroMemoryError):
    code, status = "forbidden", 403


class ReadOnly(ZeroMemoryError):
    code, status = "read_only", 403


class NotFound(ZeroMemoryError):
    code, status = "not_found", 404


class Conflict(ZeroMemoryError):
    code, status = "conflict", 409


class PayloadTooLarge(ZeroMemoryError):
    code, status = "payload_too_large", 413
