"""From an empty folder to a running Zero Memory and back, with the commands a person types.

The tests of this file share one data folder and read as one story, in order.
"""

import json
import os
import re
import signal
import socket
import time
from collections.abc import Iterator

import httpx
import psutil
import pytest

from tests.acceptance.instance import Instance, open_folder, wait_until

pytestmark = pytest.mark.slow
PASSWORD = "a long enough passphrase"


@pytest.fixture(scope="module")
def instance() -> Iterator[Instance]:
    with open_folder() as folder:
        found = Instance(folder / "data of 'somebody'")
        yield found
        found.remove()


@pytest.fixture
def running(instance: Instance) -> Instance:
    if instance.supervisor is None or instance.supervisor.poll() is not None:
        instance.start()
    return instance


def browser(instance: Instance) -> httpx.Client:
    return httpx.Client(base_url=instance.address, follow_redirects=True, timeout=30, trust_env=False)


def post(client: httpx.Client, path: str, **fields: str) -> httpx.Response:
    fields["csrfmiddlewaretoken"] = client.cookies["csrftoken"]
    return client.post(path, data=fields)


@pytest.mark.behaviour("F55")
def test_the_first_start_ends_with_an_address_and_a_sign_in_link(running):
    assert "Ready in" in running.output
    assert running.address in running.output
    with browser(running) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        state = client.get("/readyz").json()
    assert state["ready"]
    assert state["worker"]["ok"]
    assert state["embedder"]["ok"]


@pytest.mark.behaviour("F35")
def test_nobody_gets_in_before_a_password_is_chosen(running):
    with browser(running) as client:
        assert client.get("/").url.path == "/sign-in/"
        client.get(running.link)
        answer = post(client, "/sign-in/", username="owner", password="")
        assert answer.url.path == "/sign-in/"


@pytest.mark.behaviour("F35", "F55")
def test_the_link_signs_in_once_and_asks_for_a_password(running):
    with browser(running) as client, browser(running) as late:
        late.get(running.link)
        client.get(running.link)
        answer = post(client, running.link)
        assert answer.url.path == "/choose-password/"
        assert client.get("/memories/").url.path == "/choose-password/"
        assert post(late, running.link).status_code == 410
        answer = post(client, "/choose-password/", new_password1=PASSWORD, new_password2=PASSWORD)
        assert answer.url.path == "/"
        assert answer.status_code == 200


@pytest.mark.behaviour("F55")
def test_a_memory_is_saved_and_recalled_with_a_token_from_the_command_line(running):
    made = running.run("create_token", "test agent", "--scope", "personal")
    assert made.returncode == 0, made.stderr
    headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
    with browser(running) as client:
        saved = client.post(
            "/api/v1/memories", headers=headers, json={"content": "The staging database is refreshed on Mondays."}
        )
        assert saved.status_code == 201
        wait_until(lambda: _recalls(client, headers, saved.json()["id"]), 60, "recalled by meaning")


def _recalls(client: httpx.Client, headers: dict[str, str], memory_id: str) -> bool:
    query = {"query": "when do we renew test data"}  # no word in common: only its meaning finds it
    found = client.post("/api/v1/recall", headers=headers, json=query).json()["results"]
    return [each["id"] for each in found] == [memory_id]


def test_a_second_start_says_where_it_already_runs_and_changes_nothing(running):
    second = running.run("up")
    assert second.returncode == 0
    assert f"already running at {running.address}/ (process {running.pid})" in second.stdout
    assert httpx.get(f"{running.address}/healthz", trust_env=False).status_code == 200


def test_pages_and_their_files_come_compressed_and_without_a_warning_in_the_log(running):
    with browser(running) as client:
        page = client.get("/sign-in/")
        assert page.headers["Content-Encoding"] == "gzip"
        styles = re.findall(r'href="(/static/[^"]+\.css)"', page.text)
        answers = [client.get(path) for path in styles]
    assert len(answers) > 2
    assert {answer.status_code for answer in answers} == {200}
    assert "immutable" in answers[0].headers["Cache-Control"]
    log = (running.folder / "logs" / "web.log").read_text()
    assert not re.search(r"warning|traceback", log, re.IGNORECASE), log


def test_doctor_finds_nothing_wrong_with_a_running_instance(running):
    report = running.run("doctor")
    assert report.returncode == 0, report.stdout
    assert "PROBLEM" not in report.stdout


def test_a_killed_worker_is_started_again(running):
    worker = running.child("worker")
    assert worker
    worker.kill()
    wait_until(lambda: f"worker process ended ({signal.SIGKILL.name})" in running.output, 10, "noticed")
    wait_until(lambda: running.child("worker"), 10, "started again")
    heartbeat = running.folder / "worker_heartbeat"
    before = heartbeat.stat().st_mtime
    wait_until(lambda: heartbeat.stat().st_mtime > before, 90, "working again")


def test_a_killed_database_is_started_again(running):
    number = int((running.folder / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0])
    os.kill(number, signal.SIGKILL)
    wait_until(lambda: "The embedded PostgreSQL had ended; it runs again." in running.output, 60, "started again")
    ready = f"{running.address}/readyz"
    wait_until(lambda: httpx.get(ready, trust_env=False, timeout=30).json()["database"], 60, "answering")
    wait_until(
        lambda: httpx.get(f"{running.address}/sign-in/", trust_env=False, timeout=30).status_code == 200, 60, "up"
    )


def test_ctrl_c_ends_every_process_it_started(running):
    assert all(running.child(name) for name in ("web", "worker", "beat"))
    began = time.monotonic()
    assert running.interrupt(signal.SIGINT) == 0
    assert time.monotonic() - began < 20
    assert running.processes() == []
    assert "Everything has ended" in running.output


def test_nothing_was_written_into_the_home_folder(instance):
    assert [path.name for path in instance.home.rglob("*")] == []


def test_a_restart_finds_its_data_and_needs_no_link(running):
    assert "/sign-in/" not in running.output
    with browser(running) as client:
        client.get("/sign-in/")
        answer = post(client, "/sign-in/", username="owner", password=PASSWORD)
        assert answer.url.path == "/"
        assert "staging database" in client.get("/memories/").text


def test_a_fresh_link_helps_whoever_lost_the_password(running):
    done = running.run("sign_in_link", "owner")
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split()[0]
    with browser(running) as client:
        client.get(printed)
        assert post(client, printed).url.path == "/choose-password/"


def test_the_children_of_a_killed_supervisor_end_and_the_next_start_joins_the_database(running):
    children = [child for name in ("web", "worker", "beat") if (child := running.child(name))]
    assert len(children) == 3
    os.kill(running.pid, signal.SIGKILL)
    assert running.supervisor
    running.supervisor.wait(10)
    running.start()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []
    assert f'"pid": {running.pid}' in json.dumps(running.noted())
    assert running.interrupt(signal.SIGTERM) == 0
    assert running.processes() == []


def test_a_port_in_use_is_named_with_the_setting_that_moves_it(instance):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", instance.port))
        other.listen()
        refused = instance.run("up")
    assert refused.returncode == 1
    assert "ZEROMEMORY_BIND" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert instance.processes() == []
