"""Writing, editing, forgetting, restoring and pinning in the browser, with plain forms."""

import pytest
from django.test import Client
from django.urls import reverse

from memories import services
from memories.access import actor_for_user
from memories.entities import EntitySpec, specs_of
from memories.models import AuditEntry, Link, Memory, Reinforcement, Role, UsageEvent
from tests.factories import add_entity, make_member, make_memory, make_scope, make_user
from tests.memories.pages import Html, text_of

pytestmark = pytest.mark.django_db
FIELDS = ("content", "kind", "entities", "source", "version")


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def address(name, memory):
    return reverse(f"memory_{name}", args=[memory.pk])


def as_a_browser_sends_it(page, **changed):
    """Every field of the form as it stands on the page: line ends become CR LF, in one line they vanish."""
    html = Html(page)
    sent = {name: html.field(name) for name in ("content", "entities", "version")}
    sent["source"] = html.field("source").replace("\n", "").replace("\r", "")
    sent["kind"] = next(option.attributes["value"] for option in html.all("option") if "selected" in option.attributes)
    texts = {"content", "entities"}
    sent = {
        name: value.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n") if name in texts else value
        for name, value in sent.items()
    }
    return sent | changed


def edit(client, memory, **changed):
    page = client.get(address("edit", memory))
    return client.post(address("edit", memory), as_a_browser_sends_it(page, **changed))


def everything_but(memory, *fields):
    """All that is stored about a memory, but *fields* and what every new version changes."""
    row = Memory.objects.values().get(pk=memory.pk)
    moved = {"id", "version", "updated_at", "recorded_at", "content_sha256", "embedded_at", "embedding_claimed_at"}
    author = {"author_id", "author_kind", "provenance", "agent"}
    return {name: value for name, value in row.items() if name not in moved | author | set(fields)} | {
        "entities": specs_of(memory),
        "links": sorted(Link.objects.filter(source=memory).exclude(type="supersedes").values_list("target_id", "type")),
        "reinforcement": Reinforcement.objects.filter(memory=memory).values("multiplier", "useful", "misled").first(),
    }


def rich_memory(scope, content="Deploys run on Monday.", **overrides):
    """A memory with something in every corner that an edit could lose."""
    memory = make_memory(
        content,
        scope=scope,
        kind="decision",
        source="https://example.org/adr/7, section 2",
        pinned=True,
        age_days=40,
        verbatim="We said: Monday.",
        session="session-1",
        **overrides,
    )
    add_entity(memory, "deploy, weekly")
    add_entity(memory, "release [train]")
    add_entity(memory, "ops/deploy.py", "path")
    add_entity(memory, "deploy[0]", "symbol")
    services.link(
        actor=actor_for_user(scope.owner), source=memory, target=make_memory(scope=scope), type="derived_from"
    )
    Reinforcement.objects.create(memory=memory, multiplier=1.2, useful=2)
    UsageEvent.objects.create(memory=memory, at=memory.created_at, source="direct", session="s")
    return Memory.objects.get(pk=memory.pk)


# Editing -------------------------------------------------------------------------------------


@pytest.mark.behaviour("F9")
def test_editing_the_text_changes_nothing_else(mine, scope):
    old = rich_memory(scope)
    answer = edit(mine, old, content="Deploys run on Tuesday.")
    new = Memory.objects.get(content="Deploys run on Tuesday.")
    assert answer.headers["Location"] == address("detail", new)
    assert everything_but(new, "content") == everything_but(
        old,
        "content",
        "invalidated_at",
        "invalidated_by_id",
        "invalidated_actor",
        "invalidation_reason",
        "superseded_by_id",
    ) | {
        "invalidated_at": None,
        "invalidated_by_id": None,
        "invalidated_actor": "",
        "invalidation_reason": "",
        "superseded_by_id": None,
    }
    old.refresh_from_db()
    assert old.superseded_by == new


