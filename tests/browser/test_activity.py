"""What agents asked, in a real browser."""

import pytest

from tests.browser.conftest import NARROW, WIDE
from tests.factories import make_memory
from tests.insights.asking import make_recall


@pytest.fixture
def asked(owner, scope):
    notes = [make_memory(f"Note {number} of the harbour. " + "word " * 40, scope=scope) for number in range(9)]
    make_recall(owner, notes, query="where is the harbour light", agent="builder")
    make_recall(owner, notes[:2], query="x" * 300, agent="y" * 120, session="z" * 120, days_ago=1)
    make_recall(owner, scopes=[scope], query="a zebra", words_only=True, days_ago=2)
    make_recall(owner, error="unavailable", query="while the database was away", days_ago=3)
    return notes


@pytest.mark.behaviour("Z86")
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_the_rest_opens_by_keyboard_without_a_change_of_page(visit, owner, asked, scripts):
    page = visit(owner, java_script_enabled=scripts).open("/activity/")
    row = page.locator(".asked-row").first
    assert "where is the harbour light" in row.inner_text()
    assert "builder" in row.inner_text()
    loads = []
    page.on("framenavigated", lambda frame: loads.append(frame.url))
    page.on("request", lambda request: loads.append(request.url))
    hidden = row.get_by_role("link", name="Note 8 of the harbour.")
    assert not hidden.is_visible()
    summary = row.locator("summary")
    summary.focus()
    page.keyboard.press("Enter")
    hidden.wait_for()
    assert row.get_by_role("link").count() == 9
    assert summary.evaluate("one => document.activeElement === one")
    assert loads == []
    page.keyboard.press("Enter")
    hidden.wait_for(state="hidden")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
def test_a_full_list_is_accessible_and_never_wider_than_the_screen(visit, owner, asked, size):
    window = visit(owner, size=size)
    page = window.open("/activity/")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    window.assert_accessible()
    window.assert_no_sideways_scroll()


def test_more_is_shown_below_and_announced(visit, owner, scope):
    for number in range(45):
        make_recall(owner, scopes=[scope], query=f"question {number}", days_ago=number / 100)
    page = visit(owner).open("/activity/")
    page.get_by_role("link", name="Show more").press("Enter")
    page.get_by_text("question 44").wait_for()
    assert page.locator(".asked-row").count() == 45


def test_recalls_are_drawn_by_day(visit, owner, asked):
    page = visit(owner).open("/insights/#recall")
    chart = page.locator("#recall .chart")
    chart.locator(".bars .point").first.wait_for(state="attached")  # a day without a question has no height
    assert chart.locator(".bars").count() == 3
    assert page.get_by_role("heading", name="Is recall useful?").is_visible()
