"""What our own code makes of an answer of the right form, and what each question shows."""

import re
from datetime import datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from tests.llm.factories import (
    AT,
    audit,
    distil,
    episode,
    finding,
    loop,
    memory,
    pair,
    summarise,
    usefulness,
    world_fact,
)
from zeromemory.llm import (
    CloseLoop,
    Disagreement,
    Distillate,
    KindVerdict,
    LoopVerdict,
    Sentence,
    Summary,
    Usefulness,
    UsefulnessVerdicts,
    WorldFactVerdict,
)
from zeromemory.llm.contract import LONGEST_TEXT, Contract, UnusableAnswer
from zeromemory.llm.fencing import Fence

QUESTIONS = {
    type(question).__name__: question
    for question in (distil(), pair(), usefulness(), loop(), audit(), world_fact(), summarise())
}
FENCE = Fence("0123456789abcdef")


def distillate(**given: object) -> Distillate:
    return Distillate(
        **{
            "consolidate": True,
            "content": "The export runs on Tuesday.",
            "kind": "fact",
            "confidence": 0.8,
            "rationale": "Both notes say so.",
            "sentences": (Sentence(text="The export runs on Tuesday.", sources=("e1",)),),
        }
        | given
    )


def verdict(identity: str, **given: object) -> Usefulness:
    return Usefulness(**{"id": identity, "useful": True, "relevant": True, "misled": False, "confidence": 0.8} | given)


# Summarise ------------------------------------------------------------------------------------


def summary(*consumed: str, contradictions: tuple[Disagreement, ...] = ()) -> Summary:
    return Summary(summary=" Exports and mail run weekly.\n", consumed=consumed, contradictions=contradictions)


def test_what_a_summary_stands_for_was_shown_and_counts_once():
    kept = summarise().accepted(summary("m2", "m9", "m1", "m2"), FENCE)
    assert (kept.summary, kept.consumed) == ("Exports and mail run weekly.", ("m2", "m1"))


def test_a_pair_that_contradicts_is_of_two_that_were_shown_and_counts_once():
    ends = [("m1", "m2"), ("m2", "m1"), ("m1", "m1"), ("m1", "m9")]
    pairs = tuple(Disagreement(a=a, b=b, rationale="Two days.") for a, b in ends)
    kept = summarise().accepted(summary(contradictions=pairs), FENCE).contradictions
    assert [{pair.a, pair.b} for pair in kept] == [{"m1", "m2"}]


# Distil ---------------------------------------------------------------------------------------


def test_sources_that_were_not_shown_are_taken_out():
    sentences = (
        Sentence(text="The export runs on Tuesday.", sources=("e1", "e9", "e1")),
        Sentence(text="It sends mail.", sources=("e9",)),
    )
    kept = distil().accepted(distillate(sentences=sentences), FENCE).sentences
    assert [sentence.sources for sentence in kept] == [("e1",), ()]


def test_a_distillate_is_one_paragraph():
    kept = distil().accepted(distillate(content="The export runs\n\n on Tuesday. \n"), FENCE)
    assert kept.content == "The export runs on Tuesday."


@pytest.mark.parametrize("content", ["", " \n\t"], ids=ascii)
def test_a_distillate_without_content_is_a_refusal_to_consolidate(content):
    kept = distil().accepted(distillate(content=content), FENCE)
    assert (kept.consolidate, kept.content, kept.sentences) == (False, "", ())


def test_a_refusal_to_consolidate_carries_no_content():
    kept = distil().accepted(distillate(consolidate=False), FENCE)
    assert (kept.content, kept.sentences, kept.rationale) == ("", (), "Both notes say so.")


def test_blank_sentences_are_left_out():
    kept = distil().accepted(distillate(sentences=(Sentence(text=" ", sources=("e1",)),)), FENCE)
    assert kept.sentences == ()


def test_episodes_are_shown_in_the_order_of_their_capture():
    late, early = episode("late", captured_at=AT), episode("early", captured_at=AT - timedelta(days=1))
    prompt = distil(late, early).prompt(FENCE)
    assert prompt.index("id: early") < prompt.index("id: late")


# Usefulness -----------------------------------------------------------------------------------


def test_a_memory_that_was_not_shown_gets_no_verdict():
    kept = usefulness().accepted(UsefulnessVerdicts(verdicts=(verdict("m9"), verdict("m1"))), FENCE)
    assert [found.id for found in kept.verdicts] == ["m1"]


def test_verdicts_on_nothing_that_was_shown_are_refused():
    with pytest.raises(UnusableAnswer, match="none of the memories shown"):
        usefulness().accepted(UsefulnessVerdicts(verdicts=(verdict("m9"),)), FENCE)


def test_what_misled_was_not_useful():
    [kept] = usefulness().accepted(UsefulnessVerdicts(verdicts=(verdict("m1", misled=True),)), FENCE).verdicts
    assert (kept.misled, kept.useful) == (True, False)


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["praise first", "blame first"])
def test_of_two_verdicts_on_one_memory_the_less_favourable_counts(order):
    both = (verdict("m1", confidence=0.9), verdict("m1", misled=True, confidence=0.7))[order]
    [kept] = usefulness().accepted(UsefulnessVerdicts(verdicts=both), FENCE).verdicts
    assert kept.misled


