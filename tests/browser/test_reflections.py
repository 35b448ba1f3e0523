import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memories.embedding_queue import embed_waiting
from memories.models import Memory
from memories.services import remember
from reflections.models import Candidate, Run
from reflections.services import dismiss
from tests.browser.conftest import NARROW, WIDE
from tests.factories import make_scope
from tests.reflections.factories import make_candidate, make_episodes, make_failed_cluster, person

QUEUE = "/reflections/"


@pytest.fixture
def drafts(owner, scope):
    """Three waiting drafts, oldest first."""
    make_scope(owner, slug="notes")
    return [
        make_candidate(scope, sources=make_episodes(scope, entities=[f"topic {number}"]), draft=f"Draft {number}.")
        for number in range(3)
    ]


def row(page, candidate):
    return page.locator(f"#draft-{candidate.pk}")


def state_of(candidate) -> str:
    candidate.refresh_from_db()
    return candidate.state


def test_a_queue_is_worked_through_with_the_keyboard_alone(visit, owner, drafts):
    page = visit(owner).open(QUEUE)
    page.keyboard.press("j")
    expect(row(page, drafts[0])).to_be_focused()
    page.keyboard.press("a")
    expect(row(page, drafts[0])).to_have_count(0)
    expect(row(page, drafts[1])).to_be_focused()
    page.keyboard.press("d")
    expect(row(page, drafts[2])).to_be_focused()
    page.keyboard.press("s")
    expect(page.locator("#main")).to_be_focused()
    expect(page.get_by_role("heading", name="No draft waits for you")).to_be_visible()
    assert [state_of(draft) for draft in drafts] == ["approved", "dismissed", "snoozed"]
    assert Memory.objects.get(kind="fact").content == "Draft 0."


def test_the_counts_everywhere_follow_a_decision_and_are_spoken(visit, owner, drafts):
    page = visit(owner).open(QUEUE)
    page.keyboard.press("j")
    page.keyboard.press("d")
    expect(page.locator("#status")).to_have_text("2 drafts wait for you")
    expect(page.get_by_role("navigation", name="State of the drafts")).to_have_text(
        re.compile(r"Waiting 2\s*Snoozed 0\s*Approved 0\s*Dismissed 1")
    )
    expect(page.locator("#rail .count")).to_have_text("2 waiting")
    expect(page.get_by_role("group", name="Scope")).to_contain_text("home 2")


def test_undo_is_one_key_away_and_takes_back_the_last_act(visit, owner, drafts):
    page = visit(owner).open(QUEUE)
    page.keyboard.press("j")
    page.keyboard.press("d")
    expect(row(page, drafts[1])).to_be_focused()
    page.keyboard.press("a")
    expect(row(page, drafts[2])).to_be_focused()
    page.keyboard.press("u")
    expect(row(page, drafts[1])).to_be_visible()
    assert [state_of(draft) for draft in drafts] == ["dismissed", "pending", "pending"]
    assert not Memory.objects.live().filter(kind="fact").exists()


def test_a_draft_is_edited_then_approved_with_the_keyboard(visit, owner, drafts):
    page = visit(owner).open(QUEUE)
    page.keyboard.press("j")
    page.keyboard.press("e")
    field = row(page, drafts[0]).get_by_label("What is stored")
    expect(field).to_be_focused()
    field.fill("Better words.")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(row(page, drafts[0])).to_have_count(0)
    assert Memory.objects.get(kind="fact").content == "Better words."


def test_beside_an_open_editor_nothing_approves_the_draft_as_it_was(visit, owner, drafts):
    page = visit(owner).open(QUEUE)
    page.keyboard.press("j")
    as_drafted = row(page, drafts[0]).get_by_role("button", name="Approve and write 1 memory")
    expect(as_drafted).to_be_visible()
    page.keyboard.press("e")
    expect(as_drafted).to_be_hidden()
    expect(row(page, drafts[0]).get_by_role("button", name="Approve this text")).to_be_visible()
    assert state_of(drafts[0]) == "pending"


def test_an_emptied_edit_is_refused_in_place(visit, owner, drafts):
    page = visit(owner, size=WIDE).open(QUEUE)
    page.keyboard.press("j")
    page.keyboard.press("m")
    reason = row(page, drafts[0]).get_by_label("Reason")
    expect(reason).to_be_focused()
    reason.fill("says nothing new")
    page.keyboard.press("Enter")
    expect(row(page, drafts[0])).to_have_count(0)
    drafts[0].refresh_from_db()
    assert (drafts[0].state, drafts[0].reason) == ("dismissed", "says nothing new")


def test_the_second_of_two_people_is_told_in_the_row_itself(visit, owner, drafts):
    window = visit(owner)
    page = window.open(QUEUE)
    dismiss(actor=person(owner), candidate=drafts[0], version=1)
    page.keyboard.press("j")
    page.keyboard.press("a")
    expect(row(page, drafts[0])).to_contain_text("owner dismissed this draft on")
    expect(page.locator("#status")).to_have_text("2 drafts wait for you")
    assert not Memory.objects.filter(kind="fact").exists()
    # Chromium itself writes a line about every answer of 409.
    window.complaints = [line for line in window.complaints if "409" not in line]


