"""``{% how_it_ages %}``: the small summary, for pages of the rooms below that may not import this one."""

from typing import Any

from django import template
from django.utils import timezone

from insights import words
from insights.addresses import memories_of
from insights.queries import Ageing
from insights.queries import ageing as count_ageing
from memories.access import actor_for_request
from memories.ageing import AGE_BUCKETS

register = template.Library()


@register.inclusion_tag("insights/_small.html", takes_context=True)
def how_it_ages(context: template.Context) -> dict[str, Any]:
    ageing = count_ageing(actor=actor_for_request(context["request"]), now=timezone.now())
    faded_n = f"{words.count(ageing.faded)} of {words.count(ageing.can_fade)}" if ageing.can_fade else ""
    faded_link = memories_of(None)(faded="1") if ageing.faded else ""
    return {"ageing": ageing, "buckets": _buckets(ageing), "faded_n": faded_n, "faded_link": faded_link}


def _buckets(ageing: Ageing) -> list[dict[str, Any]]:
    """One line a bucket; ``length`` is its bar, in parts of the longest."""
    longest, link = max(ageing.buckets.values()), memories_of(None)
    return [
        {
            "label": AGE_BUCKETS[name].label,
            "live": live,
            "length": live / longest if longest else 0,
            "href": link(age=name) if live else "",
        }
        for name, live in ageing.buckets.items()
    ]


register.filter("percent", words.percent)
register.filter("days", words.days)
register.filter("count", words.count)
