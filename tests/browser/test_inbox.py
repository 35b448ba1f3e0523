"""The inbox in a real browser: worked through by keyboard alone, without scripts, by two people, on a phone."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memories.models import Memory
from reflections.models import Candidate, Dispute
from reflections.services.disputes import resolve
from tests.browser.conftest import NARROW, WIDE
from tests.factories import make_memory
from tests.reflections.disputing import make_single, queued, states
from tests.reflections.factories import make_candidate, make_episodes, person

INBOX = "/inbox/"


def pair(scope, number, type="duplicate", *, proposed=False):
    old = make_memory(f"Port {number} is for the API.", scope=scope, age_days=9)
    new = make_memory(f"Port {number} is for the admin API.", scope=scope, age_days=1)
    return queued(old, new, type=type, proposed_winner=new if proposed else None)


def single(scope, number, type="challenged"):
    return make_single(scope, type, memory=make_memory(f"The cache {number} is rebuilt by hand.", scope=scope))


def draft(scope, number):
    sources = make_episodes(scope, entities=[f"topic {number}"])
    return make_candidate(scope, sources=sources, draft=f"Draft {number}.")


def in_order(rows):
    """The rows wait in the order they are given."""
    for place, row in enumerate(rows):
        field = "created_at" if isinstance(row, Candidate) else "opened_at"
        since = timezone.now() - timedelta(hours=len(rows) - place)
        type(row).objects.filter(pk=row.pk).update(**{field: since})
    return rows


@pytest.fixture
def three(scope):
    return in_order([pair(scope, 1, proposed=True), single(scope, 2), draft(scope, 3)])


def line(page, row):
    return page.locator(f"#entry-{row.pk}")


def shown(page, row):
    """The evidence of this row stands there, and may be acted on."""
    source = "draft" if isinstance(row, Candidate) else "dispute"
    expect(page.locator("#evidence")).to_have_attribute("data-item", f"{source}.{row.pk}")
    expect(page.locator("#evidence")).not_to_have_attribute("aria-busy", "true")


# One after another ---------------------------------------------------------------------------


PLAN = ["a", "d", "e", "s", "a", "d", "e", "a", "d", "s"]  # ten keys for each third of the items


def thirty(scope):
    pairs = [pair(scope, n, "supersedes" if n % 2 else "duplicate", proposed=True) for n in range(10)]
    types = ("challenged", "stale_suspect", "outdated", "code_changed")
    singles = [single(scope, n, types[n % 4]) for n in range(10)]
    drafts = [draft(scope, n) for n in range(10)]
    return [row for three in zip(pairs, singles, drafts, strict=True) for row in three]


def type_over(page, text):
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(text)
    form = page.locator("#evidence details[open] form:has(textarea)")
    button = form.locator("button").last
    for _ in range(4):
        page.keyboard.press("Tab")
        if button.evaluate("one => one === document.activeElement"):
            break
    page.keyboard.press("Enter")


def expected(row, number, key):
    """What becomes of the memories: of both sides, of the subject, or of the text that a draft wrote."""
    if isinstance(row, Candidate):
        return {"a": "approved", "e": "approved", "d": "dismissed", "s": "snoozed"}[key]
    if row.other is None:
        return {"a": ["invalidated"], "d": ["live"], "e": ["superseded"], "s": ["live"]}[key]
    gone = "invalidated" if row.type == "duplicate" else "superseded"
    return {"a": [gone, "live"], "d": ["live", "live"], "e": ["superseded", "superseded"], "s": ["live", "live"]}[key]


def became(row):
    if isinstance(row, Candidate):
        row.refresh_from_db()
        return row.state
    return states(*row.sides)


def test_thirty_mixed_items_are_cleared_by_keyboard_alone_and_the_corpus_is_what_was_decided(visit, owner, scope):
    rows = in_order(thirty(scope))
    page = visit(owner).open(INBOX)
    keys = [PLAN[number // 3] for number in range(30)]
    for number, (row, key) in enumerate(zip(rows, keys, strict=True)):
        shown(page, row)
        page.keyboard.press(key)
        if key == "e":
            type_over(page, f"Typed {number}.")
        expect(line(page, row)).to_have_count(0)
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    expect(page.locator("#main")).to_be_focused()
    wanted = [expected(row, number // 3, key) for number, (row, key) in enumerate(zip(rows, keys, strict=True))]
    assert [became(row) for row in rows] == wanted

    last_approved = rows[-1]
    assert became(last_approved) == "snoozed"
    page.keyboard.press("u")
    shown(page, last_approved)
    wanted[-1] = "pending"
    assert [became(row) for row in rows] == wanted
    typed = sorted(Memory.objects.live().filter(content__startswith="Typed ").values_list("content", flat=True))
    assert typed == sorted(f"Typed {number}." for number, key in enumerate(keys) if key == "e")
    written = Memory.objects.live().filter(content__startswith="Draft ").values_list("content", flat=True)
    assert sorted(written) == [f"Draft {number}." for number, key in enumerate(PLAN) if key == "a"]


def test_after_a_decision_the_next_line_has_the_focus_and_its_evidence_stands_beside_it(visit, owner, three):
    page = visit(owner).open(INBOX)
    shown(page, three[0])
    page.keyboard.press("a")
    expect(line(page, three[1])).to_be_focused()
    shown(page, three[1])
    expect(page.locator("#status")).to_have_text("2 items wait for you")
    expect(page.locator("#toasts")).to_contain_text("Forgot one; it can be restored.")
    expect(page.locator("#rail .count")).to_have_text("2 waiting")


def test_j_and_k_walk_the_lines_and_the_evidence_follows(visit, owner, three):
    page = visit(owner).open(INBOX)
    page.keyboard.press("j")
    shown(page, three[1])
    page.keyboard.press("j")
    shown(page, three[2])
    page.keyboard.press("k")
    shown(page, three[1])
    page.keyboard.press("d")
    expect(line(page, three[1])).to_have_count(0)
    shown(page, three[2])
    assert became(three[1]) == ["live"]


def test_whoever_walks_fast_gets_the_evidence_of_the_last_line(visit, owner, scope):
    rows = in_order([single(scope, number) for number in range(9)])
    page = visit(owner).open(INBOX)
    for _ in range(8):
        page.keyboard.press("j")
    shown(page, rows[8])
    expect(line(page, rows[8])).to_have_attribute("aria-current", "true")


def test_no_key_acts_on_evidence_that_is_not_on_the_screen_yet(visit, owner, three):
    page = visit(owner).open(INBOX)
    held = []
    page.route(re.compile("item=dispute"), lambda route: held.append(route))
    shown(page, three[0])
    page.keyboard.press("j")
    expect(page.locator("#evidence")).to_have_attribute("aria-busy", "true")
    page.keyboard.press("a")
    page.keyboard.press("d")
    page.wait_for_timeout(200)
    held[0].continue_()
    shown(page, three[1])
    assert not Dispute.objects.exclude(status="pending").exists()


def test_no_key_acts_while_somebody_types_or_holds_a_modifier(visit, owner, three):
    page = visit(owner).open(INBOX)
    page.keyboard.press("Control+a")
    page.keyboard.press("Alt+d")
    page.keyboard.press("e")
    expect(page.get_by_label("What both become")).to_be_focused()
    page.keyboard.type("a sad jukebox")
    expect(page.get_by_label("What both become")).to_have_value(re.compile("a sad jukebox"))
    page.wait_for_timeout(200)
    assert not Dispute.objects.exclude(status="pending").exists()


def test_the_help_lists_the_keys_with_what_they_do_here(visit, owner, three):
    page = visit(owner).open(INBOX)
    page.keyboard.press("?")
    text = page.locator("#key-help").inner_text()
    for words in ("Forget the older one; it can be restored", "Keep both as they are", "Select the row", "Next row"):
        assert words in text


def test_undo_within_thirty_seconds_is_one_key_away(visit, owner, three):
    page = visit(owner).open(INBOX)
    page.keyboard.press("a")
    expect(line(page, three[0])).to_have_count(0)
    page.keyboard.press("u")
    shown(page, three[0])
    expect(line(page, three[0])).to_be_visible()
    assert became(three[0]) == ["live", "live"]


def test_more_lines_come_by_themselves_towards_the_end(visit, owner, scope):
    rows = in_order([single(scope, number) for number in range(54)])
    page = visit(owner).open(INBOX)
    expect(page.locator(".entry")).to_have_count(50)
    line(page, rows[47]).get_by_role("link").focus()
    expect(page.locator(".entry")).to_have_count(54)
    expect(line(page, rows[47])).to_have_attribute("data-current", "")


def test_whoever_walks_on_towards_the_end_asks_for_the_next_lines_once(visit, owner, scope):
    rows = in_order([single(scope, number) for number in range(54)])
    page = visit(owner).open(INBOX)
    expect(page.locator(".entry")).to_have_count(50)
    held = []
    page.evaluate("window.asked = 0")
    page.locator("#load-more a").evaluate("more => more.addEventListener('click', () => { window.asked += 1 })")
    page.route(lambda url: "after=" in url, lambda route: held.append(route))
    for row in rows[46:50]:
        line(page, row).get_by_role("link").focus()
        shown(page, row)
    assert (page.evaluate("window.asked"), len(held)) == (1, 1)
    held[0].continue_()
    expect(page.locator(".entry")).to_have_count(54)


# Many, and two people ------------------------------------------------------------------------


def test_lines_are_selected_with_x_counted_done_and_undone(visit, owner, scope):
    rows = in_order([pair(scope, number) for number in range(3)])
    page = visit(owner).open(INBOX)
    expect(page.locator("#bulk")).to_be_hidden()
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("#bulk")).to_contain_text("2 selected")
    expect(page.locator("#bulk")).to_be_in_viewport()
    page.keyboard.press("b")
    expect(page.locator("main")).to_contain_text("Would keep both of 2 pairs.")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", level=1)).to_have_text("Done")
    assert [Dispute.objects.get(pk=row.pk).status for row in rows] == ["resolved", "resolved", "pending"]
    page.get_by_role("button", name="Undo these 2 decisions").click()
    page.get_by_text("Took back the decision about 2 items").wait_for()
    assert not Dispute.objects.exclude(status="pending").exists()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "phone"])
def test_the_question_about_many_names_them_and_unfolds_the_rest(visit, owner, scope, size):
    in_order([pair(scope, number) for number in range(12)] + [single(scope, 12)])
    window = visit(owner, size=size)
    page = window.open(INBOX)
    page.get_by_label("select all 13").check()
    page.get_by_role("button", name="Count what it would do").click()
    expect(page.get_by_role("link", name="Port 9 is for the admin API.")).to_be_visible()
    expect(page.get_by_role("link", name="Port 11 is for the admin API.")).to_be_hidden()
    page.get_by_text("And 2 more").click()
    page.get_by_text("Skipped: 1 of another sort").click()
    expect(page.get_by_role("link", name="Port 11 is for the admin API.")).to_be_visible()
    expect(page.get_by_role("link", name="The cache 12 is rebuilt by hand.")).to_be_visible()
    window.assert_accessible()
    window.assert_no_sideways_scroll()


def test_all_under_a_filter_are_selected_at_once(visit, owner, three):
    window = visit(owner)
    page = window.open(f"{INBOX}?type=duplicate")
    page.get_by_label("select all 1 with this filter").check()
    expect(page.locator("#bulk")).to_contain_text("All 1 selected")
    page.get_by_label("What to do").select_option("newer")
    page.get_by_role("button", name="Count what it would do").click()
    expect(page.locator("main")).to_contain_text("Would keep the newer of 1 pair.")
    window.assert_accessible()
    window.assert_no_sideways_scroll()


def test_the_second_of_two_people_is_told_beside_the_item_as_it_is_now(visit, owner, three):
    window = visit(owner)
    page = window.open(INBOX)
    resolve(actor=person(owner), dispute=three[0], version=1, resolution="keep_both")
    page.keyboard.press("a")
    expect(page.locator("#evidence [role=alert]")).to_contain_text("owner kept both memories on")
    expect(line(page, three[0])).to_have_count(0)
    expect(page.get_by_role("button", name="Undo this decision and ask again")).to_be_visible()
    assert became(three[0]) == ["live", "live"]
    # Chromium itself writes a line about every answer of 409.
    window.complaints = [complaint for complaint in window.complaints if "409" not in complaint]


# Without scripts, and for everybody ----------------------------------------------------------


def test_without_javascript_it_is_worked_through_with_plain_forms(visit, owner, three):
    page = visit(owner, java_script_enabled=False).open(INBOX)
    page.get_by_role("button", name="Forget the older one; it can be restored").click()
    expect(page.locator(".toast")).to_contain_text("Forgot one; it can be restored.")
    shown(page, three[1])
    page.locator(".toast").get_by_role("button", name="Undo").click()
    shown(page, three[0])
    page.get_by_text("Merge into a text you type").click()
    page.get_by_label("What both become").fill("Typed without scripts.")
    page.get_by_role("button", name="Write this text").click()
    shown(page, three[1])
    line(page, three[2]).get_by_role("link").click()
    shown(page, three[2])
    page.get_by_role("checkbox", name="Select: Draft").check()
    page.get_by_label("What to do").select_option("dismiss")
    page.get_by_role("button", name="Count what it would do").click()
    page.get_by_role("button", name="Dismiss 1 draft").click()
    assert became(three[2]) == "dismissed"
    assert Memory.objects.live().filter(content="Typed without scripts.").exists()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("place", [0, 1, 2], ids=["pair", "single", "draft"])
def test_every_kind_of_evidence_is_accessible_and_fits_with_everything_open(visit, owner, three, size, place):
    source = "draft" if isinstance(three[place], Candidate) else "dispute"
    window = visit(owner, size=size)
    page = window.open(f"{INBOX}?item={source}.{three[place].pk}")
    page.keyboard.press("x")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    window.assert_accessible()
    window.assert_no_sideways_scroll()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_empty_inbox_and_the_decided_tab_are_accessible_and_fit(visit, owner, scope, size):
    window = visit(owner, size=size)
    window.open(INBOX)
    window.assert_accessible()
    window.assert_no_sideways_scroll()
    resolve(actor=person(owner), dispute=pair(scope, 1), version=1, resolution="keep_both", reason="Two services.")
    window.open(f"{INBOX}?state=decided")
    window.assert_accessible()
    window.assert_no_sideways_scroll()


def test_a_long_word_does_not_widen_a_phone(visit, owner, scope):
    queued(make_memory("x" * 3000, scope=scope, age_days=1), make_memory("x" * 2990 + "y", scope=scope))
    Dispute.objects.update(rationale="z" * 900, evidence="w" * 900)
    window = visit(owner, size=NARROW)
    window.open(INBOX)
    window.assert_no_sideways_scroll()


def test_on_a_phone_a_tap_leads_to_the_evidence_and_a_link_back(visit, owner, scope):
    rows = in_order([single(scope, number) for number in range(8)])
    page = visit(owner, size=NARROW).open(INBOX)
    line(page, rows[1]).get_by_role("link").click()
    shown(page, rows[1])
    expect(page.locator("#evidence .evidence-question")).to_be_in_viewport()
    page.get_by_role("link", name="Back to the list").click()
    expect(line(page, rows[1])).to_be_in_viewport()
