"""Letting an agent in, in a real browser: what it reads like, with the keyboard alone, and the way back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.urls import reverse
from playwright.sync_api import Route, expect

from memories.access import actor_for_user
from memories.models import OAuthClient, OAuthCode, OAuthGrant, Token
from tests.browser.conftest import NARROW, WIDE
from tests.factories import make_scope, make_user
from tests.memories.planted import MARKUP
from tests.memories.test_oauth import let_in, question, register

SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])


class _Agent(BaseHTTPRequestHandler):
    """A program that waits for the browser to come back, and sends it on to a page under another name."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        if self.path.startswith("/back"):
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_port}/done")
            self.end_headers()
            return
        self.send_response(200 if self.path == "/done" else 204)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        if self.path == "/done":
            self.wfile.write(
                b"<!doctype html><title>Done</title><link rel=icon href=data:,><p>You can close this window."
            )

    def log_message(self, *_: object) -> None:
        """Nothing to say."""


@pytest.fixture
def waiting() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Agent)
    server.asked = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def _held_back(route: Route) -> None:
    """The answer without what moves the page on by itself, so that there is time to look at it."""
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace('http-equiv="refresh"', ""))


def page_of(packed):
    return reverse("connect", query={"request": packed})


def asking(waiting, **overrides):
    back = f"http://127.0.0.1:{waiting.server_port}/back"
    return page_of(question(register(redirect_uris=[back], **overrides), redirect_uri=back))


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_after_allow_the_browser_is_back_at_the_agent_wherever_that_goes_on_to(visit, owner, scope, waiting, scripts):
    page = visit(owner, java_script_enabled=scripts).open(asking(waiting))
    page.get_by_role("button", name="Allow").click()
    page.wait_for_url("http://localhost:*/done")
    expect(page.get_by_text("You can close this window.")).to_be_visible()
    (back,) = [path for path in waiting.asked if path.startswith("/back")]
    assert "code=" in back
    assert OAuthCode.objects.get().user == owner


def test_with_the_keyboard_alone_the_scopes_are_chosen_and_the_agent_refused(visit, owner, scope, waiting):
    make_scope(owner, slug="other")
    page = visit(owner).open(asking(waiting))
    page.get_by_label("home").focus()
    reached = []
    for _ in range(6):
        reached.append(
            page.evaluate("document.activeElement.labels?.[0]?.innerText || document.activeElement.innerText")
        )
        page.keyboard.press("Tab")
    assert [words.strip() for words in reached] == [
        "home", "other", "May write", "May settle disputes", "Allow", "Refuse",
    ]  # fmt: skip
    page.get_by_role("button", name="Refuse").press("Enter")
    page.wait_for_url("http://localhost:*/done")
    expect(page.get_by_text("You can close this window.")).to_be_visible()
    assert "error=access_denied" in "".join(waiting.asked)
    assert not OAuthGrant.objects.exists()


def test_whoever_signs_in_first_is_back_at_the_question(visit, owner, scope, waiting):
    page = visit().open(asking(waiting))
    page.get_by_label("Username").fill("owner")
    page.get_by_label("Password").fill("a long test passphrase")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Let an agent in")
    expect(page.get_by_text("Nobody has checked that name.")).to_be_visible()


@SIZES
def test_the_question_is_accessible_and_never_wider_than_the_screen(visit, owner, scope, size):
    for number in range(5):
        make_scope(owner, slug=f"{'x' * 60}-{number}")
    address = f"https://{'a' * 60}.agent.example:8443/back"
    client = register(redirect_uris=[address])
    OAuthClient.objects.update(name=MARKUP[:80])
    window = visit(owner, size=size)
    page = window.open(page_of(question(client, redirect_uri=address)))
    window.assert_no_sideways_scroll()
    window.assert_accessible()
    page.get_by_label("May write").uncheck()
    page.get_by_label("May settle disputes").check()
    page.get_by_label("home").check()
    page.get_by_role("button", name="Allow").click()
    page.locator(".errorlist").first.wait_for()
    window.complaints.clear()  # the browser notes the answer 422
    window.assert_no_sideways_scroll()
    window.assert_accessible()


@SIZES
def test_the_way_back_is_accessible(visit, owner, scope, size):
    address = f"https://{'a' * 60}.agent.example/back"
    window = visit(owner, size=size)
    window.page.route("**/connect/**", _held_back)
    page = window.open(page_of(question(register(redirect_uris=[address]), redirect_uri=address)))
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Back to the agent")
    window.assert_no_sideways_scroll()
    window.assert_accessible()


@SIZES
def test_a_connected_agent_among_the_tokens_is_accessible(visit, owner, scope, size):
    let_in(actor_for_user(owner), scope, register(name="n" * 80, redirect_uris=["http://127.0.0.1:49152/back"]))
    let_in(actor_for_user(owner), scope)
    Token.objects.filter(name="Scribe").update(revoked_at=owner.date_joined)
    window = visit(owner, size=size)
    window.open("/tokens/")
    window.assert_no_sideways_scroll()
    window.assert_accessible()


def test_whoever_has_no_scope_sees_an_accessible_page(visit, db):
    window = visit(make_user())
    window.open(page_of(question(register())))
    window.assert_accessible()
