import pytest
from django.urls import reverse

from tests.factories import make_scope
from tests.queries import queries_of, recorded_queries
from tests.reflections.factories import make_candidate, make_episodes

pytestmark = pytest.mark.django_db


def fill(scope, count):
    for number in range(count):
        make_candidate(scope, sources=make_episodes(scope, 3 + number % 3, entities=["cache", f"topic {number}"]))


@pytest.mark.behaviour("F29")
def test_the_queries_of_the_queue_do_not_grow_with_its_rows_and_are_as_recorded(client_of, owner, scope):
    make_scope(owner)
    mine = client_of(owner)
    counts = {}
    for rows in (2, 10):
        fill(scope, rows - len(counts) * 2)
        response = mine.get(reverse("reflection_list"))
        assert len(response.context["rows"]) == rows
        counts[rows] = queries_of(lambda: mine.get(reverse("reflection_list")))
    assert counts[2] == counts[10] == recorded_queries("reflections")


def test_the_queries_of_an_act_do_not_depend_on_how_many_drafts_wait(client_of, owner, scope):
    mine = client_of(owner)
    counts = []
    for rows in (2, 8):
        fill(scope, rows)
        candidate = make_candidate(scope, sources=make_episodes(scope, 3))
        url = reverse("reflection_dismiss", args=[candidate.pk])
        counts.append(queries_of(lambda url=url: mine.post(url, {"version": 1}, headers={"HX-Request": "true"})))
    assert counts[0] == counts[1]
