"""Questions and answers over HTTP, in both protocols."""

import pytest

from tests.llm import server as scripted
from tests.llm.factories import pair
from zeromemory.llm import PairVerdict, ask

DUPLICATE = PairVerdict(relation="duplicate", confidence=0.9, rationale="Both name the same day.")


@pytest.fixture(params=[scripted.OPENAI, scripted.ANTHROPIC])
def server(request, model_server, settings):
    scripted.use(settings, model_server, request.param)
    return model_server


def test_an_answer_comes_with_what_it_cost(server):
    server.will_answer(DUPLICATE)
    answer = ask(pair())
    assert answer.value == DUPLICATE
    assert (answer.input_tokens, answer.output_tokens, answer.requests) == (100, 20, 1)
    assert answer.model.endswith(":scripted-model")
    assert PairVerdict.model_validate_json(answer.raw) == DUPLICATE