@pytest.mark.behaviour("F9")
@pytest.mark.parametrize(
    "content",
    [
        "one\ntwo\n",
        "one\r\ntwo\r\n",
        "one\rtwo",
        "mixed\r\nends\nhere",
        "\n\nfirst lines blank",
        "  spaces around  ",
        "tab\there",
    ],
    ids=repr,
)
def test_changing_the_kind_leaves_the_text_as_it_was_stored(mine, scope, content):
    memory = make_memory(content, scope=scope)
    edit(mine, memory, kind="gotcha")
    assert Memory.objects.count() == 1
    memory.refresh_from_db()
    assert (memory.content, memory.kind) == (content, "gotcha")


@pytest.mark.behaviour("F9")
def test_a_text_with_windows_line_ends_keeps_them_when_it_is_edited(mine, scope):
    memory = make_memory("one\r\ntwo\r\n", scope=scope)
    edit(mine, memory, content="one\r\ntwo\r\nthree\r\n")
    assert Memory.objects.live().get().content == "one\r\ntwo\r\nthree\r\n"


def test_a_text_typed_in_a_browser_has_plain_line_ends(mine, scope):
    mine.post(reverse("memory_new"), {"content": "one\r\ntwo", "kind": "fact", "scope": scope.pk})
    assert Memory.objects.get().content == "one\ntwo"


@pytest.mark.behaviour("F9")
@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("release [train]", "thing"),
        ("a, b; c", "thing"),
        ("deploy[0]", "symbol"),
        ("two\nlines", "thing"),
        ("line\u2028separator", "path"),
        ("C:\\temp [x] [y]", "path"),
        ("[bracketed]", "thing"),
        ("odd", "type, with [brackets]"),
        ("Straße", "place"),
    ],
)
def test_adding_an_entity_keeps_those_that_are_there(mine, scope, name, type):
    memory = make_memory(scope=scope)
    add_entity(memory, name, type)
    page = mine.get(address("edit", memory))
    sent = as_a_browser_sends_it(page)
    mine.post(address("edit", memory), sent | {"entities": sent["entities"] + "\r\nnew one [path]"})
    assert sorted(specs_of(memory), key=str) == sorted([EntitySpec(name, type), EntitySpec("new one", "path")], key=str)


@pytest.mark.behaviour("F9")
def test_a_source_with_spaces_and_line_breaks_stays_when_the_text_is_edited(mine, scope):
    memory = make_memory(scope=scope, source="  wiki\npage 3  ")
    edit(mine, memory, content="Another text.")
    assert Memory.objects.live().get().source == "  wiki\npage 3  "


def test_a_form_sent_back_as_it_was_changes_nothing(mine, scope):
    memory = rich_memory(scope)
    acts = AuditEntry.objects.count()
    answer = edit(mine, memory)
    assert answer.headers["Location"] == address("detail", memory)
    assert Memory.objects.get(pk=memory.pk).version == memory.version
    assert AuditEntry.objects.count() == acts
    assert "Nothing was changed." in text_of(mine.get(address("detail", memory)))


def test_every_field_can_be_edited_at_once(mine, scope):
    memory = make_memory(scope=scope, entities=["gone"])
    edit(mine, memory, content="New.", kind="convention", entities="api.py [path]\r\ncache", source="a talk")
    new = Memory.objects.live().get()
    assert (new.content, new.kind, new.source) == ("New.", "convention", "a talk")
    assert specs_of(new) == [EntitySpec("api.py", "path"), EntitySpec("cache")]


