"""Many items in one act: counted first, done after, undone as one."""

import pytest

from memories.models import Memory
from reflections.inbox.bulk import act_on
from reflections.inbox.listing import listing_of
from reflections.inbox.registry import Item
from reflections.models import Candidate, Dispute
from reflections.services.disputes import resolve
from tests.factories import make_member, make_memory, make_scope
from tests.memories.pages import Html, text_of
from tests.reflections.disputing import make_single, queued, states
from tests.reflections.factories import make_candidate, make_episodes, person

pytestmark = pytest.mark.django_db
BULK = "/inbox/bulk/"


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def pair(scope, **overrides):
    return queued(make_memory(scope=scope, age_days=2), make_memory(scope=scope, age_days=1), **overrides)


def name(row):
    source = "draft" if isinstance(row, Candidate) else "dispute"
    return f"{source}.{row.pk}.{row.version}"


def counted(client, verb, *rows, query="", **sent):
    return client.post(BULK + query, {"verb": verb, "item": [name(row) for row in rows]} | sent)


def confirmed(client, response):
    html = Html(response)
    return client.post(BULK, {"verb": html.field("verb"), "items": html.field("items")}, follow=True)


def statuses():
    return dict(Dispute.objects.values_list("pk", "status"))


@pytest.mark.behaviour("F48")
def test_a_selection_is_counted_before_anything_is_done(mine, scope):
    rows = [pair(scope) for _ in range(12)] + [make_single(scope) for _ in range(3)]
    response = counted(mine, "keep_both", *rows)
    assert "Would keep both of 12 pairs; 3 items are skipped" in text_of(response)
    assert set(statuses().values()) == {"pending"}
    response = confirmed(mine, response)
    assert "Kept both of 12 pairs; 3 items are skipped" in text_of(response)
    assert sorted(statuses().values()) == ["pending"] * 3 + ["resolved"] * 12


def about(text, scope, **overrides):
    older = make_memory(scope=scope, age_days=2, **overrides)
    return queued(older, make_memory(text, scope=scope, age_days=1, **overrides))


def test_the_question_names_every_item_it_is_about_and_those_it_skips(mine, scope):
    rows = [about(f"Valve {n} sticks.", scope, kind="gotcha") for n in range(12)]
    skipped = make_single(scope, memory=make_memory("The pump hums.", scope=scope))
    response = counted(mine, "keep_both", *rows, skipped)
    text = text_of(response)
    assert "The first 10 of them" in text
    assert "And 2 more" in text
    assert text.index("Valve 9 sticks.") < text.index("And 2 more") < text.index("Valve 10 sticks.")
    assert all(f"Valve {n} sticks." in text for n in range(12))
    assert text.index("Skipped: 1 of another sort") < text.index("The pump hums.")
    assert "gotcha" in text
    assert f"item=dispute.{rows[11].pk}" in response.text


def test_one_item_is_named_without_a_fold(mine, scope):
    row = about("The valve sticks.", scope)
    text = text_of(counted(mine, "keep_both", row))
    assert "The valve sticks." in text
    assert "more" not in text.partition("This one")[2].partition("The valve sticks.")[2]


def test_what_cannot_be_done_is_named_with_the_reason(client_of, scope):
    row = about("The valve sticks.", scope)
    text = text_of(counted(client_of(make_member(scope)), "keep_both", row))
    assert "The valve sticks. You may read this scope" in text


def test_items_of_another_person_are_not_named(mine):
    foreign = make_scope()
    row = about("The vault code is changed.", foreign)
    assert "vault" not in text_of(counted(mine, "keep_both", row))


def test_naming_more_items_asks_the_database_no_more_often(mine, scope, django_assert_num_queries):
    few, many = [pair(scope) for _ in range(2)], [pair(scope) for _ in range(12)]
    listing = listing_of(person(scope.owner), {})
    with django_assert_num_queries(1):
        assert len(listing.named([Item("dispute", row.pk) for row in few])) == 2
    with django_assert_num_queries(1):
        assert len(listing.named([Item("dispute", row.pk) for row in many])) == 12


@pytest.mark.behaviour("F48")
def test_everything_under_a_filter_is_selected_across_pages(mine, scope):
    rows = [pair(scope) for _ in range(60)]
    queued(make_memory(scope=scope, kind="task"), make_memory(scope=scope, kind="task"))
    response = counted(mine, "keep_both", query="?kind=fact", all="1")
    assert "Would keep both of 60 pairs" in text_of(response)
    confirmed(mine, response)
    assert [status for row, status in statuses().items() if row in {row.pk for row in rows}] == ["resolved"] * 60
    assert Dispute.objects.get(subject__kind="task").status == "pending"


def test_more_than_one_act_may_hold_is_said_before_it_is_selected(mine, scope, monkeypatch):
    for module in ("listing", "views", "presentation"):
        monkeypatch.setattr(f"reflections.inbox.{module}.MOST_AT_ONCE", 2)
    rows = [pair(scope) for _ in range(3)]
    text = mine.get("/inbox/").text
    assert "select the first 2" in text
    assert "Tick lines below, or the first 2 of 3. One act holds 2." in text
    assert 'data-all="The first 2 of 3 selected"' in text
    asked = counted(mine, "keep_both", all="1")
    assert "One act holds 2 items: these are the first of 3" in text_of(asked)
    confirmed(mine, asked)
    assert [Dispute.objects.get(pk=row.pk).status for row in rows] == ["resolved", "resolved", "pending"]


