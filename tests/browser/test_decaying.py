"""A decaying scope in a real browser: the switch, what is about to leave, and the ways back."""

import pytest
from playwright.sync_api import expect

from memories.models import Memory, RetentionPolicy, Scope
from memories.services.retention import run_cycle
from tests.browser.conftest import NARROW, WIDE
from tests.factories import make_memory, make_scope
from tests.memories.retention.cycling import unused_for

SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])


def decaying(owner, *, leaving=0, left=0):
    """A decaying scope with *left* in its archive and *leaving* within days, beside what is in use."""
    scope = make_scope(owner, retention="decaying", slug="scratch", name="Scratch notes")
    for number in range(left):
        unused_for(210 + number, scope=scope, content=f"Left note {number}.")
    for number in range(20):
        make_memory(f"Note in use {number}.", scope=scope)
    if left:
        run_cycle(scope=scope, trigger="schedule")
    for number in range(leaving):
        unused_for(175 + number % 24, scope=scope, content=f"Fading note {number}: " + "the tide tables moved. " * 4)
    return scope


def test_with_the_keyboard_alone_a_scope_is_looked_at_and_then_switched(visit, owner, scope):
    for number in range(25):
        unused_for(10 * number, scope=scope, kind="fact")
    page = visit(owner).open(f"/scopes/{scope.pk}/policy/")
    page.get_by_label("Decaying:").focus()
    page.keyboard.press("Space")
    page.get_by_label("Half-life in hours").fill("48")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Switch home to decaying?")).to_be_visible()
    expect(page.get_by_text("The next cycle would let")).to_be_visible()
    assert Scope.objects.get(pk=scope.pk).retention == "ageing"

    page.get_by_role("button", name="Switch to decaying").press("Enter")
    expect(page.get_by_text("home is decaying. No memory was changed by that.")).to_be_visible()
    assert RetentionPolicy.of(scope).rule.half_life_hours == 48
    assert Memory.objects.live().filter(scope=scope).count() == 25


def test_with_the_keyboard_alone_what_leaves_is_kept_and_that_is_taken_back(visit, owner):
    scope = decaying(owner, leaving=3)
    light = Memory.objects.filter(scope=scope, content__startswith="Fading").order_by("accessed_at")[0]
    page = visit(owner).open(f"/scopes/{scope.pk}/keeping/")
    expect(page.locator(".leaving li")).to_have_count(3)
    for key in ("j", "x"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Keep the chosen").press("Enter")
    expect(page.get_by_text("Kept 1: full weight again")).to_be_visible()
    expect(page.locator(".leaving li")).to_have_count(2)
    assert Memory.objects.get(pk=light.pk).accessed_at > light.accessed_at

    page.get_by_role("button", name="Take it back").press("Enter")
    expect(page.locator(".leaving li")).to_have_count(3)
    assert Memory.objects.get(pk=light.pk).accessed_at == light.accessed_at


def test_a_cycle_is_taken_back_from_its_line(visit, owner):
    scope = decaying(owner, left=4)
    page = visit(owner).open(f"/scopes/{scope.pk}/keeping/")
    expect(page.get_by_text("4 can come back")).to_be_visible()
    page.get_by_text("Take it back…").click()
    page.get_by_role("button", name="Bring them back").press("Enter")
    expect(page.get_by_text("Brought back 4")).to_be_visible()
    assert Memory.objects.live().filter(scope=scope).count() == 24


def test_the_chosen_are_restored_from_the_archive_with_the_keyboard(visit, owner):
    scope = decaying(owner, left=4)
    page = visit(owner).open(f"/scopes/{scope.pk}/archive/")
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Restore the chosen").press("Enter")
    expect(page.get_by_text("Restored 2: full weight again")).to_be_visible()
    expect(page.locator(".leaving li")).to_have_count(2)


@SIZES
@pytest.mark.parametrize(("leaving", "left"), [(0, 0), (120, 60)], ids=["empty", "full"])
def test_the_pages_are_accessible_and_never_wider_than_the_screen(visit, owner, size, leaving, left):
    scope = decaying(owner, leaving=leaving, left=left)
    window = visit(owner, size=size)
    switch = "policy/?retention=ageing&prune_action=delete&summaries=review"
    for path in ("keeping/", "archive/", "archive/?q=zebra", "policy/", switch):
        page = window.open(f"/scopes/{scope.pk}/{path}")
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        window.assert_accessible()
        window.assert_no_sideways_scroll()
