"""The list of memories: the feed, its filters and their counts, searching, and whatever stands in the address."""

import re
from datetime import timedelta
from urllib.parse import quote, urlencode

import pytest
from django.urls import reverse
from django.utils import timezone

from memories import services
from memories.access import actor_for_user
from memories.models import Kind, Memory, RankingConfig
from memories.recall import recall
from memories.tasks import embed_pending
from tests.factories import make_member, make_memory, make_scope, make_token, make_user
from tests.memories.pages import Html, text_of
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


def page(client, query="", **headers):
    return client.get(reverse("memory_list") + query, headers=headers)


def rows_of(answer):
    """The ids of the rows, in their order."""
    rows = list(Html(answer).classed("memory-row"))
    return [row.attributes["id"].removeprefix("memory-") for row in rows]


def ids(*memories):
    return {str(memory.pk) for memory in memories}


@pytest.fixture
def lifecycle(actor, scope):
    """One memory in each state, by name."""
    live = make_memory("live", scope=scope)
    gone, old = make_memory("gone", scope=scope), make_memory("old", scope=scope)
    services.forget(actor=actor, memory=gone, reason="wrong")
    services.supersede(actor=actor, memory=old, replacement=live)
    lapsed = make_memory("lapsed", scope=scope, valid_until=timezone.now() - timedelta(days=1))
    return {"live": live, "gone": gone, "old": old, "lapsed": lapsed}


# The feed and its states ---------------------------------------------------------------------


@pytest.mark.behaviour("Z81")
def test_the_feed_hides_old_versions_and_shows_what_was_forgotten_dimmed_and_badged(mine, lifecycle):
    answer = page(mine)
    assert set(rows_of(answer)) == ids(lifecycle["live"], lifecycle["gone"], lifecycle["lapsed"])
    dimmed = {element.attributes["id"]: element.text for element in Html(answer).classed("is-invalid")}
    assert "forgotten" in dimmed[f"memory-{lifecycle['gone'].pk}"]
    assert "no longer valid" in dimmed[f"memory-{lifecycle['lapsed'].pk}"]
    assert len(dimmed) == 2


@pytest.mark.behaviour("Z81")
@pytest.mark.parametrize(
    ("state", "names"),
    [
        ("live", {"live"}),
        ("superseded", {"old"}),
        ("invalidated", {"gone"}),
        ("all", {"live", "gone", "old", "lapsed"}),
    ],
)
def test_every_other_state_shows_exactly_its_memories(mine, lifecycle, state, names):
    assert set(rows_of(page(mine, f"?state={state}"))) == ids(*(lifecycle[name] for name in names))


@pytest.mark.behaviour("Z81")
def test_the_default_adds_nothing_to_the_address(mine, lifecycle):
    options = {
        option.text.split()[0]: option for option in Html(page(mine, "?state=all&kind=fact")).classed("filter-option")
    }
    assert options["Newest"].attributes["href"] == "/memories/?kind=fact"
    html = Html(page(mine))
    chosen = {
        option.attributes["href"] for option in html.classed("filter-option") if "aria-current" in option.attributes
    }
    assert chosen == {"/memories/"}
    assert not [
        field for field in html.all("input", type="hidden") if field.attributes["name"] != "csrfmiddlewaretoken"
    ]


def test_an_empty_corpus_says_what_to_do(mine):
    links = {link.attributes["href"] for link in Html(page(mine)).all("a")}
    assert "No memories yet" in text_of(page(mine))
    assert {reverse("memory_new"), reverse("token_list")} <= links


def test_filters_that_leave_nothing_say_so(mine, scope):
    make_memory(scope=scope)
    assert "Nothing here under this filter" in text_of(page(mine, "?kind=task"))


def test_the_newest_versions_are_the_sum_of_live_lapsed_and_forgotten(mine, lifecycle):
    counts = {label: int(number) for label, number in counts_shown(page(mine)).items()}
    assert counts["Newest versions"] == counts["Live"] + counts["No longer valid"] + counts["Forgotten"] == 3
    assert counts["All"] == counts["Newest versions"] + counts["Older versions"] == 4


