"""Is it alive, and can it work? For supervisors, load balancers and ``manage.py doctor``."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from zeromemory.celery import make_broker_folders
from zeromemory.embedding import EmbedderError, get_embedder
from zeromemory.lib import heartbeat


@login_not_required
@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers. It asks nothing else, so a slow database does not get it restarted."""
    return JsonResponse({"status": "ok"})


@login_not_required
@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """What works. ``ready`` needs database and broker; the rest degrades with a notice.

    503 only without the database: pages and API answer without a broker, so nobody should be sent away from them.
    """
    checks = {"database": database(), "broker": broker(), "worker": worker(), "embedder": embedder()}
    answers = checks["database"]["ok"]
    return JsonResponse({"ready": answers and checks["broker"]["ok"], **checks}, status=200 if answers else 503)


def database() -> dict[str, Any]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return {"ok": False, "detail": "The database does not answer."}
    return {"ok": True}


def broker() -> dict[str, Any]:
    if not settings.BROKER_URL.startswith("filesystem://"):
        return {"ok": True, "detail": "Not asked: the worker's heartbeat passes through it."}
    try:
        make_broker_folders()
        probe = settings.BROKER_FOLDER / "probe"
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError as error:
        return {"ok": False, "detail": f"The broker folder cannot be written ({error.strerror})."}
    return {"ok": True}


def worker() -> dict[str, Any]:
    age = heartbeat.age()
    if age is None:
        return {"ok": False, "detail": "No worker has answered yet."}
    return {"ok": heartbeat.is_fresh(), "seconds_since_heartbeat": round(age)}


def embedder() -> dict[str, Any]:
    try:
        found = get_embedder()
    except EmbedderError as error:
        return {"ok": False, "detail": str(error)}
    if found is None:
        return {"ok": True, "detail": "Switched off: recall uses words alone."}
    return {"ok": True, "model": found.name}
