"""Today in a real browser: the first look at an empty store, and the page one comes back to."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from memories import services
from memories.access import actor_for_user
from memories.models import Memory
from tests.browser.conftest import NARROW, WIDE
from tests.factories import make_memory, make_user
from tests.reflections.factories import make_candidate


@pytest.fixture
def busy(owner, scope):
    """Something under every heading of the page."""
    actor = actor_for_user(owner)
    for number in range(8):
        services.remember(actor=actor, scope=scope, content=f"Number {number}: " + "long" * 60)
    services.forget(actor=actor, memory=Memory.objects.first(), reason="r" * 500)
    make_candidate(scope, draft="d" * 500)
    make_memory("Old.", scope=scope, age_days=500)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
def test_the_page_is_accessible_and_never_wider_than_the_screen(visit, owner, busy, size):
    window = visit(owner, size=size)
    window.open("/")
    window.assert_no_sideways_scroll()
    window.assert_accessible()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
def test_the_welcome_is_accessible_and_never_wider_than_the_screen(visit, owner, scope, size):
    window = visit(owner, size=size)
    window.open("/")
    window.assert_no_sideways_scroll()
    window.assert_accessible()


def test_what_needs_somebody_is_one_key_or_click_away(visit, owner, busy):
    page = visit(owner).open("/")
    page.get_by_role("link", name="draft to review").press("Enter")
    page.wait_for_url("**/reflections/")
    page.go_back()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memories/*-*/")


def test_what_waits_is_counted_again_while_memories_arrive(visit, owner, scope):
    make_memory("First.", scope=scope)
    page = visit(owner).open("/")
    queue = page.locator("#needs")
    expect(queue).to_contain_text("1memory without embedding", use_inner_text=False)
    Memory.objects.update(embedded_at=timezone.now())
    make_candidate(scope)
    expect(queue.get_by_role("link", name="draft to review")).to_be_visible(timeout=20_000)  # the page looks every 5 s


def test_the_welcome_leads_to_the_first_memory_without_scripts(visit, owner, scope):
    page = visit(owner, java_script_enabled=False).open("/")
    page.get_by_role("main").get_by_role("link", name="Write a memory").click()
    page.locator("#id_content").fill("The first one.")
    page.get_by_role("button", name="Write 1 memory").click()
    page.get_by_role("link", name="Today").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Today")
    expect(page.locator(".memory-row")).to_contain_text("The first one.")


def test_staff_load_the_demo_corpus_from_the_welcome(visit, owner, scope):
    page = visit(owner).open("/")
    page.get_by_role("button", name="Load the demo corpus").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Today")
    expect(page.get_by_text("memories into harbour and notes.")).to_be_visible()
    assert Memory.objects.visible_to(actor_for_user(owner)).count() > 150


def test_others_are_not_offered_the_demo_corpus(visit, db):
    page = visit(make_user()).open("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Welcome to Zero Memory")
    expect(page.get_by_role("button", name="Load the demo corpus")).to_have_count(0)
    assert reverse("load_demo") == "/demo/"
