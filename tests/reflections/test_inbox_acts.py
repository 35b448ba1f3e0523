"""Deciding in the inbox: what each button does, who comes second, what is refused, and the way back."""

import pytest
from django.urls import reverse

from memories.models import AuditEntry, Memory
from reflections.models import Candidate, Dispute
from reflections.services import dismiss
from reflections.services.disputes import resolve, snooze
from tests.factories import make_member, make_memory
from tests.memories.pages import Html, text_of
from tests.reflections.disputing import NEW, OLD, make_pair, make_single, states
from tests.reflections.factories import make_candidate, make_episodes, person

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def act(client, row, action, *, query="", headers=None, follow=False, **sent):
    source = "draft" if isinstance(row, Candidate) else "dispute"
    address = reverse("inbox_act", args=[source, row.pk, action]) + query
    return client.post(address, {"version": row.version} | sent, headers=headers, follow=follow)


def now(row):
    row.refresh_from_db()
    return row


def test_keeping_both_settles_the_pair_and_changes_no_memory(mine, scope):
    row = make_pair(scope)
    assert act(mine, row, "keep_both").status_code == 302
    assert (now(row).resolution, states(*row.sides)) == ("kept_both", ["live", "live"])


@pytest.mark.parametrize(("action", "state"), [("forget", "invalidated"), ("supersede", "superseded")])
@pytest.mark.parametrize("stays", [0, 1], ids=["older", "newer"])
def test_the_side_that_is_named_stays(mine, scope, action, state, stays):
    row = make_pair(scope)
    act(mine, row, action, winner=row.sides[stays].pk)
    assert (states(row.sides[stays]), states(row.sides[1 - stays])) == (["live"], [state])


def test_a_merge_writes_the_typed_text_as_a_persons_word(mine, scope):
    row = make_pair(scope)
    act(mine, row, "merge", text="The API listens on 8080 and 9090.\r\nBoth.")
    merged = now(row).merged
    assert (merged.content, merged.author_kind) == ("The API listens on 8080 and 9090.\nBoth.", "human")
    assert states(*row.sides) == ["superseded", "superseded"]


@pytest.mark.parametrize(("action", "state"), [("uphold", "live"), ("retire", "invalidated")])
def test_one_memory_is_upheld_or_retired(mine, scope, action, state):
    row = make_single(scope)
    act(mine, row, action)
    assert states(now(row).subject) == [state]


def test_a_draft_is_approved_as_it_was_shown(mine, scope):
    row = make_candidate(scope)
    shown = Html(mine.get(reverse("inbox"))).field("shown")
    act(mine, row, "approve", shown=shown)
    assert now(row).memory.content == row.draft


def test_a_draft_that_was_not_the_one_shown_is_not_approved(mine, scope):
    row = make_candidate(scope)
    assert act(mine, row, "approve", shown="0" * 64).status_code == 409
    assert now(row).state == "pending"


def test_a_draft_is_edited_then_approved(mine, scope):
    row = make_candidate(scope)
    act(mine, row, "edit", content="Better words.", kind="convention")
    assert (now(row).memory.content, row.memory.kind) == ("Better words.", "convention")


def test_a_draft_is_dismissed_with_its_reason(mine, scope):
    row = make_candidate(scope)
    act(mine, row, "dismiss", reason="thin")
    assert (now(row).state, row.reason) == ("dismissed", "thin")


@pytest.mark.parametrize("make", [make_candidate, make_pair, make_single])
def test_anything_can_be_put_off_until_a_day(mine, scope, make):
    row = make(scope)
    act(mine, row, "snooze", until="2027-01-31")
    assert now(row).snoozed_until.date().isoformat() in ("2027-01-30", "2027-01-31")
    assert not mine.get(reverse("inbox")).context["rows"]


# Correcting one memory -----------------------------------------------------------------------


def test_a_correction_writes_the_next_version_and_settles_the_doubt(mine, scope):
    row = make_single(scope)
    act(mine, row, "correct", text=NEW, seen=row.subject.version)
    old = Memory.objects.get(pk=row.subject.pk)
    assert (old.superseded_by.content, old.superseded_by.state) == (NEW, "live")
    assert (now(row).status, row.reason) == ("dismissed", "Corrected in the inbox")


def test_a_correction_is_taken_back_with_the_old_text_exactly_as_it_was(mine, scope):
    row = make_single(scope)
    before = Memory.objects.filter(pk=row.subject_id).values().get()
    act(mine, row, "correct", text=NEW, seen=1)
    new = Memory.objects.get(content=NEW)
    act(mine, now(row), "undo")
    assert (states(row.subject, new), now(row).status) == (["live", "invalidated"], "pending")
    assert Memory.objects.filter(pk=row.subject_id).values().get() == before
    assert (now(row).merged, now(row).retired) == (None, [])


