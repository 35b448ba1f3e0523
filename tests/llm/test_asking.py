"""Questions and answers over HTTP, in both protocols: good, bad, slow and none."""

import asyncio
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.llm import server as scripted
from tests.llm.factories import distil, memory, pair
from tests.llm.server import arguments, cut_off, prose, raw, refusal, slow, status, thinking, trickled
from zeromemory.llm import (
    ModelBusy,
    ModelError,
    ModelRejected,
    ModelTimedOut,
    ModelUnavailable,
    PairVerdict,
    QuestionRefused,
    ask,
    patience,
)

DUPLICATE = PairVerdict(relation="duplicate", confidence=0.9, rationale="Both name the same day.")
GOOD = DUPLICATE.model_dump_json()


@pytest.fixture(params=[scripted.OPENAI, scripted.ANTHROPIC])
def server(request, model_server, settings):
    scripted.use(settings, model_server, request.param)
    return model_server


def without(field: str) -> str:
    return json.dumps({name: value for name, value in DUPLICATE.model_dump().items() if name != field})


def having(**changes: object) -> str:
    return json.dumps(DUPLICATE.model_dump() | changes)


UNUSABLE = {
    "prose": prose("They look like duplicates to me."),
    "nothing": prose(""),
    "thinking and nothing else": thinking("Let me see.", prose("")),
    "an empty list": arguments("[]"),
    "a list of one": arguments(f"[{GOOD}]"),
    "a brace": arguments("{"),
    "cut JSON": arguments(GOOD[:-20]),
    "single quotes": arguments(GOOD.replace('"', "'")),
    "two objects": arguments(GOOD + GOOD),
    "a code fence in the text": prose(f"```json\n{GOOD}\n```"),
    "a missing field": arguments(without("confidence")),
    "a field too many": arguments(having(note="by the way")),
    "another word": arguments(having(relation="same")),
    "a word for a number": arguments(having(confidence="0.9")),
    "yes for a number": arguments(having(confidence=True)),
    "no number": arguments(having(confidence=float("nan"))),
    "endless confidence": arguments(having(confidence=float("inf"))),
    "more than sure": arguments(having(confidence=1.5)),
    "null": arguments(having(rationale=None)),
    "a NUL": arguments(having(rationale="a\x00b")),
    "a text without end": arguments(having(rationale="so " * 2000)),
}


def test_an_answer_comes_with_what_it_cost(server):
    server.will_answer(DUPLICATE)
    answer = ask(pair())
    assert answer.value == DUPLICATE
    assert (answer.input_tokens, answer.output_tokens, answer.requests) == (100, 20, 1)
    assert answer.model.endswith(":scripted-model")
    assert PairVerdict.model_validate_json(answer.raw) == DUPLICATE


def test_thinking_is_no_part_of_the_answer(server):
    server.will(thinking("They say the same, I suppose.", DUPLICATE))
    answer = ask(pair())
    assert answer.value == DUPLICATE
    assert "suppose" not in answer.raw


def test_a_code_fence_around_the_answer_is_taken_off(server):
    server.will(arguments(f"```json\n{GOOD}\n```"))
    assert ask(pair()).value == DUPLICATE


def test_half_a_character_in_the_text_of_a_call_is_refused(model_server):
    model_server.always(arguments(r'{"relation": "duplicate", "confidence": 0.9, "rationale": "a\ud800"}'))
    with pytest.raises(ModelRejected):
        ask(pair())


def test_half_a_character_in_a_call_that_comes_as_values_is_replaced(model_server, settings):
    scripted.use(settings, model_server, scripted.ANTHROPIC)
    model_server.always(arguments(r'{"relation": "duplicate", "confidence": 0.9, "rationale": "a\ud800"}'))
    assert ask(pair()).value.rationale == "a?"


@pytest.mark.parametrize("bad", UNUSABLE.values(), ids=list(UNUSABLE))
def test_an_answer_that_cannot_be_used_is_asked_for_again(server, bad):
    server.will(bad, DUPLICATE)
    answer = ask(pair())
    assert answer.value == DUPLICATE
    assert (answer.input_tokens, answer.output_tokens, answer.requests) == (200, 40, 2)


@pytest.mark.parametrize("bad", UNUSABLE.values(), ids=list(UNUSABLE))
def test_a_model_that_never_answers_well_is_given_up_with_all_it_said(server, bad):
    server.always(bad)
    with pytest.raises(ModelRejected, match="3 answers that cannot be used") as caught:
        ask(pair())
    failed = caught.value
    assert (failed.input_tokens, failed.output_tokens, failed.requests) == (300, 60, 3)
    assert len(failed.raw) == len(failed.reasons) == len(server.requests) == 3
    assert all(failed.reasons)
    assert not failed.retryable


