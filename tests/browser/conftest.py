"""A real browser against a real server. Where Chromium is missing these tests are skipped, in CI they fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from memories.models import User

# Playwright keeps an event loop in this thread, which Django takes for asynchronous code.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
THEMES = ("light", "dark")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


def executable() -> str | None:
    given = os.environ.get("ZEROMEMORY_TEST_BROWSER")
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if "tests/browser/" in item.path.as_posix()]
    for item in ours:
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.django_db(transaction=True))
    if ours and executable() is None and not os.environ.get("CI"):
        reason = "CHROMIUM IS MISSING: no browser test runs. Install Chromium to run them."
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = executable()
    if path is None:
        pytest.fail("Chromium is missing: install the chromium package.")
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=path, args=[*QUIET, *(["--no-sandbox"] if as_root else [])]
        )
        yield running
        running.close()


class Visitor:
    """A signed-in person at a window. Console errors and policy violations fail the test at its end."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.context, self.address = context, address
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))
        self.page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.address}{path}")
        return self.page

    def theme(self, name: str) -> None:
        self.page.emulate_media(color_scheme=name, reduced_motion="reduce")  # type: ignore[arg-type]

    def assert_accessible(self) -> None:
        """No axe violation, in both themes."""
        for name in THEMES:
            self.theme(name)
            found = Axe().run(self.page)
            assert found.violations_count == 0, f"{name}: {found.generate_report()}"

    def assert_no_sideways_scroll(self) -> None:
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{wide} pixels too wide"


@pytest.fixture
def visit(browser: Browser, live_server: Any) -> Iterator[Callable[..., Visitor]]:
    """``visit(user)`` is that person's window; ``visit(user, size=NARROW, java_script_enabled=False)`` another."""
    visitors: list[Visitor] = []

    def open_window(user: User | None = None, *, size: dict[str, int] = WIDE, **options: Any) -> Visitor:
        context = browser.new_context(viewport=size, reduced_motion="reduce", **options)  # type: ignore[arg-type]
        if user is not None:
            client = Client()
            client.force_login(user)
            cookie = client.cookies["sessionid"].value
            context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
        context.set_default_timeout(15_000)
        visitors.append(Visitor(context, live_server.url))
        return visitors[-1]

    yield open_window
    for visitor in visitors:
        visitor.context.close()
    assert [complaint for visitor in visitors for complaint in visitor.complaints] == []
