"""Changed code in the inbox, worked through by keyboard; and the question that comes first where much changed."""

import pytest
from playwright.sync_api import expect

from reflections.models import Dispute
from tests.browser.conftest import NARROW
from tests.memories.code.trees import RANKING, make_tree, register, write
from tests.reflections.anchored import about, asked, functions, in_force, look, module

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age")


@pytest.fixture
def tree(scope, tmp_path):
    made = make_tree(tmp_path / "shop")
    register(scope, made)
    about(scope, "rank.py", "relevance", content="Ordered by relevance.")
    write(made, {"rank.py": REWRITTEN})
    look(scope)
    return made


def gone(page):
    expect(page.locator(".entry")).to_have_count(0)


def test_changed_code_is_held_undone_and_closed_by_keyboard(visit, owner, tree):
    (row,) = asked()
    window = visit(owner)
    page = window.open("/inbox/")
    expect(page.locator(".evidence-code ins")).to_have_text("    return match - age")
    window.assert_accessible()
    page.keyboard.press("d")
    expect(page.locator(".toast")).to_contain_text("Upheld")
    gone(page)
    assert "match - age" in in_force(row.subject)[0].code
    page.keyboard.press("u")
    expect(page.locator(".evidence-code")).to_be_visible()
    assert "1 + age" in in_force(row.subject)[0].code
    write(tree, {"rank.py": RANKING})
    page = window.open("/inbox/")
    expect(page.get_by_text("The code is back.")).to_be_visible()
    page.keyboard.press("a")
    gone(page)
    assert Dispute.objects.get().resolution == "passed"


def test_what_is_held_is_asked_about_with_the_keyboard_on_a_phone(visit, owner, scope, tmp_path):
    tree = make_tree(tmp_path / "shop")
    functions(scope, tree, 4)
    write(tree, module(4, changed=2))
    look(scope)
    window = visit(owner, size=NARROW)
    page = window.open("/inbox/")
    page.get_by_role("link", name="Look at shop").press("Enter")
    button = page.get_by_role("button", name="ask about them in the inbox")
    expect(button).to_be_visible()
    window.assert_accessible()
    window.assert_no_sideways_scroll()
    button.press("Enter")
    expect(page.locator(".entry")).to_have_count(2)
    assert len(asked()) == 2