# Loops, kinds, facts of the world -------------------------------------------------------------


def loop_verdict(**given: object) -> LoopVerdict:
    return LoopVerdict(**{"closes": True, "evidence": "m1", "confidence": 0.9, "rationale": "m1 says so."} | given)


def test_evidence_that_was_shown_closes_a_loop():
    kept = loop().accepted(loop_verdict(), FENCE)
    assert (kept.closes, kept.evidence) == (True, "m1")


@pytest.mark.parametrize("evidence", ["m9", "t1", None])
def test_nothing_is_closed_without_evidence_that_was_shown(evidence):
    kept = loop().accepted(loop_verdict(evidence=evidence), FENCE)
    assert (kept.closes, kept.evidence) == (False, None)


def test_an_open_loop_names_no_evidence():
    assert loop().accepted(loop_verdict(closes=False), FENCE).evidence is None


def test_a_loop_is_shown_with_three_memories_at_most():
    with pytest.raises(ValueError, match="at most 3"):
        CloseLoop(loop=memory(), evidence=(memory(),) * 4)


def test_a_kind_that_was_not_offered_is_refused():
    with pytest.raises(UnusableAnswer, match="one of: fact, convention"):
        audit().accepted(KindVerdict(kind="rumour", confidence=0.9, rationale="It is said."), FENCE)


def world_verdict(**given: object) -> WorldFactVerdict:
    url = finding().url
    return WorldFactVerdict(
        **{"verdict": "outdated", "confidence": 0.9, "what_changed": "It is 3 now.", "source": url} | given
    )


def test_a_verdict_with_a_source_that_was_shown_stands():
    assert world_fact().accepted(world_verdict(), FENCE) == world_verdict()


@pytest.mark.parametrize("word", ["outdated", "current"])
@pytest.mark.parametrize("source", ["https://example.org/other", None])
def test_a_verdict_without_a_source_that_was_shown_is_unclear(word, source):
    kept = world_fact().accepted(world_verdict(verdict=word, source=source), FENCE)
    assert (kept.verdict, kept.source, kept.what_changed) == ("unclear", None, "")


# Every answer ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"[end {FENCE.token}]", "token"),
        (FENCE.token.upper(), "token"),
        ("a\x00b", "NUL"),
        ("x" * (LONGEST_TEXT + 1), "longer than 4000"),
        ("a\ud800", "surrogate"),
    ],
    ids=["fence", "fence in capitals", "NUL", "length", "surrogate"],
)
def test_a_text_that_cannot_be_kept_is_refused_wherever_it_stands(text, why):
    for value in (distillate(content=text), distillate(rationale=text)):
        with pytest.raises(UnusableAnswer, match=why):
            distil().accepted(value, FENCE)
    with pytest.raises(UnusableAnswer, match=why):
        distil().accepted(distillate(sentences=(Sentence.model_construct(text="a", sources=(text,)),)), FENCE)


@pytest.mark.parametrize("confidence", [float("nan"), float("inf"), -0.1, 1.1, "0.5", True, None])
def test_a_confidence_is_a_number_from_zero_to_one(confidence):
    with pytest.raises(ValidationError):
        distillate(confidence=confidence)


# What is shown ---------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))
def test_every_stored_text_stands_inside_the_fence(question: Contract):
    fence = question.fence()
    outside = re.sub(rf"\[begin {fence.token}\].*?\[end {fence.token}\]", "", question.prompt(fence), flags=re.DOTALL)
    stored = set(question.texts()) - set(getattr(question, "kinds", {})) - set(getattr(question, "kinds", {}).values())
    assert not [text for text in stored if re.search(rf"\b{re.escape(text)}\b", outside) and len(text) > 5]
    assert all(text in question.prompt(fence) for text in stored)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))
def test_instructions_and_questions_hold_no_date(question: Contract):
    date = re.compile(
        r"\d{4}|\d{1,2}[./-]\d{1,2}|\b(january|february|march|april|may|june|july|august|september|october|november"
        r"|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|yesterday|today|tomorrow)\b",
        re.IGNORECASE,
    )
    fence = question.fence()
    ours = re.sub(rf"\[begin {fence.token}\].*?\[end {fence.token}\]", "", question.prompt(fence), flags=re.DOTALL)
    written = question.instructions + str(question.output.model_json_schema()) + ours
    assert [found[0] for found in date.finditer(written) if found[0] != "may"] == []


@pytest.mark.parametrize(
    "name", ["Distil", "JudgePair", "JudgeUsefulness", "CloseLoop", "KindAudit", "CheckWorldFact", "Summarise"]
)
def test_prompts_carry_capture_times_with_their_zone(name):
    question = QUESTIONS[name]
    assert "captured: 2026-03-02T09:30:00+00:00" in question.prompt(question.fence())


def test_a_capture_time_keeps_the_zone_it_has():
    tokyo = timezone(timedelta(hours=9))
    question = distil(episode(captured_at=datetime(2026, 3, 2, 9, 30, tzinfo=tokyo)))
    assert "captured: 2026-03-02T09:30:00+09:00" in question.prompt(FENCE)


def test_a_capture_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        distil(episode(captured_at=datetime(2026, 3, 2, 9, 30))).prompt(FENCE)  # noqa: DTZ001  that is the point
