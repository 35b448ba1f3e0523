"""One step of those in test_killed_with_a_model.py, which take minutes together."""

import pytest

from reflections import hygiene
from tests.reflections.killing import PLANTED, everything, gone_on_with, killed_while_it_asks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.behaviour("F38")
def test_a_worker_killed_while_the_model_thinks_leaves_nothing_and_the_next_one_does_it_once(scope, model_server):
    said, expected = PLANTED["kind_audit"](scope)
    run = hygiene.start_cycle(actor=None, scopes=[scope], steps=["kind_audit"], ring=False).run
    killed_while_it_asks(run, model_server, said)
    assert everything() == {}
    model_server.always(said)
    ended = gone_on_with(run)
    assert (ended.state, ended.attempts, everything()) == ("done", 2, expected)
