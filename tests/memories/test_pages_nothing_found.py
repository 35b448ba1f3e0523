"""A filter that leaves nothing says what it hides, and is removed with one click."""

import pytest
from django.urls import reverse
from django.utils import timezone

from memories import services
from memories.access import actor_for_user
from memories.candidates import Filters
from memories.facets import Without, search_without_each
from memories.models import Memory
from tests.factories import add_entity, make_memory, make_scope, make_user
from tests.memories.pages import Html

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("F30")]


@pytest.fixture
def mine(client_of, owner, scope, settings):
    settings.EMBEDDER = "none"
    return client_of(owner)


@pytest.fixture
def seven(owner, scope):
    """Seven facts that an agent wrote today, and a scope without memories beside theirs."""
    make_scope(owner, slug="empty")
    return [make_memory(f"Upload number {number}.", scope=scope) for number in range(7)]


def page(client, query):
    return client.get(f"{reverse('memory_list')}{query}")


def offers(answer):
    """What each removed filter would show, by the sentence that offers it."""
    (shown,) = Html(answer).classed("without")
    said = [entry.text for entry in Html(answer).all("li") if entry.text and entry.text in shown.text]
    links = [link for link in Html(answer).all("a") if link.text.startswith("Remove this filter")]
    return said, [link.attributes["href"] for link in links]


FILTERS = {
    "kind=task": "0 with this kind, 7 without",
    "scope=empty": "0 in this scope, 7 without",
    "author=human": "0 by this author, 7 without",
    "age=gt_1y": "0 of this age, 7 without",
    "pinned=1": "0 pinned, 7 without",
    "entity=cache": "0 about this entity, 7 without",
}


@pytest.mark.parametrize("search", ["", "q=upload&"], ids=["feed", "search"])
@pytest.mark.parametrize("query", FILTERS)
def test_each_filter_that_leaves_nothing_says_how_many_there_are_without_it(mine, seven, search, query):
    said, links = offers(page(mine, f"?{search}{query}"))
    assert said[0].startswith(FILTERS[query])
    (link,) = links
    assert query not in link
    assert len(mine.get(link).context["rows"]) == 7


@pytest.mark.parametrize("query", ["state=superseded", "state=lapsed", "faded=1"])
def test_the_filters_of_the_feed_say_so_too(mine, seven, query):
    (link,) = offers(page(mine, f"?{query}"))[1]
    assert len(mine.get(link).context["rows"]) == 7


def test_of_two_filters_each_is_counted_under_the_other(mine, seven, scope):
    make_memory("Upload by hand.", scope=scope, kind="task")
    said, links = offers(page(mine, "?q=upload&kind=task&pinned=1"))
    assert said[0].startswith("0 with this kind, 0 without")
    assert said[1].startswith("0 pinned, 1 without")
    assert len(links) == 1


@pytest.mark.parametrize("search", ["", "q=upload&"], ids=["feed", "search"])
def test_where_no_filter_alone_hides_anything_all_together_are_removed(mine, seven, search):
    answer = page(mine, f"?{search}kind=task&pinned=1")
    said = [entry.text for entry in Html(answer).all("li") if entry.text.startswith("0 with")]
    assert said[0].startswith("0 with this kind, 0 without")
    assert said[-1].startswith("0 with all of them, 7 without")
    (link,) = [one.attributes["href"] for one in Html(answer).all("a") if one.text.startswith("Remove every filter")]
    assert len(mine.get(link).context["rows"]) == 7


def test_counting_stops_at_what_a_search_shows(mine, scope):
    for number in range(21):
        make_memory(f"Upload number {number}.", scope=scope)
    said, _ = offers(page(mine, "?q=upload&kind=task"))
    assert said[0].startswith("0 with this kind, 20 or more without")


def test_a_filter_that_leaves_something_is_not_questioned(mine, seven):
    assert Html(page(mine, "?q=upload&kind=fact")).classed("without") == []
    assert Html(page(mine, "?q=zebra")).classed("without") == []


def test_what_others_wrote_is_not_counted(mine, seven):
    make_memory("Upload of somebody else.", scope=make_scope(make_user()))
    assert offers(page(mine, "?q=upload&kind=task"))[0][0].startswith("0 with this kind, 7 without")


def test_a_forgotten_memory_is_no_match_without_the_filter(mine, seven, owner):
    services.forget(actor=actor_for_user(owner), memory=seven[0])
    assert offers(page(mine, "?q=upload&kind=task"))[0][0].startswith("0 with this kind, 6 without")


# For a recall --------------------------------------------------------------------------------


def counting(filters):
    rows = Memory.objects.in_scopes(filters.scopes)
    rows = rows.filter(kind__in=filters.kinds) if filters.kinds else rows
    rows = rows.filter(created_at__gte=filters.created_from) if filters.created_from else rows
    return rows.count()


def test_a_recall_is_counted_without_each_of_its_filters(seven, owner):
    actor = actor_for_user(owner)
    empty = next(scope for scope in actor.readable if not Memory.objects.filter(scope=scope).exists())
    filters = Filters(scopes={empty}, kinds=["fact"], created_from=timezone.now().replace(year=2020))
    found = search_without_each(filters, actor.readable, counting)
    assert found == (Without("kind", 0), Without("scope", 7), Without("age", 0))
    assert [one.said() for one in found][1] == "0 in this scope, 7 without"


def test_a_recall_without_filters_has_none_to_remove(seven, owner):
    readable = actor_for_user(owner).readable
    assert search_without_each(Filters(scopes=readable), readable, counting) == ()


def test_a_pin_asked_for_or_asked_away_is_a_filter(seven, owner):
    readable = actor_for_user(owner).readable
    add_entity(seven[0], "cache")
    for filters in (Filters(readable, pinned=False), Filters(readable, entity="cache")):
        assert [one.found for one in search_without_each(filters, readable, counting)] == [7]
