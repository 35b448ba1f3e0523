from io import StringIO

import pytest
from django.core.management import call_command

from insights.quality import ageing
from memories.fusion import FusionRule


def test_the_default_configuration_passes_every_ageing_probe():
    assert ageing.failures(FusionRule()) == []


@pytest.mark.parametrize("contrast", [1, 64])
def test_a_contrast_at_either_end_fails_some(contrast):
    assert ageing.failures(FusionRule(contrast=contrast))


def test_too_little_contrast_lets_age_decide_and_too_much_lets_it_decide_nothing():
    failing = ageing.by_contrast(FusionRule())
    assert any("matches before" in name for name in failing[1.0])
    assert any("a correction" in name for name in failing[64.0])


@pytest.mark.django_db
def test_the_command_tells_which_contrast_passes_what():
    told = StringIO()
    call_command("evaluate", stdout=told)
    assert f"{len(ageing.PROBES)} ageing probes" in told.getvalue()
    assert f"| 8 | {len(ageing.PROBES)} | – |" in told.getvalue()