def test_a_reason_that_reads_like_a_correction_is_none(mine, scope):
    row = make_single(scope)
    act(mine, row, "uphold", reason="Corrected in the inbox")
    act(mine, now(row), "undo")
    assert (states(row.subject), now(row).status) == (["live"], "pending")


def test_a_correction_that_was_changed_since_stands(mine, scope, owner):
    row = make_single(scope)
    act(mine, row, "correct", text=NEW, seen=1)
    Memory.objects.filter(content=NEW).update(version=3)
    response = act(mine, now(row), "undo", headers=HTMX)
    assert response.status_code == 409
    assert "changed since, so the decision stands" in response.text
    assert now(row).status == "dismissed"


@pytest.mark.parametrize(("text", "seen"), [(OLD, 1), (NEW, 7)], ids=["the same text", "a stale version"])
def test_a_correction_that_changes_nothing_or_comes_late_settles_nothing(mine, scope, text, seen):
    row = make_single(scope)
    assert act(mine, row, "correct", text=text, seen=seen, headers=HTMX).status_code == 409
    assert (now(row).status, states(row.subject)) == ("pending", ["live"])


# The answer ----------------------------------------------------------------------------------


def test_under_htmx_the_line_leaves_and_the_next_evidence_comes(mine, scope):
    first, second = make_pair(scope), make_single(scope)
    response = act(mine, first, "keep_both", headers=HTMX)
    assert f'id="entry-{first.pk}" hx-swap-oob="delete"' in response.text
    assert f'data-item="dispute.{second.pk}"' in response.text
    for part in ("inbox-tabs", "inbox-filters", "inbox-bar", "rail-count", "toasts"):
        assert f'id="{part}"' in response.text
    assert 'data-announce="1 item waits for you"' in response.text
    assert reverse("inbox_act", args=["dispute", first.pk, "undo"]) in response.text


def test_the_last_decision_leaves_what_to_do_next(mine, scope):
    assert "Nothing waits for you" in act(mine, make_pair(scope), "keep_both", headers=HTMX).text


def test_without_htmx_the_page_comes_back_at_the_next_item_under_the_same_filters(mine, scope):
    first, second = make_pair(scope), make_pair(scope, old={"kind": "fact"})
    response = act(mine, first, "keep_both", query="?kind=fact", follow=True)
    assert response.redirect_chain == [(f"{reverse('inbox')}?kind=fact&item=dispute.{second.pk}", 302)]
    assert "Kept both." in response.text


def test_undo_stands_in_the_message_and_for_ever_beside_the_decided_item(mine, scope):
    row = make_pair(scope)
    text = act(mine, row, "forget", winner=row.subject.pk, follow=True).text
    undo = reverse("inbox_act", args=["dispute", row.pk, "undo"])
    assert f'action="{undo}?version=2"' in text
    decided = mine.get(f"{reverse('inbox')}?state=decided")
    assert "Undo this decision and ask again" in text_of(decided)
    mine.post(f"{undo}?version=2")
    assert (now(row).status, states(*row.sides)) == ("pending", ["live", "live"])


def test_a_decided_item_shows_what_was_done_to_it_and_by_whom(mine, scope, owner):
    row = make_pair(scope, model="openai:gpt-x")
    resolve(actor=person(owner), dispute=row, version=1, resolution="keep_both", reason="Two services.")
    text = text_of(mine.get(f"{reverse('inbox')}?item=dispute.{row.pk}"))
    for words in ("Kept both. Two services.", "by owner", "pair scan (openai:gpt-x)"):
        assert words in text


def test_bringing_back_from_snooze_makes_it_wait_again(mine, scope, owner):
    row = make_pair(scope)
    snooze(actor=person(owner), dispute=row, version=1)
    act(mine, now(row), "undo")
    assert now(row).status == "pending"


# Refusals ------------------------------------------------------------------------------------


def test_the_second_of_two_people_is_told_who_decided_what_and_sees_it_as_it_is(mine, scope):
    row, other = make_pair(scope), make_member(scope, "writer")
    resolve(actor=person(other), dispute=row, version=1, resolution="keep_both")
    response = act(mine, row, "forget", winner=row.subject.pk, headers=HTMX)
    assert (response.status_code, response["X-Fragment"]) == (409, "1")
    assert f"{other.username} kept both memories on" in response.text
    assert f'id="entry-{row.pk}" hx-swap-oob="delete"' in response.text
    assert "Undo this decision and ask again" in response.text
    assert states(*row.sides) == ["live", "live"]


def test_the_second_of_two_people_is_told_about_a_draft_too(mine, scope):
    row, other = make_candidate(scope), make_member(scope, "writer")
    dismiss(actor=person(other), candidate=row, version=1)
    response = act(mine, row, "approve")
    assert response.status_code == 409
    assert f"{other.username} dismissed this draft on" in response.text
    assert not Memory.objects.filter(kind="fact").exists()


