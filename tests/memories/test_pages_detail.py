"""The page of one memory: what it says, when, from whom, and what became of it."""

import itertools
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memories import services
from memories.access import actor_for_token, actor_for_user
from memories.models import Memory, Reinforcement, Token
from memories.views.tokens import WATCHED_FOR
from tests.factories import add_entity, make_member, make_memory, make_scope, make_token, make_user
from tests.memories.pages import Html, text_of
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


def page(client, memory):
    return client.get(reverse("memory_detail", args=[memory.pk]))


def facts_of(answer):
    elements = Html(answer).elements
    pairs = itertools.pairwise(elements)
    return {term.text: value for term, value in pairs if term.tag == "dt" and value.tag == "dd"}


def moments_of(answer):
    return {element.attributes["datetime"]: element.attributes["title"] for element in Html(answer).all("time")}


def test_the_page_shows_what_is_stored(mine, scope):
    memory = make_memory(
        "The cache is rebuilt nightly.\n\nBy a cron job.",
        scope=scope,
        kind="gotcha",
        source="wiki/cache",
        agent="builder",
        session="s-17",
        verbatim="we rebuild it at night",
        author_kind="agent",
        provenance=0,
    )
    add_entity(memory, "cache")
    add_entity(memory, "ops/cron.py", "path")
    Reinforcement.objects.create(memory=memory, multiplier=1.2)
    shown = text_of(page(mine, memory))
    written = ["The cache is rebuilt nightly.", "By a cron job.", "we rebuild it at night", "cache", "ops/cron.py path"]
    known = ["gotcha", "wiki/cache", "builder", "s-17", "provisional", "× 1.20", str(memory.pk)]
    assert [text for text in written + known if text not in shown] == []


def test_line_breaks_stay(mine, scope):
    memory = make_memory("one\n  two\n\nthree", scope=scope)
    (text,) = Html(page(mine, memory)).classed("memory-text")
    assert "".join(text.inside) == "one\n  two\n\nthree"


@pytest.mark.behaviour("F47")
def test_a_long_text_is_there_whole_with_a_button_that_copies_it(mine, scope):
    content = "\n".join(f"Line {number} of a long text." for number in range(2000))
    html = Html(page(mine, make_memory(content, scope=scope)))
    (text,) = html.classed("memory-text")
    assert len(content) > 50_000
    assert "".join(text.inside) == content
    (button,) = [button for button in html.all("button") if button.text == "Copy the text"]
    assert button.attributes["data-copy"] == f"#{text.attributes['id']}"


@pytest.mark.parametrize("address", [uuid.uuid4(), "00000000-0000-0000-0000-000000000000", "x", "1"])
def test_what_is_not_there_is_not_found(mine, address):
    assert mine.get(f"/memories/{address}/").status_code == 404


# Dates ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("F46")
def test_a_date_that_is_missing_is_a_dash_and_never_now(mine, scope):
    facts = facts_of(page(mine, make_memory(scope=scope)))
    assert [facts[name].text for name in ("Valid from", "Valid until", "Author")] == ["–", "–", "–"]
    assert facts["Found by meaning"].text == "not yet, found by words only"
    assert not [name for name, value in facts.items() if value.text == ""]


@pytest.mark.behaviour("F46")
@pytest.mark.parametrize(
    ("zone", "learned", "said"),
    [
        ("", "2024-02-29T23:30:00+00:00", "Thu 29 Feb 2024, 23:30 UTC"),
        ("Asia/Tokyo", "2024-03-01T08:30:00+09:00", "Fri 1 Mar 2024, 08:30 JST"),
        ("America/St_Johns", "2024-02-29T20:00:00-03:30", "Thu 29 Feb 2024, 20:00 NST"),
        ("Mars/Olympus", "2024-02-29T23:30:00+00:00", "Thu 29 Feb 2024, 23:30 UTC"),
    ],
)
def test_the_dates_shown_are_the_dates_stored_in_the_persons_zone(client_of, owner, scope, zone, learned, said):
    owner.time_zone = zone
    owner.save()
    stored = datetime(2024, 2, 29, 23, 30, tzinfo=UTC)
    memory = make_memory(
        scope=scope,
        created_at=stored,
        valid_from=stored - timedelta(days=1),
        valid_until=datetime(2099, 1, 1, tzinfo=UTC),
    )
    moments = moments_of(page(client_of(owner), memory))
    assert moments[learned] == said
    assert {datetime.fromisoformat(moment) for moment in moments} == {stored, memory.valid_from, memory.valid_until}
    for address in ("/memories/", "/"):
        assert moments_of(client_of(owner).get(address))[learned] == said


