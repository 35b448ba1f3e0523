"""The same as ``test_fuzz``, asked much longer."""

import pytest

from tests.api.fuzzing import fuzz
from tests.api.test_fuzz import OPERATIONS, known
from tests.factories import make_token

__all__ = ["known"]
pytestmark = pytest.mark.django_db
EXAMPLES = 250


@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_one_that_the_description_names_however_long_it_is_asked(owner, scope, known, label):
    _, secret = make_token(owner, [scope], can_adjudicate=True)
    fuzz(OPERATIONS[label], secret=secret, known=known, examples=EXAMPLES)
