"""What every page's rail shows."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from memories.access import actor_for_request
from memories.embedder_progress import banner
from reflections.inbox.sources import waiting


def rail(request: HttpRequest) -> dict[str, Any]:
    """``rail.waiting``, the items of the inbox, and ``rail.notices`` for signed-in people; None otherwise."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"rail": None}
    # Lazy, because fragments have no rail.
    return {"rail": SimpleLazyObject(lambda: _rail(request))}


def _rail(request: HttpRequest) -> dict[str, Any]:
    return {"waiting": waiting(actor_for_request(request)), "notices": [notice for notice in [banner()] if notice]}