@pytest.mark.behaviour("F46")
def test_a_token_never_used_waits_for_its_first_call_and_then_says_never(mine, owner, scope):
    token, _ = make_token(owner, [scope])
    assert facts_of(mine.get(reverse("token_list")))["Last used"].text == "waiting for the first call…"
    Token.objects.filter(pk=token.pk).update(created_at=timezone.now() - WATCHED_FOR)
    assert facts_of(mine.get(reverse("token_list")))["Last used"].text == "never yet"


def test_a_date_in_the_future_is_not_called_past(mine, scope):
    memory = make_memory(scope=scope, valid_until=timezone.now() + timedelta(days=30))
    assert "ago" not in facts_of(page(mine, memory))["Valid until"].text


# History -------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z83")
def test_a_memory_that_was_never_replaced_has_no_history(mine, scope, actor):
    memory = make_memory(scope=scope)
    services.edit(actor=actor, memory=memory, expected_version=1, kind="gotcha")
    assert "Versions" not in text_of(page(mine, memory))


@pytest.mark.behaviour("Z83")
def test_older_versions_are_reachable_and_say_who_retired_them(mine, owner, scope, actor):
    first = make_memory("Deploys run on Monday.", scope=scope)
    second = services.edit(actor=actor, memory=first, expected_version=1, content="Deploys run on Tuesday.")
    agent = actor_for_token(make_token(owner, [scope])[0], agent="release-bot")
    third = services.edit(actor=agent, memory=second, expected_version=2, content="Deploys run on Friday.")

    answer = page(mine, third)
    history = [entry.text for entry in Html(answer).classed("timeline-entry") if "Version " in entry.text]
    assert [entry.split()[1].strip(",") for entry in history] == ["3", "2", "1"]
    assert "retired by release-bot (token of owner)" in history[1]
    assert "retired by owner" in history[2]
    links = {link.attributes["href"] for link in Html(answer).all("a")}
    assert {reverse("memory_detail", args=[old.pk]) for old in (first, second)} <= links

    old = page(mine, first)
    assert "An older version." in text_of(old)
    assert "Retired by owner" in text_of(old)
    newest = [link for link in Html(old).all("a") if link.text == "Read the newest version"]
    assert newest[0].attributes["href"] == reverse("memory_detail", args=[third.pk])


@pytest.mark.behaviour("Z83")
def test_each_version_shows_what_it_changed(mine, scope, actor):
    first = make_memory("Deploys run on Monday.", scope=scope)
    second = services.edit(actor=actor, memory=first, expected_version=1, content="Deploys run on Friday.")
    html = Html(page(mine, second))
    assert [(part.tag, part.text) for part in html.elements if part.tag in ("ins", "del")] == [
        ("del", "Monday"),
        ("ins", "Friday"),
    ]


def test_a_version_far_back_shows_its_own_change_on_its_own_page(mine, scope, actor):
    memory = make_memory("Number 1 of many.", scope=scope)
    chain = [memory]
    for number in range(2, 10):
        chain.append(
            services.edit(
                actor=actor, memory=chain[-1], expected_version=number - 1, content=f"Number {number} of many."
            )
        )
    assert len(Html(page(mine, chain[-1])).classed("diff")) == 5
    far_back = Html(page(mine, chain[1]))
    assert ("ins", "2") in [(part.tag, part.text) for part in far_back.elements]


def test_a_history_in_scopes_one_may_not_read_is_cut_short(client_of, owner, scope, actor):
    elsewhere = make_scope(owner, slug="elsewhere")
    mover = actor_for_user(owner)
    old, new = make_memory("Private wording.", scope=elsewhere), make_memory("Public wording.", scope=scope)
    services.supersede(actor=mover, memory=old, replacement=new)
    reader = client_of(make_member(scope))
    assert "Private wording." not in page(reader, new).text
    assert "Versions" not in text_of(page(reader, new))


def test_a_forgotten_memory_says_by_whom_when_and_why(mine, scope, actor):
    memory = make_memory("Wrong.", scope=scope)
    services.forget(actor=actor, memory=memory, reason="It was never so.")
    shown = text_of(page(mine, memory))
    assert "Forgotten by owner" in shown
    assert "“It was never so.”" in shown
    assert "It is not recalled, and it can be restored." in shown


