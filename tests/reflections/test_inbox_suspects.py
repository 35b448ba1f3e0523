"""What misled more than once, as a person meets it in the inbox and a program over REST."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memories.models import UsageEvent
from reflections.models import Dispute
from reflections.services import disputes
from tests.factories import make_memory
from tests.memories.pages import Html
from tests.reflections.factories import person
from tests.reflections.stepping import run_step

pytestmark = pytest.mark.django_db


@pytest.fixture
def note(scope):
    return make_memory("The API listens on port 8080.", scope=scope, age_days=9)


def report(memory, session, source="direct", *, days=1.0, **given):
    at = timezone.now() - timedelta(days=days)
    values = {"user": memory.scope.owner, "misled": True} | given
    UsageEvent.objects.create(memory=memory, source=source, session=session, at=at, **values)


def suspected(scope):
    run_step("stale_suspects", scope)
    return Dispute.objects.get(type="stale_suspect")


@pytest.fixture
def row(scope, note):
    report(note, "monday", days=2)
    report(note, "tuesday", "judge", confidence=0.71, user=None)
    return suspected(scope)


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def texts(page, name):
    return [element.text.strip() for element in page.classed(name)]


def shown(client):
    return texts(Html(client.get(reverse("inbox"))), "report")


def test_it_says_why_in_a_sentence_and_lists_who_says_so(mine, row):
    page = Html(mine.get(reverse("inbox")))
    assert texts(page, "evidence-reason")[0].startswith("It misled 2 times, from ")
    newest, oldest = texts(page, "report")
    assert newest.endswith("The judge read the conversation, session tuesday, confidence 0.71")
    assert oldest.endswith("owner reported it, session monday")
    assert texts(page, "verbatim") == []


def test_the_newest_dozen_is_listed_and_the_rest_is_counted(mine, scope, note):
    for number in range(15):
        report(note, f"s{number}", days=number + 1)
    suspected(scope)
    listed = shown(mine)
    assert (len(listed), listed[-1]) == (13, "and 3 earlier")
    assert "session s0" in listed[0]


def test_what_a_challenger_wrote_is_quoted_beside_the_list(mine, owner, scope, note):
    disputes.challenge(actor=person(owner), memory=note, reason="It is 9090.", evidence="the log", session="monday")
    report(note, "tuesday")
    suspected(scope)
    page = Html(mine.get(reverse("inbox")))
    assert (texts(page, "evidence-reason")[0], texts(page, "verbatim")) == ("It is 9090.", ["the log"])
    assert len(texts(page, "report")) == 2


def test_the_list_stays_when_the_decision_is_made(mine, row):
    mine.post(reverse("inbox_act", args=["dispute", row.pk, "uphold"]), {"version": 1})
    page = Html(mine.get(f"{reverse('inbox')}?state=decided"))
    assert len(texts(page, "report")) == 2


@pytest.mark.parametrize(
    ("act", "sent", "expected"),
    [
        ("uphold", {}, ("dismissed", "upheld")),
        ("retire", {}, ("resolved", "retired")),
        ("correct", {"text": "The API listens on port 9090.", "seen": 1}, ("dismissed", "upheld")),
        ("snooze", {}, ("snoozed", "")),
    ],
)
def test_it_is_settled_like_any_doubt_about_one_memory(mine, row, act, sent, expected):
    mine.post(reverse("inbox_act", args=["dispute", row.pk, act]), {"version": 1} | sent)
    row.refresh_from_db()
    assert (row.status, row.resolution) == expected


def test_a_session_that_calls_itself_markup_is_shown_as_text(mine, scope, note):
    report(note, "<b>monday</b>")
    report(note, "tues\u200bday")
    suspected(scope)
    assert "session <b>monday</b>" in " ".join(shown(mine))
