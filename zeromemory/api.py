"""The REST interface: the apps' routers under one roof, one bearer check, one shape of error."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.db import InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern
from ninja import NinjaAPI, Router
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser
from ninja.security import HttpBearer

import zeromemory
from insights.api import router as insights_router
from memories.access import Actor
from memories.api.aliases import router as aliases_router
from memories.api.bulk import router as bulk_router
from memories.api.freshness import router as freshness_router
from memories.api.routes import router as memories_router
from memories.api.signals import router as signals_router
from memories.api.transfer import router as transfer_router
from memories.errors import NotFound, ValidationFailed, ZeroMemoryError
from memories.guard import masked
from memories.read_only import as_read_only
from memories.services import tokens
from reflections.api import router as reflections_router
from zeromemory.lib import strict_json

logger = logging.getLogger(__name__)
AGENT_HEADER = "X-Agent"
JSON = "application/json"


class StrictParser(Parser):
    """Ninja's own takes any content type, and of a field that is there twice the last."""

    def parse_body(self, request: HttpRequest) -> Any:
        kind = request.content_type or "none"
        if kind != JSON and not kind.endswith("+json"):
            raise ValidationFailed(f"The body must be JSON: send Content-Type: {JSON}, not {kind}.")
        try:
            return strict_json.loads(request.body)
        except RecursionError as error:
            raise ValidationFailed("The body is nested too deeply.") from error
        except ValueError as error:
            raise ValidationFailed(f"The body is not JSON that can be read: {str(error).rstrip('.')}.") from error


class Bearer(HttpBearer):
    def authenticate(self, request: HttpRequest, token: str) -> Actor | None:
        agent = tokens.agent_called(request.headers.get(AGENT_HEADER, ""))
        return tokens.actor_with(token, agent=agent, at=f"{request.scheme}://{request.get_host()}")


api = NinjaAPI(
    title="Zero Memory",
    version=zeromemory.__version__,
    description="Remember, recall and govern. Every call needs `Authorization: Bearer <token>`.",
    auth=Bearer(),
    parser=StrictParser(),
    urls_namespace="api",
)
api.add_router("", bulk_router, tags=["memories"])  # first, or "bulk" would be taken for the id of a memory
api.add_router("", memories_router, tags=["memories"])
api.add_router("", freshness_router, tags=["memories"])
api.add_router("", signals_router, tags=["memories"])
api.add_router("", aliases_router, tags=["scopes"])
api.add_router("", transfer_router, tags=["import and export"])
api.add_router("", reflections_router, tags=["reflections"])
api.add_router("", insights_router, tags=["insights"])

# Patterns are tried in order: this one comes after all calls there are.
elsewhere = Router()


@elsewhere.api_operation(["GET", "POST", "PUT", "PATCH", "DELETE"], "{path:rest}", include_in_schema=False)
def nothing_here(request: HttpRequest, rest: str) -> None:
    raise NotFound("There is no such call. GET /api/v1/openapi.json lists them.")


api.add_router("", elsewhere)


def _error(request: HttpRequest, status: int, code: str, message: str, field: str | None = None) -> HttpResponse:
    body = {"code": code, "message": masked(message)} | ({"field": masked(field)} if field else {})
    return api.create_response(request, body, status=status)


@api.exception_handler(ZeroMemoryError)
def _known(request: HttpRequest, error: ZeroMemoryError) -> HttpResponse:
    return _error(request, error.status, error.code, error.message, error.field)


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    first: dict[str, Any] = error.errors[0] if error.errors else {"loc": (), "msg": "is not valid"}
    where = [str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")]
    field = ".".join(where[1:] if where[:1] in (["body"], ["data"]) else where) or None
    message = f"{field or 'The request'}: {first['msg']}."
    return _error(request, 400, "validation_failed", message, field)


@api.exception_handler(AuthenticationError)
def _unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    answer = _error(request, 401, "unauthorized", tokens.NONE_VALID)
    answer["WWW-Authenticate"] = "Bearer"
    return answer


@api.exception_handler(Http404)
def _missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return _error(request, 404, "not_found", "There is nothing here. Check the address and the id.")


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return _error(request, 413, "payload_too_large", "The request is larger than 8 MB. Split it.")


@api.exception_handler(HttpError)
def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
    if isinstance(error.__cause__, ZeroMemoryError):  # ninja wraps what the parser of bodies raises
        return _known(request, error.__cause__)
    code = {401: "unauthorized", 403: "forbidden", 404: "not_found"}.get(error.status_code, "validation_failed")
    return _error(request, error.status_code, code, f"{error.message.rstrip('.')}.")


@api.exception_handler(InternalError)
def _kept_from_writing(request: HttpRequest, error: InternalError) -> HttpResponse:
    known = as_read_only(error)
    return _known(request, known) if known else _unexpected(request, error)


@api.exception_handler(OperationalError)
def _database_busy(request: HttpRequest, error: OperationalError) -> HttpResponse:
    logger.warning("A request met a busy or unreachable database: %s", error.__class__.__name__)
    answer = _error(
        request, 503, "unavailable", "The database is busy or unreachable. Try again, writes with an idempotency key."
    )
    answer["Retry-After"] = "2"
    return answer


@api.exception_handler(Exception)
def _unexpected(request: HttpRequest, error: Exception) -> HttpResponse:
    logger.exception("The API failed unexpectedly on %s %s", request.method, request.path)
    return _error(
        request, 500, "internal", "This is our fault; the server's log has the details. Look before you repeat a write."
    )


def routes() -> tuple[list[Any], str, str]:
    """The URL patterns. The bearer check replaces the session's, except on the documentation page."""
    patterns, app_name, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern) and pattern.name != "openapi-view":
            pattern.callback = login_not_required(_with_json_errors(_with_head(pattern.callback)))
    return patterns, app_name, namespace


def _with_head(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """HEAD asks what GET would answer; the server leaves the body out."""

    @functools.wraps(view)
    def answering(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "HEAD":
            return view(request, *args, **kwargs)
        request.method = "GET"
        try:
            return view(request, *args, **kwargs)
        finally:
            request.method = "HEAD"

    return answering


def _with_json_errors(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A wrong method is refused before any handler of ours is asked: give it the shape of all other errors."""

    @functools.wraps(view)
    def answering(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer = view(request, *args, **kwargs)
        if answer.status_code != 405:
            return answer
        allowed = answer.get("Allow", "")
        refusal = _error(request, 405, "method_not_allowed", f"Use one of {allowed} here.")
        refusal["Allow"] = allowed
        return refusal

    return answering
