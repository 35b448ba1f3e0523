from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from memories.errors import ReadOnly, ZeroMemoryError
from memories.moments import time_zones
from memories.read_only import REFUSED, as_read_only, is_read_only

_SAFE = ("GET", "HEAD", "OPTIONS")
_READING = ("/api/v1/recall", "/api/v1/briefing")  # asked by POST, for the length of a question

GetResponse = Callable[[HttpRequest], HttpResponse]


class ChoosePasswordMiddleware:
    """Whoever came by a one-time link chooses a password before seeing anything else."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if self._must_choose(request):
            return redirect("choose_password")
        return self.get_response(request)

    @staticmethod
    def _must_choose(request: HttpRequest) -> bool:
        if not request.user.is_authenticated or not request.user.must_choose_password:
            return False
        free = {reverse("choose_password"), reverse("sign_out")}
        return request.path not in free and not request.path.startswith("/static/")


class TimeZoneMiddleware:
    """Shows times in the person's zone."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.known = frozenset(time_zones())

    def __call__(self, request: HttpRequest) -> HttpResponse:
        name = getattr(request.user, "time_zone", "")
        if name in self.known:
            with timezone.override(ZoneInfo(name)):
                return self.get_response(request)
        return self.get_response(request)


class KnownErrorsMiddleware:
    """Turns our own errors into pages: a foreign row is a 404 like one that never was."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        unstorable = "%00" in request.META.get("QUERY_STRING", "") or "\x00" in request.path
        if unstorable and request.path.startswith("/admin/"):  # our own views look at what they are given
            return self._page(request, 400, "The address holds a NUL, which nothing stored can hold.")
        response = self.get_response(request)
        return self._not_to_be_opened(request, response) if response.status_code == 405 else response

    def _not_to_be_opened(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Signing in again leads to the address of a button that was pressed; an empty answer would be all there is."""
        if response.content:
            return response
        page = self._page(request, 405, "This address only takes what a button sends. Go back to the page it is on.")
        page["Allow"] = response["Allow"]
        return page

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        error = as_read_only(error) or error
        if not isinstance(error, ZeroMemoryError):
            return None
        return self._page(request, error.status, error.message)

    @staticmethod
    def _page(request: HttpRequest, status: int, message: str) -> HttpResponse:
        page = {403: "403.html", 404: "404.html"}.get(status, "400.html")
        return render(request, page, {"message": message}, status=status)


class ReadOnlyMiddleware:
    """Of a store that is only read: every address that changes something refuses, whether or not it exists."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_read_only() or request.method in _SAFE or self._may_pass(request.path):
            return self.get_response(request)
        if request.path.startswith("/api/"):
            return JsonResponse({"code": ReadOnly.code, "message": REFUSED}, status=ReadOnly.status)
        return render(request, "403.html", {"message": REFUSED}, status=ReadOnly.status)

    @staticmethod
    def _may_pass(path: str) -> bool:
        return path in _READING or path in (reverse("sign_in"), reverse("sign_out"))
