import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memories.models import Memory
from reflections.models import Candidate, Run
from tests.factories import add_entity, make_member, make_memory, make_scope, make_user
from tests.memories.pages import Html
from tests.reflections.factories import in_days, make_candidate, make_episodes

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def act(mine, candidate, action, *, version=1, query="", headers=None, **sent):
    url = reverse(f"reflection_{action}", args=[candidate.pk]) + query
    return mine.post(url, {"version": version, **sent}, headers=headers, follow=not headers)


def page(mine, query=""):
    return mine.get(reverse("reflection_list") + query)


def toast_of(response) -> str:
    return " ".join(str(message) for message in response.context["messages"])


# Without JavaScript --------------------------------------------------------------------------


def test_a_draft_stands_beside_its_dated_sources(mine, scope):
    candidate = make_candidate(scope)
    text = page(mine).text
    for source in candidate.episodes.all():
        assert source.content[:30] in text
        assert source.created_at.strftime("%Y") in text
    assert "The cache is rebuilt after every incident." in text
    assert "extractive" in text


def test_approving_is_a_plain_form(mine, scope):
    candidate = make_candidate(scope)
    response = act(mine, candidate, "approve")
    assert response.redirect_chain == [(reverse("reflection_list"), 302)]
    assert toast_of(response) == "Approved. Wrote 1 memory with 3 links to its sources."
    candidate.refresh_from_db()
    assert candidate.memory.content == candidate.draft


def test_the_text_of_the_edit_form_is_what_is_stored(mine, scope):
    candidate = make_candidate(scope)
    act(mine, candidate, "approve", content="Rebuild it.\r\nAlways.", kind="convention")
    memory = Memory.objects.get(kind="convention")
    assert memory.content == "Rebuild it.\nAlways."


def test_an_empty_edit_comes_back_with_a_word_beside_the_field(mine, scope):
    candidate = make_candidate(scope)
    response = act(mine, candidate, "approve", content="  ", kind="fact")
    assert response.status_code == 422
    assert "errorlist" in response.text
    candidate.refresh_from_db()
    assert candidate.state == "pending"


def test_what_was_typed_survives_a_refusal(mine, scope):
    candidate = make_candidate(scope)
    make_memory("Something known.", scope=scope)
    response = act(mine, candidate, "approve", content="My words stay.", kind="rumour")
    assert "My words stay." in response.text


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}], ids=["page", "fragment"])
def test_a_text_beyond_the_limit_comes_back_with_a_word_beside_the_field(mine, scope, headers):
    candidate, text = make_candidate(scope), "é" * 2_500_000
    response = act(mine, candidate, "approve", content=text, kind="fact", headers=headers)
    assert response.status_code == 422
    assert "larger than 4 MB" in response.text
    assert text in response.text
    candidate.refresh_from_db()
    assert candidate.state == "pending"


def test_the_edit_form_sends_a_text_as_it_is_so_that_its_encoding_does_not_exceed_what_a_request_may_hold(mine, scope):
    make_candidate(scope)
    (form,) = [form for form in Html(page(mine)).all("form") if "approve this text" in form.text.casefold()]
    assert form.attributes["enctype"] == form.attributes["hx-encoding"] == "multipart/form-data"


def test_a_request_beyond_every_limit_says_that_what_was_typed_is_still_there(mine, scope):
    candidate = make_candidate(scope)
    response = act(mine, candidate, "approve", content="x" * 9_000_000, kind="fact")
    assert response.status_code in (400, 413)
    assert "your browser still has what you typed" in response.text


def test_dismissing_takes_a_reason_or_none(mine, scope):
    first, second = make_candidate(scope), make_candidate(scope, sources=make_episodes(scope, entities=["b"]))
    act(mine, first, "dismiss")
    act(mine, second, "dismiss", reason="too thin")
    assert set(Candidate.objects.values_list("state", "reason")) == {("dismissed", ""), ("dismissed", "too thin")}


def test_the_snooze_button_names_the_day_it_will_be(mine, scope):
    candidate = make_candidate(scope)
    promised = re.search(r"Snooze until ([^<]+?) <kbd", page(mine).text).group(1)
    response = act(mine, candidate, "snooze")
    assert toast_of(response) == f"Snoozed until {promised}."


