"""A secret is refused by every way in, by name, and then nothing of it is stored, queued or logged."""

import json
import logging
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.urls import reverse

from memories import services
from memories.access import Actor, actor_for_token, actor_for_user
from memories.errors import ValidationFailed
from memories.facets import Choice
from memories.models import AuditEntry, Memory
from memories.selection import Selection
from memories.services import EntitySpec, config, profile, scopes, tokens
from memories.services.bulk import forget_many
from memories.services.signals import mark_used
from memories.services.verification import verify
from memories.transfer.git import Git
from memories.transfer.importing import import_from
from reflections.services import decisions, disputes, rules, transcripts
from tests.factories import add_entity, make_memory, make_token
from tests.memories.carrying import failure
from tests.memories.test_transfer_git import Project
from tests.reflections.factories import make_candidate
from tests.secret_shapes import SHAPES

pytestmark = pytest.mark.django_db

_, TEXT, SECRET = SHAPES[7]
OTHER = "https://app:Vq7tRz2m@db.example.org"


@pytest.fixture
def actor(owner, scope) -> Actor:
    return actor_for_user(owner)


@pytest.fixture
def memory(scope) -> Memory:
    return make_memory("The ferry leaves at eight.", scope=scope)


def stored() -> str:
    """Every row of every table."""
    models = [model for model in apps.get_models() if model._meta.managed]
    return "".join(str(row) for model in models for row in model._base_manager.values_list())


def remember(actor, memory, **asked):
    return services.remember(actor=actor, scope=memory.scope, **{"content": "x"} | asked)


def edit(actor, memory, **changes):
    return services.edit(actor=actor, memory=memory, expected_version=1, **changes)


def closed(actor, memory, **said):
    task = make_memory("Ring the harbour.", scope=memory.scope, kind="task")
    return services.close(actor=actor, memory=task, **said)


def restored(actor, memory):
    services.forget(actor=actor, memory=memory)
    return services.restore(actor=actor, memory=memory, reason=TEXT)


def superseded(actor, memory):
    newer = make_memory("It leaves at nine.", scope=memory.scope)
    return services.supersede(actor=actor, memory=memory, replacement=newer, reason=TEXT)


def forgotten_together(actor, memory):
    selection = Selection(Choice(scope=memory.scope, kind="fact"))
    return forget_many(actor=actor, selection=selection, expected=1, reason=TEXT)


def merged(actor, memory):
    other = make_memory("At eight the ferry leaves.", scope=memory.scope)
    pair = disputes.open_pair(one=memory, another=other, type="duplicate", scanner="test")
    return disputes.resolve(actor=actor, dispute=pair, version=pair.version, resolution="merge", text=TEXT)


def approved(actor, memory):
    candidate = make_candidate(memory.scope)
    return decisions.approve(actor=actor, candidate=candidate, version=candidate.version, content=TEXT)


def dismissed(actor, memory):
    candidate = make_candidate(memory.scope)
    return decisions.dismiss(actor=actor, candidate=candidate, version=candidate.version, reason=TEXT)


def agent(actor, memory):
    token, _ = make_token(actor.user, [memory.scope])
    return actor_for_token(token, agent=TEXT)