def test_the_list_says_what_it_holds(mine, lifecycle):
    assert "3 memories, newest first: live ones, and dimmed those forgotten or no longer" in text_of(page(mine))
    assert "1 memory, newest first: their validity has ended" in text_of(page(mine, "?state=lapsed"))


def test_a_long_list_goes_on_by_cursor_and_shows_every_memory_once(mine, scope):
    made = [make_memory(scope=scope, age_days=n % 7) for n in range(95)]
    seen, query = [], ""
    while query is not None:
        answer = page(mine, query)
        seen += rows_of(answer)
        more = [link.attributes["href"] for link in Html(answer).all("a") if "cursor=" in link.attributes["href"]]
        query = more[0].removeprefix("/memories/") if more else None
    assert len(seen) == 95
    assert set(seen) == ids(*made)
    created = dict(Memory.objects.values_list("pk", "created_at"))
    assert [str(pk) for pk, _ in sorted(created.items(), key=lambda item: (item[1], item[0]), reverse=True)] == seen


def test_a_fragment_has_the_next_rows_and_the_next_button_alone(mine, scope):
    for _ in range(90):
        make_memory(scope=scope)
    first = page(mine)
    (more,) = [link for link in Html(first).all("a") if "cursor=" in link.attributes["href"]]
    assert more.attributes["hx-get"] == more.attributes["href"]
    fragment = page(mine, more.attributes["href"].removeprefix("/memories/"), **HTMX)
    assert len(rows_of(fragment)) == 40
    html = Html(fragment)
    assert not html.all("html")
    assert html.all("div", id="load-more", hx_swap_oob="true")
    assert "HX-Request" in fragment.headers["Vary"]


def test_going_back_gets_the_whole_page(mine, scope):
    make_memory(scope=scope)
    assert Html(page(mine, **HTMX, **{"HX-History-Restore-Request": "true"})).all("html")
    assert Html(page(mine, **HTMX, **{"HX-Boosted": "true"})).all("html")


# Filters and counts --------------------------------------------------------------------------


def counts_shown(answer):
    """The words of each filter option with the number beside them."""
    found = {}
    for option in Html(answer).classed("filter-option"):
        label, _, number = option.text.rpartition(" ")
        if number.isdecimal():
            found[label] = int(number)
    return found


