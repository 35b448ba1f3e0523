"""What every page's rail shows."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from memories.access import actor_for_request
from memories.embedder_progress import banner
from reflections.models import Candidate


def rail(request: HttpRequest) -> dict[str, Any]:
    """``rail.pending_reflections`` and ``rail.notices`` for signed-in people; None otherwise."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"rail": None}
    # Lazy, because fragments have no rail.
    return {"rail": SimpleLazyObject(lambda: _rail(request))}


def _rail(request: HttpRequest) -> dict[str, Any]:
    pending = Candidate.objects.visible_to(actor_for_request(request)).pending().count()
    return {"pending_reflections": pending, "notices": [notice for notice in [banner()] if notice]}