DOORS = {
    **{
        f"remember: {field}": (field, lambda actor, memory, field=field: remember(actor, memory, **{field: TEXT}))
        for field in ("content", "verbatim", "source", "session", "idempotency_key", "external_id")
    },
    "remember: name": ("entities", lambda a, m: remember(a, m, entities=[EntitySpec(TEXT)])),
    "remember: type": ("entities", lambda a, m: remember(a, m, entities=[EntitySpec("x", TEXT)])),
    **{
        f"edit: {field}": (field, lambda actor, memory, field=field: edit(actor, memory, **{field: TEXT}))
        for field in ("content", "verbatim", "source")
    },
    "edit: entities": ("entities", lambda a, m: edit(a, m, entities=[EntitySpec(TEXT)])),
    "forget": ("reason", lambda a, m: services.forget(actor=a, memory=m, reason=TEXT)),
    "forget together": ("reason", forgotten_together),
    "close: reason": ("reason", lambda a, m: closed(a, m, reason=TEXT)),
    "close: evidence": ("evidence", lambda a, m: closed(a, m, evidence=TEXT)),
    "restore": ("reason", restored),
    "supersede": ("reason", superseded),
    "verify: note": ("reason", lambda a, m: verify(actor=a, memory=m, note=TEXT)),
    "verify: source": ("evidence", lambda a, m: verify(actor=a, memory=m, source=TEXT)),
    "use": ("session", lambda a, m: mark_used(actor=a, memory=m, useful=True, session=TEXT)),
    "challenge: reason": ("reason", lambda a, m: disputes.challenge(actor=a, memory=m, reason=TEXT)),
    "challenge: evidence": ("evidence", lambda a, m: disputes.challenge(actor=a, memory=m, evidence=TEXT)),
    "merge": ("text", merged),
    "draft": ("content", approved),
    "dismissal": ("reason", dismissed),
    "rule": ("text", lambda a, m: rules.make_rule(actor=a, memory=m, text=TEXT, layer="scope")),
    "transcript": (
        "transcript",
        lambda a, m: transcripts.hand_in(actor=a, session="s", transcript=TEXT, shown=None),
    ),
    "agent": ("agent", agent),
    "token": ("name", lambda a, m: tokens.create_token(actor=a, name=TEXT, scopes=[m.scope])),
    "scope: name": ("name", lambda a, m: scopes.create_scope(actor=a, slug="new", name=TEXT)),
    "scope: slug": ("slug", lambda a, m: scopes.create_scope(actor=a, slug="sk-0123456789abcdef0123456789abcdef")),
    "scope: rename": ("name", lambda a, m: scopes.rename_scope(actor=a, scope=m.scope, name=TEXT)),
    "settings": ("reason", lambda a, m: config.change_fusion(user=a.user, reason=TEXT, k=50)),
    "profile": (
        "first_name",
        lambda a, m: profile.change_profile(actor=a, first_name=TEXT, last_name="", email="", time_zone="UTC"),
    ),
}


@pytest.mark.behaviour("Z77")
@pytest.mark.parametrize("door", DOORS)
def test_a_secret_is_refused_by_name_and_leaves_no_trace(actor, memory, door, caplog):
    caplog.set_level(logging.DEBUG)
    field, enter = DOORS[door]
    with pytest.raises(ValidationFailed) as refused:
        enter(actor, memory)
    assert refused.value.field == field
    assert refused.value.message.startswith(f"secret_content_rejected: {field} ")
    assert SECRET not in f"{refused.value}{caplog.text}{stored()}"


# REST, pages, files and commands -------------------------------------------------------------


@pytest.mark.behaviour("Z77")
def test_over_rest_the_answer_names_field_and_detector_alone(actor, memory, client, caplog):
    caplog.set_level(logging.DEBUG)
    _, secret = make_token(actor.user, [memory.scope])
    headers = {"Authorization": f"Bearer {secret}"}
    entry = f"/api/v1/memories/{memory.pk}"
    for method, path, body, field in (
        ("post", "/api/v1/memories", {"content": f"Keep {TEXT}"}, "content"),
        ("patch", entry, {"content": f"Keep {TEXT}"}, "content"),
        ("post", f"{entry}/forget", {"reason": TEXT}, "reason"),
    ):
        answer = getattr(client, method)(path, body, content_type="application/json", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "validation_failed")
        assert answer.json()["field"] == field
        assert answer.json()["message"] == f"secret_content_rejected: {field} github_token ghp_…(36 more characters)"
    assert SECRET not in caplog.text + stored()


