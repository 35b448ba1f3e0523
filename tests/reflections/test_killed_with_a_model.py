"""kill -9 of the worker while a step asks the model, and while it writes what the model said: done once, by another."""

import pytest

from reflections import hygiene
from tests.reflections.killing import MOMENTS, PLANTED, everything, gone_on_with
from tests.reflections.stepping import run_step

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.behaviour("F38")
@pytest.mark.parametrize("moment", list(MOMENTS))
@pytest.mark.parametrize("step", list(PLANTED))
def test_what_a_killed_worker_left_is_done_once_by_the_next(scope, model_server, step, moment):
    said, expected = PLANTED[step](scope)
    run = hygiene.start_cycle(actor=None, scopes=[scope], steps=[step], ring=False).run
    MOMENTS[moment](run, model_server, said)
    assert everything() == {}
    model_server.always(said)
    ended = gone_on_with(run)
    assert (ended.state, ended.attempts, everything()) == ("done", 2, expected)
    asked = len(model_server.requests)
    assert asked <= 2
    assert run_step(step, scope).state == "done"
    assert (everything(), len(model_server.requests)) == (expected, asked)
