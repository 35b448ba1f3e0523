"""What ``doctor`` says about the pages."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.test import override_settings

from tests.acceptance.instance import free_port
from zeromemory import diagnosis, launch
from zeromemory.lib.locks import InstanceLock


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/sign-in/" else 404)
        self.end_headers()

    def log_message(self, *_):
        """Nothing to note."""


@pytest.fixture
def port(tmp_path) -> Iterator[int]:
    found = free_port()
    with override_settings(DATA_FOLDER=tmp_path, BIND_HOST="127.0.0.1", BIND_PORT=found):
        yield found


@pytest.fixture
def served() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture
def running(tmp_path, port) -> Iterator[InstanceLock]:
    lock = InstanceLock(tmp_path / launch.LOCK_NAME)
    assert lock.acquire()
    lock.leave_note(json.dumps({"pid": 1, "local": f"http://127.0.0.1:{port}"}))
    yield lock
    lock.release()


def test_that_nothing_runs_is_no_fault_and_leaves_no_lock(port, tmp_path):
    found = diagnosis.pages()
    assert found.ok
    assert "nothing runs" in found.detail
    assert not list(tmp_path.iterdir())


def test_an_instance_whose_pages_do_not_answer_is_a_problem(port, running):
    found = diagnosis.pages()
    assert not found.ok
    assert "web.log" in found.detail


def test_pages_that_answer_are_fine_also_where_the_instance_was_bound_elsewhere(served, running):
    running.leave_note(json.dumps({"pid": 1, "local": f"http://127.0.0.1:{served}"}))
    assert diagnosis.pages() == diagnosis.Finding("pages", True, f"answer at http://127.0.0.1:{served}/")


def test_a_port_that_another_program_has_is_a_problem(port):
    with socket.create_server(("127.0.0.1", port)):
        found = diagnosis.pages()
    assert not found.ok
    assert f"ZEROMEMORY_BIND=127.0.0.1:{port + 1}" in found.detail


def test_a_door_that_is_not_there_is_no_fault_while_nothing_runs_and_one_while_it_does(port, running):
    assert "does not answer" in diagnosis.door().detail
    running.release()
    assert diagnosis.door().ok


def test_a_note_of_an_instance_that_was_killed_counts_for_nothing(running):
    running.release()
    assert diagnosis.pages().ok