def test_a_draft_can_be_snoozed_to_a_day_of_choice(mine, owner, scope):
    owner.time_zone = "Asia/Tokyo"
    owner.save()
    candidate = make_candidate(scope)
    day = (timezone.now() + timedelta(days=40)).date()
    act(mine, candidate, "snooze", until=day.isoformat())
    candidate.refresh_from_db()
    assert candidate.snoozed_until.isoformat() == f"{day - timedelta(days=1)}T15:00:00+00:00"


@pytest.mark.parametrize("until", ["2001-01-01", "0001-01-01", "9999-12-31", "yesterday", "\x00"])
def test_an_impossible_day_is_refused_beside_its_field(mine, scope, until):
    candidate = make_candidate(scope)
    response = act(mine, candidate, "snooze", until=until)
    assert response.status_code == 422
    assert "errorlist" in response.text
    candidate.refresh_from_db()
    assert candidate.state == "pending"


@pytest.mark.parametrize("action", ["approve", "dismiss", "snooze"])
def test_each_decision_offers_undo_and_undo_works(mine, scope, action):
    candidate = make_candidate(scope)
    response = act(mine, candidate, action)
    undo_url = next(message.extra_tags for message in response.context["messages"])
    assert f'action="{undo_url}"' in response.text
    response = mine.post(undo_url, follow=True)
    assert toast_of(response).startswith("Undone.")
    assert Candidate.objects.pending().get() == candidate


def test_whoever_comes_second_is_told_and_sees_the_list_as_it_is(client_of, mine, scope):
    candidate = make_candidate(scope)
    second = client_of(make_member(scope, "writer"))
    act(mine, candidate, "dismiss")
    response = act(second, candidate, "approve")
    assert toast_of(response).startswith("owner dismissed this draft on ")
    assert response.context["rows"] == []


@pytest.mark.parametrize("version", ["", "0", "-1", "abc", "9" * 30, "²"])
def test_a_missing_or_odd_version_decides_nothing(mine, scope, version):
    candidate = make_candidate(scope)
    act(mine, candidate, "approve", version=version)
    candidate.refresh_from_db()
    assert candidate.state == "pending"


# With htmx -----------------------------------------------------------------------------------


def test_an_act_answers_with_what_changed_and_nothing_in_place_of_the_row(mine, scope):
    candidate = make_candidate(scope)
    make_candidate(scope, sources=make_episodes(scope, entities=["b"]))
    text = act(mine, candidate, "approve", headers=HTMX).text
    assert "data-row" not in text
    assert 'data-announce="1 draft waits for you"' in text
    for place in ("rail-count", "topbar-count"):
        assert re.search(rf'id="{place}" hx-swap-oob="true">.*class="count">1<', text)
    assert 'id="toasts"' in text
    assert reverse("reflection_undo", args=[candidate.pk]) in text


def test_the_last_draft_leaves_a_list_that_says_what_now(mine, scope):
    text = act(mine, make_candidate(scope), "dismiss", headers=HTMX).text
    assert 'id="queue-empty" hx-swap-oob="true"' in text
    assert "No draft waits for you" in text


def test_a_stale_act_answers_with_the_row_as_it_is_and_who_decided(mine, scope):
    candidate = make_candidate(scope)
    act(mine, candidate, "dismiss", headers=HTMX)
    response = act(mine, candidate, "approve", headers=HTMX)
    assert (response.status_code, response["X-Fragment"]) == (409, "1")
    assert "owner dismissed this draft on" in response.text
    assert f'id="draft-{candidate.pk}"' in response.text


def test_an_invalid_act_answers_with_the_row_and_its_errors(mine, scope):
    candidate = make_candidate(scope)
    response = act(mine, candidate, "approve", headers=HTMX, content="", kind="fact")
    assert (response.status_code, response["X-Fragment"]) == (422, "1")
    assert "<html" not in response.text
    assert "errorlist" in response.text


def test_the_list_is_a_fragment_for_htmx_and_a_page_for_history(mine, scope):
    make_candidate(scope)
    url = reverse("reflection_list")
    assert "<html" not in mine.get(url, headers=HTMX).text
    assert "<html" in mine.get(url, headers=HTMX | {"HX-History-Restore-Request": "true"}).text
    assert "HX-Request" in mine.get(url)["Vary"]


# Tabs, filters, pages ------------------------------------------------------------------------


def many(scope, count, **overrides):
    return [
        make_candidate(scope, sources=[make_memory(kind="episode", scope=scope)], draft=f"Draft {number}.", **overrides)
        for number in range(count)
    ]


def drafts_on(response) -> list[str]:
    return [row["candidate"].draft for row in response.context["rows"]]


