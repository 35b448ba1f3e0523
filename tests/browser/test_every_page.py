"""Every page of the product under axe, in both themes, wide and on a phone. A new page fails here until listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse

from memories.services.config import change_ranking
from memories.services.people import create_sign_in_link
from tests.browser.conftest import NARROW, WIDE
from tests.factories import make_user
from tests.insights.evaluations import make_run
from tests.memories.handing_in import make_import
from tests.memories.pages import named_pages
from tests.memories.planted import plant
from tests.reflections.factories import make_cycle

SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])

# The values in each page's address, from what ``plant`` has written.
PAGES: dict[str, Callable[[SimpleNamespace], dict[str, Any]]] = {
    "activity": lambda rows: {},
    "briefing_page": lambda rows: {},
    "connect": lambda rows: {},
    "evaluation_list": lambda rows: {},
    "evaluation_run": lambda rows: {"evaluation_id": make_run().pk},
    "embedder_page": lambda rows: {},
    "import_detail": lambda rows: {"import_id": make_import(rows.scope).pk},
    "inbox": lambda rows: {},
    "insights": lambda rows: {},
    "memory_bulk": lambda rows: {},
    "memory_bulk_done": lambda rows: {"operation_id": rows.operation},
    "memory_compare": lambda rows: {},
    "memory_detail": lambda rows: {"memory_id": rows.memory.pk},
    "memory_edit": lambda rows: {"memory_id": rows.memory.pk},
    "memory_list": lambda rows: {},
    "memory_new": lambda rows: {},
    "ranking_page": lambda rows: {},
    "reflection_detail": lambda rows: {"candidate_id": rows.candidate.pk},
    "reflection_list": lambda rows: {},
    "reflection_similar": lambda rows: {"candidate_id": rows.candidate.pk},
    "rule_list": lambda rows: {},
    "rule_of_memory": lambda rows: {"memory_id": rows.memory.pk},
    "repository_detail": lambda rows: {"repository": rows.repository.name},
    "repository_list": lambda rows: {},
    "run_detail": lambda rows: {"run_id": make_cycle(rows.scope).pk},
    "run_list": lambda rows: {},
    "scope_archive": lambda rows: {"scope_id": rows.scope.pk},
    "scope_detail": lambda rows: {"scope_id": rows.scope.pk},
    "scope_keeping": lambda rows: {"scope_id": rows.scope.pk},
    "scope_list": lambda rows: {},
    "scope_retention": lambda rows: {"scope_id": rows.scope.pk},
    "settings_page": lambda rows: {},
    "today": lambda rows: {},
    "token_list": lambda rows: {},
    "token_new": lambda rows: {},
    "transfer_page": lambda rows: {},
}
# Seen without an account, or on the way to a password: each has a test of its own below.
SIGNING_IN = {"choose_password", "sign_in", "sign_in_link"}
# Posted to, answered in another format, or a part of a page.
WITHOUT_A_SCREEN = {
    "code_ask",
    "evaluation_csv",
    "embedder_pause",
    "embedder_resume",
    "embedder_roll_back",
    "export_file",
    "healthz",
    "import_cancel",
    "import_new",
    "import_start",
    "import_undo",
    "inbox_act",
    "inbox_bulk",
    "insights_csv",
    "load_demo",
    "memory_bulk_undo",
    "memory_challenge",
    "memory_forget",
    "memory_pin",
    "memory_reanchor",
    "memory_restore",
    "memory_unpin",
    "memory_verify",
    "readyz",
    "reflection_approve",
    "reflection_dismiss",
    "reflection_find",
    "reflection_retry",
    "repository_change",
    "repository_remove",
    "reflection_run",
    "rule_download",
    "rule_pin",
    "rule_reword",
    "rule_revoke",
    "rule_undo",
    "rule_unpin",
    "run_again",
    "run_cancel",
    "run_start",
    "reflection_snooze",
    "reflection_undo",
    "scope_alias_add",
    "scope_alias_retire",
    "scope_archive_restore",
    "scope_bring_back",
    "scope_cycle",
    "scope_keep",
    "scope_keep_undo",
    "scope_leave",
    "scope_remove_member",
    "scope_rename",
    "scope_set_member",
    "scope_weights_csv",
    "settings_password",
    "sign_out",
    "token_first_call",
    "token_first_write",
    "token_revoke",
}
ERROR_PAGES = sorted(path.name for path in (Path(settings.BASE_DIR) / "templates").glob("[45]*.html"))


@pytest.fixture
def rows(owner):
    change_ranking(user=owner, kind="fact", half_life_days=90, reason="Prices move every quarter.")
    return plant(owner)


def check(window, *, open_all=True):
    if open_all:
        window.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    window.assert_no_sideways_scroll()
    window.assert_accessible()


def test_every_named_address_is_under_axe_or_has_no_screen():
    assert {name for name, _ in named_pages()} == {*PAGES, *SIGNING_IN, *WITHOUT_A_SCREEN}


def test_what_is_said_to_have_no_screen_has_none(client_of, owner, rows):
    person, known = client_of(owner), {
        "candidate_id": rows.candidate.pk, "memory_id": rows.memory.pk, "name": "age", "run_id": rows.memory.pk,
        "rule_id": rows.rule.pk,
        "scope_id": rows.scope.pk, "token_id": rows.token.pk, "user_id": owner.pk, "evaluation_id": make_run().pk,
        "source": "draft", "item_id": rows.candidate.pk, "action": "dismiss", "cluster_id": rows.cluster.pk,
        "operation_id": rows.operation, "repository": rows.repository.name, "anchor_id": rows.memory.pk,
        "import_id": rows.memory.pk, "alias_id": rows.memory.pk, "cycle_id": rows.memory.pk,
    }  # fmt: skip
    for name, values in named_pages():
        if name in WITHOUT_A_SCREEN:
            answer = person.get(reverse(name, kwargs={value: known[value] for value in values}))
            assert "<main" not in answer.content.decode() or answer.status_code in (404, 405), name


@SIZES
@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_accessible_and_never_wider_than_the_screen(visit, owner, rows, size, name):
    window = visit(owner, size=size)
    window.open(reverse(name, kwargs=PAGES[name](rows)))
    check(window)


@SIZES
def test_signing_in_is_accessible_before_and_after_a_mistake(visit, owner, size):
    window = visit(size=size)
    page = window.open("/sign-in/?next=/memories/")
    check(window)
    page.get_by_label("Username").fill("owner")
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()
    check(window)


@SIZES
def test_the_way_by_a_one_time_link_is_accessible_to_its_end(visit, db, size):
    secret = create_sign_in_link(make_user(username="newcomer"))
    window = visit(size=size)
    page = window.open(reverse("sign_in_link", args=[secret]))
    check(window)
    page.get_by_role("button", name="Sign in and choose a password").click()
    page.wait_for_url("**/choose-password/")
    check(window)
    page.locator("input[type=password]").first.fill("short")
    page.locator("input[type=password]").last.fill("different")
    page.get_by_role("button", name="Save password and continue").click()
    page.locator(".errorlist").first.wait_for()
    window.complaints.clear()  # the browser notes the answer 422
    check(window)


@SIZES
def test_a_link_that_was_used_is_accessible(visit, db, size):
    window = visit(size=size)
    window.open(reverse("sign_in_link", args=["used-before"]))
    window.complaints.clear()  # the browser notes the answer 410
    check(window)


@SIZES
@pytest.mark.parametrize("template", [*ERROR_PAGES, "registration/locked_out.html"])
def test_an_error_page_is_accessible(visit, db, size, template):
    """The file itself, in a browser at this server: some errors cannot be caused from outside."""
    window = visit(size=size)
    body = render_to_string(template, {"message": "The content is larger than 4 MB. Split it. " + "x" * 200})
    window.page.route("**/an-error/", lambda route: route.fulfill(body=body, content_type="text/html; charset=utf-8"))
    window.open("/an-error/")
    assert window.page.get_by_role("heading", level=1).inner_text()
    check(window)


@pytest.mark.parametrize(
    ("path", "status", "heading"),
    [
        ("/nowhere/", 404, "Not found"),
        ("/memories/00000000-0000-0000-0000-000000000000/", 404, "Not found"),
        ("/admin/?q=%00", 400, "This request could not be read"),
    ],
)
def test_an_error_is_answered_with_its_page(visit, owner, path, status, heading):
    window = visit(owner)
    answer = window.page.goto(f"{window.address}{path}")
    assert (answer.status, window.page.get_by_role("heading", level=1).inner_text()) == (status, heading)
    window.complaints.clear()  # the browser notes the answer
    check(window)
