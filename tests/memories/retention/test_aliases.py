"""Words that stand for each other: they widen what is searched, and nobody is given them."""

import pytest

from memories.access import actor_for_user
from memories.errors import Forbidden, NotFound, ValidationFailed
from memories.models import Alias, AuditEntry
from memories.recall import recall
from memories.services.aliases import add_alias, alias_for, retire_alias, standing
from memories.vocabulary import MOST_ALIASES, spoken, widened
from memories.words import Word, words_of
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.queries import recorded_queries

pytestmark = pytest.mark.django_db


def found(owner, query, **asked):
    return [result.memory.content for result in recall(actor=actor_for_user(owner), query=query, **asked).results]


def let(owner, scope, term, alias):
    return add_alias(actor=actor_for_user(owner), scope=scope, term=term, alias=alias)


@pytest.fixture
def billing(scope):
    make_memory("The billing service owns invoices.", scope=scope)
    make_memory("Something else altogether.", scope=scope)
    return scope


@pytest.mark.behaviour("G32")
@pytest.mark.parametrize("query", ["falcon", "Who owns FALCON?", "falcon's invoices"])
def test_an_alias_finds_what_it_stands_for(owner, billing, query):
    let(owner, billing, "falcon", "billing service")

    assert found(owner, query) == ["The billing service owns invoices."]


@pytest.mark.behaviour("G32")
def test_it_stands_both_ways_and_for_words_together(owner, scope):
    make_memory("Falcon sleeps at night.", scope=scope)
    let(owner, scope, "falcon", "billing service")

    assert found(owner, "the Billing  Service") == ["Falcon sleeps at night."]
    assert found(owner, "the billing of a service") == []


@pytest.mark.behaviour("G32")
def test_it_is_never_given_as_a_memory(owner, scope):
    let(owner, scope, "falcon", "billing service")

    assert found(owner, "falcon") == found(owner, "billing service") == []


@pytest.mark.behaviour("G32")
def test_a_retired_alias_widens_nothing(owner, billing):
    alias = let(owner, billing, "falcon", "billing service")

    retire_alias(actor=actor_for_user(owner), alias=alias)

    assert found(owner, "falcon") == []
    assert not standing(billing).exists()
    let(owner, billing, "falcon", "billing service")
    assert len(found(owner, "falcon")) == 1


def test_only_the_aliases_of_scopes_that_are_read_widen(owner, billing):
    elsewhere = make_scope(owner)
    let(owner, elsewhere, "falcon", "billing service")

    assert found(owner, "falcon", scopes=[billing.slug]) == []


def test_a_word_inside_another_is_not_asked_for(owner, billing):
    let(owner, billing, "con", "billing service")

    assert found(owner, "falcon") == []


def test_a_match_by_an_alias_counts_as_much_as_the_word_itself(owner, scope):
    make_memory("The falcon opens at six.", scope=scope, age_days=1)
    make_memory("The gate opens at six.", scope=scope, age_days=2)
    make_memory("The shop opens at six.", scope=scope)
    let(owner, scope, "falcon", "gate")

    results = recall(actor=actor_for_user(owner), query="falcon opens").results

    assert [result.memory.content for result in results[:2]] == ["The falcon opens at six.", "The gate opens at six."]
    assert [result.text_matched for result in results] == [2, 2, 1]


@pytest.mark.parametrize(
    ("query", "pair", "places"),
    [
        ("deploy k8s now", ("K8s", "kubernetes"), [(2, "kubernetes")]),
        ("continuous integration fails", ("CI", "continuous integration"), [(1, "CI"), (2, "CI")]),
        ("the kubernetesish", ("K8s", "kubernetes"), []),
        ("港口灯塔", ("灯塔", "lighthouse"), [(3, "lighthouse")]),
        ("c++ and c", ("C++", "cpp"), [(1, "cpp")]),
    ],
)
def test_which_words_of_a_query_are_widened(query, pair, places):
    assert widened(words_of(query), query, [pair]) == places


