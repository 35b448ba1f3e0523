"""The pages of tokens: a secret is shown once, its use can be watched, and it can be ended."""

import json
import re
import shlex
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone

from memories.models import AuditEntry, Memory, Role, Token
from tests.factories import make_member, make_scope, make_token, make_user
from tests.memories.pages import Html, text_of
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db
SECRET = re.compile(r"zm_[A-Za-z0-9_-]{43}")


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def create(client, scope, **sent):
    return client.post(reverse("token_new"), {"name": "builder", "scopes": [scope.pk], "can_write": "on"} | sent)


def secret_of(answer):
    (shown,) = Html(answer).all("pre", id="secret")
    return shown.text


def test_the_secret_is_shown_once_and_works(mine, client, scope):
    answer = create(mine, scope)
    assert answer.status_code == 200
    secret = secret_of(answer)
    assert SECRET.fullmatch(secret)
    assert client.get("/api/v1/memories", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    for address in ("/tokens/", "/tokens/new/", "/", "/settings/", "/scopes/"):
        assert secret not in mine.get(address).text


def test_the_secret_is_kept_by_nobody(mine, scope, caplog):
    answer = create(mine, scope)
    secret = secret_of(answer)
    assert "no-store" in answer.headers["Cache-Control"]
    assert not answer.context["messages"]
    sessions = [session.get_decoded() for session in Session.objects.all()]
    assert secret not in str(sessions) + str(answer.cookies) + str(list(AuditEntry.objects.values())) + caplog.text


def test_a_form_that_is_sent_again_makes_no_second_token(mine, scope):
    (hidden,) = Html(mine.get("/tokens/new/")).all("input", name="form")
    mark = hidden.attributes["value"]
    secret = secret_of(create(mine, scope, form=mark))
    again = mine.post(
        reverse("token_new"), {"name": "builder", "scopes": [scope.pk], "can_write": "on", "form": mark}, follow=True
    )
    assert Token.objects.count() == 1
    assert "The token for builder was created when this form was first sent" in text_of(again)
    assert secret not in again.text
    create(mine, scope, form="another")
    assert Token.objects.count() == 2


def test_a_token_settles_disputes_only_when_the_box_was_ticked(mine, scope):
    create(mine, scope)
    create(mine, scope, name="judge", can_adjudicate="on")
    assert dict(Token.objects.values_list("name", "can_adjudicate")) == {"builder": False, "judge": True}
    assert mine.get("/tokens/").text.count("settles disputes") == 1
    entry = AuditEntry.objects.filter(action="create_token").latest("pk")
    assert entry.detail["can_adjudicate"] is True


def test_a_token_that_only_reads_settles_nothing_and_the_form_says_so_beside_the_box(mine, scope):
    answer = create(mine, scope, can_write="", can_adjudicate="on")
    assert answer.status_code == 422
    assert "A token that settles disputes has to write" in answer.text
    assert "can_adjudicate" in answer.context["form"].errors
    assert not Token.objects.exists()


def test_the_list_and_the_form_are_not_kept_by_browsers_either(mine):
    for address in ("/tokens/", "/tokens/new/"):
        assert "no-store" in mine.get(address).headers["Cache-Control"]


def run(client, command):
    """What the shown curl command does, through the test client."""
    words = shlex.split(command.replace("\\\n", " "))
    headers = dict(word.split(": ", 1) for word in words if re.match(r"[A-Za-z-]+: ", word))
    address = next(word for word in words if word.startswith("http"))
    assert words[:2] == ["curl", "-sS"]
    return client.post(address, json.loads(words[-1]), content_type=headers.pop("Content-Type"), headers=headers)


def command_of(answer, name):
    (shown,) = Html(answer).all("pre", id=name)
    return "".join(shown.inside)


def test_the_commands_shown_do_what_they_say(mine, client, scope):
    answer = create(mine, scope)
    assert "http://testserver/api/v1/memories" in command_of(answer, "remember")
    assert run(client, command_of(answer, "remember")).status_code == 201
    found = run(client, command_of(answer, "recall")).json()["results"]
    assert [result["content"] for result in found] == [Memory.objects.get().content]


def test_a_token_for_several_scopes_gets_a_command_that_names_one(mine, client, owner, scope):
    twin = make_scope(make_user(username="night's-watch"), slug="home")
    make_member(twin, Role.WRITER, owner)
    answer = create(mine, scope, scopes=[scope.pk, twin.pk])
    assert run(client, command_of(answer, "remember")).status_code == 201


@override_settings(ALLOWED_HOSTS=["memory.example.org"], SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"))
def test_the_commands_have_the_address_the_page_was_reached_at(mine, scope):
    sent = {"name": "x", "scopes": [scope.pk], "can_write": "on"}
    answer = mine.post("/tokens/new/", sent, headers={"host": "memory.example.org", "x-forwarded-proto": "https"})
    assert "https://memory.example.org/api/v1/recall" in command_of(answer, "recall")


def test_a_token_that_only_reads_has_no_command_that_writes(mine, scope):
    answer = create(mine, scope, can_write="")
    html = Html(answer)
    assert not html.all("pre", id="remember")
    assert html.all("pre", id="recall")
    assert not Token.objects.get().can_write
    assert "reads only" in text_of(mine.get("/tokens/"))


def test_a_reader_gets_a_token_that_reads(client_of, scope):
    answer = create(client_of(make_member(scope)), scope)
    assert not Html(answer).all("pre", id="remember")


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"name": ""}, "This field is required."),
        ({"name": "x" * 81}, "at most 80 characters"),
        ({"scopes": []}, "This field is required."),
        ({"scopes": ["9999"]}, "9999 is not one of the available choices."),
        ({"scopes": ["x"]}, "is not a valid value."),
        ({"days": "0"}, "greater than or equal to 1"),
        ({"days": "99999"}, "less than or equal to 3650"),
        ({"days": "soon"}, "Enter a whole number."),
    ],
)
def test_a_form_that_will_not_do_makes_no_token(mine, scope, sent, said):
    answer = create(mine, scope, **sent)
    assert answer.status_code == 422
    assert said in text_of(answer)
    assert not Token.objects.exists()


