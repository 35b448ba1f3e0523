"""The product as ``manage.py up`` starts it, on a database of the benchmarks, and a client that speaks to it."""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

from django.conf import settings

from memories.access import actor_for_user
from memories.models import Scope, User
from memories.services import people, tokens
from zeromemory import launch
from zeromemory.supervisor import Program, Supervisor

READY_SECONDS: Final = 60


class ServerError(RuntimeError):
    """The product did not start, or answered with an error."""


@dataclass(frozen=True, slots=True)
class Server:
    host: str
    port: int


class Client:
    """One connection, kept alive. The standard library's client, because its own time counts as the product's."""

    def __init__(self, server: Server, secret: str) -> None:
        self._connection = HTTPConnection(server.host, server.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    def post(self, path: str, body: dict[str, Any]) -> bytes:
        self._connection.request("POST", f"/api/v1{path}", json.dumps(body).encode(), self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise ServerError(f"POST {path} answered {answer.status}: {content[:300]!r}")
        return content

    def close(self) -> None:
        self._connection.close()


@contextmanager
def running(database: str, names: Sequence[str], *, until_ready: bool = True) -> Iterator[Server]:
    """The programs *names* on *database*; they have ended when this returns. The port takes calls at once."""
    with _listener() as listener:
        host, port = listener.getsockname()
        supervisor = Supervisor(_programs(listener, database, names), _say)
        try:
            for program in supervisor.programs:
                program.start()
            if until_ready:
                _wait(f"http://{host}:{port}")
            yield Server(host, port)
        finally:
            supervisor.end_all()


def token_for(slug: str) -> str:
    """The secret of a new token that reaches one scope of the database that the default connection leads to."""
    owner = User.objects.get(username=people.OWNER)
    _, secret = tokens.create_token(
        actor=actor_for_user(owner), name="benchmark", scopes=[Scope.objects.get(owner=owner, slug=slug)]
    )
    return secret


def address_of(database: str) -> str:
    """The address in ``DATABASE_URL`` with another database."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    return urlunsplit(parts._replace(path=f"/{quote(database)}"))


def _programs(listener: socket.socket, database: str, names: Sequence[str]) -> list[Program]:
    programs = [program for program in launch.programs(listener) if program.name in names]
    for program in programs:
        program.environment |= {"DATABASE_URL": address_of(database)}
    return programs


@contextmanager
def _listener() -> Iterator[socket.socket]:
    """On a free port, so that a running instance is not in the way."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        listener.set_inheritable(True)
        yield listener


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


def _wait(address: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not launch.answers(address, "/healthz"):
        if time.monotonic() > deadline:
            raise ServerError(f"{address} does not answer; read the logs in {settings.DATA_FOLDER}.")
        time.sleep(0.1)
