"""The REST operations of insights."""

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router

from insights import queries
from memories.access import scope_for
from memories.api.routes import ERRORS, acting
from memories.api.shapes import Text

router = Router()


@router.get(
    "/insights/ageing",
    response={200: queries.Ageing, **ERRORS},
    summary="How the live corpus ages",
    description="Faded memories are older than the half-life of their kind. Buckets count exact days and sum to "
    "`live`. Medians and shares are null where nothing is live; a share is between 0 and 1.",
)
def ageing(request: HttpRequest, scope: Text | None = None) -> queries.Ageing:
    actor = acting(request)
    chosen = scope_for(actor, scope) if scope is not None else None
    return queries.ageing(actor=actor, scope=chosen, now=timezone.now())