@pytest.mark.behaviour("F48")
def test_the_whole_act_is_undone_in_one(mine, scope):
    rows = [pair(scope) for _ in range(3)]
    sides = [side for row in rows for side in row.sides]
    done = confirmed(mine, counted(mine, "newer", *rows))
    assert states(*sides) == ["invalidated", "live"] * 3
    undone = confirmed(mine, done)
    assert "Took back the decision about 3 items" in text_of(undone)
    assert states(*sides) == ["live"] * 6
    assert set(statuses().values()) == {"pending"}


@pytest.mark.behaviour("F48")
def test_loading_the_outcome_again_still_offers_undo_and_does_nothing_twice(mine, scope):
    rows = [pair(scope) for _ in range(3)]
    done = confirmed(mine, counted(mine, "newer", *rows))
    again = mine.get(done.redirect_chain[-1][0])
    assert text_of(again) == text_of(done)
    confirmed(mine, again)
    assert set(statuses().values()) == {"pending"}


def test_without_an_act_before_it_the_outcome_leads_to_the_inbox(mine):
    assert mine.get(BULK)["Location"] == "/inbox/"


@pytest.mark.behaviour("F48")
def test_a_second_stale_tab_gets_a_clear_message_for_each_item(mine, scope):
    rows = [pair(scope) for _ in range(2)]
    other = make_member(scope, "writer")
    stale = counted(mine, "keep_both", *rows)
    resolve(actor=person(other), dispute=rows[0], version=1, resolution="keep_both")
    response = confirmed(mine, stale)
    assert "Kept both of 1 pair; 1 item could not be done" in text_of(response)
    assert f"{other.username} kept both memories on" in text_of(response)
    assert f"item=dispute.{rows[0].pk}" in response.text


def test_what_was_selected_before_it_changed_fails_and_stops_nothing_else(mine, scope):
    stale, fresh = pair(scope), pair(scope)
    selected = counted(mine, "keep_both", stale, fresh)
    Dispute.objects.filter(pk=stale.pk).update(version=3)
    confirmed(mine, selected)
    assert statuses() == {stale.pk: "pending", fresh.pk: "resolved"}


def test_what_is_proposed_is_done_only_where_something_is(mine, scope):
    proposed, open_ended = pair(scope), pair(scope)
    Dispute.objects.filter(pk=proposed.pk).update(proposed_winner=proposed.other)
    confirmed(mine, counted(mine, "proposed", proposed, open_ended))
    assert statuses() == {proposed.pk: "resolved", open_ended.pk: "pending"}


def test_drafts_are_dismissed_and_put_off_together_with_the_rest(mine, scope):
    drafts = [make_candidate(scope, sources=make_episodes(scope)) for _ in range(2)]
    single = make_single(scope)
    assert "Would dismiss 2 drafts; 1 item is skipped" in text_of(counted(mine, "dismiss", *drafts, single))
    confirmed(mine, counted(mine, "dismiss", drafts[0]))
    confirmed(mine, counted(mine, "snooze", drafts[1], single))
    assert [Candidate.objects.get(pk=draft.pk).state for draft in drafts] == ["dismissed", "snoozed"]
    assert statuses() == {single.pk: "snoozed"}


def test_upholding_speaks_of_memories_in_doubt(mine, scope):
    rows = [make_single(scope), make_single(scope)]
    assert "Would uphold 2 doubted memories." in text_of(counted(mine, "uphold", *rows))


def test_no_dry_run_leaves_anything_behind(mine, scope):
    row, draft = pair(scope), make_candidate(scope)
    before = list(Memory.objects.order_by("pk").values())
    for verb in ("keep_both", "newer", "snooze", "dismiss"):
        counted(mine, verb, row, draft)
    assert list(Memory.objects.order_by("pk").values()) == before
    assert (statuses(), Candidate.objects.get().state) == ({row.pk: "pending"}, "pending")


def test_nothing_selected_leads_back_to_the_list(mine, scope):
    assert counted(mine, "keep_both").status_code == 302


@pytest.mark.parametrize("sent", [{"verb": "explode"}, {}], ids=["unknown", "none"])
def test_an_unknown_act_is_refused(mine, scope, sent):
    assert mine.post(BULK, sent | {"item": name(pair(scope))}).status_code == 400


def test_names_that_are_none_are_left_out(mine, scope):
    row = pair(scope)
    sent = ["dispute.x", "rumour.1", "draft", f"dispute.{row.pk}.x", f"dispute.{row.pk}.1"]
    response = mine.post(BULK, {"verb": "keep_both", "item": sent})
    assert "Would keep both of 1 pair." in text_of(response)


def test_nobody_decides_about_what_is_not_theirs(owner, scope, mine):
    foreign = make_scope()
    theirs = [pair(foreign), make_candidate(foreign, sources=make_episodes(foreign))]
    items = [Item("dispute", theirs[0].pk, 1), Item("draft", theirs[1].pk, 1)]
    for verb in ("keep_both", "dismiss", "snooze"):
        assert act_on(person(owner), items, verb, dry_run=False).done == []
    assert statuses() == {theirs[0].pk: "pending"}
    assert "Would keep both of 0 pairs" in text_of(counted(mine, "keep_both", theirs[0]))


def test_a_reader_settles_nothing(client_of, scope):
    row = pair(scope)
    reader = client_of(make_member(scope))
    response = counted(reader, "keep_both", row)
    assert "You may read this scope" in text_of(response)
    reader.post(BULK, {"verb": "keep_both", "items": name(row)})
    assert statuses() == {row.pk: "pending"}