def test_the_new_wording_is_a_persons(mine, scope, owner):
    memory = make_memory(scope=scope, agent="builder", author_kind="agent", provenance=0)
    edit(mine, memory, content="As I would put it.")
    new = Memory.objects.live().get()
    assert (new.author, new.author_kind, new.agent, new.provenance) == (owner, "human", "", 2)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"content": ""}, "This field is required."),
        ({"content": "   \r\n"}, "Write something: the content is empty."),
        ({"content": "a\x00b"}, "Null characters are not allowed."),
        ({"kind": "opinion"}, "Select a valid choice."),
        ({"source": "x" * 2001}, "at most 2000 characters"),
        ({"entities": "x" * 301}, "from 1 to 300 characters"),
        ({"entities": "\r\n".join(f"e{n}" for n in range(101))}, "at most 100 entities"),
        ({"version": ""}, "Send the version you edited"),
        ({"version": "zero"}, "Load the page again"),
    ],
)
def test_what_cannot_be_stored_is_said_beside_the_form_and_what_was_typed_is_kept(mine, scope, sent, said):
    memory = make_memory("Before.", scope=scope)
    answer = edit(mine, memory, **({"content": "My careful words."} | sent))
    assert answer.status_code == 422
    assert said in text_of(answer)
    if "content" not in sent:
        assert Html(answer).field("content") == "My careful words."
    assert Memory.objects.get().content == "Before."


def test_a_second_live_memory_with_the_same_text_is_refused(mine, scope):
    make_memory("Known.", scope=scope)
    memory = make_memory("Other.", scope=scope)
    answer = edit(mine, memory, content="Known.")
    assert answer.status_code == 422
    assert "Another live memory says exactly the same." in text_of(answer)


# Two people at once --------------------------------------------------------------------------


def test_whoever_is_second_keeps_their_text_and_sees_the_other(mine, scope, owner):
    memory = make_memory("Deploys run on Monday.", scope=scope)
    page = mine.get(address("edit", memory))
    first = services.edit(
        actor=actor_for_user(make_member(scope, Role.WRITER)),
        memory=memory,
        expected_version=1,
        content="Deploys run on Friday.",
    )
    answer = mine.post(address("edit", memory), as_a_browser_sends_it(page, content="Deploys run on Sunday."))
    assert answer.status_code == 409
    html = Html(answer)
    assert html.field("content") == "Deploys run on Sunday."
    assert "Somebody changed this memory meanwhile." in text_of(answer)
    assert [(part.tag, part.text) for part in html.elements if part.tag in ("ins", "del")] == [
        ("del", "Friday"),
        ("ins", "Sunday"),
    ]
    assert Memory.objects.live().get() == first

    mine.post(html.all("form", class_="form wide")[0].attributes["action"], as_a_browser_sends_it(answer))
    last = Memory.objects.live().get()
    assert last.content == "Deploys run on Sunday."
    first.refresh_from_db()
    assert first.superseded_by == last


def test_whoever_is_second_undoes_nothing_of_the_first(mine, scope):
    memory = rich_memory(scope)
    page = mine.get(address("edit", memory))
    services.edit(
        actor=actor_for_user(scope.owner),
        memory=memory,
        expected_version=memory.version,
        content="Deploys run on Friday.",
        kind="convention",
        entities=[EntitySpec("friday")],
    )
    answer = mine.post(address("edit", memory), as_a_browser_sends_it(page, source="The handbook."))
    html = Html(answer)
    mine.post(html.all("form", class_="form wide")[0].attributes["action"], as_a_browser_sends_it(answer))
    now = Memory.objects.live().get(source="The handbook.")
    assert (now.content, now.kind) == ("Deploys run on Friday.", "convention")
    assert specs_of(now) == [EntitySpec("friday")]


def test_a_change_of_the_kind_alone_is_seen_by_the_second_too(mine, scope):
    memory = make_memory("Text.", scope=scope)
    page = mine.get(address("edit", memory))
    services.edit(actor=actor_for_user(scope.owner), memory=memory, expected_version=1, kind="gotcha")
    answer = mine.post(address("edit", memory), as_a_browser_sends_it(page, content="My text."))
    assert answer.status_code == 409
    assert "Kind: from theirs to yours gotcha fact" in text_of(answer)


