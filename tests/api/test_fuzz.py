"""No call fails on anything its description allows, or does not, and each answer is one that it names."""

import pytest

from reflections import hygiene
from tests.api.fuzzing import fuzz, operations
from tests.factories import make_memory, make_token
from tests.reflections.disputing import make_pair
from tests.reflections.factories import person

pytestmark = pytest.mark.django_db
EXAMPLES = 20
OPERATIONS = {operation.label: operation for operation in operations()}


@pytest.fixture
def known(owner, scope):
    """Something of each kind, for calls that name one."""
    memory = make_memory("The harbour gate opens at six.", scope=scope, kind="task")
    make_memory("A second one.", scope=scope)
    return {
        "memory_id": str(memory.pk),
        "dispute_id": str(make_pair(scope).pk),
        "run_id": str(hygiene.start_cycle(actor=person(owner), scopes=[scope], ring=False).run.pk),
    }


@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_one_that_the_description_names(owner, scope, known, label):
    _, secret = make_token(owner, [scope], can_adjudicate=True)
    fuzz(OPERATIONS[label], secret=secret, known=known, examples=EXAMPLES)
