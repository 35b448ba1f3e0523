from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
import uvicorn
from django.core.asgi import get_asgi_application
from django.db import connection

from memories.models import Scope, User
from tests.factories import make_token
from tests.mcp.talking import Agent
from zeromemory.mcp.door import with_door


class _Server(uvicorn.Server):
    def install_signal_handlers(self) -> None:
        """The signals are the test runner's."""


@pytest.fixture
def door(transactional_db: None, settings) -> Iterator[str]:
    """The address of a real server that runs as long as the test."""
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        config = uvicorn.Config(with_door(get_asgi_application()), lifespan="on", log_level="error", access_log=False)
        server = _Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 30
        while not server.started:
            assert thread.is_alive(), "the server ended at once"
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/mcp"
        server.should_exit = True
        thread.join(20)


@pytest.fixture
def agent_of(door: str) -> Callable[..., Agent]:
    def build(user: User, *scopes: Scope, **token: object) -> Agent:
        return Agent(door, make_token(user, scopes, **token)[1])

    return build


@pytest.fixture
def agent(agent_of: Callable[..., Agent], owner: User, scope: Scope) -> Agent:
    return agent_of(owner, scope)


@pytest.fixture
def database_url(transactional_db: None) -> str:
    """For a process of its own."""
    settings = connection.settings_dict
    host = quote(settings["HOST"], safe="")
    who = f"{settings['USER']}:{quote(settings['PASSWORD'], safe='')}"
    return f"postgresql://{who}@/{settings['NAME']}?host={host}&port={settings['PORT']}"
