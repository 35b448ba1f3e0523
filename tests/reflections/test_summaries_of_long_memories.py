"""What a summary stands for was shown to the model whole; what there was no room for stays."""

from __future__ import annotations

import pytest

from memories.models import Memory, Scope
from tests.llm.server import ModelServer
from tests.memories.retention.cycling import unused_for
from tests.reflections.summing import fading_scope, states, summarised, summary_of

pytestmark = pytest.mark.django_db
END = "The very last gauge is broken."


def long_and_unused(scope: Scope, days: float, length: int) -> Memory:
    return unused_for(days, scope=scope, content=f"Log of {days} days. ".ljust(length - len(END), "x") + END)


def test_a_memory_too_long_to_be_shown_whole_is_not_summarised(model_server: ModelServer) -> None:
    scope, weak = fading_scope(3, summaries="automatic")
    long = long_and_unused(scope, 70, 6_001)
    unused_for(1, scope=scope)
    model_server.will_answer(summary_of("m1", "m2", "m3", "m4"))

    done = summarised(scope)

    assert "Log of 70 days." not in model_server.last.prompt
    assert (done.summarised, states([long, *weak])) == (3, ["live", *["superseded"] * 3])


def test_what_one_question_has_no_room_for_is_left_to_a_later_cycle(model_server: ModelServer) -> None:
    scope, weak = fading_scope(1, summaries="automatic")
    long = [long_and_unused(scope, 90 - n, 6_000) for n in range(12)]
    for n in range(12):
        unused_for(1, scope=scope, content=f"Mast {n} was painted in spring.")
    model_server.will_answer(summary_of(*(f"m{n}" for n in range(1, 14))))

    done = summarised(scope)

    assert model_server.last.prompt.count(END) == 10
    assert (done.summarised, states(long)) == (10, ["superseded"] * 10 + ["live"] * 2)
    assert states(weak) == ["live"]


def test_all_that_is_too_long_asks_nobody(model_server: ModelServer) -> None:
    scope, _ = fading_scope(1, summaries="automatic")
    long = [long_and_unused(scope, 90 - n, 7_000) for n in range(2)]
    for n in range(2):
        unused_for(1, scope=scope, content=f"Mast {n} was painted in spring.")

    assert summarised(scope).summarised == 0
    assert (model_server.requests, states(long)) == ([], ["live"] * 2)
