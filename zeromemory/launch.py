"""The steps between an empty folder and a page that answers."""

from __future__ import annotations

import hashlib
import json
import socket
import time
import urllib.request
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from zeromemory.lib import heartbeat
from zeromemory.lib.locks import InstanceLock
from zeromemory.lib.logs import last_lines, log_path
from zeromemory.supervisor import Program

READY_SECONDS = 90
LOCK_NAME = "up.lock"
ANY_ADDRESS = {"0.0.0.0", "::"}  # noqa: S104 - recognised, not bound


class LaunchError(RuntimeError):
    """The start cannot go on; the message says what to do."""


def base_address() -> str:
    """Where a browser on this machine finds the pages."""
    host = settings.BIND_HOST
    if host in ANY_ADDRESS:
        host = next((name for name in settings.NAMED_HOSTS if name.isascii() and name[0].isalnum()), "127.0.0.1")
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{settings.BIND_PORT}"


def listening_socket(*, patience: float = 0) -> socket.socket:
    """Bound before anything else starts; held by the supervisor, so a restarted web process loses no request.

    Tries for *patience* seconds.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return _bound_socket()
        except OSError as error:
            if time.monotonic() >= deadline:
                raise LaunchError(
                    f"ZEROMEMORY_BIND: {settings.BIND} cannot be used ({error.strerror}). "
                    "Another program may have that port; choose another one: ZEROMEMORY_BIND=127.0.0.1:8001."
                ) from error
            time.sleep(0.2)


def _bound_socket() -> socket.socket:
    found = socket.getaddrinfo(settings.BIND_HOST, settings.BIND_PORT, type=socket.SOCK_STREAM)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)
    except OSError:
        listener.close()
        raise
    listener.set_inheritable(True)
    return listener


def programs(listener: socket.socket) -> list[Program]:
    number = listener.fileno()
    return [
        Program("web", environment={"ZEROMEMORY_SOCKET": str(number)}, descriptors=(number,)),
        Program("worker"),
        Program("beat"),
    ]


def collect_static() -> bool:
    """Collect the static files when any has changed since the last time; True when it did."""
    if static_files_are_current():
        return False
    call_command("collectstatic", verbosity=0, interactive=False, clear=True)
    _stamp().write_text(_static_state())
    return True


def static_files_are_current() -> bool:
    return settings.STATIC_ROOT.exists() and _stamp().exists() and _stamp().read_text() == _static_state()


def _stamp() -> Path:
    return Path(settings.DATA_FOLDER) / "staticfiles.stamp"


def _static_state() -> str:
    files = []
    for finder in get_finders():
        for path, storage in finder.list([]):
            found = storage.path(path)
            files.append((found, storage.size(path), storage.get_modified_time(path).isoformat()))
    return hashlib.sha256(json.dumps([version("whitenoise"), sorted(files)]).encode()).hexdigest()


def wait_for_web(watch: Callable[[], bool]) -> None:
    _wait(watch, _web_answers, "web", "The pages do not answer.")


def wait_for_worker(watch: Callable[[], bool]) -> str:
    """Ring every bell and wait for the heartbeat among them: broker and worker both work then.

    A worker that is slow to answer stops nothing: the pages work without it. Then a sentence says so.
    """
    from zeromemory.celery import ring_all

    before = heartbeat.last()
    ring_all()
    try:
        _wait(watch, lambda: heartbeat.last() != before, "worker", "The worker does not answer yet.")
    except LaunchError as error:
        return f"{error}\nThe pages work meanwhile; what needs the worker waits."
    return ""


def _wait(watch: Callable[[], bool], done: Callable[[], bool], process: str, problem: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while watch() and not done():
        if time.monotonic() > deadline:
            log = log_path(process)
            raise LaunchError(f"{problem} The last lines of {log}:\n{last_lines(log, 5)}")
        time.sleep(0.1)


def local_address() -> str:
    """Where a program on this machine reaches the pages, whatever their name is elsewhere."""
    host = "127.0.0.1" if settings.BIND_HOST in ANY_ADDRESS else settings.BIND_HOST
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{settings.BIND_PORT}"


def answers(address: str, path: str) -> bool:
    """True when *path* is answered with 200 within a few seconds."""
    request = urllib.request.Request(f"{address}{path}", headers={"Host": "localhost"})  # noqa: S310 - our own address
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:  # URLError and HTTPError are some
        return False


def note_of_running() -> dict[str, Any]:
    """What the instance on this data folder says of itself; nothing where none runs."""
    path = Path(settings.DATA_FOLDER) / LOCK_NAME
    if not path.exists():
        return {}
    lock = InstanceLock(path)
    try:
        note: dict[str, Any] = {} if lock.acquire() else json.loads(lock.read_note() or "{}")
    finally:
        lock.release()
    return note


def _web_answers() -> bool:
    return answers(local_address(), "/healthz")
