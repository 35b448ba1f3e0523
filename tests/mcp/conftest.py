from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from django.db import connection

from memories.models import Scope, User
from tests.factories import make_token
from tests.mcp.serving import served
from tests.mcp.talking import Agent


@pytest.fixture
def door(transactional_db: None, settings) -> Iterator[str]:
    """The address of a real server that runs as long as the test."""
    settings.ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
    with served() as address:
        yield address


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