def test_a_lapsed_memory_says_so(mine, scope):
    memory = make_memory(scope=scope, valid_until=timezone.now() - timedelta(days=2))
    assert "No longer valid It is not recalled: its validity ended 2 days" in text_of(page(mine, memory))


def test_what_was_done_is_listed_newest_first(mine, scope, actor):
    memory = services.remember(actor=actor, scope=scope, content="Text.").memory
    services.edit(actor=actor, memory=memory, expected_version=1, kind="gotcha")
    services.pin(actor=actor, memory=memory)
    acts = [entry.text for entry in Html(page(mine, memory)).classed("timeline-entry")]
    assert [act.split()[0] for act in acts] == ["Pinned", "Edited", "Remembered"]
    assert "by owner: kind" in acts[1]


# Links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "out", "back"),
    [
        ("relates_to", "Relates to", "Related from"),
        ("contradicts", "Contradicts", "Contradicted by"),
        ("derived_from", "Derived from", "Distilled into"),
    ],
)
def test_links_are_shown_from_both_ends(mine, scope, actor, type, out, back):
    source, target = make_memory("The source.", scope=scope), make_memory("The target.", scope=scope)
    services.link(actor=actor, source=source, target=target, type=type)
    assert f"{out} fact The target." in text_of(page(mine, source))
    assert f"{back} fact The source." in text_of(page(mine, target))


def test_an_entity_leads_to_all_that_is_said_about_it(mine, scope):
    memory = make_memory(scope=scope)
    add_entity(memory, "a/b & c?")
    other = make_memory(scope=scope)
    add_entity(other, "A/B & C?")
    (chip,) = [link for link in Html(page(mine, memory)).all("a") if "entity=" in link.attributes["href"]]
    assert mine.get(chip.attributes["href"]).context["total"] == 2


def test_the_scope_leads_to_its_memories_where_two_share_a_name(client_of, owner, scope):
    twin = make_scope(make_user(username="visitor"), slug="home")
    make_member(twin, user=owner)
    memory = make_memory(scope=twin)
    (link,) = [link for link in Html(page(client_of(owner), memory)).all("a") if link.text == "visitor/home"]
    assert client_of(owner).get(link.attributes["href"]).context["total"] == 1


# Queries -------------------------------------------------------------------------------------


def test_a_chain_that_goes_in_a_circle_still_has_its_page(mine, scope):
    one, two = (make_memory(scope=scope, invalidated_at=timezone.now(), invalidated_actor="x") for _ in range(2))
    Memory.objects.filter(pk=one.pk).update(superseded_by=two)
    Memory.objects.filter(pk=two.pk).update(superseded_by=one)
    assert page(mine, one).status_code == 200


def test_the_queries_do_not_grow_with_versions_links_and_entities(mine, scope, actor):
    def grow(memory, number):
        for place in range(number):
            add_entity(memory, f"entity {place}")
            services.link(
                actor=actor, source=memory, target=make_memory(scope=scope, author=make_user()), type="relates_to"
            )
        for place in range(number):
            memory = services.edit(
                actor=actor, memory=memory, expected_version=memory.version, content=f"{memory.pk} {place}"
            )
        return memory

    small, large = grow(make_memory(scope=scope), 2), grow(make_memory(scope=scope), 12)
    few = queries_of(lambda: page(mine, small))
    assert queries_of(lambda: page(mine, large)) == few == recorded_queries("memory")


def test_long_texts_at_the_other_end_are_not_read(mine, scope, actor, django_assert_max_num_queries):
    memory = make_memory(scope=scope)
    for number in range(20):
        services.link(
            actor=actor,
            source=memory,
            target=make_memory(f"{number} " + "long words " * 5000, scope=scope),
            type="relates_to",
        )
    assert len(page(mine, memory).content) < 60_000


def test_a_successor_in_a_scope_that_cannot_be_read_is_not_named(client_of, owner, scope):
    hidden = make_memory("The hidden successor.", scope=make_scope(owner, slug="hidden"))
    old = make_memory("Known to both.", scope=scope)
    services.supersede(actor=actor_for_user(owner), memory=old, replacement=hidden)
    reader = client_of(make_member(scope))
    shown = page(reader, old).content.decode()
    assert "An older version" in shown
    assert str(hidden.pk) not in shown
    assert "hidden" not in text_of(page(reader, old))
    assert str(hidden.pk) in page(client_of(owner), old).content.decode()
