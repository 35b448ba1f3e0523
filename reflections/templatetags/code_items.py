"""``{% item_about_code memory as item %}``: for the page of a memory, which may not import this room."""

from uuid import UUID

from django import template

from memories.models import Memory
from reflections.models import Dispute

register = template.Library()


@register.simple_tag
def item_about_code(memory: Memory) -> UUID | None:
    """The item of the inbox that waits because the code of *memory*, which whoever looks may read, changed."""
    rows = Dispute.objects.unsettled().filter(subject=memory, type=Dispute.Type.CODE_CHANGED)
    return rows.values_list("pk", flat=True).first()
