"""Standing rules in a real browser: proposals decided by keyboard alone, and the page they end on."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from reflections.models import StandingRule
from tests.browser.conftest import NARROW, WIDE
from tests.reflections.ruling import make_proposal, make_rule, useful

pytestmark = pytest.mark.behaviour("Z88")
WORDS = ["Tests run before every push.", "Name files after what they hold.", "Ask before a release.", "Write British."]


@pytest.fixture
def four(scope):
    """Proposals in the order of their texts."""
    rows = [make_proposal(scope, text) for text in WORDS]
    for number, row in enumerate(rows):
        useful(row.memory, "monday", "tuesday", "friday")
        since = timezone.now() - timedelta(hours=9 - number)
        StandingRule.objects.filter(pk=row.pk).update(proposed_at=since)
    return rows


def shown(page, row):
    expect(page.locator("#evidence")).to_have_attribute("data-item", f"rule.{row.pk}")
    expect(page.locator("#evidence")).not_to_have_attribute("aria-busy", "true")


def states(rows):
    return [StandingRule.objects.get(pk=row.pk).state for row in rows]


def test_proposals_are_decided_by_keyboard_alone_and_the_page_shows_what_is_delivered(visit, owner, four):
    window = visit(owner)
    page = window.open("/inbox/")
    shown(page, four[0])
    expect(page.locator("#evidence")).to_contain_text("monday")
    page.keyboard.press("a")
    shown(page, four[1])
    page.keyboard.press("e")
    expect(page.get_by_label("What agents are told")).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Name files plainly.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    shown(page, four[2])
    page.keyboard.press("s")
    shown(page, four[3])
    page.keyboard.press("d")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    assert states(four) == ["promoted", "promoted", "snoozed", "dismissed"]
    page.keyboard.press("u")
    shown(page, four[3])
    assert states(four)[3] == "proposed"
    page = window.open("/rules/")
    expect(page.get_by_text("Delivered 2 of 2 rules")).to_be_visible()
    expect(page.locator(".rule").nth(1)).to_contain_text("Name files plainly.")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
@pytest.mark.parametrize("state", ["", "?state=proposed", "?state=revoked"], ids=["rules", "proposed", "revoked"])
def test_each_tab_is_accessible_and_never_wider_than_the_screen(visit, owner, scope, four, size, state):
    for number in range(14):
        make_rule(scope, f"Rule {number}. {'Long ' * 40}", pinned=number == 0, days=20 - number)
    make_rule(scope, "No longer.", state="revoked", reason="The team moved on.")
    window = visit(owner, size=size)
    page = window.open(f"/rules/{state}")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    window.assert_no_sideways_scroll()
    window.assert_accessible()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
def test_the_evidence_of_a_proposal_is_accessible(visit, owner, four, size):
    window = visit(owner, size=size)
    page = window.open("/inbox/")
    shown(page, four[0])
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    window.assert_no_sideways_scroll()
    window.assert_accessible()


def test_revoking_asks_for_a_reason_before_it_is_sent(visit, owner, scope):
    rule = make_rule(scope)
    page = visit(owner).open("/rules/")
    page.get_by_text("Revoke…").click()
    page.get_by_role("button", name="Revoke 1 rule").click()
    assert states([rule]) == ["promoted"]
    page.get_by_label("Why it is no rule any more").fill("The team moved on.")
    page.get_by_role("button", name="Revoke 1 rule").click()
    expect(page.get_by_text("No standing rules yet")).to_be_visible()
    assert states([rule]) == ["revoked"]


def test_the_file_is_downloaded_from_the_page(visit, owner, scope):
    make_rule(scope)
    page = visit(owner).open("/rules/")
    with page.expect_download() as download:
        page.get_by_role("button", name="CLAUDE.md").click()
    assert download.value.suggested_filename == "CLAUDE.md"