@pytest.fixture
def corpus(owner, scope):
    """Memories that differ in everything one can filter by."""
    other = make_scope(owner, slug="garden")
    kinds, ages, authors = ["fact", "episode", "decision"], [1, 20, 60, 200, 800], ["human", "agent", "import"]
    for number in range(60):
        make_memory(
            scope=[scope, other][number % 2],
            kind=kinds[number % 3],
            age_days=ages[number % 5],
            author_kind=authors[(number // 3) % 3],
            pinned=number % 4 == 0,
            entities=["cache"] if number % 6 == 0 else [],
            embedded_at=timezone.now() if number % 5 else None,
        )
    for memory in Memory.objects.order_by("pk")[:9]:
        services.forget(actor=actor_for_user(owner), memory=memory)
    return other


@pytest.mark.behaviour("Z82", "F45")
@pytest.mark.parametrize(
    "query",
    ["", "?kind=fact", "?scope=garden&state=all", "?age=d31_90", "?author=agent&kind=decision", "?pinned=1", "?faded=1",
     "?entity=cache", "?waiting=1", "?state=invalidated"],
)  # fmt: skip
def test_the_number_beside_each_filter_is_what_it_leads_to(mine, corpus, query):
    answer = page(mine, query)
    options = [
        (option.text.rpartition(" "), option)
        for option in Html(answer).classed("filter-option")
        if option.text.rpartition(" ")[2].isdecimal() and "aria-current" not in option.attributes
    ]
    assert len(options) > 5
    for (label, _, number), option in options:
        if "href" not in option.attributes:
            assert number == "0", label
            continue
        led_to = page(mine, option.attributes["href"].removeprefix("/memories/"))
        assert led_to.context["total"] == int(number), label


@pytest.mark.behaviour("Z82")
def test_a_choice_that_would_show_nothing_is_no_link(mine, scope):
    make_memory(scope=scope, kind="fact")
    empty = {element.text for element in Html(page(mine)).classed("is-empty")}
    assert {"task 0", "Forgotten 0", "pinned 0", "Over a year 0"} <= empty


def test_the_number_of_memories_is_the_number_of_rows(mine, corpus):
    total = page(mine).context["total"]
    assert total == Memory.objects.filter(superseded_by=None).count() == 60
    assert f"{total} memories, newest first" in text_of(page(mine))


def test_one_memory_is_not_called_memories(mine, scope):
    make_memory(scope=scope)
    assert "1 memory, newest first" in text_of(page(mine))


def test_faded_shows_live_memories_past_their_half_life(mine, scope, actor):
    RankingConfig.objects.filter(kind="task").update(half_life_days=14)
    faded, fresh = (
        make_memory(scope=scope, kind="task", age_days=15),
        make_memory(scope=scope, kind="task", age_days=13),
    )
    services.forget(actor=actor, memory=make_memory(scope=scope, kind="task", age_days=99))
    assert set(rows_of(page(mine, "?faded=1"))) == ids(faded)
    html = Html(page(mine))
    assert [row.attributes["id"] for row in html.classed("is-faded") if row.tag == "li"] == [f"memory-{faded.pk}"]
    assert str(fresh.pk) in rows_of(page(mine))


def test_an_entity_is_found_in_every_spelling(mine, scope):
    one = make_memory(scope=scope, entities=["Straße 5"])
    make_memory(scope=scope, entities=["other"])
    assert set(rows_of(page(mine, "?entity=" + quote("  STRASSE   5")))) == ids(one)


def test_scopes_of_one_name_have_links_that_work(client_of, owner, scope):
    twin = make_scope(make_user(username="visitor"), slug="home")
    make_member(twin, user=owner)
    mine, theirs = make_memory(scope=scope), make_memory(scope=twin)
    client = client_of(owner)
    links = {
        option.text.split()[0]: option.attributes.get("href") for option in Html(page(client)).classed("filter-option")
    }
    for name, memory in (("owner/home", mine), ("visitor/home", theirs)):
        assert rows_of(client.get(links[name])) == [str(memory.pk)]


# Searching -----------------------------------------------------------------------------------


WORDS = ("retry the upload", "upload", "retry", "nothing like that", "E1042", "Größe")
CONTENTS = [
    "The upload is retried three times before it fails.",
    "We retry an upload with the same key, so it is stored once.",
    "Error E1042 means that the upload was cut off.",
    "Uploads larger than 5 MB are split.",
    "The garden is watered on Tuesday.",
    "Die Größe der Datei wird vor dem Hochladen geprüft.",
]


@pytest.fixture
def searched(owner, scope):
    for number, content in enumerate(CONTENTS):
        kind = Kind.values[number % 3]
        make_memory(
            content,
            scope=scope,
            kind=kind,
            age_days=number * 11,
            pinned=number % 2 == 0,
            entities=["upload"] if number < 3 else [],
        )
    make_memory("Another upload, elsewhere.", scope=make_scope(owner, slug="garden"))
    return scope


def api_ids(client, secret, **body):
    answer = client.post(
        "/api/v1/recall", body, content_type="application/json", headers={"Authorization": f"Bearer {secret}"}
    )
    assert answer.status_code == 200
    return [result["id"] for result in answer.json()["results"]]


@pytest.mark.behaviour("Z18")
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize(
    "narrower", [{}, {"scope": "home"}, {"kind": "fact"}, {"scope": "home", "kind": "decision"}], ids=str
)
def test_the_page_the_api_and_the_service_find_the_same_in_the_same_order(
    mine, client, owner, searched, words, narrower
):
    _, secret = make_token(owner, owner.owned_scopes.all())
    asked = {
        "scopes": [narrower["scope"]] if "scope" in narrower else None,
        "kinds": [narrower["kind"]] if "kind" in narrower else None,
    }
    found = recall(actor=actor_for_user(owner), query=words, k=20, **asked).results
    by_service = [str(result.memory.pk) for result in found]
    by_page = rows_of(page(mine, "?" + urlencode({"q": words} | narrower)))
    by_api = api_ids(client, secret, query=words, k=20, **{name: value for name, value in asked.items() if value})
    assert by_page == by_service == by_api


@pytest.mark.behaviour("Z18")
def test_the_best_match_is_a_hundred_per_cent_of_the_best_and_the_rest_in_proportion(mine, owner, searched):
    results = recall(actor=actor_for_user(owner), query="retry the upload", k=20).results
    html = Html(page(mine, "?q=retry+the+upload"))
    shown = [element.text for element in html.classed("share")]
    assert shown[0] == "100 % of the best"
    assert shown == [f"{round(100 * result.score / results[0].score)} % of the best" for result in results]
    assert [element.text for element in html.classed("score")] == [f"#{n}" for n in range(1, len(results) + 1)]


def test_a_weak_best_match_is_shown_as_weak(mine, scope):
    make_memory("The quay was painted green.", scope=scope)
    embed_pending()
    html = Html(page(mine, "?q=how+does+the+tax+office+count+days"))
    (near,) = [element.text for element in html.classed("signals")]
    found = re.fullmatch(r"cosine (-?[\d.]+), (?:no word|\d words?)", near)
    assert found
    assert float(found[1]) < 0.6


def test_every_factor_of_a_score_is_on_the_page(mine, searched):
    html = Html(page(mine, "?q=upload"))
    (first, *_) = html.classed("breakdown")
    for factor in ("relevance", "kind", "age", "provenance", "reinforcement", "structural", "confidence", "score"):
        assert factor in first.text


def test_each_factor_says_where_it_comes_from_in_this_result(mine, owner, scope, settings):
    settings.EMBEDDER = "none"
    make_memory("The upload is slow.", scope=scope, kind="episode", age_days=61, provenance=0)
    make_memory("The upload is slow on Fridays.", scope=make_scope(owner, retention="decaying"), age_days=900)
    said = " ".join(table.text for table in Html(page(mine, "?q=upload")).classed("breakdown"))
    for reason in (
        "#1 by words; the best of all counts 1",
        "#2 by words; the best of all counts 1",
        "an episode weighs 0.70",
        "61 days old, half-life 30 days, exponential",
        "provisional",
        "its scope keeps by last access, so age does not count",
        "no feedback yet",
    ):
        assert reason in said


def test_a_search_shows_live_memories_only_and_keeps_the_other_filters(mine, searched, actor):
    services.forget(actor=actor, memory=Memory.objects.get(content=CONTENTS[0]))
    html = Html(page(mine, "?q=upload&state=all&faded=1&waiting=1&kind=fact"))
    assert str(Memory.objects.get(content=CONTENTS[0]).pk) not in str(html.classed("memory-row"))
    hidden = {field.attributes["name"]: field.attributes["value"] for field in html.all("input", type="hidden")}
    assert hidden.pop("csrfmiddlewaretoken")
    assert hidden == {"kind": "fact"}
    assert html.field("q") == "upload"


@pytest.mark.parametrize("narrower", ["pinned=1", "entity=upload", "age=d8_30", "author=agent"])
def test_a_search_under_a_filter_finds_what_both_allow(mine, searched, narrower):
    allowed = set(rows_of(page(mine, f"?{narrower}")))
    found = set(rows_of(page(mine, f"?q=upload&{narrower}")))
    assert found
    assert found <= allowed


def test_without_an_embedder_the_page_says_that_it_searches_by_words(mine, searched, settings):
    settings.EMBEDDER = "none"
    answer = page(mine, "?q=upload")
    assert "Searching by words only" in text_of(answer)
    assert rows_of(answer)


def test_a_search_that_finds_nothing_says_so(mine, scope, settings):
    settings.EMBEDDER = "none"
    make_memory("Something.", scope=scope)
    assert "Nothing matches" in text_of(page(mine, "?q=zebra"))


# Whatever stands in the address --------------------------------------------------------------


PARAMETERS = (
    "q",
    "kind",
    "state",
    "age",
    "cursor",
    "scope",
    "author",
    "entity",
    "pinned",
    "faded",
    "waiting",
    "all",
)
NASTY = [
    "%00", "a%00b", "%ED%A0%80", "%ED%BF%BF", "%FF%FE", "%F0%9F%92%A9", "x" * 10_000, "%27%22%3C%3E", "%5Cu0000", "-1",
    "9" * 40, "%2e%2e%2f", "owner%2F", "%2Fhome", "a%2Fb%2Fc", "%E2%80%AE", "%0D%0A", "{}", "[]", "W10", "bnVsbA",
    "WyIyMDI0LTAxLTAxIiwgIngiXQ",  # ["2024-01-01", "x"]
    # The first year in a zone that puts it before the first year.
    "WyIwMDAxLTAxLTAxVDAwOjAwOjAwKzIzOjU5IiwgIjAxOGY1YTJlLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMCJd",
    "%26%7C%21%28%29%3A*", "'; DROP TABLE memories; --",
]  # fmt: skip


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_no_address_makes_the_list_fail(mine, scope, settings, parameter):
    settings.EMBEDDER = "none"
    make_memory("x x x", scope=scope)
    for value in NASTY:
        query = f"?{parameter}={value}"
        answer = page(mine, query, **(HTMX if len(value) % 2 else {}))
        assert answer.status_code in (200, 400, 404), query
        assert answer.headers["Content-Type"].startswith("text/html")


def test_a_parameter_given_twice_or_without_a_value_is_no_failure(mine, scope):
    make_memory(scope=scope)
    for parameter in PARAMETERS:
        assert page(mine, f"?{parameter}=1&{parameter}=2&{parameter}").status_code == 200


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?kind=opinion", "There is no kind &#x27;opinion&#x27; to filter by."),
        ("?state=asleep", "There is no state &#x27;asleep&#x27; to filter by."),
        ("?age=young", "There is no age &#x27;young&#x27; to filter by."),
        ("?cursor=x", "This cursor is not one of ours"),
    ],
)
def test_a_filter_that_does_not_exist_is_said_and_leads_back(mine, scope, query, said):
    answer = page(mine, query)
    assert answer.status_code == 400
    assert said in answer.text
    assert "Show all memories" in answer.text


