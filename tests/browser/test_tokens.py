"""Tokens, scopes and settings in a real browser: a secret seen once, its first use seen at once."""

import httpx
import pytest
from playwright.sync_api import expect

from memories.models import Token
from tests.browser.conftest import NARROW, WIDE
from tests.factories import make_member, make_memory, make_scope, make_token, make_user
from tests.mcp.serving import served
from tests.mcp.talking import Agent


def create(visit, owner, **options):
    window = visit(owner, **options)
    page = window.open("/tokens/new/")
    page.get_by_label("Name").fill("builder")
    page.get_by_label("home").check()
    page.get_by_role("button", name="Create the token").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Token for builder")
    return window, page


def write(live_server, secret):
    answer = httpx.post(
        f"{live_server.url}/api/v1/memories",
        json={"content": "Written by an agent."},
        headers={"Authorization": f"Bearer {secret}"},
        trust_env=False,
    )
    assert answer.status_code == 201


def test_the_secret_is_copied_with_the_keyboard(visit, owner, scope):
    _, page = create(visit, owner, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the secret").press("Enter")
    expect(page.get_by_text("Copied.")).to_be_visible()
    secret = page.evaluate("navigator.clipboard.readText()")
    assert secret == page.locator("#secret").inner_text()
    assert Token.objects.get().hint == secret[:8]
    page.get_by_role("button", name="Copy the command").first.press("Enter")
    page.wait_for_function("navigator.clipboard.readText().then(text => text.startsWith('curl'))")


def test_the_secret_does_not_come_back_with_the_back_button(visit, owner, scope):
    _, page = create(visit, owner)
    secret = page.locator("#secret").inner_text()
    page.get_by_role("link", name="I have copied it, show my tokens").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tokens")
    page.evaluate("history.back()")
    page.wait_for_timeout(1000)
    assert secret not in page.content()
    assert Token.objects.count() == 1


def test_the_first_write_is_seen_without_a_new_page(visit, owner, scope, live_server):
    _, page = create(visit, owner)
    expect(page.get_by_text("waiting for it…")).to_be_visible()
    write(live_server, page.locator("#secret").inner_text())
    expect(page.get_by_text("seen", exact=True)).to_be_visible()
    expect(page.locator("#status")).to_have_text("The first memory has arrived.")


def test_the_light_turns_green_when_an_agent_has_called(visit, owner, scope):
    _, page = create(visit, owner)
    expect(page.get_by_text("waiting for the first call…")).to_be_visible()
    expect(page.locator(".light.on")).to_have_count(0)
    secret = page.locator("#secret").inner_text()
    with served() as door:
        assert Agent(door, secret).told("describe_scope")["scope"] == "home"
    expect(page.get_by_text("It works.")).to_be_visible()
    expect(page.locator(".light.on")).to_be_visible()
    expect(page.locator("#status")).to_have_text("The first call has arrived.")
    page.get_by_role("link", name="I have copied it, show my tokens").click()
    expect(page.locator(".light.on")).to_be_visible()


def test_a_page_in_a_hidden_tab_does_not_ask_and_a_page_that_has_seen_it_stops_asking(visit, owner, scope, live_server):
    _, page = create(visit, owner)
    secret = page.locator("#secret").inner_text()
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "first-write" in request.url else None)
    page.evaluate("Object.defineProperty(document, 'hidden', {configurable: true, get: () => true})")
    write(live_server, secret)
    page.wait_for_timeout(4000)
    assert asked == []
    page.evaluate("delete document.hidden")
    expect(page.get_by_text("seen", exact=True)).to_be_visible()
    assert len(asked) == 1
    page.wait_for_timeout(4000)
    assert len(asked) == 1


def test_a_token_is_made_and_revoked_without_scripts(visit, owner, scope):
    _, page = create(visit, owner, java_script_enabled=False)
    page.get_by_role("link", name="I have copied it, show my tokens").click()
    page.get_by_text("Revoke…").click()
    page.get_by_role("button", name="Revoke this token").click()
    expect(page.get_by_text("Revoked builder.")).to_be_visible()
    assert Token.objects.get().revoked_at


@pytest.fixture
def full(owner, scope):
    """Long names everywhere, and people in every role."""
    wide = make_scope(owner, slug="x" * 70, name="W" * 110)
    make_memory(scope=wide)
    for place, role in enumerate(("reader", "writer", "admin")):
        make_member(wide, role, make_user(username=f"{'m' * 100}{place}"))
    for place in range(3):
        make_token(owner, [scope, wide], name="n" * 80, can_write=place != 1)
    make_token(owner, [scope], revoked_at=owner.date_joined)
    return wide


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
@pytest.mark.parametrize("address", ["/tokens/", "/tokens/new/", "/scopes/", "/settings/", "scope"])
def test_the_pages_are_accessible_and_never_wider_than_the_screen(visit, owner, full, size, address):
    window = visit(owner, size=size)
    page = window.open(f"/scopes/{full.pk}/" if address == "scope" else address)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    window.assert_no_sideways_scroll()
    window.assert_accessible()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
def test_the_page_with_the_secret_is_accessible_and_never_wider_than_the_screen(visit, owner, scope, size):
    window, _ = create(visit, owner, size=size)
    window.assert_no_sideways_scroll()
    window.assert_accessible()


def test_the_empty_pages_are_accessible(visit, db):
    window = visit(make_user())
    for address in ("/tokens/", "/tokens/new/", "/scopes/", "/settings/"):
        window.open(address)
        window.assert_accessible()


def test_a_scope_is_shared_and_left_with_the_keyboard_alone(visit, owner, scope):
    visitor = make_user(username="visitor")
    page = visit(owner).open(f"/scopes/{scope.pk}/")
    page.get_by_label("User name").fill("visitor")
    page.get_by_label("User name").press("Enter")
    expect(page.get_by_text("visitor is reader here.")).to_be_visible()
    theirs = visit(visitor).open(f"/scopes/{scope.pk}/")
    theirs.get_by_text("Leave this scope…").press("Enter")
    theirs.get_by_role("button", name="Leave this scope").press("Enter")
    theirs.wait_for_url("**/scopes/")
    expect(theirs.get_by_text("You belong to no scope yet")).to_be_visible()


def test_dates_follow_the_time_zone_of_the_settings(visit, owner, scope):
    memory = make_memory(scope=scope)
    page = visit(owner).open("/settings/")
    page.get_by_label("Time zone").select_option("Asia/Tokyo")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto(f"{page.url.removesuffix('/settings/')}/memories/{memory.pk}/")
    assert "+09:00" in page.locator("time").first.get_attribute("datetime")