def test_what_was_said_is_kept_for_reading_in_bounded_length(server):
    server.always(prose("They look like duplicates. " * 10_000))
    with pytest.raises(ModelRejected) as caught:
        ask(pair())
    assert all(said.startswith("They look like duplicates.") for said in caught.value.raw)
    assert all(len(said) == patience.LONGEST_RAW for said in caught.value.raw)
    assert len(str(caught.value)) < 1000


def test_the_reason_names_the_field(server):
    server.always(arguments(without("confidence")))
    with pytest.raises(ModelRejected) as caught:
        ask(pair())
    assert all("confidence" in reason for reason in caught.value.reasons)
    assert "confidence" in server.last.everything.split(GOOD)[-1]


def test_a_refusal_is_not_argued_with_for_ever(server):
    server.always(refusal())
    with pytest.raises(ModelRejected) as caught:
        ask(pair())
    assert len(server.requests) <= 3
    assert caught.value.input_tokens == 100 * len(server.requests)
    assert "cannot help" in caught.value.raw[0]


def test_an_answer_cut_at_its_limit_says_so(server):
    server.always(scripted.Reply(arguments=(GOOD[:-20],), stopped="length"))
    with pytest.raises(ModelRejected, match="limit") as caught:
        ask(pair())
    assert caught.value.output_tokens == 20 * len(server.requests)


def test_of_several_answers_in_one_the_first_good_one_counts(server):
    other = having(relation="unrelated")
    server.will(arguments(GOOD, other))
    assert ask(pair()).value == DUPLICATE


# A server that does not answer ----------------------------------------------------------------


@pytest.mark.parametrize("code", [429, 500, 502, 503, 529])
def test_a_busy_or_failing_server_is_asked_again(server, code):
    server.will(status(code), status(code), DUPLICATE)
    answer = ask(pair())
    assert answer.value == DUPLICATE
    assert (answer.input_tokens, answer.requests) == (100, 3)


def test_a_server_that_stays_busy_is_left_alone(server):
    server.always(status(429, message="slow down"))
    with pytest.raises(ModelBusy, match=r"asks to wait \(429: slow down\)\. Try again later") as caught:
        ask(pair())
    assert caught.value.retryable
    assert caught.value.requests == len(server.requests) == 3


def test_a_server_is_given_the_time_it_asks_for(server):
    server.will(status(429, retry_after=1), DUPLICATE)
    began = time.monotonic()
    ask(pair())
    assert 1 <= time.monotonic() - began < 5


@pytest.mark.parametrize("wait", ["3600", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_a_server_that_asks_for_an_hour_is_not_waited_for(server, wait):
    server.always(status(429, retry_after=wait))
    with pytest.raises(ModelBusy):
        ask(pair())
    assert len(server.requests) == 1


@pytest.mark.parametrize("wait", ["soon", "-5", ""])
def test_a_wait_that_cannot_be_read_is_ours(server, wait):
    server.will(status(429, retry_after=wait), DUPLICATE)
    assert ask(pair()).value == DUPLICATE


@pytest.mark.parametrize("code", [500, 503, 529])
def test_a_server_that_keeps_failing_is_worth_another_try_later(server, code):
    server.always(status(code))
    with pytest.raises(ModelUnavailable, match=f"{code}: because.*Try again later") as caught:
        ask(pair())
    assert caught.value.retryable
    assert caught.value.requests == 3


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (401, "Check ZEROMEMORY_MODEL_KEY"),
        (402, "Top up the account"),
        (403, "Check ZEROMEMORY_MODEL_KEY"),
        (404, "Check the model's name"),
        (405, "Check the model's name"),
    ],
)
def test_a_refused_request_says_what_to_check_and_is_not_repeated(server, code, advice):
    server.always(status(code))
    with pytest.raises(ModelUnavailable, match=f"{code}: because.*{advice}") as caught:
        ask(pair())
    assert not caught.value.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (400, r"refused the question \(400: because\)\. If it refuses every question: Check the model's name"),
        (422, r"refused the question \(422: because\)\. If it refuses every question: Check the model's name"),
        (413, "cannot read so long a question.*reads more"),
    ],
    ids=["bad request", "unprocessable", "too large"],
)
def test_a_refusal_of_one_question_says_nothing_about_the_model(server, code, what):
    server.always(status(code))
    with pytest.raises(QuestionRefused, match=what) as caught:
        ask(pair())
    assert isinstance(caught.value, ModelRejected)
    assert caught.value.raw == ()
    assert caught.value.may_be_settings == ("every question" in what)
    assert len(server.requests) == 1


