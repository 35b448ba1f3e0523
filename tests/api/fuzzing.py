"""The REST interface, asked what its own description allows and what it does not. Each call is undone after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import requests
import schemathesis
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

ADDRESS = "http://testserver"
CHECKED = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    "response_headers_conformance",
)  # fmt: skip
# Of a query all is text, and what is not asked for is passed over; the token that a call may lack is added to each.
CHECKED_WITH_A_BODY = (*CHECKED, "negative_data_rejection")


def operations() -> Iterator[Any]:
    """Every call that the document names."""
    from zeromemory.api import api

    document = json.loads(json.dumps(api.get_openapi_schema(), default=str))
    for found in schemathesis.openapi.from_dict(document).get_all_operations():
        yield found.ok()


def fuzz(operation: Any, *, secret: str, known: dict[str, str], examples: int) -> None:
    """Raises what schemathesis finds. *known* are ids for the parameters of a path, which chance would never hit."""
    load_all_checks()
    wanted = CHECKED_WITH_A_BODY if operation.body else CHECKED
    checks = [CHECKS.get_one(name) for name in wanted]
    client = Client(raise_request_exception=False)
    modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]

    @settings(
        max_examples=examples, derandomize=True, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.one_of(*(operation.as_strategy(mode) for mode in modes)), st.booleans())
    def asked(case: Any, by_known_id: bool) -> None:
        if by_known_id:
            ours = {name: known[name] for name in case.path_parameters or {} if name in known}
            case.path_parameters = (case.path_parameters or {}) | ours
        case.headers = dict(case.headers or {}) | {"Authorization": f"Bearer {secret}"}
        with transaction.atomic():
            answer = _sent(client, case)
            transaction.set_rollback(True)
        case.validate_response(answer, checks=checks)

    asked()


def _sent(client: Client, case: Any) -> httpx.Response:
    asked = case.as_transport_kwargs(base_url=ADDRESS)
    wire = requests.Request(**{name: asked[name] for name in asked if name in _OF_A_REQUEST}).prepare()
    parts = urlsplit(str(wire.url))
    body = wire.body or b""
    answer = client.generic(
        str(wire.method),
        parts.path,
        body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass"),
        content_type=wire.headers.get("Content-Type", ""),
        headers={name: _shown(value) for name, value in wire.headers.items() if name.lower() not in _BY_THE_CLIENT},
        query_string=parts.query,
    )
    request = httpx.Request(str(wire.method), str(wire.url))
    found = httpx.Response(answer.status_code, headers=dict(answer.headers), content=answer.getvalue(), request=request)
    found.elapsed = timedelta()  # nobody sent it
    return found


_OF_A_REQUEST = {"method", "url", "headers", "files", "data", "params", "cookies", "json"}
_BY_THE_CLIENT = {"content-length", "content-type"}


def _shown(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