def test_pages_hold_ten_and_every_draft_is_on_exactly_one(mine, scope):
    expected = [candidate.draft for candidate in many(scope, 23)]
    seen, url = [], reverse("reflection_list")
    while url:
        response = mine.get(url)
        seen += drafts_on(response)
        assert len(response.context["rows"]) <= 10
        url = response.context["next_url"]
    assert seen == expected


def test_deciding_meanwhile_shifts_no_page(mine, scope):
    candidates = many(scope, 12)
    next_url = page(mine).context["next_url"]
    act(mine, candidates[0], "dismiss")
    assert drafts_on(mine.get(next_url)) == ["Draft 10.", "Draft 11."]


def test_each_tab_counts_and_holds_its_rows(mine, scope):
    many(scope, 1)
    many(scope, 2, state="snoozed", snoozed_until=in_days(3))
    many(scope, 1, state="snoozed", snoozed_until=in_days(-1))
    many(scope, 3, state="dismissed")
    response = page(mine)
    assert [tab["count"] for tab in response.context["tabs"]] == [2, 2, 0, 3]
    for tab, count in (("pending", 2), ("snoozed", 2), ("approved", 0), ("dismissed", 3)):
        assert len(page(mine, f"?state={tab}").context["rows"]) == count


def test_the_rail_counts_what_the_waiting_tab_counts(mine, scope):
    many(scope, 2)
    many(scope, 1, state="snoozed", snoozed_until=in_days(-1))
    response = page(mine)
    assert response.context["rail"]["waiting"] == response.context["total"] == 3


def test_the_scope_filter_counts_within_the_tab(mine, owner, scope):
    other = make_scope(owner, slug="other")
    many(scope, 1)
    many(other, 2)
    response = page(mine, "?scope=other")
    assert len(response.context["rows"]) == 2
    (group,) = response.context["filters"]
    assert {option["label"]: option["count"] for option in group["options"]} == {"All": 3, "home": 1, "other": 2}


def test_two_scopes_of_one_name_can_be_told_apart(mine, scope):
    many(scope, 1)
    namesake = make_scope(slug="home")
    make_member(namesake, "reader", user=scope.owner)
    many(namesake, 2)
    assert len(page(mine, f"?scope={namesake.owner.username}/home").context["rows"]) == 2
    assert f"{namesake.owner.username}/home" in page(mine).text


@pytest.mark.parametrize("query", ["?state=nonsense", "?after=nonsense", "?after=%00", "?state[]=x"])
def test_an_odd_address_shows_the_first_page(mine, scope, query):
    many(scope, 1)
    assert len(page(mine, query).context["rows"]) == 1


def test_an_act_keeps_the_tab_and_the_scope(mine, scope):
    (candidate,) = many(scope, 1, state="dismissed")
    text = page(mine, "?state=dismissed&scope=home").text
    assert f"{reverse('reflection_undo', args=[candidate.pk])}?state=dismissed&amp;scope=home" in text


# What is shown is what is stored -------------------------------------------------------------


def test_sentences_name_their_source(mine, scope):
    sources = make_episodes(scope)
    sentences = [{"text": "First.", "source": str(sources[0].pk)}, {"text": "Third.", "source": str(sources[2].pk)}]
    make_candidate(scope, sources=sources, draft="First.\nThird.", sentences=sentences)
    (row,) = page(mine).context["rows"]
    assert pieces_of(row) == [("First.", [1], False), ("\n", [], False), ("Third.", [3], False)]


def pieces_of(row) -> list[tuple]:
    return [(piece["text"], piece["numbers"], piece["unsupported"]) for piece in row["sentences"]]


def test_a_draft_that_is_not_its_sentences_is_shown_whole(mine, scope):
    sources = make_episodes(scope)
    make_candidate(
        scope, sources=sources, draft="Reworded.", sentences=[{"text": "First.", "source": str(sources[0].pk)}]
    )
    (row,) = page(mine).context["rows"]
    assert pieces_of(row) == [("Reworded.", [], True)]


def test_a_sentence_is_marked_in_the_source_that_says_it(mine, scope):
    source = make_memory("Before. The core. After.", scope=scope, kind="episode")
    make_candidate(scope, sources=[source], draft="The core.")
    assert "Before. <mark>The core.</mark> After." in page(mine).text