def test_a_question_longer_than_the_context_is_told_by_the_code(model_server):
    body = {"error": {"message": "because", "code": "context_length_exceeded", "type": "invalid_request_error"}}
    model_server.always(scripted.Reply(status=400, body=json.dumps(body).encode()))
    with pytest.raises(QuestionRefused, match="cannot read so long a question") as caught:
        ask(pair())
    assert not caught.value.may_be_settings


@pytest.mark.parametrize(
    "reply",
    [
        refusal(""),
        scripted.Reply(status=400, body=b'{"error": {"message": "because", "code": "content_filter"}}'),
    ],
    ids=["finished by the filter", "status"],
)
def test_a_question_that_the_providers_filter_stops_is_refused(model_server, reply):
    model_server.always(reply)
    with pytest.raises(QuestionRefused, match="refuses what this question quotes") as caught:
        ask(pair())
    assert (caught.value.raw, caught.value.may_be_settings) == ((), False)
    assert len(model_server.requests) == 1


def test_the_key_appears_in_no_message(server):
    server.always(status(401, message="no such key: key-of-the-tests \x1b[31m" + "x" * 1000))
    with pytest.raises(ModelUnavailable) as caught:
        ask(pair())
    assert "key-of-the-tests" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_the_key_from_the_providers_variable_appears_in_no_message(model_server, settings, monkeypatch):
    settings.MODEL_KEY = ""
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-provider")
    model_server.always(status(401, message="no such key: from-the-provider"))
    with pytest.raises(ModelUnavailable, match=r"no such key: \*\*\*"):
        ask(pair())


def test_what_was_said_can_be_stored(server):
    server.always(prose("one\x00two"))
    with pytest.raises(ModelRejected) as caught:
        ask(pair())
    assert caught.value.raw == ("one⟦U+0000⟧two",) * 3


def test_a_slow_server_is_waited_for_no_longer_than_the_limit(server, settings):
    settings.MODEL_TIMEOUT = 1
    server.always(slow(10, DUPLICATE))
    began = time.monotonic()
    with pytest.raises(ModelTimedOut, match=r"within 1 seconds.*ZEROMEMORY_MODEL_TIMEOUT") as caught:
        ask(pair())
    assert time.monotonic() - began < 4
    assert caught.value.retryable
    assert caught.value.requests == 1


def test_a_trickling_server_is_waited_for_no_longer_than_the_limit(server, settings):
    settings.MODEL_TIMEOUT = 1
    server.always(trickled(0.05, DUPLICATE))
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match="within 1 seconds"):
        ask(pair())
    assert time.monotonic() - began < 4


def test_the_limit_holds_over_all_tries_and_what_they_cost_is_counted(server, settings):
    settings.MODEL_TIMEOUT = 1
    server.will(prose("Hm."), slow(10, DUPLICATE))
    with pytest.raises(ModelUnavailable, match="within 1 seconds") as caught:
        ask(pair())
    assert caught.value.input_tokens > 100 + len(server.last.prompt) // 4
    assert (caught.value.output_tokens, caught.value.requests, caught.value.estimated) == (20, 2, True)


def test_what_came_before_a_failure_is_counted(server):
    server.will(prose("Hm."))
    server.always(status(401))
    with pytest.raises(ModelUnavailable) as caught:
        ask(pair())
    assert (caught.value.input_tokens, caught.value.output_tokens) == (100, 20)


def test_a_connection_that_breaks_off_is_tried_again(server):
    server.will(cut_off(DUPLICATE), DUPLICATE)
    assert ask(pair()).value == DUPLICATE


def test_a_connection_that_always_breaks_off_is_worth_another_try_later(server):
    server.always(cut_off(DUPLICATE))
    with pytest.raises(ModelUnavailable, match=r"cannot be reached.*that the server runs") as caught:
        ask(pair())
    assert caught.value.retryable
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "body",
    [b"<html>welcome to the proxy</html>", b"", b"{}", b"[]", b"null", b'{"choices": []}', b'{"content": 7}', b"\xff"],
    ids=ascii,
)
def test_an_answer_of_no_protocol_says_which_settings_to_check(server, body):
    server.always(raw(body))
    with pytest.raises(ModelUnavailable, match="ZEROMEMORY_MODEL") as caught:
        ask(pair())
    assert len(server.requests) <= 3
    assert not re.search(r"validation error|ChatCompletion|pydantic|Traceback|object has no", str(caught.value))


def test_a_server_that_is_not_there_is_worth_another_try_later(server, settings):
    settings.MODEL_BASE_URL = "http://127.0.0.1:9/v1"
    with pytest.raises(ModelUnavailable, match="cannot be reached") as caught:
        ask(pair())
    assert caught.value.retryable
    assert (caught.value.requests, caught.value.input_tokens) == (3, 0)
    assert not server.requests


