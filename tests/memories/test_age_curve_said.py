"""What age leaves of a score at a scale of 45 days, and which curve that is, in the answer and on the page."""

import pytest
from django.urls import reverse

from memories.access import actor_for_user
from memories.models import RankingConfig
from memories.recall import recall
from tests.factories import make_memory
from tests.memories.pages import Html

pytestmark = pytest.mark.django_db

HOURS = 1080


@pytest.fixture
def aged(scope, settings):
    settings.EMBEDDER = "none"
    return [
        make_memory(f"The pricing note of day {age}.", scope=scope, kind="decision", age_days=age)
        for age in (0, 45, 90)
    ]


def use(curve):
    RankingConfig.objects.filter(kind="decision").update(half_life_days=HOURS / 24, curve=curve)


@pytest.mark.behaviour("H3")
@pytest.mark.parametrize(("curve", "left"), [("exponential", [1, 0.5, 0.25]), ("linear", [1, 0.5, 0])])
def test_the_curve_in_force_is_named_beside_what_it_leaves(client_of, owner, aged, curve, left):
    use(curve)
    found = {result.memory.pk: result for result in recall(actor=actor_for_user(owner), query="pricing").results}
    assert [found[memory.pk].factors.age for memory in aged] == pytest.approx(left, abs=1e-4)
    assert all(f"ranked by age ({curve} curve) and kind" in result.why for result in found.values())
    page = Html(client_of(owner).get(reverse("memory_list"), {"q": "pricing"}))
    said = [table.text for table in page.classed("breakdown")]
    assert len(said) == 3
    assert all(f"half-life 45 days, {curve}" in text for text in said)