def test_editing_what_was_forgotten_meanwhile_keeps_the_text_and_says_so(mine, scope, owner):
    memory = make_memory("Text.", scope=scope)
    page = mine.get(address("edit", memory))
    services.forget(actor=actor_for_user(owner), memory=memory)
    answer = mine.post(address("edit", memory), as_a_browser_sends_it(page, content="My text."))
    assert "This memory is retired." in text_of(answer)
    assert Html(answer).field("content") == "My text."


def test_a_retired_memory_has_no_form(mine, scope, owner):
    memory = make_memory(scope=scope)
    services.forget(actor=actor_for_user(owner), memory=memory)
    answer = mine.get(address("edit", memory), follow=True)
    assert answer.redirect_chain == [(address("detail", memory), 302)]
    assert "A retired memory cannot be edited." in text_of(answer)


# Writing -------------------------------------------------------------------------------------


def test_a_memory_is_written_with_a_plain_form(mine, scope, owner):
    answer = mine.post(
        reverse("memory_new"),
        {"content": "Releases are tagged.", "kind": "convention", "scope": scope.pk, "entities": "git\r\ntag [ref]"},
    )
    memory = Memory.objects.get()
    assert answer.headers["Location"] == address("detail", memory)
    assert (memory.kind, memory.author, memory.author_kind, memory.provenance) == ("convention", owner, "human", 2)
    assert specs_of(memory) == [EntitySpec("git"), EntitySpec("tag", "ref")]


def test_the_same_text_twice_is_one_memory_and_said_so(mine, scope):
    for _ in range(2):
        answer = mine.post(reverse("memory_new"), {"content": "Same.", "kind": "fact", "scope": scope.pk}, follow=True)
    assert Memory.objects.count() == 1
    assert "That was known already." in text_of(answer)


def test_a_refused_text_stays_in_the_form(mine, scope):
    answer = mine.post(reverse("memory_new"), {"content": "Keep me.", "kind": "fact", "scope": "9999"})
    assert Html(answer).field("content") == "Keep me."
    assert "Select a valid choice." in text_of(answer)


def test_scopes_of_one_name_are_told_apart(client_of, owner, scope):
    twin = make_scope(make_user(username="visitor"), slug="home")
    make_member(twin, Role.WRITER, owner)
    offered = [option.text for option in Html(client_of(owner).get(reverse("memory_new"))).all("option")]
    assert {"visitor/home", "owner/home"} <= set(offered)
    assert "home" not in offered


def test_the_form_opens_with_the_scope_one_came_from(mine, owner):
    other = make_scope(owner, slug="zebra")
    html = Html(mine.get(reverse("memory_new"), {"scope": "zebra"}))
    assert str(other.pk) in [
        option.attributes["value"] for option in html.all("option") if "selected" in option.attributes
    ]


# Forgetting, restoring, pinning --------------------------------------------------------------


def test_forgetting_asks_restoring_undoes(mine, scope):
    memory = make_memory("A passing thought.", scope=scope)
    assert "Forget 1 memory" in text_of(mine.get(address("detail", memory)))
    answer = mine.post(address("forget", memory), {"reason": "It passed."}, follow=True)
    assert "Forgotten. It can be restored." in text_of(answer)
    assert "“It passed.”" in text_of(answer)
    assert Html(answer).all("form", action=address("restore", memory))
    mine.post(address("restore", memory))
    memory.refresh_from_db()
    assert memory.state == "live"


def test_forgetting_twice_is_said_clearly(mine, scope):
    memory = make_memory(scope=scope)
    mine.post(address("forget", memory))
    answer = mine.post(address("forget", memory), follow=True)
    assert "This memory is already forgotten." in text_of(answer)
    assert AuditEntry.objects.filter(action="forget").count() == 1


