"""World facts in a real browser: the list of a core scope, the ledger of a memory, and the button without scripts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.models import Verification
from tests.browser.conftest import NARROW, WIDE
from tests.factories import make_memory, make_scope
from tests.reflections.disputing import make_single

TEXT = "The newest release of the tide library is 4.2."
LONG = "https://tides.example.org/" + "release-notes-of-a-very-long-name-" * 6


@pytest.fixture
def core(owner):
    return make_scope(owner, slug="core", name="Core")


@pytest.fixture
def fact(core):
    memory = make_memory(TEXT, scope=core, age_days=600)
    _checked(memory, 400, method="person", actor="owner", note="Read the release page.", source="page 3 of the manual")
    _checked(memory, 200, method="web_search", actor="web check (anthropic:scripted-model)", source=LONG,
             confidence=0.82, model="anthropic:scripted-model", verdict="unverifiable")  # fmt: skip
    make_memory("The tide tables are published at tables.example.org.", scope=core, kind="reference", age_days=20)
    make_memory(
        "A pier is 300 metres long, which is known from a survey of the harbour office.", scope=core, age_days=3
    )
    return memory


def _checked(memory, days, **given):
    at = timezone.now() - timedelta(days=days)
    Verification.objects.create(**{"memory": memory, "at": at, "verdict": "current"} | given)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
def test_the_pages_of_world_facts_are_accessible(visit, owner, core, fact, size):
    row = make_single(core, "outdated", memory=fact, rationale="Version 5.0 took the place of 4.2.", evidence=LONG)
    window = visit(owner, size=size)
    pages = (f"/scopes/{core.pk}/", f"/memories/{fact.pk}/", "/memories/?stale=1", f"/inbox/?item=dispute.{row.pk}")
    for address in pages:
        window.open(address)
        window.assert_no_sideways_scroll()
        window.assert_accessible()


def test_a_fact_is_verified_by_keyboard_and_leaves_the_list_of_those_that_are_due(visit, owner, core, fact):
    window = visit(owner)
    page = window.open("/memories/?stale=1")
    page.get_by_role("link", name=TEXT).press("Enter")
    page.get_by_label("Where that is said").fill("https://tides.example.org/4.2")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Noted that it was looked at and still holds.").wait_for()
    assert page.get_by_role("link", name="https://tides.example.org/4.2").get_attribute("rel") == (
        "noopener nofollow noreferrer"
    )
    window.open("/memories/?stale=1")
    assert page.get_by_role("link", name=TEXT).count() == 0


def test_the_button_works_without_scripts(visit, owner, fact):
    page = visit(owner, java_script_enabled=False).open(f"/memories/{fact.pk}/")
    page.get_by_role("button", name="Verify: still true").click()
    assert page.get_by_text("still holds").count() == 1
    assert fact.verifications.count() == 3