def test_what_changed_and_waits_still_keeps_its_line(mine, scope):
    row = make_pair(scope)
    Dispute.objects.update(version=4)
    response = act(mine, row, "keep_both", headers=HTMX)
    assert response.status_code == 409
    assert 'hx-swap-oob="delete"' not in response.text
    assert 'name="version" value="4"' in response.text


def test_an_empty_merge_is_refused_with_what_was_typed_kept(mine, scope):
    row = make_pair(scope)
    response = act(mine, row, "merge", text="  ", headers=HTMX)
    assert (response.status_code, response["X-Fragment"]) == (422, "1")
    assert "errorlist" in response.text
    assert now(row).status == "pending"


def test_a_text_that_cannot_be_stored_is_refused_beside_the_field_and_kept(mine, scope):
    row = make_pair(scope)
    response = act(mine, row, "merge", text="a long\x00 word")
    assert response.status_code == 422
    assert "errorlist" in response.text
    assert "a long" in Html(response).field("text")
    assert now(row).status == "pending"


def test_a_reason_with_a_secret_settles_nothing_and_is_not_echoed(mine, scope):
    row, secret = make_pair(scope), "ghp_" + "a1B2" * 9
    response = act(mine, row, "keep_both", reason=secret)
    assert response.status_code == 422
    assert now(row).status == "pending"
    assert secret not in response.text


@pytest.mark.parametrize(
    ("make", "action", "sent"),
    [
        (make_pair, "merge", {"text": "It is {}."}),
        (make_single, "correct", {"text": "It is {}.", "seen": 1}),
        (make_candidate, "dismiss", {"reason": "It is {}."}),
    ],
    ids=["merge", "correct", "dismiss"],
)
def test_a_typed_text_with_a_secret_decides_nothing(mine, scope, make, action, sent):
    secret = "ghp_" + "Zq8" * 13
    row = make(scope)
    before = list(Memory.objects.order_by("pk").values())
    filled = {name: value.format(secret) if isinstance(value, str) else value for name, value in sent.items()}
    response = act(mine, row, action, headers=HTMX, **filled)
    assert response.status_code == 422
    assert "secret_content_rejected" in response.text
    assert now(row).version == 1
    assert list(Memory.objects.order_by("pk").values()) == before
    assert secret not in str(list(AuditEntry.objects.values()))


def test_a_winner_that_is_no_side_is_refused(mine, scope):
    row = make_pair(scope)
    assert act(mine, row, "forget", winner=make_memory(scope=scope).pk).status_code == 422
    assert act(mine, row, "forget").status_code == 422
    assert now(row).status == "pending"


@pytest.mark.parametrize("address", ["/inbox/rumour/{}/keep_both/", "/inbox/dispute/{}/explode/"])
def test_an_unknown_source_or_act_is_not_found(mine, scope, address):
    assert mine.post(address.format(make_pair(scope).pk)).status_code == 404


def test_a_decision_without_a_version_is_a_stale_one(mine, scope):
    row = make_pair(scope)
    assert mine.post(reverse("inbox_act", args=["dispute", row.pk, "keep_both"])).status_code == 409
    assert now(row).status == "pending"


def test_every_decision_is_in_the_trail_under_the_persons_name(mine, scope):
    act(mine, make_pair(scope), "keep_both")
    act(mine, make_candidate(scope, sources=make_episodes(scope)), "dismiss")
    assert set(AuditEntry.objects.filter(actor="owner").values_list("action", flat=True)) == {
        "settle_dispute",
        "dismiss",
    }


# No refusal without a word --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "action", "sent", "word"),
    [
        (make_pair, "forget", {"winner": "no id"}, "Winner:"),
        (make_pair, "keep_both", {"reason": "x" * 2001}, "Reason:"),
        (make_pair, "correct", {"text": "This holds.", "seen": 1}, "Nothing was decided."),
        (make_pair, "correct", {"text": ""}, "Nothing was decided."),
        (make_single, "merge", {"text": ""}, "Nothing was decided."),
        (make_single, "merge", {"text": "One text."}, "This dispute is about one memory"),
        (make_single, "correct", {"text": "This holds.", "seen": "no number"}, "Seen:"),
        (make_pair, "snooze", {"until": "no day"}, "Enter a valid date."),
    ],
)
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
def test_a_form_that_nobody_drew_is_refused_with_a_sentence(mine, scope, make, action, sent, word, headers):
    row = make(scope)
    response = act(mine, row, action, headers=headers, **sent)
    assert response.status_code == 422
    assert word in text_of(response)
    assert now(row).status == "pending"


def test_a_merge_that_is_too_large_names_the_text(mine, scope):
    row = make_pair(scope)
    response = act(mine, row, "merge", text="x" * (4 * 1024 * 1024 + 1))
    assert response.status_code == 422
    assert "The text is larger than 4 MB" in text_of(response)
    assert "content" not in text_of(response).split("larger than")[0][-40:]