def test_meaning_is_looked_for_with_what_a_code_name_stands_for():
    pairs = [("heron", "customer data warehouse"), ("kite", "release pipeline")]
    assert spoken("when does Heron load", pairs) == "when does Heron load (customer data warehouse)"
    assert spoken("when does it load", pairs) == "when does it load"


def test_a_quoted_phrase_is_widened_as_the_word_it_is():
    assert widened([Word("gate", identifier=True)], '"gate"', [("gate", "falcon")]) == [(1, "falcon")]


# Writing ---------------------------------------------------------------------------------------


def test_an_alias_is_on_record_and_there_once(owner, scope):
    first = let(owner, scope, "  falcon ", "billing  service")

    assert let(owner, scope, "Billing Service", "FALCON") == first
    assert (first.term, first.alias, first.created_by) == ("falcon", "billing service", "owner")
    retire_alias(actor=actor_for_user(owner), alias=first)
    retire_alias(actor=actor_for_user(owner), alias=first)
    acts = AuditEntry.objects.filter(scope=scope).order_by("pk").values_list("action", flat=True)
    assert list(acts) == ["add_alias", "retire_alias"]


@pytest.mark.parametrize(
    ("term", "alias", "field"),
    [("", "a", "term"), ("a", " \n", "alias"), ("a", "...", "alias"), ("A", "a", "alias"), ("a", "b" * 121, "alias")],
)
def test_words_that_say_nothing_are_refused(owner, scope, term, alias, field):
    with pytest.raises(ValidationFailed) as refused:
        let(owner, scope, term, alias)
    assert refused.value.field == field
    assert not Alias.objects.exists()


def test_there_is_an_end_to_them(owner, scope):
    Alias.objects.bulk_create(
        Alias(scope=scope, term=f"word {n}", alias=f"other {n}", created_by="somebody") for n in range(MOST_ALIASES)
    )
    with pytest.raises(ValidationFailed, match="at most 500"):
        let(owner, scope, "one", "more")


def test_who_only_reads_adds_and_retires_none_and_who_does_not_sees_none(owner, scope):
    alias, reader, stranger = let(owner, scope, "falcon", "gate"), make_member(scope), make_user()
    with pytest.raises(Forbidden):
        let(reader, scope, "a", "b")
    with pytest.raises(Forbidden):
        retire_alias(actor=actor_for_user(reader), alias=alias)
    with pytest.raises(NotFound):
        let(stranger, scope, "a", "b")
    with pytest.raises(NotFound):
        alias_for(actor_for_user(stranger), scope, alias.pk)


# Page ------------------------------------------------------------------------------------------


def test_the_page_of_a_scope_adds_and_retires_them(client_of, owner, scope):
    mine, page = client_of(owner), f"/scopes/{scope.pk}/"
    mine.post(f"{page}aliases/", {"term": "<b>falcon</b>", "alias": "gate"})
    alias = Alias.objects.get()

    assert "&lt;b&gt;falcon&lt;/b&gt; = gate" in mine.get(page).content.decode()
    mine.post(f"{page}aliases/{alias.pk}/retire/")
    assert not standing(scope).exists()
    refused = mine.post(f"{page}aliases/", {"term": "", "alias": "gate"}, follow=True).content.decode()
    assert "The term has no letter or digit" in refused


def test_a_reader_of_the_page_has_no_buttons_and_a_stranger_no_page(client_of, owner, scope):
    alias = let(owner, scope, "falcon", "gate")
    reader, stranger = client_of(make_member(scope)), client_of(make_user())

    assert "Add 1 alias" not in reader.get(f"/scopes/{scope.pk}/").content.decode()
    assert reader.post(f"/scopes/{scope.pk}/aliases/{alias.pk}/retire/").status_code == 403
    assert stranger.post(f"/scopes/{scope.pk}/aliases/", {"term": "a", "alias": "b"}).status_code == 404


def test_aliases_cost_a_page_no_query_each(client_of, owner, scope, django_assert_num_queries):
    mine = client_of(owner)
    for number in range(5):
        let(owner, scope, f"word {number}", "gate")
    with django_assert_num_queries(recorded_queries("scope")):
        mine.get(f"/scopes/{scope.pk}/")
