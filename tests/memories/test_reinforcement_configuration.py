"""What signals count is one row that staff change, each change with its version."""

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse

from memories.configuration import reinforcement_rule
from memories.errors import Forbidden, ValidationFailed
from memories.models import ConfigVersion, ReinforcementConfig
from memories.ranking import REINFORCEMENT_DEFAULTS
from memories.services.config import change_reinforcement
from tests.factories import make_user
from tests.memories.pages import text_of

pytestmark = pytest.mark.django_db


def test_the_shipped_row_says_what_the_defaults_say():
    assert ReinforcementConfig.objects.count() == 1
    assert reinforcement_rule() == REINFORCEMENT_DEFAULTS


def test_a_change_is_a_version_with_old_and_new_and_the_reason(owner):
    change_reinforcement(user=owner, boost=0.2, reason="Measured in March.")
    assert reinforcement_rule().boost == 0.2
    version = ConfigVersion.objects.get(table="reinforcement_config")
    assert (version.version, version.old["boost"], version.new["boost"]) == (2, 0.15, 0.2)
    assert version.reason == "Measured in March."


def test_only_staff_change_it():
    with pytest.raises(Forbidden):
        change_reinforcement(user=make_user(), boost=0.2)


WRONG = [
    {"window_days": 0},
    {"judge_minimum": 1.1},
    {"boost": -0.1},
    {"boost_limit": 0.9},
    {"boost_limit": 2.1},
    {"penalty": 2.1},
    {"floor": 0},
    {"promoted": 0},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_value_that_would_leave_the_bounds_is_refused_twice(owner, wrong):
    with pytest.raises(ValidationFailed):
        change_reinforcement(user=owner, **wrong)
    with pytest.raises(IntegrityError), transaction.atomic():
        ReinforcementConfig.objects.update(**wrong)


def test_staff_change_it_in_the_administration_and_everybody_reads_it(client_of, owner):
    page = client_of(owner).get(reverse("admin:memories_reinforcementconfig_change", args=[1]))
    assert page.status_code == 200
    values = {name: value for name, value in page.context["adminform"].form.initial.items() if value is not None}
    client_of(owner).post(
        reverse("admin:memories_reinforcementconfig_change", args=[1]), values | {"penalty": 0.3, "reason": "Sterner."}
    )
    assert reinforcement_rule().penalty == 0.3
    shown = text_of(client_of(make_user()).get(reverse("ranking_page")))
    assert "What reports of use count, and for how long. Version: 2" in shown
    assert "reinforcement: penalty 0.25 → 0.3" in shown
