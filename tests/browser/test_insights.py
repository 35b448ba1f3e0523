"""How it ages, and the administration of half-lives, in a real browser under the content security policy."""

import re

import pytest
from django.utils import timezone

from memories.ranking import KINDS
from tests.browser.conftest import NARROW, WIDE
from tests.factories import make_scope
from tests.insights.corpus import make_corpus


def fill(scope, size):
    make_corpus(scope, size, now=timezone.now())


@pytest.mark.behaviour("F45")
@pytest.mark.parametrize("size", [0, 1, 300], ids=["empty", "one row", "many"])
def test_charts_are_drawn_in_every_size_of_corpus(visit, owner, scope, size):
    fill(scope, size)
    page = visit(owner).open("/insights/")
    page.wait_for_selector(".chart-plot .scatterlayer .trace")
    chart = page.locator(".chart")
    assert chart.nth(0).locator(".bars .point").count() == 5
    assert chart.nth(1).locator(".bars .point").count() == len(KINDS)
    assert chart.nth(2).locator(".scatterlayer .trace").count() >= len(KINDS)
    assert not re.search(r"undefined|NaN|None", page.inner_text("main"))


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
def test_the_page_is_accessible_and_never_wider_than_the_screen(visit, owner, scope, size):
    fill(scope, 200)
    window = visit(owner, size=size)
    page = window.open("/insights/")
    page.wait_for_selector(".chart-plot .bars .point")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    window.assert_accessible()
    window.assert_no_sideways_scroll()


def test_a_chart_takes_the_colours_of_the_theme(visit, owner, scope):
    fill(scope, 60)
    window, colours = visit(owner), []
    for theme in ("light", "dark"):
        window.theme(theme)
        page = window.open("/insights/")
        bar = page.locator(".chart").nth(0).locator(".bars .point path").first
        colours.append(bar.evaluate("bar => getComputedStyle(bar).fill"))
    assert colours == ["rgb(11, 95, 107)", "rgb(103, 199, 210)"]


def test_a_bar_opens_the_memories_it_counts(visit, owner, scope):
    fill(scope, 60)
    page = visit(owner).open("/insights/")
    # Bars do not take the pointer; the layer over them finds the bar below.
    box = page.locator(".chart").nth(0).locator(".bars .point").nth(2).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_url("**/memories/?state=live&age=d31_90")


def test_the_scope_is_chosen_with_the_keyboard(visit, owner, scope):
    fill(scope, 10)
    fill(make_scope(owner, slug="garden"), 4)
    page = visit(owner).open("/insights/")
    page.get_by_label("Scope", exact=True).select_option("garden")
    page.get_by_role("button", name="Show").press("Enter")
    page.wait_for_url("**/insights/?scope=garden")
    assert page.get_by_role("heading", level=1).inner_text() == "How it ages in garden"


def test_the_numbers_are_there_without_scripts(visit, owner, scope):
    fill(scope, 60)
    page = visit(owner, java_script_enabled=False).open("/insights/")
    page.get_by_text("The numbers").first.click()
    assert page.get_by_role("table", name="How old is what we remember?").is_visible()
    assert not page.locator(".chart-plot").first.is_visible()


def test_on_paper_every_table_is_open(visit, owner, scope):
    fill(scope, 60)
    page = visit(owner).open("/insights/")
    page.emulate_media(media="print")
    tables = page.locator("main table").all()
    assert len(tables) == 4
    assert all(table.is_visible() for table in tables)


@pytest.mark.behaviour("Z9", "F39")
def test_a_half_life_is_changed_in_the_administration_under_the_policy(visit, owner):
    page = visit(owner).open("/insights/")
    page.get_by_role("link", name="Change half-lives").click()
    page.locator("#result_list").get_by_role("link", name="fact").click()
    page.get_by_label("Half life days").fill("90")
    page.get_by_label("Reason").fill("Prices move every quarter.")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator("#result_list").get_by_role("link", name="fact").click()
    assert "half_life_days 365 → 90. Prices move every quarter." in page.inner_text("#content")
    page.get_by_label("Half life days").fill("0")
    page.get_by_role("button", name="Save", exact=True).click()
    assert "must be a number from 0.001 to 36500" in page.inner_text("#content")
