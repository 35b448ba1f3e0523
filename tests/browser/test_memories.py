"""The pages of memories in a real browser: the keyboard, the narrow screen, hostile texts, and no scripts at all."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from memories import services
from memories.access import actor_for_user
from memories.models import Memory
from tests.browser.conftest import NARROW, WIDE
from tests.factories import add_entity, make_memory
from tests.memories.pages import named_pages
from tests.memories.planted import plant

SMALLEST = {"width": 320, "height": 640}
LONG = "\n\n".join(f"Paragraph {number} of a very long text that somebody pasted whole." for number in range(800))
STRANGE = {
    "long": LONG,
    "unbroken": "Word" + "a" * 3000,
    "address": "https://example.org/" + "path/" * 100,
    "arabic": "هذا نص عربي طويل يصف كيف تعمل ذاكرة التخزين المؤقت.\nالسطر الثاني مع API في الوسط.",
    "chinese": "缓存每晚重建一次，因为没有人知道为什么预热需要这么长时间。" * 8,
    "emoji": "🚀🎉👩‍👩‍👧‍👦🏳️‍🌈 " * 40,
    "unseen": "Zero\u200bwidth and \u202ereversed\u202c and \x1b[31mred",
}


@pytest.fixture
def strange(scope):
    """One memory of each strange text, by name."""
    found = {}
    for place, (name, content) in enumerate(STRANGE.items()):
        found[name] = make_memory(content, scope=scope, age_days=place, source="https://example.org/" + "p" * 300)
        add_entity(found[name], f"{name} " + "entity" * 40)
    return found


def row(page, memory):
    return page.locator(f"#memory-{memory.pk}")


def detail(memory):
    return reverse("memory_detail", args=[memory.pk])


# The keyboard --------------------------------------------------------------------------------


def test_the_list_is_walked_and_opened_with_the_keyboard(visit, owner, scope):
    made = [make_memory(f"Number {number}.", scope=scope, age_days=number) for number in range(3)]
    page = visit(owner).open("/memories/")
    page.keyboard.press("j")
    expect(row(page, made[0])).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(row(page, made[1])).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{detail(made[1])}")


def test_a_search_begins_with_a_slash_and_its_score_opens_with_the_keyboard(visit, owner, scope):
    make_memory("The cache is rebuilt nightly.", scope=scope)
    page = visit(owner).open("/memories/")
    page.keyboard.press("/")
    page.keyboard.type("cache")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memories/?q=cache")
    expect(page.locator(".score")).to_have_text("#1")
    page.get_by_text("How this score comes about").press("Enter")
    expect(page.get_by_role("table")).to_contain_text("reinforcement")


def test_more_rows_come_without_a_new_page_and_keep_their_order(visit, owner, scope):
    made = [make_memory(f"Number {number}.", scope=scope, age_days=number) for number in range(90)]
    page = visit(owner).open("/memories/")
    page.get_by_role("link", name="Show more").press("Enter")
    expect(page.locator(".memory-row")).to_have_count(80)
    page.get_by_role("link", name="Show more").click()
    expect(page.locator(".memory-row")).to_have_count(90)
    expect(page.get_by_role("link", name="Show more")).to_have_count(0)
    ids = page.locator(".memory-row").evaluate_all("rows => rows.map(row => row.id)")
    assert ids == [f"memory-{memory.pk}" for memory in made]
    assert page.url.endswith("/memories/")


def test_going_back_from_a_memory_shows_the_search_again(visit, owner, scope):
    memory = make_memory("The cache is rebuilt nightly.", scope=scope)
    page = visit(owner).open("/memories/?q=cache&kind=fact")
    page.get_by_role("link", name=memory.content).click()
    page.wait_for_url(f"**{detail(memory)}")
    page.go_back()
    expect(page.get_by_label("Search memories")).to_have_value("cache")
    expect(row(page, memory)).to_be_visible()


def test_forgetting_is_undone_with_one_key(visit, owner, scope):
    memory = make_memory("A passing thought.", scope=scope)
    page = visit(owner).open(detail(memory))
    page.get_by_text("Forget…").press("Enter")
    page.get_by_label("Why").fill("It passed.")
    page.get_by_role("button", name="Forget 1 memory").press("Enter")
    expect(page.get_by_text("It is not recalled, and it can be restored.")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("It is not recalled, and it can be restored.")).to_have_count(0)
    memory.refresh_from_db()
    assert memory.state == "live"


@pytest.mark.behaviour("F47")
def test_a_very_long_memory_is_copied_with_the_keyboard_on_the_smallest_screen(visit, owner, strange):
    window = visit(owner, size=SMALLEST, permissions=["clipboard-read", "clipboard-write"])
    page = window.open(detail(strange["long"]))
    assert len(LONG) > 50_000
    assert page.locator("#content").inner_text() == LONG
    window.assert_no_sideways_scroll()
    button = page.get_by_role("button", name="Copy the text")
    for _ in range(30):
        page.keyboard.press("Tab")
        if button.evaluate("button => button === document.activeElement"):
            break
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == LONG


def test_what_is_copied_has_the_characters_and_not_their_marks(visit, owner, strange):
    page = visit(owner, permissions=["clipboard-read", "clipboard-write"]).open(detail(strange["unseen"]))
    expect(page.locator("#content")).to_contain_text("U+200B")
    page.keyboard.press("c")
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == STRANGE["unseen"]


# Every screen --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
@pytest.mark.parametrize(
    "query", ["", "?q=text", "?kind=task", "?kind=opinion"], ids=["feed", "search", "none", "refused"]
)
def test_the_list_is_accessible_and_never_wider_than_the_screen(visit, owner, strange, size, query):
    window = visit(owner, size=size)
    page = window.open(f"/memories/{query}")
    window.complaints = [text for text in window.complaints if "status of 400" not in text]
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    window.assert_no_sideways_scroll()
    window.assert_accessible()


def test_an_empty_list_is_accessible(visit, owner, scope):
    window = visit(owner)
    window.open("/memories/")
    window.assert_accessible()


@pytest.mark.parametrize("size", [WIDE, SMALLEST], ids=["wide", "smallest"])
def test_a_memory_is_accessible_and_never_wider_than_the_screen(visit, owner, strange, scope, size):
    actor = actor_for_user(owner)
    newer = services.edit(actor=actor, memory=strange["unbroken"], expected_version=1, content="Word" + "b" * 3000)
    services.link(actor=actor, source=newer, target=strange["address"], type="relates_to")
    services.forget(actor=actor, memory=strange["emoji"], reason="z" * 1000)
    window = visit(owner, size=size)
    for memory in (newer, strange["unbroken"], *list(strange.values())[2:]):
        page = window.open(detail(memory))
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        window.assert_no_sideways_scroll()
        window.assert_accessible()


@pytest.mark.parametrize("size", [WIDE, SMALLEST], ids=["wide", "smallest"])
def test_the_forms_are_accessible_and_never_wider_than_the_screen(visit, owner, strange, size):
    window = visit(owner, size=size)
    for address in ("/memories/new/", f"{detail(strange['unbroken'])}edit/"):
        window.open(address)
        window.assert_no_sideways_scroll()
        window.assert_accessible()


def test_what_was_refused_is_beside_the_field_and_spoken_with_it(visit, owner, scope):
    window = visit(owner)
    page = window.open("/memories/new/")
    page.locator("#id_content").fill("   ")
    page.get_by_role("button", name="Write 1 memory").click()
    expect(page.locator("#id_content")).to_have_accessible_description(
        "One statement that stands on its own. Write something: the content is empty."
    )
    window.complaints.clear()  # the browser notes the answer 422
    window.assert_accessible()


def test_two_people_at_once_see_both_texts(visit, owner, scope):
    memory = make_memory("Deploys run on Monday.", scope=scope)
    window = visit(owner)
    page = window.open(f"{detail(memory)}edit/")
    services.edit(actor=actor_for_user(owner), memory=memory, expected_version=1, content="Deploys run on Friday.")
    page.locator("#id_content").fill("Deploys run on Sunday.")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("alert")).to_contain_text("Somebody changed this memory meanwhile.")
    expect(page.locator("del")).to_have_text("Friday")
    expect(page.locator("ins")).to_have_text("Sunday")
    window.complaints.clear()  # the browser notes the answer 409
    window.assert_accessible()
    page.get_by_role("button", name="Replace version 2").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Deploys run on Sunday.")


# Hostile texts -------------------------------------------------------------------------------


@pytest.mark.behaviour("F32")
def test_no_page_runs_what_a_hostile_text_says(visit, owner):
    rows = plant(owner)
    window = visit(owner)
    known = {
        "memory_id": rows.memory.pk,
        "candidate_id": rows.candidate.pk,
        "scope_id": rows.scope.pk,
    }
    opened = 0
    for name, values in named_pages():
        # Pages only: what is posted, downloaded or answered in JSON has no screen.
        if not set(values) <= known.keys() or name in {"healthz", "readyz", "sign_out", "choose_password"}:
            continue
        answer = window.context.request.get(f"{window.address}{reverse(name, kwargs={v: known[v] for v in values})}")
        if answer.status == 405 or "attachment" in answer.headers.get("content-disposition", ""):
            continue
        page = window.open(reverse(name, kwargs={value: known[value] for value in values}))
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.locator("img, iframe, main style, main form[action^='//']").count() == 0, name
        opened += 1
    assert opened >= 10


# Without scripts -----------------------------------------------------------------------------


def test_everything_can_be_done_without_scripts(visit, owner, scope):
    page = visit(owner, java_script_enabled=False).open("/memories/new/")
    page.locator("#id_content").fill("Written without a script.")
    page.get_by_role("button", name="Write 1 memory").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Written without a script.")
    page.get_by_role("link", name="Edit").click()
    page.locator("#id_content").fill("Edited without a script.")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_text("Forget…").click()
    page.get_by_role("button", name="Forget 1 memory").click()
    page.get_by_role("main").get_by_role("button", name="Restore").click()
    memory = Memory.objects.live().get()
    assert (memory.content, memory.pinned) == ("Edited without a script.", True)
    page.get_by_role("link", name="Memories", exact=True).first.click()
    page.get_by_label("Search memories").fill("script")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".score")).to_have_text("#1")
    assert not page.get_by_role("button", name="Copy the text").is_visible()
