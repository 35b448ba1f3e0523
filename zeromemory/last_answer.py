"""When a page last had an answer of the database, by the memory of this process: said while it is away."""

from collections.abc import Callable
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse

_last: list[datetime] = []


def when() -> datetime | None:
    """None where no page had one since this process began."""
    return _last[0] if _last else None


class LastAnswerMiddleware:
    """After the one that knows who is signed in: a page for somebody has read at least who that is."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code < 500 and request.user.is_authenticated:
            _last[:] = [datetime.now(UTC)]
        return response
