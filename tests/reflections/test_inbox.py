"""The list of everything that waits: what is in it, in which order, under which filters, and for whom."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories.models import AuditEntry, Memory
from memories.services import forget
from reflections.ladder import Relation, Verdict, decide
from reflections.models import Candidate, Dispute
from reflections.services.disputes import act_automatically, challenge, pair_of, resolve
from tests.factories import make_member, make_memory, make_scope
from tests.memories.pages import Html, text_of
from tests.queries import queries_of, recorded_queries
from tests.reflections.disputing import make_single, queued
from tests.reflections.factories import in_days, make_candidate, make_episodes, person

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def pair(scope, type="duplicate", *, days=0.0, kind="fact", **overrides):
    """A pending pair that has waited for so many days."""
    sides = [make_memory(scope=scope, kind=kind, age_days=age) for age in (2, 1)]
    return waited(queued(*sides, type=type, **overrides), days)


def waited(row, days):
    field = "created_at" if isinstance(row, Candidate) else "opened_at"
    type(row).objects.filter(pk=row.pk).update(**{field: timezone.now() - timedelta(days=days)})
    return row


def draft(scope, *, days=0.0, **overrides):
    return waited(make_candidate(scope, sources=make_episodes(scope), **overrides), days)


def page(client, query=""):
    return client.get(f"{reverse('inbox')}{query}")


def ids(response):
    return [row["item"].id for row in response.context["rows"]]


def option(response, group, label):
    (found,) = [one for one in response.context["filters"] if one["name"] == group]
    return next(choice for choice in found["options"] if choice["label"] == label)


# What is in it -------------------------------------------------------------------------------


def test_drafts_pairs_and_single_doubts_stand_in_one_list_the_oldest_first(mine, scope):
    rows = [pair(scope, days=1), draft(scope, days=3), waited(make_single(scope), 2)]
    assert ids(page(mine)) == [rows[1].pk, rows[2].pk, rows[0].pk]


def test_the_surest_come_first_where_that_is_asked_for_and_unknown_confidence_last(mine, scope):
    low, high = pair(scope, confidence=0.4, days=3), draft(scope, confidence=0.9, days=1)
    none = pair(scope, type="unjudged", days=5)
    assert ids(page(mine, "?order=confidence")) == [high.pk, low.pk, none.pk]


@pytest.mark.parametrize("type", ["challenged", "stale_suspect", "outdated", "code_changed"])
def test_every_doubt_about_one_memory_says_what_it_is_about(mine, scope, type):
    make_single(scope, type)
    response = page(mine)
    assert response.context["evidence"]["question"].endswith("?")
    assert response.context["rows"][0]["reason"]


def test_a_line_shows_type_kind_scope_confidence_and_why_it_is_here(mine, scope):
    pair(scope, "contradiction", kind="decision", confidence=0.62, rationale="The ports differ.")
    (line,) = Html(page(mine)).classed("entry")
    for word in ("Contradiction", "decision", "home", "0.62", "The ports differ."):
        assert word in line.text


def test_what_is_snoozed_comes_back_by_itself_on_its_day(mine, scope):
    later, due = pair(scope), pair(scope)
    for row, days in ((later, 3), (due, -1)):
        Dispute.objects.filter(pk=row.pk).update(
            status="snoozed", snoozed_until=in_days(days), decided_at=timezone.now(), decided_actor="owner"
        )
    assert ids(page(mine)) == [due.pk]
    assert ids(page(mine, "?state=snoozed")) == [later.pk]


def test_decided_items_stay_to_be_looked_at_the_last_one_first(mine, scope, owner):
    first, second = pair(scope), pair(scope)
    for row in (first, second):
        resolve(actor=person(owner), dispute=row, version=1, resolution="keep_both")
    response = page(mine, "?state=decided")
    assert ids(response) == [second.pk, first.pk]
    assert "Kept both · owner" in text_of(response)


def test_the_rail_counts_what_waits(mine, scope):
    pair(scope)
    draft(scope)
    assert page(mine).context["rail"]["waiting"] == 2


def test_an_empty_inbox_says_what_to_do_next(mine):
    text = page(mine).text
    assert "Nothing waits for you" in text
    assert f'href="{reverse("run_list")}"' in text


# Filters -------------------------------------------------------------------------------------


def test_each_filter_counts_under_the_others(mine, scope, owner):
    notes = make_scope(owner, slug="notes")
    pair(scope, kind="decision")
    pair(notes, kind="decision")
    pair(notes, "contradiction")
    response = page(mine, "?scope=notes")
    assert option(response, "Scope", "home")["count"] == 1
    assert option(response, "What", "Duplicate")["count"] == 1
    assert option(response, "Kind", "decision")["count"] == 1
    assert option(response, "Kind", "fact")["count"] == 1
    assert option(response, "What", "Draft")["count"] == 0
    assert [tab["count"] for tab in response.context["tabs"]] == [2, 0, None]
    assert 'class="filter-option is-empty"' in response.text


def test_what_is_decided_is_counted_on_its_own_tab_only(mine, scope, owner):
    resolve(actor=person(owner), dispute=pair(scope), version=1, resolution="keep_both")
    with CaptureQueriesContext(connection) as captured:
        waiting = page(mine)
    assert [tab["count"] for tab in waiting.context["tabs"]] == [0, 0, None]
    grouped = [query["sql"] for query in captured if "GROUP BY" in query["sql"] and "e_tab" in query["sql"]]
    assert grouped
    assert all(
        "WHERE" in sql and "'resolved'" not in sql.partition("WHERE")[2].partition("GROUP")[0] for sql in grouped
    )
    decided = page(mine, "?state=decided")
    assert [tab["count"] for tab in decided.context["tabs"]] == [0, 0, 1]
    assert decided.context["total"] == 1


def test_every_type_is_offered_and_counted_once_there_is_a_row(mine, scope):
    pair(scope)
    labels = [choice["label"] for choice in page(mine).context["filters"][0]["options"]]
    assert {"Ready to close", "Outdated", "Code changed"} <= set(labels)
    make_single(scope, "code_changed", memory=make_memory("The tide table of 2019.", scope=scope))
    assert option(page(mine), "What", "Code changed")["count"] == 1
    assert option(page(mine, "?type=code_changed"), "What", "Code changed")["selected"]


@pytest.mark.parametrize(
    ("query", "expected"), [("?type=draft", 1), ("?kind=gotcha", 1), ("?type=duplicate&kind=fact", 1)]
)
def test_a_filter_narrows_the_list(mine, scope, query, expected):
    draft(scope)
    pair(scope)
    pair(scope, kind="gotcha")
    assert len(ids(page(mine, query))) == expected


def test_a_row_of_a_pair_names_the_kind_of_the_text_in_it(mine, scope):
    row = pair(scope, kind="gotcha")
    Memory.objects.filter(pk=row.other_id).update(kind="task", content="The newer one.")
    (title,) = Html(page(mine, "?kind=task")).classed("entry-title")
    assert title.text == "The newer one."
    assert ids(page(mine, "?kind=gotcha")) == []


def test_a_list_that_filters_emptied_offers_to_drop_them(mine, scope):
    pair(scope)
    text = page(mine, "?kind=task").text
    assert "Nothing under these filters" in text
    assert f'href="{reverse("inbox")}">Show everything' in text


def test_what_cannot_be_read_in_an_address_filters_nothing(mine, scope):
    row = pair(scope)
    for query in ("?type=x", "?state=x", "?order=x", "?after=x", "?after=2~3", "?item=x", f"?after=nan~{row.pk}"):
        assert ids(page(mine, query)) == [row.pk], query


def test_filters_travel_with_every_link_of_the_page(mine, scope):
    pair(scope)
    html = Html(page(mine, "?type=duplicate&order=confidence"))
    (title,) = html.classed("entry-title")
    assert "type=duplicate" in title.attributes["href"]
    assert all("type=duplicate" in form.attributes["action"] for form in html.all("form", hx_target="#evidence"))


# Pages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["?", "?order=confidence", "?state=decided"])
def test_pages_follow_one_another_without_a_gap(mine, scope, owner, query):
    memory = make_memory(scope=scope)
    shared = timezone.now()
    decided = {"status": "dismissed", "resolution": "upheld", "decided_at": shared, "decided_actor": "owner"}
    Dispute.objects.bulk_create(
        Dispute(
            scope=scope, type="outdated", subject=make_memory(scope=scope), opened_at=shared, confidence=number % 3 / 3,
            opened_actor="world check", **(decided if query == "?state=decided" else {}),
        )
        for number in range(120)
    )  # fmt: skip
    assert memory.pk
    seen, address = [], f"{reverse('inbox')}{query}"
    while address:
        response = mine.get(address)
        seen += ids(response)
        address = response.context["next_url"]
    assert len(seen) == len(set(seen)) == 120


def fill(scope, count):
    for _ in range(count):
        pair(scope, "contradiction")
        draft(scope)


@pytest.mark.behaviour("F29")
def test_the_queries_of_the_inbox_do_not_grow_with_its_rows_and_are_as_recorded(mine, scope, owner):
    make_scope(owner)
    counts = []
    for more in (1, 9):
        fill(scope, more)
        page(mine)
        counts.append(queries_of(lambda: page(mine)))
    assert counts == [recorded_queries("inbox")] * 2


def test_a_thousand_items_are_a_page_like_any_other(mine, scope):
    memories = Memory.objects.bulk_create(
        Memory(scope=scope, content=f"Number {number}.", content_sha256=str(number)) for number in range(1000)
    )
    Dispute.objects.bulk_create(
        Dispute(scope=scope, type="outdated", subject=memory, opened_actor="world check") for memory in memories
    )
    response = page(mine)
    assert (len(response.context["rows"]), response.context["total"]) == (50, 1000)
    assert queries_of(lambda: page(mine)) <= recorded_queries("inbox")


# For whom ------------------------------------------------------------------------------------


def test_nobody_sees_what_waits_in_a_scope_that_is_not_theirs(client_of, scope):
    stranger = make_member(make_scope())
    theirs, drafted = pair(scope, rationale="zanzibar"), draft(scope, draft="zanzibar")
    response = page(client_of(stranger))
    assert ids(response) == []
    assert response.context["rail"]["waiting"] == 0
    for item in (f"dispute.{theirs.pk}", f"draft.{drafted.pk}"):
        assert page(client_of(stranger), f"?item={item}").status_code == 404
    act = reverse("inbox_act", args=["dispute", theirs.pk, "keep_both"])
    assert client_of(stranger).post(act, {"version": 1}).status_code == 404


def test_a_reader_sees_the_evidence_and_no_button(client_of, scope):
    row = pair(scope, rationale="The ports differ.")
    response = page(client_of(make_member(scope)))
    assert "The ports differ." in response.text
    assert "its writers decide" in response.text
    assert not Html(response).all("form", hx_target="#evidence")
    assert not Html(response).all("input", name="item")
    act = reverse("inbox_act", args=["dispute", row.pk, "keep_both"])
    assert client_of(make_member(scope)).post(act, {"version": 1}).status_code == 403


# The evidence --------------------------------------------------------------------------------


def test_both_memories_stand_side_by_side_with_what_differs_marked(mine, scope):
    old = make_memory("The API listens on port 8080.", scope=scope, age_days=2, agent="claude")
    new = make_memory("The API listens on port 9090.", scope=scope, age_days=1)
    queued(old, new, type="contradiction", confidence=0.91, model="openai:gpt-x", rationale="The ports differ.")
    html = Html(page(mine))
    assert [element.text for element in html.all("del")][:1] == ["8080"]
    assert [element.text for element in html.all("ins")][:1] == ["9090"]
    (evidence,) = html.all("section", id="evidence")
    for words in ("pair scan, with the model openai:gpt-x", "0.91", "The ports differ.", "claude", "Older", "Newer"):
        assert words in evidence.text


def test_no_form_is_filled_with_a_long_text(mine, scope):
    long = make_memory("A very long story. " * 2000, scope=scope, age_days=2)
    row = queued(long, make_memory("Its short end.", scope=scope))
    shown = page(mine, f"?item=dispute.{row.pk}")
    (merge,) = Html(shown).all("textarea", name="text")
    assert merge.text.strip() == ""
    assert "too long to start a merge from" in shown.text
    assert len(shown.text) < 60_000

    single = make_single(scope, memory=long)
    shown = page(mine, f"?item=dispute.{single.pk}")
    assert not Html(shown).all("textarea", name="text")
    assert reverse("memory_edit", args=[long.pk]) in shown.text


def test_a_form_is_filled_with_what_fits(mine, scope):
    row = make_single(scope, memory=make_memory("x" * 20_000, scope=scope))
    (correct,) = Html(page(mine, f"?item=dispute.{row.pk}")).all("textarea", name="text")
    assert correct.text.strip() == "x" * 20_000


def test_texts_that_share_too_little_are_not_marked(mine, scope):
    queued(make_memory("Cats sleep.", scope=scope, age_days=1), make_memory("Rotate all keys weekly!", scope=scope))
    response = page(mine)
    assert "share too little" in response.text
    assert not Html(response).all("ins")


def test_a_draft_shows_its_sources_and_which_of_them_says_each_sentence(mine, scope):
    row = draft(scope)
    html = Html(page(mine))
    assert len(html.classed("source")) == 3
    assert [support.attributes["href"] for support in html.classed("support")] == [f"#draft-{row.pk}-source-3"]


def test_the_proposed_way_is_the_primary_act_and_says_what_it_does(mine, scope):
    row = pair(scope)
    Dispute.objects.update(proposed_winner=row.other)
    (button,) = Html(page(mine)).all("button", data_key="a")
    assert "Forget the older one; it can be restored" in button.text
    assert "primary" in button.attributes["class"]


def test_stored_text_is_inert_and_what_cannot_be_seen_is_marked(mine, scope):
    old = make_memory("pay\u200bpal <script>alert(1)</script>", scope=scope, age_days=1)
    queued(old, make_memory("paypal", scope=scope), rationale="<b>\u202ebold", evidence="<i>\u2066")
    text = page(mine).text
    for mark in ("U+200B", "U+202E", "U+2066"):
        assert mark in text
    assert "<script>alert" not in text
    assert "<b>\u202e" not in text


def test_under_htmx_the_evidence_comes_alone(mine, scope):
    row = pair(scope)
    text = mine.get(f"{reverse('inbox')}?item=dispute.{row.pk}", headers=HTMX).text
    assert 'id="evidence"' in text
    assert "<main" not in text


# On the page of a memory ---------------------------------------------------------------------


def test_a_memory_in_doubt_links_to_its_dispute(mine, scope, owner):
    memory = make_memory(scope=scope)
    dispute, _ = challenge(actor=person(owner), memory=memory)
    text = mine.get(reverse("memory_detail", args=[memory.pk])).text
    assert f"{reverse('inbox')}?item=dispute.{dispute.pk}" in text


@pytest.mark.behaviour("Z52")
@pytest.mark.parametrize(
    ("relation", "words", "model"),
    [
        ("duplicate", "Forgotten", "openai:gpt-x"),
        ("b_supersedes_a", "Replaced by a newer version", "openai:gpt-x"),
        ("duplicate", "Forgotten", ""),
    ],
)
def test_what_was_done_to_a_memory_automatically_names_scanner_and_model_on_its_page(
    mine, scope, relation, words, model
):
    old, new = make_memory(scope=scope, age_days=2), make_memory(scope=scope, age_days=1)
    decision = decide(pair_of(old, new), Verdict(Relation(relation), 0.99))
    dispute = act_automatically(one=old, another=new, decision=decision, scanner="pair scan", model=model)
    response = mine.get(reverse("memory_detail", args=[old.pk]))
    text = text_of(response)
    assert words in text.partition("Done automatically")[2]
    assert f"Scanner: pair scan. Model: {model or 'none'}." in text
    assert f"{reverse('inbox')}?item=dispute.{dispute.pk}" in response.text
    entry = AuditEntry.objects.get(object_id=str(old.pk))
    assert (entry.user, entry.detail["scanner"], entry.detail["model"]) == (None, "pair scan", model)


def test_what_a_person_did_is_not_said_to_be_automatic(mine, scope, owner):
    memory = make_memory(scope=scope)
    forget(actor=person(owner), memory=memory)
    assert "Done automatically" not in mine.get(reverse("memory_detail", args=[memory.pk])).text


def test_a_memory_is_challenged_from_its_own_page(mine, scope):
    memory = make_memory(scope=scope)
    said = {"reason": "It misled me.", "evidence": "The port is closed."}
    response = mine.post(reverse("memory_challenge", args=[memory.pk]), said, follow=True)
    assert "Challenged. It waits in the inbox." in response.text
    row = Dispute.objects.get()
    assert (row.type, row.subject, row.rationale, row.evidence) == ("challenged", memory, *said.values())
    assert "before, and waits" in mine.post(reverse("memory_challenge", args=[memory.pk]), {}, follow=True).text


@pytest.mark.behaviour("Z39")
def test_a_secret_in_a_challenge_is_refused_on_the_page_and_not_echoed(mine, scope):
    memory, secret = make_memory(scope=scope), "ghp_" + "a1B2" * 9
    response = mine.post(reverse("memory_challenge", args=[memory.pk]), {"evidence": secret}, follow=True)
    assert secret not in response.text
    assert not Dispute.objects.exists()


def test_a_reader_does_not_challenge(client_of, scope):
    memory = make_memory(scope=scope)
    answer = client_of(make_member(scope)).post(reverse("memory_challenge", args=[memory.pk]), {})
    assert answer.status_code == 403
