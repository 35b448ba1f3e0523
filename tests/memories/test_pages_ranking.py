"""The ranking in force, its versions and its history: for everybody to read."""

import pytest
from django.urls import reverse

from memories.models import FusionConfig, FusionWeights, RankingConfig
from memories.ranking import KINDS
from memories.services.config import change_fusion, change_ranking
from tests.factories import make_user
from tests.memories.pages import Html, text_of
from tests.queries import queries_of

pytestmark = pytest.mark.django_db
PAGE = "/settings/ranking/"


@pytest.fixture
def reader(client_of, db):
    """Signed in, and of no scope and no staff."""
    return client_of(make_user())


@pytest.mark.behaviour("Z9")
def test_anybody_signed_in_reads_every_weight_and_half_life_with_its_version(reader, owner):
    change_ranking(user=owner, kind="fact", half_life_days=90.5, weight=0.8)
    text = text_of(reader.get(PAGE))
    assert "fact 0.80 90.5 exponential 2" in text
    assert all(kind in text for kind in KINDS)
    assert "Contrast 3" in text
    assert "Rank constant 60" in text
    assert "Method log_linear" in text
    assert "Trusted meaning 28" in text


@pytest.mark.behaviour("Z9")
def test_every_change_is_there_with_who_when_old_new_and_why(reader, owner):
    change_ranking(user=owner, kind="fact", half_life_days=90, reason="Prices move <b>every</b> quarter.")
    change_fusion(user=owner, contrast=4)
    text = text_of(reader.get(PAGE))
    assert "fact: half_life_days 365 → 90" in text
    assert "fusion: contrast 3 → 4" in text
    assert text.index("fusion: contrast") < text.index("fact: half_life_days")
    assert "by owner" in text
    assert "Prices move &lt;b&gt;every&lt;/b&gt; quarter." in text


@pytest.mark.behaviour("Z9")
def test_it_is_to_read_only_and_only_staff_are_led_to_the_change(reader, client_of, owner):
    change = reverse("admin:memories_rankingconfig_changelist")
    assert reader.post(PAGE).status_code == 405
    assert change not in {link.attributes["href"] for link in Html(reader.get(PAGE)).all("a")}
    assert change in {link.attributes["href"] for link in Html(client_of(owner).get(PAGE)).all("a")}


def test_an_emptied_configuration_shows_what_stands_in_for_it(reader):
    RankingConfig.objects.all().delete()
    FusionConfig.objects.all().delete()
    FusionWeights.objects.all().delete()
    text = text_of(reader.get(PAGE))
    assert "fact 0.85 365 exponential not stored, defaults hold" in text
    assert text.count("Version: not stored, defaults hold") == 2
    assert "As shipped, never changed." in text


def test_it_is_found_from_the_settings_and_from_the_ages(reader):
    for page in ("/settings/", "/insights/"):
        assert PAGE in {link.attributes["href"] for link in Html(reader.get(page)).all("a")}


def test_somebody_signed_out_is_sent_to_sign_in(client, db):
    assert client.get(PAGE).headers["Location"] == f"/sign-in/?next={PAGE}"


def test_the_history_costs_the_same_queries_however_long_it_is(reader, owner):
    change_ranking(user=owner, kind="fact", half_life_days=90)
    few = queries_of(lambda: reader.get(PAGE))
    for days in range(100, 120):
        change_ranking(user=owner, kind="fact", half_life_days=days)
    assert queries_of(lambda: reader.get(PAGE)) == few
