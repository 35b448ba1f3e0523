"""What is delivered, as a file that agents read at the start."""

from django.http import HttpResponse

from memories.access import Actor
from reflections.delivery import deliverable
from reflections.rule_blocks import FORMATS, block


def file_of(actor: Actor, scopes: frozenset[int], format: str) -> HttpResponse:
    """Of work in *scopes*, which the actor may read; *format* is one of FORMATS."""
    texts = [ruling.rule.text for layer in deliverable(actor, scopes) for ruling in layer.delivered]
    response = HttpResponse(block(texts, format), content_type="text/markdown; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{FORMATS[format].file}"'
    return response