def test_a_search_is_followed_until_it_ends_and_fills_an_empty_queue(visit, owner, scope):
    page = visit(owner).open(QUEUE)
    page.get_by_role("button", name="Find clusters now").click()
    expect(page.locator("#progress")).to_contain_text("about to start")
    candidate = make_candidate(scope)
    Run.objects.update(state="done", finished_at=timezone.now(), episodes_seen=3, candidates_made=1)
    expect(page.locator("#progress")).to_contain_text("Found 1 new draft in 3 episodes.")
    expect(row(page, candidate)).to_be_visible()


def test_more_drafts_are_added_below_those_at_hand(visit, owner, scope):
    for number in range(12):
        make_candidate(scope, sources=make_episodes(scope, entities=[f"topic {number}"]), draft=f"Draft {number}.")
    page = visit(owner).open(QUEUE)
    expect(page.locator("[data-row]")).to_have_count(10)
    page.get_by_role("link", name="Show more").click()
    expect(page.locator("[data-row]")).to_have_count(12)
    expect(page.get_by_role("link", name="Show more")).to_have_count(0)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_queue_is_accessible_and_fits_with_everything_open(visit, owner, drafts, size):
    window = visit(owner, size=size)
    page = window.open(QUEUE)
    for summary in page.locator("[data-row] details > summary").all():
        summary.click()
    window.assert_accessible()
    window.assert_no_sideways_scroll()


@pytest.fixture
def distilled(owner, scope):
    """A draft by a model with a sentence that no source says and a letter in disguise, beside one that is stored."""
    remember(actor=person(owner), scope=scope, content="The cache is rebuilt after every incident.")
    embed_waiting()
    sources = make_episodes(scope, entities=["cache"])
    told = {"text": "The cache is rebuilt after every incident.", "sources": [str(source.pk) for source in sources]}
    make_failed_cluster(scope, make_episodes(scope, entities=["queue"]), reason="It wrote prose.", raw="x" * 400)
    return make_candidate(
        scope,
        sources=sources,
        draft=f"{told['text']} Nobody kn\u043ews why.",
        sentences=[told],
        origin="openai:some-model",
        confidence=0.83,
    )


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_draft_by_a_model_and_a_parked_cluster_are_accessible_and_fit(visit, owner, distilled, size):
    window = visit(owner, size=size)
    page = window.open(QUEUE)
    row(page, distilled).scroll_into_view_if_needed()
    expect(row(page, distilled).locator(".similar")).to_contain_text("similarity")
    for summary in page.locator("main details > summary").all():
        if summary.locator("xpath=..").get_attribute("open") is None:
            summary.click()
    window.assert_accessible()
    window.assert_no_sideways_scroll()


def test_a_support_mark_leads_to_the_source_that_says_it(visit, owner, distilled):
    page = visit(owner).open(QUEUE)
    row(page, distilled).get_by_role("link", name="said by source 2").click()
    expect(page.locator(f"#draft-{distilled.pk}-source-2")).to_be_in_viewport()


@pytest.mark.behaviour("F1")
def test_a_parked_cluster_is_tried_again_with_one_press(visit, owner, distilled):
    page = visit(owner).open(QUEUE)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".toast")).to_contain_text("The model is asked again")
    expect(page.get_by_role("heading", name="could not be drafted")).to_have_count(0)


@pytest.mark.parametrize("tab", ["snoozed", "approved", "dismissed"])
def test_the_shelves_are_accessible_and_fit(visit, owner, scope, drafts, tab):
    from reflections.services import approve, snooze

    approve(actor=person(owner), candidate=drafts[0], version=1)
    dismiss(actor=person(owner), candidate=drafts[1], version=1, reason="thin")
    snooze(actor=person(owner), candidate=drafts[2], version=1)
    window = visit(owner, size=NARROW)
    window.open(f"{QUEUE}?state={tab}")
    window.assert_accessible()
    window.assert_no_sideways_scroll()


def test_the_empty_queue_and_a_single_draft_are_accessible(visit, owner, scope):
    window = visit(owner)
    window.open(QUEUE)
    window.assert_accessible()
    candidate = make_candidate(scope)
    window.open(f"{QUEUE}{candidate.pk}/")
    window.assert_accessible()


def test_a_long_word_and_a_long_source_do_not_widen_a_phone(visit, owner, scope):
    sources = make_episodes(scope, entities=["e" * 250])
    Memory.objects.filter(pk=sources[0].pk).update(content="x" * 3000)
    make_candidate(scope, sources=sources, draft="y" * 800)
    window = visit(owner, size=NARROW)
    window.open(QUEUE)
    window.assert_no_sideways_scroll()


def test_without_javascript_the_queue_is_worked_through_with_plain_forms(visit, owner, drafts):
    page = visit(owner, java_script_enabled=False).open(QUEUE)
    row(page, drafts[0]).get_by_role("button", name="Approve and write 1 memory").click()
    expect(page.locator(".toast")).to_contain_text("Approved. Wrote 1 memory with 3 links to its sources.")
    expect(row(page, drafts[0])).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(row(page, drafts[0])).to_be_visible()
    row(page, drafts[0]).get_by_text("Edit, then approve").click()
    row(page, drafts[0]).get_by_label("What is stored").fill("Typed without scripts.")
    row(page, drafts[0]).get_by_role("button", name="Approve this text and write 1 memory").click()
    expect(page.locator(".toast")).to_contain_text("Approved.")
    assert Memory.objects.live().get(kind="fact").content == "Typed without scripts."
    assert Candidate.objects.pending().count() == 2
