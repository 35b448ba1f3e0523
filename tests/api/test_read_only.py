"""A store that is opened for reading only: every door that changes something is found by itself, and refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from celery import current_app
from django.core.exceptions import ImproperlyConfigured
from django.core.management import get_commands
from django.db import connection
from django.test import Client
from django.urls import URLPattern, get_resolver

from memories.errors import ReadOnly
from memories.models import Memory
from tests.factories import make_memory
from tests.memories.code.trees import make_tree, register
from zeromemory.celery import HEARTBEAT
from zeromemory.command_line import READ, _refuse_writes
from zeromemory.lib.folders import PROJECT

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("G35")]

READING = {("POST", "/api/v1/recall"), ("POST", "/api/v1/briefing")}
ID = "00000000-0000-7000-8000-000000000001"


@pytest.fixture
def read_only(settings):
    settings.READ_ONLY = True


def look_only():
    """From here to the end of the test the database takes nothing, as it would by the setting."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # what was written so far is complete
        cursor.execute("SET TRANSACTION READ ONLY")


def operations():
    """Every call of the REST interface that is not read by its method."""
    paths = json.loads(Client().get("/api/v1/openapi.json").content)["paths"]
    return {(method.upper(), path) for path, methods in paths.items() for method in methods if method != "get"}


def test_every_call_that_changes_something_is_refused_by_one_error(api, scope, read_only):
    found = operations() - READING
    assert len(found) > 20
    for method, path in sorted(found):
        filled = _filled(path.replace("/api/v1", "", 1))
        answer = api.call(method.lower(), filled, {})
        assert (answer.status_code, answer.json()["code"]) == (403, "read_only"), (method, path)
    assert not Memory.objects.exists()


def _filled(path):
    while "{" in path:
        before, _, rest = path.partition("{")
        path = before + ID + rest.partition("}")[2]
    return path


def test_what_is_asked_by_post_is_answered_and_leaves_nothing(api, scope, read_only):
    memory = make_memory("The harbour light is green.", scope=scope)
    look_only()

    found = api.post("/recall", {"query": "harbour light"})

    assert [result["id"] for result in found.json()["results"]] == [str(memory.pk)]
    assert api.post("/briefing", {"topic": "harbour light"}).status_code == 200
    assert Memory.objects.get().access_count == 0


def pages(patterns, prefix=""):
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield pattern.name, route
        elif "api" not in route and "admin" not in route:
            yield from pages(pattern.url_patterns, route)


def test_every_page_refuses_what_is_sent_to_it(client_of, owner, read_only):
    mine, asked = client_of(owner), 0
    for name, route in pages(get_resolver().url_patterns):
        if name in ("sign_in", "sign_out") or "^" in route or "api/" in route:
            continue
        asked += 1
        answer = mine.post("/" + _typed(route), {})
        assert (answer.status_code, "opened for reading only" in answer.text) == (403, True), name
    assert asked > 60


def _typed(route):
    for kind, value in (("uuid", ID), ("int", "1"), ("slug", "x"), ("str", "x"), ("path", "x")):
        while f"<{kind}:" in route:
            before, _, rest = route.partition(f"<{kind}:")
            route = before + value + rest.partition(">")[2]
    return route


def test_the_pages_are_read_and_write_nothing(client_of, owner, scope, read_only, tmp_path):
    memory, mine = make_memory("The harbour light is green.", scope=scope), client_of(owner)
    register(scope, make_tree(tmp_path / "shop", with_git=False))
    look_only()

    for path in (
        "/",
        "/memories/",
        "/memories/?q=harbour",
        f"/memories/{memory.pk}/",
        f"/scopes/{scope.pk}/",
        "/inbox/",
        "/repositories/",
        "/repositories/shop/",
    ):
        assert mine.get(path).status_code == 200, path


def test_what_no_door_refuses_the_database_does_and_it_reads_the_same(api, scope):
    look_only()

    answer = api.post("/memories", {"content": "Written?"})

    assert (answer.status_code, answer.json()["code"]) == (403, "read_only")


def test_every_task_but_the_heartbeat_refuses(read_only):
    current_app.loader.import_default_modules()
    ours = {name: task for name, task in current_app.tasks.items() if not name.startswith("celery.")}
    assert len(ours) > 8
    for name, task in ours.items():
        if name != HEARTBEAT:
            with pytest.raises(ReadOnly):
                task()


def test_every_command_that_may_write_refuses(read_only):
    ours = {
        name for name, app in get_commands().items() if app in ("memories", "reflections", "insights", "zeromemory")
    }
    writing = ours - READ - {"fingerprint"}
    assert {"import_memories", "forget_memories", "hygiene", "restore", "demo", "create_token"} <= writing
    for name in [*writing, "migrate", "flush", "shell"]:
        with pytest.raises(ImproperlyConfigured, match=f"read_only: {name} may write"):
            _refuse_writes(["manage.py", name])


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    missing = tmp_path / "nothing"
    environment = {
        "PATH": os.environ["PATH"],
        "ZEROMEMORY_DATA": str(missing),
        "ZEROMEMORY_READ_ONLY": "true",
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor"],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"ZEROMEMORY_READ_ONLY: there is no store in {missing}" in done.stderr
    assert not Path(missing).exists()


def test_nobody_who_is_not_signed_in_is_told_more(read_only):
    assert Client().get("/memories/").status_code == 302
