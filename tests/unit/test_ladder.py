"""The decision ladder: what becomes of two memories that resemble each other."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.sameness import says_the_same
from reflections.ladder import Action, Decision, Pair, Relation, Side, Thresholds, Verdict, decide

DAY = datetime(2026, 3, 1, tzinfo=UTC)
OLD = Side(id="old", content="The API listens on port 8080.", created_at=DAY)
NEW = Side(id="new", content="The API listens on port 9090.", created_at=DAY + timedelta(days=1))
PROTECTED = ("gotcha", "convention", "decision", "preference")
LOSING = [("duplicate", 0.99), ("b_supersedes_a", 0.99)]


def decided(relation=None, confidence=None, *, old=None, new=None, **pair) -> Decision:
    verdict = Verdict(Relation(relation), confidence) if relation else None
    return decide(Pair(replace(OLD, **old or {}), replace(NEW, **new or {}), **pair), verdict)


def brief(decision: Decision) -> tuple[str, str, str | None, str | None]:
    winner, loser = decision.winner, decision.loser
    return (
        str(decision.action),
        decision.type,
        str(winner.id) if winner else None,
        str(loser.id) if loser else None,
    )


NOTHING = ("nothing", "", None, None)
JUDGE = ("judge", "unjudged", None, None)


@pytest.mark.behaviour("Z40")
@pytest.mark.parametrize("relation", ["complementary", "unrelated"])
@pytest.mark.parametrize(("one", "another"), [(1, 1), (0, 1), (2, 0), (0, 0), (1, 2)])
def test_what_can_stand_side_by_side_stays_whatever_the_ranks(relation, one, another):
    assert brief(decided(relation, 0.99, old={"provenance": one}, new={"provenance": another})) == NOTHING


@pytest.mark.behaviour("Z41")
@pytest.mark.parametrize(
    ("relation", "confidence", "expected"),
    [
        ("duplicate", 0.95, ("forget", "duplicate", "new", "old")),
        ("duplicate", 0.90, ("forget", "duplicate", "new", "old")),
        ("duplicate", 0.89, ("queue", "duplicate", "new", "old")),
        ("b_supersedes_a", 0.95, ("supersede", "supersedes", "new", "old")),
        ("a_supersedes_b", 0.95, ("supersede", "supersedes", "old", "new")),
        ("b_supersedes_a", 0.94, ("queue", "supersedes", "new", "old")),
        ("a_supersedes_b", 0.94, ("queue", "supersedes", "old", "new")),
        ("contradiction", 0.99, ("queue", "contradiction", None, None)),
        ("contradiction", 0.0, ("queue", "contradiction", None, None)),
    ],
)
def test_between_two_of_equal_authority_confidence_decides(relation, confidence, expected):
    assert brief(decided(relation, confidence)) == expected


@pytest.mark.parametrize("relation", ["duplicate", "b_supersedes_a", "contradiction"])
def test_the_order_in_which_a_pair_is_named_does_not_matter(relation):
    turned = {"b_supersedes_a": "a_supersedes_b"}.get(relation, relation)
    one = decide(Pair(OLD, NEW), Verdict(Relation(relation), 0.97))
    assert brief(one) == brief(decide(Pair(NEW, OLD), Verdict(Relation(turned), 0.97)))


@pytest.mark.behaviour("Z42", "X6")
@pytest.mark.parametrize("kind", PROTECTED)
@pytest.mark.parametrize(("relation", "confidence"), LOSING)
@pytest.mark.parametrize("rank", [1, 2])
def test_a_protected_kind_is_never_given_up_without_a_person(kind, relation, confidence, rank):
    # Of a duplicate the newer one stays among equals, so both have the rank.
    decision = decided(relation, confidence, old={"kind": kind, "provenance": rank}, new={"provenance": rank})
    assert brief(decision)[0] == "queue"
    assert brief(decision)[3] == "old"


@pytest.mark.behaviour("Z42")
@pytest.mark.parametrize("kind", PROTECTED)
@pytest.mark.parametrize(("relation", "confidence"), LOSING)
def test_a_protected_kind_that_wins_does_not_block(kind, relation, confidence):
    assert decided(relation, confidence, new={"kind": kind}).action in (Action.FORGET, Action.SUPERSEDE)


@pytest.mark.behaviour("X6")
@pytest.mark.parametrize("relation", ["duplicate", "b_supersedes_a", "contradiction"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_pinned_memory_is_never_given_up_without_a_person(relation, rank):
    decision = decided(relation, 1.0, old={"pinned": True, "provenance": rank}, new={"provenance": 1})
    assert decision.action == Action.QUEUE


def test_a_provisional_note_of_a_protected_kind_is_not_protected_yet():
    decision = decided("duplicate", 0.95, old={"kind": "gotcha", "provenance": 0})
    assert brief(decision) == ("forget", "duplicate", "new", "old")


@pytest.mark.behaviour("Z43")
@pytest.mark.parametrize("authority", [1, 2])
@pytest.mark.parametrize(
    ("relation", "action"),
    [
        ("duplicate", "forget"),
        ("a_supersedes_b", "supersede"),
        ("b_supersedes_a", "supersede"),
        ("contradiction", "supersede"),
    ],
)
@pytest.mark.parametrize("provisional", ["old", "new"])
def test_authority_wins_against_a_provisional_note_at_little_confidence(authority, relation, action, provisional):
    other = {"old": "new", "new": "old"}[provisional]
    decision = decided(relation, 0.2, **{provisional: {"provenance": 0}, other: {"provenance": authority}})
    assert brief(decision) == (action, decision.type, other, provisional)


@pytest.mark.behaviour("Z43")
@pytest.mark.parametrize("relation", ["duplicate", "a_supersedes_b", "contradiction"])
def test_of_two_provisional_notes_the_newer_wins(relation):
    both = {"old": {"provenance": 0}, "new": {"provenance": 0}}
    acted, queued = decided(relation, 0.4, **both), decided(relation, 0.39, **both)
    assert brief(acted)[0] in ("forget", "supersede")
    assert brief(acted)[2:] == brief(queued)[2:] == ("new", "old")
    assert queued.action == Action.QUEUE


def test_below_the_least_confidence_authority_only_suggests():
    decision = decided("contradiction", 0.19, old={"provenance": 0})
    assert brief(decision) == ("queue", "contradiction", "new", "old")


@pytest.mark.behaviour("Z44")
def test_a_persons_word_has_no_automatic_win_over_an_agents():
    assert brief(decided("contradiction", 0.99, old={"provenance": 2}))[:3] == ("queue", "contradiction", None)
    assert decided("b_supersedes_a", 0.94, old={"provenance": 2}).action == Action.QUEUE
    assert brief(decided("b_supersedes_a", 0.95, old={"provenance": 2})) == ("supersede", "supersedes", "new", "old")


@pytest.mark.behaviour("Z44")
@pytest.mark.parametrize("human", ["old", "new"])
def test_of_a_duplicate_the_wording_of_a_person_stays(human):
    other = {"old": "new", "new": "old"}[human]
    assert brief(decided("duplicate", 0.95, **{human: {"provenance": 2}})) == ("forget", "duplicate", human, other)


CORRECTION_QUEUED = ("queue", "supersedes", "new", "old")
SESSION = {"old": {"session": "s1"}, "new": {"session": "s1"}}


@pytest.mark.behaviour("Z45")
@pytest.mark.parametrize(
    ("sides", "cosine", "expected"),
    [
        (SESSION, 0.96, ("supersede", "supersedes", "new", "old")),
        (SESSION, 0.94, JUDGE),
        (SESSION, None, JUDGE),
        ({"old": {"session": "s1"}, "new": {"session": "s2"}}, 0.96, JUDGE),
        ({"old": {"session": "s1"}}, 0.96, JUDGE),
        ({}, 0.96, JUDGE),
        ({"old": {"session": "s1", "provenance": 0}, "new": {"session": "s1"}}, 0.96, JUDGE),
        ({"old": {"session": "s1", "kind": "gotcha"}, "new": {"session": "s1"}}, 0.96, CORRECTION_QUEUED),
        ({"old": {"session": "s1", "pinned": True}, "new": {"session": "s1"}}, 0.96, CORRECTION_QUEUED),
    ],
)
def test_a_session_that_says_it_again_corrects_itself_without_a_judge(sides, cosine, expected):
    assert brief(decided(cosine=cosine, **sides)) == expected


def test_one_sentence_shape_about_two_named_things_is_no_correction_even_in_one_session():
    old = {"session": "s1", "content": "We chose Redis over Memcached.", "entities": frozenset({"redis"})}
    new = {"session": "s1", "content": "We chose Kafka over RabbitMQ.", "entities": frozenset({"kafka"})}
    assert brief(decided(old=old, new=new, cosine=0.99)) == JUDGE


@pytest.mark.parametrize("cosine", [0.78, 0.95, 0.999, 1.0])
def test_similarity_alone_decides_nothing(cosine):
    assert brief(decided(cosine=cosine)) == JUDGE


@pytest.mark.behaviour("Z46")
@pytest.mark.parametrize("relation", [None, *Relation])
def test_a_pair_that_was_queued_is_not_judged_again(relation):
    assert brief(decided(relation, 0.99, known=True, **SESSION, cosine=0.99)) == NOTHING


@pytest.mark.behaviour("Z47")
@pytest.mark.parametrize("relation", [None, *Relation])
def test_a_pair_of_two_projects_is_left_alone_before_anybody_is_asked(relation):
    assert brief(decided(relation, 0.99, old={"project": "api"}, new={"project": "web"})) == NOTHING
    assert decided(relation, 0.99, old={"project": "api"}).action != Action.NOTHING or relation in (
        "complementary",
        "unrelated",
    )


def test_the_same_text_is_a_duplicate_without_a_judge():
    same = {"content": "the API listens on port  9090"}
    assert brief(decided(old=same)) == ("forget", "duplicate", "new", "old")
    assert brief(decided(old=same | {"provenance": 2})) == ("forget", "duplicate", "old", "new")
    assert brief(decided(old=same, new={"provenance": 0})) == ("supersede", "duplicate", "old", "new")
    assert brief(decided(old=same | {"kind": "decision"})) == ("queue", "duplicate", "new", "old")


SAME = "the API listens on port  9090"
WEEK, MONTH = DAY + timedelta(days=7), DAY + timedelta(days=30)


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        ({}, {"valid_until": WEEK}, "queue"),
        ({"valid_until": MONTH}, {"valid_until": WEEK}, "queue"),
        ({"valid_until": WEEK}, {"valid_until": WEEK}, "forget"),
        ({"valid_until": WEEK}, {"valid_until": MONTH}, "forget"),
        ({"valid_until": WEEK}, {}, "forget"),
        ({}, {"valid_from": WEEK}, "queue"),
        ({"valid_from": DAY}, {"valid_from": WEEK}, "queue"),
        ({"valid_from": WEEK}, {"valid_from": WEEK}, "forget"),
        ({"valid_from": MONTH}, {"valid_from": WEEK}, "forget"),
        ({}, {"valid_from": DAY}, "forget"),  # it held already when it was noted
    ],
)
def test_what_holds_when_the_other_does_not_is_not_given_up_without_a_person(old, new, action):
    assert brief(decided(old=old | {"content": SAME}, new=new)) == (action, "duplicate", "new", "old")


@pytest.mark.parametrize(
    ("relation", "confidence", "more"),
    [
        ("duplicate", 0.99, {}),
        ("b_supersedes_a", 0.99, {}),
        ("duplicate", 0.99, {"old": {"provenance": 0}}),
        ("contradiction", 0.99, {"old": {"provenance": 0}, "new": {"provenance": 0}}),
        (None, None, {**SESSION, "cosine": 0.96}),
    ],
)
def test_on_no_rung_does_a_passing_word_take_the_place_of_a_lasting_one(relation, confidence, more):
    new = more.get("new", {}) | {"valid_until": WEEK}
    decision = decided(relation, confidence, **(more | {"new": new}))
    assert (decision.action, decision.winner.id, decision.loser.id) == (Action.QUEUE, "new", "old")
    assert decided(relation, confidence, **more).action != Action.QUEUE


@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan")])
def test_a_confidence_outside_the_unit_is_no_verdict(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        Verdict(Relation.DUPLICATE, confidence)


def test_thresholds_are_configuration():
    strict = Thresholds(duplicate=0.99)
    assert decide(Pair(OLD, NEW), Verdict(Relation.DUPLICATE, 0.95), strict).action == Action.QUEUE


sides = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["fact", "gotcha", "decision", "episode"]),
        "provenance": st.sampled_from([0, 1, 2]),
        "pinned": st.booleans(),
        "session": st.sampled_from(["", "s1"]),
    }
)


@pytest.mark.behaviour("X6", "Z42")
@given(st.sampled_from([None, *Relation]), st.floats(0, 1), st.floats(0, 1), sides, sides)
def test_no_way_through_the_ladder_takes_away_what_is_pinned_or_protected(relation, confidence, cosine, old, new):
    decision = decided(relation, confidence, old=old, new=new, cosine=cosine)
    if decision.action in (Action.FORGET, Action.SUPERSEDE):
        assert not decision.loser.pinned
        assert not decision.loser.is_protected
        assert decision.loser != decision.winner


# The same text -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("Use tabs.", "use   tabs"),
        ("Use “tabs” here", 'Use "tabs" here'),
        ("The café opens early.", "the cafe opens early"),
        ("Don’t restart it!", "don't restart it"),
        ("Build, then ship: always", "build then ship always"),
        ("- Use tabs", "- use tabs"),
    ],
)
def test_case_space_accents_and_punctuation_do_not_make_another_statement(one, another):
    assert says_the_same(one, another)
    assert says_the_same(another, one)


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("Port 8080 is open", "Port 8081 is open"),
        ("It takes 1.5 s", "It takes 15 s"),
        ("It is -5 degrees", "It is 5 degrees"),
        ("10² rows", "102 rows"),
        ("Do restart it", "Do not restart it"),
        ("It is enabled", "It isn't enabled"),
        ("if !enabled stop", "if enabled stop"),
        ("a == b", "a != b"),
        ("Written in C++", "Written in C"),
        ("Use userID here", "Use userId here"),
        ("Is it up?", "Is it up."),
        ("мой дом", "мои дом"),
        ("かき", "がき"),
        ("Costs 5%", "Costs 5"),
        ("_private is set", "private is set"),
        ("Order: a b", "Order: b a"),
    ],
)
def test_numbers_negations_signs_and_identifiers_do(one, another):
    assert not says_the_same(one, another)