def test_a_scope_that_does_not_exist_is_not_found(mine):
    answer = page(mine, "?scope=nowhere")
    assert answer.status_code == 404
    assert "There is no such scope here." in text_of(answer)


def test_a_name_that_several_scopes_have_says_which_there_are(client_of, owner, scope):
    make_member(make_scope(make_user(username="visitor"), slug="home"), user=owner)
    answer = page(client_of(owner), "?scope=home")
    assert answer.status_code == 409
    assert "name one of owner/home, visitor/home" in text_of(answer)


# Queries -------------------------------------------------------------------------------------


def test_the_queries_of_the_list_do_not_grow_with_rows(mine, scope):
    for _ in range(3):
        make_memory(scope=scope, entities=["a"])
    few = queries_of(lambda: page(mine))
    for number in range(40):
        make_memory(scope=scope, entities=["a", f"b{number}"], author=make_user())
    assert queries_of(lambda: page(mine)) == few == recorded_queries("memories")


def test_the_queries_of_a_search_do_not_grow_with_rows(mine, scope, settings):
    settings.EMBEDDER = "none"
    make_memory("needle", scope=scope, entities=["a"])
    few = queries_of(lambda: page(mine, "?q=needle"))
    for number in range(30):
        make_memory(f"needle {number}", scope=scope, entities=[f"b{number}"], author=make_user())
    assert queries_of(lambda: page(mine, "?q=needle")) == few == recorded_queries("memories_search")


def test_a_list_never_carries_long_texts(mine, scope):
    for number in range(40):
        make_memory(f"{number} " + "long words " * 5000, scope=scope)
    assert len(page(mine).content) < 300_000
    assert not re.search(r"(long words ){200}", page(mine).text)
