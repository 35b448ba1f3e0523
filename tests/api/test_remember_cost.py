"""What it costs to remember: the way that every agent goes over and over."""

from itertools import count

import pytest

from memories.access import actor_for_user
from memories.services import remember
from tests.factories import make_memory
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db

NUMBERS = count()


def written(api, **more):
    answer = api.post("/memories", {"content": f"The tide turns at {next(NUMBERS)}."} | more)
    assert answer.status_code == 201, answer.json()
    return answer.json()


def test_what_a_token_writes_takes_as_many_round_trips_as_before(api, scope):
    written(api)
    assert queries_of(lambda: written(api)) == recorded_queries("rest_remember")


def test_they_do_not_grow_with_what_was_recalled_before(api, scope):
    written(api)
    counts = []
    for number in range(6):
        make_memory(f"The harbour light, note {number}.", scope=scope)
        assert api.post("/recall", {"query": "harbour light", "session": "monday"}).json()["results"]
        counts.append(queries_of(lambda: written(api, session="monday")))
    assert len(set(counts)) == 1


def test_what_a_person_writes_takes_as_many_round_trips_as_before(owner, scope):
    def write():
        remember(actor=actor_for_user(owner), scope=scope, content=f"The tide turns at {next(NUMBERS)}.")

    write()
    assert queries_of(write) == recorded_queries("remember_of_a_person")