@pytest.mark.behaviour("Z77")
@pytest.mark.parametrize("body", [{TEXT: 1}, {"content": "x", "kind": TEXT}, {"content": "x", "scope": TEXT}])
def test_no_answer_repeats_a_secret_in_a_place_where_no_text_belongs(actor, memory, client, body, caplog):
    _, secret = make_token(actor.user, [memory.scope])
    headers = {"Authorization": f"Bearer {secret}"}
    answer = client.post("/api/v1/memories", body, content_type="application/json", headers=headers)
    assert answer.status_code in (400, 404)
    assert SECRET not in answer.text + caplog.text


@pytest.mark.behaviour("Z77")
def test_the_name_of_an_agent_is_looked_at_before_anything_is_done(actor, memory, client):
    _, secret = make_token(actor.user, [memory.scope])
    headers = {"Authorization": f"Bearer {secret}", "X-Agent": TEXT}
    answer = client.post("/api/v1/memories", {"content": "x"}, content_type="application/json", headers=headers)
    assert (answer.status_code, answer.json()["field"]) == (400, "agent")
    assert SECRET not in answer.text + stored()


@pytest.mark.behaviour("Z77")
def test_the_form_says_it_beside_the_field(actor, memory, client_of):
    sent = {"content": f"Keep {TEXT}", "kind": "fact", "scope": memory.scope.pk}
    page = client_of(actor.user).post(reverse("memory_new"), sent)
    assert page.status_code == 422
    (said,) = page.context["form"].errors["content"]
    assert said.startswith("secret_content_rejected: content github_token ")
    assert SECRET not in said + stored()


@pytest.mark.behaviour("Z77")
def test_a_file_with_a_secret_in_one_line_is_not_imported_at_all(scope):
    lines = [{"content": "A red buoy."}, {"content": "x", "invalidation_reason": TEXT, "state": "invalidated"}]
    for line, field in (({"content": TEXT}, "content"), (lines[1], "invalidation_reason")):
        error = failure(lines[0], line, scope=scope)
        assert error.message.startswith(f"Line 2: {field}: secret_content_rejected: {field} github_token ")
        assert SECRET not in str(error)
    assert not Memory.objects.exists()


@pytest.mark.parametrize("line", [{"content": "x", "pinned": OTHER}, {"content": "x", OTHER: 1}])
def test_a_value_of_the_wrong_kind_is_quoted_without_its_secret(scope, line):
    error = failure(line, scope=scope)
    assert "Vq7tRz2m" not in f"{error} {error.field}"


@pytest.mark.behaviour("Z77")
def test_the_commands_refuse_it_too(scope, memory, tmp_path: Path):
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps({"content": TEXT}))
    for command in (
        ["import_memories", str(file), "--scope", "home"],
        ["forget_memories", "--scope", "home", "--before", "2100-01-01", "--expect", "1", "--reason", TEXT],
    ):
        with pytest.raises(CommandError, match="secret_content_rejected") as refused:
            call_command(*command)
        assert SECRET not in str(refused.value)
    assert SECRET not in stored()


@pytest.mark.behaviour("Z77")
def test_a_commit_with_a_secret_keeps_its_place_and_loses_the_secret(actor, scope, tmp_path: Path):
    project = Project(tmp_path / "work")
    project.commit("Add the ferry", "ferry.py")
    project.commit(f"Rotate the key\n\nIt was {TEXT} before.", f"keys/ghp_{'Zq8xW2' * 6}.txt", "keys/list.txt")
    reports = [import_from(Git(), project.folder, actor=actor, scope=scope) for _ in range(2)]
    assert [report.written for report in reports] == [2, 0]
    assert reports[0].notes == {"commits with a secret in the message, which was masked": 1}
    assert "ghp_…(36 more characters)" in Memory.objects.get(content__startswith="Rotate").content
    assert SECRET not in stored()
    assert "Zq8xW2" not in stored()


def test_what_a_bulk_act_looked_for_goes_on_record_without_its_secret(actor, scope):
    add_entity(make_memory(scope=scope), TEXT)  # older than the guard
    forget_many(actor=actor, selection=Selection(Choice(scope=scope, entity=TEXT)), expected=1)
    said = AuditEntry.objects.get(action="forget_together").detail
    assert SECRET not in str(said)