def test_a_token_can_end_by_itself(mine, scope):
    create(mine, scope, days="30")
    left = Token.objects.get().expires_at - timezone.now()
    assert timedelta(days=29, hours=23) < left <= timedelta(days=30)


def test_the_list_tells_tokens_apart(mine, owner, scope):
    token, _ = make_token(
        owner, [scope], name="builder", hint="zm_abcde", last_used_at=timezone.now() - timedelta(days=3)
    )
    shown = text_of(mine.get("/tokens/"))
    assert "builder zm_abcde…" in shown
    assert "Scopes home" in shown
    assert "Last used 3" in shown
    assert str(token.secret_sha256) not in shown


def test_a_scope_i_have_left_is_no_longer_named(client_of, scope):
    member = make_member(scope)
    make_token(member, [scope])
    scope.memberships.all().delete()
    assert "Scopes none that you still belong to" in text_of(client_of(member).get("/tokens/"))


def test_revoking_ends_a_token_and_says_so(mine, client, owner, scope):
    token, secret = make_token(owner, [scope], name="builder")
    answer = mine.post(reverse("token_revoke", args=[token.pk]), follow=True)
    assert "Revoked builder. Whoever uses it is refused from now on." in text_of(answer)
    assert "revoked 0" in text_of(answer)
    assert not [form for form in Html(answer).all("form") if "revoke" in form.attributes.get("action", "")]
    assert client.get("/api/v1/memories", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert mine.get(reverse("token_revoke", args=[token.pk])).status_code == 405


def test_an_expired_token_is_among_the_ended(mine, owner, scope):
    now = timezone.now()
    _token, _ = make_token(owner, [scope])
    Token.objects.update(created_at=now - timedelta(days=3), expires_at=now - timedelta(days=1))
    answer = mine.get("/tokens/")
    assert "expired 1 day ago" in text_of(answer)
    assert "No token is in force" in text_of(answer)


def test_somebody_without_a_scope_is_told_what_to_do(client_of):
    lonely = client_of(make_user())
    for address in ("/tokens/", "/tokens/new/"):
        assert "There is no scope to give a token for" in text_of(lonely.get(address))


# Watching for the first write ----------------------------------------------------------------


def watched(answer, what="first-write"):
    polling = [element.attributes for element in Html(answer).all("span") if "data-poll" in element.attributes]
    return [attributes for attributes in polling if attributes["id"].startswith(what)]


def test_the_first_write_is_watched_for_until_it_is_seen(mine, client, owner, scope):
    answer = create(mine, scope)
    (watch,) = watched(answer)
    token = Token.objects.get()
    assert watch["hx-get"] == reverse("token_first_write", args=[token.pk])
    assert watch["hx-trigger"] == "every 3s"
    assert watched(mine.get(watch["hx-get"])) == [watch]

    run(client, command_of(answer, "remember"))
    seen = mine.get(watch["hx-get"])
    assert watched(seen) == []
    assert "seen" in text_of(seen)
    assert Html(seen).elements[0].attributes["data-announce"] == "The first memory has arrived."
    assert Html(seen).elements[0].attributes["id"] == watch["id"]
    assert watched(mine.get("/tokens/")) == []


@pytest.mark.parametrize(
    "overrides",
    [{"can_write": False}, {"revoked_at": timezone.now()}, {"created_at": timezone.now() - timedelta(hours=2)}],
    ids=["reads only", "revoked", "old"],
)
def test_nothing_is_watched_for_that_will_not_come(mine, owner, scope, overrides):
    token, _ = make_token(owner, [scope])
    Token.objects.update(**overrides)
    assert watched(mine.get("/tokens/")) == []
    assert watched(mine.get(reverse("token_first_write", args=[token.pk]))) == []


def test_the_first_call_of_any_kind_turns_the_light_on(mine, client, owner, scope):
    answer = create(mine, scope, can_write="")
    (watch,) = watched(answer, "first-call")
    token = Token.objects.get()
    assert watch["hx-get"] == reverse("token_first_call", args=[token.pk])
    assert "waiting for the first call" in text_of(answer)
    assert watched(mine.get(watch["hx-get"]), "first-call") == [watch]
    assert watched(mine.get("/tokens/"), "first-call") == [watch]

    run(client, command_of(answer, "recall"))
    seen = mine.get(watch["hx-get"])
    assert watched(seen, "first-call") == []
    assert "It works." in text_of(seen)
    assert Html(seen).elements[0].attributes["data-announce"] == "The first call has arrived."
    assert "Last used 0" in text_of(mine.get("/tokens/"))


@pytest.mark.parametrize(
    "overrides",
    [
        {"revoked_at": timezone.now()},
        {"created_at": timezone.now() - timedelta(minutes=2), "expires_at": timezone.now() - timedelta(minutes=1)},
        {"created_at": timezone.now() - timedelta(hours=2)},
    ],
    ids=["revoked", "expired", "old"],
)
def test_no_call_is_waited_for_that_will_not_come(mine, owner, scope, overrides):
    token, _ = make_token(owner, [scope])
    Token.objects.update(**overrides)
    assert watched(mine.get("/tokens/"), "first-call") == []
    answer = mine.get(reverse("token_first_call", args=[token.pk]))
    assert watched(answer, "first-call") == []
    assert "never yet" in text_of(answer)


def test_the_light_of_somebody_elses_token_is_not_seen(client_of, owner, scope):
    token, _ = make_token(owner, [scope])
    assert client_of(make_user()).get(reverse("token_first_call", args=[token.pk])).status_code == 404


def test_the_page_shows_the_hook_and_where_each_agent_looks_for_it(mine, scope):
    shown = text_of(create(mine, scope))
    for place in ("~/.claude/settings.json", "~/.cursor/hooks.json", "~/.codex/hooks.json", ".github/hooks/"):
        assert place in shown
    assert "curl -fsS http://testserver/static/hooks/zero_memory_hook.py -o ~/.zero-memory/hook.py" in shown


def test_the_pages_that_watch_stop_in_a_hidden_tab(mine, scope):
    for answer in (mine.get("/tokens/"), create(mine, scope)):
        assert [
            script for script in Html(answer).all("script") if script.attributes.get("src", "").endswith("js/poll.js")
        ]


@pytest.mark.parametrize("number", ["0", "9" * 30])
def test_a_number_of_no_token_is_not_found(mine, number):
    assert mine.get(f"/tokens/{number}/first-write/").status_code == 404
    assert mine.post(f"/tokens/{number}/revoke/").status_code == 404


def test_the_queries_do_not_grow_with_tokens(mine, owner, scope):
    make_token(owner, [scope])
    few = queries_of(lambda: mine.get("/tokens/"))
    for _ in range(12):
        make_token(owner, [scope, make_scope(owner)])
    assert queries_of(lambda: mine.get("/tokens/")) == few == recorded_queries("tokens")