def test_restoring_what_is_live_is_said_clearly(mine, scope):
    memory = make_memory(scope=scope)
    assert "there is nothing to restore" in text_of(mine.post(address("restore", memory), follow=True))


@pytest.mark.parametrize("reason", ["x" * 2001, "a\x00b"], ids=["long", "NUL"])
def test_a_reason_that_cannot_be_kept_stops_the_forgetting(mine, scope, reason):
    memory = make_memory(scope=scope)
    assert "Not forgotten. The reason:" in text_of(
        mine.post(address("forget", memory), {"reason": reason}, follow=True)
    )
    memory.refresh_from_db()
    assert memory.state == "live"


def test_a_pin_is_set_and_taken_away(mine, scope):
    memory = make_memory(scope=scope)
    assert "pinned" in text_of(mine.post(address("pin", memory), follow=True))
    assert mine.post(address("unpin", memory)).status_code == 302
    memory.refresh_from_db()
    assert not memory.pinned


@pytest.mark.parametrize("act", ["forget", "restore", "pin", "unpin"])
def test_acts_are_posted(mine, scope, act):
    memory = make_memory(scope=scope)
    assert mine.get(address(act, memory)).status_code == 405


@pytest.mark.behaviour("F35")
@pytest.mark.parametrize("act", ["forget", "restore", "pin", "unpin", "edit"])
def test_acts_need_the_page_they_come_from(owner, scope, act):
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    memory = make_memory(scope=scope)
    assert client.post(address(act, memory), {"reason": ""}).status_code == 403
    memory.refresh_from_db()
    assert (memory.state, memory.pinned, memory.version) == ("live", False, 1)


# Readers -------------------------------------------------------------------------------------


@pytest.fixture
def reader(client_of, scope):
    return client_of(make_member(scope, Role.READER))


def test_a_reader_sees_no_button_that_writes(reader, scope, owner):
    live, gone = make_memory(scope=scope), make_memory(scope=scope)
    services.forget(actor=actor_for_user(owner), memory=gone)
    for memory in (live, gone):
        html = Html(reader.get(address("detail", memory)))
        assert [form.attributes["action"] for form in html.all("form", method="post")] == [reverse("sign_out")]
        assert not [link for link in html.all("a") if link.attributes["href"].endswith("/edit/")]
    assert not [link for link in Html(reader.get("/memories/")).all("a") if link.attributes["href"].endswith("/new/")]


@pytest.mark.parametrize("act", ["forget", "restore", "pin", "unpin", "edit"])
def test_a_readers_attempt_is_forbidden(reader, scope, act):
    memory = make_memory(scope=scope)
    answer = reader.post(address(act, memory), {"content": "x", "kind": "fact", "version": 1})
    assert answer.status_code == 403
    assert "Ask one of its admins for the writer role." in text_of(answer)
    memory.refresh_from_db()
    assert (memory.state, memory.pinned, memory.version) == ("live", False, 1)


def test_a_reader_is_told_that_there_is_nowhere_to_write(reader, scope):
    assert "There is no scope you may write to" in text_of(reader.get(reverse("memory_new")))
    answer = reader.post(reverse("memory_new"), {"content": "x", "kind": "fact", "scope": scope.pk})
    assert not Memory.objects.exists()
    assert answer.status_code == 422


@pytest.mark.parametrize("content", ["", "   ", "\u200b", "a\x00b", "x" * 5_000_000])
def test_a_new_memory_that_cannot_be_is_answered_like_an_edit_that_cannot_be(mine, scope, content):
    sent = {"content": content, "kind": "fact", "scope": scope.pk}
    answer = mine.post(reverse("memory_new"), sent)
    assert answer.status_code == 422
    assert Html(answer).field("content") == content
    assert "errorlist" in answer.text
    assert not Memory.objects.exists()


def test_a_form_that_was_sent_without_any_field_is_answered_too(mine, scope):
    assert mine.post(reverse("memory_new")).status_code == 422