@pytest.mark.behaviour("F32")
def test_stored_markup_is_shown_as_text(mine, scope):
    source = make_memory("<script>alert(1)</script>", scope=scope, kind="episode", entities=["<b>x</b>"], agent="<i>")
    other = make_memory("<img src=x>", scope=scope, kind="episode", entities=["<b>x</b>"])
    make_candidate(scope, sources=[source, other], draft="<script>alert(1)</script>", rationale="<u>why</u>")
    text = page(mine).text
    for tag in ("<script>alert", "<img src=x", "<b>x</b>", "<i>", "<u>"):
        assert tag not in text


def test_invisible_characters_are_marks(mine, scope):
    make_candidate(scope, draft="Approve\u200b \u202ethis\u0007.")
    text = page(mine).text
    for code in ("U+200B", "U+202E", "U+0007"):
        assert code in text


def test_an_entity_of_two_types_is_named_once(mine, scope):
    sources = make_episodes(scope, entities=["configure.ac", "alone"])
    for source in sources:
        add_entity(source, "configure.ac", type="path")
    make_candidate(scope, sources=sources)
    (row,) = page(mine).context["rows"]
    assert [entity["name"] for entity in row["shared"]] == ["alone", "configure.ac"]


def test_an_unknown_confidence_is_a_dash(mine, scope):
    make_candidate(scope)
    assert re.search(r"<dt>Confidence</dt><dd><span[^>]*>–</span>", page(mine).text)


def test_a_source_forgotten_since_says_so(mine, scope):
    candidate = make_candidate(scope)
    candidate.episodes.update(invalidated_at=timezone.now(), invalidated_actor="somebody")
    assert "forgotten since" in page(mine).text


def test_a_long_source_is_folded_and_a_huge_one_linked(mine, scope):
    source = make_memory("word " * 1000, scope=scope, kind="episode")
    make_candidate(scope, sources=[source], draft="Something.")
    text = page(mine).text
    assert "Show the rest" in text
    assert "Read all of it" in text
    assert text.count("word ") < 300


# Who -----------------------------------------------------------------------------------------

POSTS = ["approve", "dismiss", "snooze", "undo"]


@pytest.mark.behaviour("Z63", "Z79")
def test_a_stranger_sees_an_empty_queue_and_no_error(client_of, scope):
    make_candidate(scope)
    response = page(client_of(make_user()))
    assert response.status_code == 200
    assert response.context["rows"] == []
    assert [tab["count"] for tab in response.context["tabs"]] == [0, 0, 0, 0]
    assert response.context["rail"]["waiting"] == 0


@pytest.mark.behaviour("Z63")
@pytest.mark.parametrize("action", POSTS)
def test_a_foreign_draft_is_not_there_for_any_act(client_of, scope, action):
    candidate = make_candidate(scope)
    response = act(client_of(make_user()), candidate, action)
    assert response.status_code == 404


@pytest.mark.behaviour("Z63")
def test_a_foreign_draft_has_no_page_and_a_foreign_scope_no_list(client_of, scope):
    candidate = make_candidate(scope)
    stranger = client_of(make_user())
    assert stranger.get(reverse("reflection_detail", args=[candidate.pk])).status_code == 404
    assert page(stranger, "?scope=home").status_code == 404


def test_a_reader_sees_drafts_without_buttons(client_of, scope):
    make_candidate(scope)
    text = page(client_of(make_member(scope, "reader"))).text
    assert "The cache is rebuilt" in text
    assert "Approve and write" not in text
    assert "Find clusters now" not in text


@pytest.mark.parametrize("action", POSTS)
def test_a_readers_act_is_refused(client_of, scope, action):
    candidate = make_candidate(scope)
    assert act(client_of(make_member(scope, "reader")), candidate, action).status_code == 403
    candidate.refresh_from_db()
    assert candidate.state == "pending"


@pytest.mark.parametrize("action", POSTS)
def test_an_act_needs_a_post_a_session_and_a_token_of_the_form(client, mine, scope, action):
    from django.test import Client

    candidate = make_candidate(scope)
    url = reverse(f"reflection_{action}", args=[candidate.pk])
    assert mine.get(url).status_code == 405
    assert client.post(url).status_code == 302
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(scope.owner)
    assert strict.post(url, {"version": 1}).status_code == 403
    candidate.refresh_from_db()
    assert candidate.state == "pending"


@pytest.mark.behaviour("F36")
def test_no_route_of_the_api_decides_about_a_draft(scope):
    from zeromemory.api import api

    paths = api.get_openapi_schema()["paths"]
    about = {path: set(calls) for path, calls in paths.items() if "reflection" in path}
    assert about
    assert all(calls == {"get"} for calls in about.values())


