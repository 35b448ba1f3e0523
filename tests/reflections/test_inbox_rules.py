"""Proposals of rules in the inbox: in the one list, with their evidence, decided one by one or many at once."""

import pytest
from django.urls import reverse

from memories import services
from memories.models import Memory
from memories.services.edit import EDITED
from reflections.models import StandingRule
from reflections.services import rules
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.memories.pages import Html, text_of
from tests.reflections.disputing import make_single
from tests.reflections.factories import in_days, make_candidate, person
from tests.reflections.ruling import make_proposal, make_rule, useful

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("Z88")]
BULK = "/inbox/bulk/"


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def act(client, row, action, **sent):
    address = reverse("inbox_act", args=["rule", row.pk, action])
    return client.post(address, {"version": row.version} | sent)


def now(row):
    row.refresh_from_db()
    return row


def shown(client, row, state="waiting"):
    return client.get(f"/inbox/?state={state}&item=rule.{row.pk}")


# In the list ---------------------------------------------------------------------------------


def test_a_proposal_stands_in_the_one_list_and_is_counted(mine, scope):
    rule, draft, doubt = make_proposal(scope), make_candidate(scope), make_single(scope)
    response = mine.get("/inbox/")
    assert {row["item"].id for row in response.context["rows"]} == {rule.pk, draft.pk, doubt.pk}
    assert response.context["rail"]["waiting"] == 3
    (line,) = [one for one in Html(response).classed("entry") if str(rule.pk) in one.attributes["id"]]
    for word in ("Rule", "convention", "home", "Tests run before every push.", "Useful in 3 sessions."):
        assert word in line.text


def test_it_is_filtered_by_what_it_is(mine, scope):
    rule = make_proposal(scope)
    make_candidate(scope)
    assert [row["item"].id for row in mine.get("/inbox/?type=rule").context["rows"]] == [rule.pk]


def test_what_is_snoozed_and_decided_stands_on_its_tab(mine, owner, scope):
    snoozed, due, decided = make_proposal(scope), make_proposal(scope, "Due."), make_rule(scope, "Decided.")
    for rule, days in ((snoozed, 3), (due, -1)):
        rules.snooze(actor=person(owner), rule=rule, version=1)
        StandingRule.objects.filter(pk=rule.pk).update(snoozed_until=in_days(days))
    for state, row in (("waiting", due), ("snoozed", snoozed), ("decided", decided)):
        assert [one["item"].id for one in mine.get(f"/inbox/?state={state}").context["rows"]] == [row.pk]
    assert "Promoted to a standing rule · owner" in text_of(mine.get("/inbox/?state=decided"))


def test_the_evidence_names_the_sessions_that_found_it_useful_when_and_by_whom(mine, owner, scope):
    rule = make_proposal(scope)
    useful(rule.memory, "monday", user=owner)
    useful(rule.memory, "tuesday", source="judge", confidence=0.81)
    useful(rule.memory, "friday", useful=False)
    make_memory("Written in that session.", scope=scope, session="monday", agent="builder")
    make_memory("Written elsewhere.", scope=make_scope(), session="tuesday", agent="stranger")
    said = text_of(shown(mine, rule))
    assert "monday said so" in said
    assert "builder" in said
    assert "tuesday as a judge sees it (0.81)" in said
    assert "friday" not in said
    assert "stranger" not in said


def test_the_evidence_leaves_out_a_session_that_took_its_praise_back_and_a_judge_that_was_not_sure(mine, scope):
    rule = make_proposal(scope)
    useful(rule.memory, "monday", "tuesday", days=2)
    useful(rule.memory, "tuesday", useful=False, misled=True)
    useful(rule.memory, "friday", source="judge", confidence=0.59)
    useful(rule.memory, "sunday", days=91)
    said = text_of(shown(mine, rule))
    assert "monday said so" in said
    assert not [session for session in ("tuesday", "friday", "sunday") if session in said]


def test_what_lies_in_a_scope_that_the_reader_may_not_read_is_counted_and_not_named(client_of, owner, scope):
    private = make_scope(owner, slug="private-plans")
    rule = make_rule(scope, scopes=[scope, private])
    earlier = make_memory("In former words.", scope=private)
    useful(earlier, "secret-session", user=owner)
    Memory.objects.filter(pk=earlier.pk).update(
        superseded_by=rule.memory,
        invalidated_at=rule.proposed_at,
        invalidated_actor="owner",
        invalidation_reason=EDITED,
    )
    reader = client_of(make_member(scope, "reader"))
    evidence, by_hand = shown(reader, rule, "decided"), reader.get(reverse("rule_of_memory", args=[rule.memory_id]))
    assert f"in {scope.slug}, 1 scope that you may not read" in text_of(evidence)
    for answer in (evidence, by_hand, reader.get(reverse("rule_list"))):
        assert "private-plans" not in answer.text
        assert "secret-session" not in answer.text


