from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from memories.models import Memory, Scope, User
from tests.api.handing_in import recall
from tests.factories import make_memory, make_token


class Api:
    """A program with a bearer token."""

    def __init__(self, secret: str | None) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = {"Authorization": f"Bearer {secret}"} if secret is not None else {}

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        options: dict[str, Any] = {"headers": self.headers | headers}
        if body is not None:
            options |= {"data": body, "content_type": "application/json"}
        return getattr(self.client, method)(f"/api/v1{path}", **options)

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/api/v1{path}", query, headers=self.headers)

    def post(self, path: str, body: Any = None) -> Any:
        return self.call("post", path, {} if body is None else body)

    def patch(self, path: str, body: Any, version: int | str | None = None) -> Any:
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        return self.call("patch", path, body, **headers)


@pytest.fixture
def api_of() -> Callable[..., Api]:
    def build(user: User, *scopes: Scope, **token: Any) -> Api:
        return Api(make_token(user, scopes, **token)[1])

    return build


@pytest.fixture
def api(api_of: Callable[..., Api], owner: User, scope: Scope) -> Api:
    return api_of(owner, scope)


@pytest.fixture
def nobody(db: None) -> Api:
    return Api(None)


@pytest.fixture
def with_token(db: None) -> Callable[[str], Api]:
    return Api


@pytest.fixture
def note(scope: Scope) -> Memory:
    return make_memory("The API listens on port 8080.", scope=scope)


@pytest.fixture
def given(api: Api, note: Memory) -> Memory:
    """The note, as recall gave it to the session called monday."""
    recall(api)
    return note