def test_without_a_model_nobody_is_asked(model_server, settings):
    settings.MODEL = ""
    with pytest.raises(ModelUnavailable, match="ZEROMEMORY_MODEL"):
        ask(pair())
    assert not model_server.requests


# What it costs where nobody says so ------------------------------------------------------------


def test_tokens_that_are_not_reported_are_estimated_from_what_was_sent_and_said(model_server):
    model_server.reports_usage = False
    model_server.will_answer(DUPLICATE)
    answer = ask(pair())
    sent = model_server.last
    assert answer.estimated
    assert (len(sent.instructions) + len(sent.prompt)) // 4 <= answer.input_tokens <= len(sent.everything) // 2
    assert answer.output_tokens == len(answer.raw) // 4


def test_an_answer_of_no_words_costs_a_token_all_the_same(model_server):
    model_server.reports_usage = False
    model_server.always(prose(""))
    with pytest.raises(ModelRejected) as caught:
        ask(pair())
    assert (caught.value.output_tokens, caught.value.requests) == (3, 3)


def test_tokens_that_are_reported_are_no_estimate(server):
    server.will_answer(DUPLICATE)
    assert not ask(pair()).estimated


def test_a_report_of_less_than_nothing_is_none(server):
    server.input_tokens = server.output_tokens = -5_000_000
    server.will_answer(DUPLICATE)
    answer = ask(pair())
    assert answer.estimated
    assert answer.input_tokens > 0 < answer.output_tokens


def test_more_tokens_than_can_be_kept_are_as_many_as_can(server):
    server.input_tokens = server.output_tokens = 2**40
    server.will(prose("Hm."), DUPLICATE)
    answer = ask(pair())
    assert (answer.input_tokens, answer.output_tokens) == (2**31 - 1, 2**31 - 1)


@pytest.mark.parametrize("reply", [cut_off(DUPLICATE), raw(b"{}"), raw(b"<html>")], ids=["cut off", "empty", "page"])
def test_a_request_whose_answer_cannot_be_read_may_have_been_paid_for(server, reply):
    server.always(reply)
    with pytest.raises(ModelUnavailable) as caught:
        ask(pair())
    assert caught.value.input_tokens >= len(server.requests) * len(server.last.prompt) // 4
    assert caught.value.estimated


@pytest.mark.parametrize("code", [401, 429, 503])
def test_a_request_that_is_turned_away_costs_nothing(server, code):
    server.always(status(code))
    with pytest.raises(ModelError) as caught:
        ask(pair())
    assert (caught.value.input_tokens, caught.value.estimated) == (0, False)


# What is sent ----------------------------------------------------------------------------------


def test_the_request_names_the_model_carries_the_key_and_limits_the_answer(server):
    server.will_answer(DUPLICATE)
    ask(pair())
    sent = server.last
    assert sent.body["model"] == "scripted-model"
    assert "key-of-the-tests" in (sent.headers.get("authorization", "") + sent.headers.get("x-api-key", ""))
    assert 0 < (sent.body.get("max_tokens") or sent.body["max_completion_tokens"]) <= 8192
    assert not sent.body.get("stream")


def test_the_question_is_the_same_in_every_try(server):
    server.will(prose("Hm."), DUPLICATE)
    ask(pair())
    first, second = server.requests
    assert first.instructions in second.instructions
    assert second.prompt.startswith(first.prompt)


def test_each_question_has_a_fence_of_its_own(server):
    server.always(DUPLICATE)
    question = pair()
    ask(question)
    ask(question)
    assert server.requests[0].prompt != server.requests[1].prompt


def test_a_long_question_is_sent_whole(server):
    server.always(
        {"consolidate": False, "content": "", "kind": "fact", "confidence": 0.1} | {"rationale": "", "sentences": []}
    )
    question = distil()
    ask(question)
    assert all(episode.text in server.last.prompt for episode in question.episodes)


def test_questions_from_several_threads_get_their_own_answers(model_server):
    """As in a worker, whose tasks are threads of one process."""
    model_server.answers(lambda request: having_rationale(re.search(r"number \d+", request.prompt)[0]))
    questions = [pair(memory("m1", f"number {number}")) for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(ask, questions))
    assert [answer.value.rationale for answer in answers] == [f"number {number}" for number in range(8)]
    assert {answer.input_tokens for answer in answers} == {100}


def having_rationale(text: str) -> PairVerdict:
    return DUPLICATE.model_copy(update={"rationale": text})


def test_it_can_be_asked_where_a_loop_runs_already(model_server):
    model_server.always(DUPLICATE)

    async def asked():
        return ask(pair())

    with ThreadPoolExecutor(max_workers=1) as thread:  # a browser in this process has a loop of its own here
        assert thread.submit(lambda: asyncio.run(asked())).result().value.relation == "duplicate"