# Searching -----------------------------------------------------------------------------------


def test_find_clusters_now_starts_a_run_over_what_i_may_write(mine, owner, scope):
    shared = make_scope(slug="read-only")
    make_member(shared, "reader", user=owner)
    mine.post(reverse("reflection_find"))
    run = Run.objects.get()
    assert (run.requested_by, list(run.scopes.all())) == (owner, [scope])


def test_asking_twice_is_answered_with_the_run_under_way(mine, scope):
    mine.post(reverse("reflection_find"))
    response = mine.post(reverse("reflection_find"), follow=True)
    assert Run.objects.count() == 1
    assert "already under way" in toast_of(response)


def test_the_page_asks_again_only_while_the_run_is_unfinished(mine, owner, scope):
    text = mine.post(reverse("reflection_find"), headers=HTMX).text
    assert 'hx-trigger="every 2s"' in text
    Run.objects.update(state="done", finished_at=timezone.now(), episodes_seen=12, candidates_made=1)
    response = mine.get(reverse("reflection_run", args=[Run.objects.get().pk]), headers=HTMX)
    assert "every 2s" not in response.text
    assert "Found 1 new draft in 12 episodes." in response.text
    assert response["HX-Trigger"] == "drafts-found"


def test_a_plain_page_says_how_the_search_stands(mine, scope):
    mine.post(reverse("reflection_find"))
    assert "about to start" in page(mine).text
    Run.objects.update(requested_at=timezone.now() - timedelta(minutes=2))
    assert "Is the worker running?" in page(mine).text
    Run.objects.update(state="failed", finished_at=timezone.now(), error="No embedder.")
    assert "The search for clusters failed. No embedder." in page(mine).text


def test_what_a_search_found_is_counted_in_the_rail_and_in_the_list_that_fills_itself(mine, owner, scope):
    make_candidate(scope)
    run = Run.objects.create(requested_by=owner, state=Run.State.DONE, candidates_made=1, episodes_seen=3)
    run.scopes.add(scope)
    badge = 'id="rail-count" hx-swap-oob="true"><span class="count">1<'
    assert badge in mine.get(reverse("reflection_run", args=[run.pk]), headers=HTMX).text
    listed = mine.get(reverse("reflection_list"), headers=HTMX).text
    assert badge in listed
    assert 'id="queue-tabs" hx-swap-oob="true"' in listed
    assert "hx-swap-oob" not in page(mine).text


def test_a_foreign_run_is_not_there(client_of, mine, scope):
    mine.post(reverse("reflection_find"))
    stranger = client_of(make_user())
    assert stranger.get(reverse("reflection_run", args=[Run.objects.get().pk])).status_code == 404


def test_a_reader_cannot_start_a_search(client_of, scope):
    reader = client_of(make_member(scope, "reader"))
    assert reader.post(reverse("reflection_find"), follow=True).status_code == 400
    assert not Run.objects.exists()


# Nothing to show -----------------------------------------------------------------------------


def test_without_episodes_the_page_says_what_an_episode_is(mine):
    assert "No episodes yet" in page(mine).text


def test_without_clusters_the_page_says_what_would_make_one(mine, scope):
    make_memory(kind="episode", scope=scope, embedded_at=timezone.now())
    make_memory(kind="episode", scope=scope)
    text = page(mine).text
    assert "Nobody has looked through the 2 episodes yet" in text
    assert "at least 3 episodes" in text


def test_the_page_says_which_episodes_a_search_cannot_see(mine, scope, owner):
    make_candidate(scope)
    make_memory(kind="episode", scope=scope, embedded_at=timezone.now())
    make_memory(kind="episode", scope=scope)
    make_memory(kind="episode", scope=make_scope(owner, slug="other"))
    assert "2 of 3 episodes outside drafts are not embedded yet" in page(mine).text
    assert "1 of 2 episodes outside drafts is not embedded yet" in page(mine, "?scope=home").text
    assert "not embedded yet" not in page(mine, "?state=approved").text


def test_where_a_search_sees_every_episode_nothing_is_said(mine, scope):
    make_candidate(scope)
    make_memory(kind="episode", scope=scope, embedded_at=timezone.now())
    make_memory(kind="fact", scope=scope)
    assert "not embedded yet" not in page(mine).text


def test_without_an_embedder_the_page_says_how_to_get_one(mine, settings):
    settings.EMBEDDER = "none"
    assert "ZEROMEMORY_EMBEDDER" in page(mine).text
