"""From when and until when a memory holds: written, changed and brought back in the browser."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memories.models import Memory
from tests.factories import make_memory
from tests.memories.pages import Html, text_of

pytestmark = pytest.mark.django_db
PAST, LATER = datetime(2024, 3, 31, 12, 30, 45, 678901, tzinfo=UTC), datetime(2031, 7, 1, 8, tzinfo=UTC)


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


@pytest.fixture
def lapsed(scope):
    return make_memory("The gate is closed for repairs.", scope=scope, valid_until=PAST)


def address(memory, name="memory_edit"):
    return reverse(name, args=[memory.pk])


def edit(client, memory, **changed):
    form = Html(client.get(address(memory)))
    names = ("content", "entities", "source", "valid_from", "valid_until", "version")
    sent = {name: form.field(name) for name in names} | {"kind": memory.kind}
    return client.post(address(memory), sent | changed, follow=True)


def test_a_lapsed_memory_leads_to_the_form_that_makes_it_valid_again(mine, lapsed):
    page = mine.get(address(lapsed, "memory_detail"))
    assert f"{address(lapsed)}#id_valid_until" in {link.attributes["href"] for link in Html(page).all("a")}
    edit(mine, lapsed, valid_until="")
    lapsed.refresh_from_db()
    assert (lapsed.state, lapsed.valid_until, lapsed.version) == ("live", None, 2)


def test_a_later_end_makes_it_valid_again_until_then(mine, lapsed):
    edit(mine, lapsed, valid_until="2031-07-01T08:00")
    lapsed.refresh_from_db()
    assert (lapsed.state, lapsed.valid_until) == ("live", LATER)


def test_the_end_of_validity_is_read_and_shown_in_the_zone_of_the_person(mine, owner, scope):
    owner.time_zone = "Asia/Tokyo"
    owner.save()
    memory = make_memory(scope=scope)
    edit(mine, memory, valid_until="2031-07-01T17:00")
    memory.refresh_from_db()
    assert memory.valid_until == LATER
    assert Html(mine.get(address(memory))).field("valid_until") == "2031-07-01T17:00"


def test_a_moment_nobody_touched_keeps_its_seconds(mine, lapsed):
    edit(mine, lapsed, source="a note")
    lapsed.refresh_from_db()
    assert (lapsed.source, lapsed.valid_until) == ("a note", PAST)


def test_a_form_without_the_moments_leaves_them_alone(mine, lapsed):
    mine.post(address(lapsed), {"content": lapsed.content, "kind": "gotcha", "version": 1})
    lapsed.refresh_from_db()
    assert (lapsed.kind, lapsed.valid_until) == ("gotcha", PAST)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"valid_from": "2031-07-01T08:00", "valid_until": "2030-01-01T08:00"}, "must be later than valid_from"),
        ({"valid_until": "soon"}, "Enter a valid date/time"),
        ({"valid_until": "0001-01-01T00:00"}, "lies outside the calendar"),
        ({"valid_until": "9999-12-31T23:59"}, "lies outside the calendar"),
    ],
    ids=["upside down", "no date", "too early", "too late"],
)
def test_a_window_that_cannot_be_is_said_beside_the_field(mine, scope, sent, said):
    memory = make_memory(scope=scope)
    page = edit(mine, memory, **sent)
    assert page.status_code == 422
    assert said in text_of(page)
    assert Html(page).field("valid_until") == sent["valid_until"]


def test_it_does_not_come_back_beside_a_live_twin(mine, lapsed, scope):
    make_memory(lapsed.content, scope=scope)
    page = edit(mine, lapsed, valid_until="")
    lapsed.refresh_from_db()
    assert lapsed.state == "lapsed"
    assert "Another live memory says exactly the same." in text_of(page)


def test_a_new_memory_may_have_an_end(mine, scope):
    sent = {"content": "The gate is closed.", "kind": "fact", "scope": scope.pk, "valid_until": "2031-07-01T08:00"}
    mine.post(reverse("memory_new"), sent)
    assert Memory.objects.get().valid_until == LATER


def test_what_ends_tomorrow_is_still_live_and_says_when(mine, scope):
    memory = make_memory(scope=scope, valid_until=timezone.now() + timedelta(days=1))
    assert "Valid until in 23" in text_of(mine.get(address(memory, "memory_detail")))
    assert memory.state == "live"
