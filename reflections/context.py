"""What every page's rail shows."""

from typing import Any

from django.http import HttpRequest


def rail(request: HttpRequest) -> dict[str, Any]:
    """``rail.pending_reflections`` and ``rail.notices`` for signed-in people; empty otherwise."""
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return {"rail": None}
    from memories.access import actor_for_request
    from reflections.models import Candidate

    pending = Candidate.objects.visible_to(actor_for_request(request)).filter(state="pending").count()
    return {"rail": {"pending_reflections": pending, "notices": []}}