def test_the_evidence_says_that_the_memory_changed_or_is_gone(mine, owner, scope):
    edited, gone = make_proposal(scope, "Edited."), make_proposal(scope, "Gone.")
    services.edit(actor=person(owner), memory=edited.memory, expected_version=1, content="New words.")
    services.forget(actor=person(owner), memory=gone.memory)
    assert "The memory was edited since." in text_of(shown(mine, edited))
    assert "retired or no longer valid" in text_of(shown(mine, gone))


def test_the_queries_of_the_list_do_not_grow(mine, scope, django_assert_max_num_queries):
    for number in range(12):
        make_proposal(scope, f"Rule {number}.")
    with django_assert_max_num_queries(30):
        mine.get("/inbox/")


# Deciding ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "state"), [("promote", "promoted"), ("dismiss", "dismissed"), ("snooze", "snoozed")]
)
def test_each_button_does_what_it_says_and_undo_takes_it_back(mine, scope, action, state):
    rule = make_proposal(scope)
    assert act(mine, rule, action).status_code == 302
    assert now(rule).state == state
    act(mine, rule, "undo")
    assert now(rule).state == "proposed"


def test_editing_promotes_the_words_that_were_typed(mine, scope):
    rule = make_proposal(scope)
    act(mine, rule, "edit", text="Test.\r\nThen push.")
    assert (now(rule).state, rule.text) == ("promoted", "Test.\nThen push.")


def test_what_was_revoked_is_a_rule_again(mine, owner, scope):
    rule = make_rule(scope)
    rules.revoke(actor=person(owner), rule=rule, version=1, reason="Nobody does this.")
    said = text_of(shown(mine, rule, "decided"))
    assert "Revoked: no rule any more." in said
    assert "Reason: Nobody does this." in said
    assert "Make it a rule again" in said
    act(mine, now(rule), "undo")
    assert now(rule).state == "promoted"


def test_a_refused_text_stays_with_its_error_beside_it(mine, scope):
    rule = make_proposal(scope)
    answer = act(mine, rule, "edit", text="The key is AKIAIOSFODNN7EXAMPLE.")
    assert answer.status_code == 422
    assert "secret_content_rejected" in text_of(answer)
    assert now(rule).state == "proposed"


def test_whoever_comes_second_is_told(mine, client_of, scope):
    rule, other = make_proposal(scope), make_member(scope, "writer", user=make_user(username="second"))
    act(client_of(other), rule, "dismiss")
    answer = act(mine, rule, "promote")
    assert answer.status_code == 409
    assert "second dismissed this rule" in text_of(answer)


def test_somebody_elses_proposal_is_not_there_and_a_reader_decides_nothing(client_of, scope):
    rule = make_proposal(scope)
    assert act(client_of(make_user()), rule, "promote").status_code == 404
    assert shown(client_of(make_user()), rule).status_code == 404
    reader = client_of(make_member(scope, "reader"))
    assert "its writers decide" in text_of(shown(reader, rule))
    assert act(reader, rule, "promote").status_code == 403
    assert now(rule).state == "proposed"


# Many at once --------------------------------------------------------------------------------


def name(row, source="rule"):
    return f"{source}.{row.pk}.{row.version}"


def confirmed(client, response):
    html = Html(response)
    return client.post(BULK, {"verb": html.field("verb"), "items": html.field("items")}, follow=True)


@pytest.mark.parametrize(
    ("verb", "would", "did", "state"),
    [
        ("promote", "Would promote 2 rules", "Promoted 2 rules", "promoted"),
        ("decline", "Would dismiss 2 rules", "Dismissed 2 rules", "dismissed"),
        ("snooze", "Would snooze 2 items", "Snoozed 2 items", "snoozed"),
    ],
)
def test_many_are_counted_first_decided_then_and_undone_as_one(mine, scope, verb, would, did, state):
    rows = [make_proposal(scope, f"Rule {number}.") for number in range(2)]
    asked = mine.post(BULK, {"verb": verb, "item": [name(row) for row in rows]})
    assert would in text_of(asked)
    assert {now(row).state for row in rows} == {"proposed"}
    done = confirmed(mine, asked)
    assert did in text_of(done)
    assert {now(row).state for row in rows} == {state}
    confirmed(mine, done)
    assert {now(row).state for row in rows} == {"proposed"}


def test_an_act_about_drafts_passes_over_rules(mine, scope):
    rule, draft = make_proposal(scope), make_candidate(scope)
    asked = mine.post(BULK, {"verb": "dismiss", "item": [name(rule), name(draft, "draft")]})
    assert "Would dismiss 1 draft; 1 item is skipped" in text_of(asked)
