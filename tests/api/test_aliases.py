"""Aliases over REST."""

import uuid

import pytest

from memories.services.aliases import standing
from tests.factories import make_memory, make_scope

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("G32")]


def test_an_alias_is_added_listed_used_and_retired(api, scope):
    make_memory("The billing service owns invoices.", scope=scope)
    path = f"/scopes/{scope.slug}/aliases"

    made = api.post(path, {"term": "falcon", "alias": "billing service"})
    assert made.status_code == 201, made.content
    assert api.post(path, {"term": "falcon", "alias": "billing service"}).json() == made.json()
    assert api.get(path).json()["aliases"] == [made.json()]
    (result,) = api.post("/recall", {"query": "falcon"}).json()["results"]
    assert "falcon" not in result["content"]

    retired = api.post(f"{path}/{made.json()['id']}/retire")
    assert retired.json()["retired_at"]
    assert api.get(path).json()["aliases"] == []
    assert api.post("/recall", {"query": "falcon"}).json()["results"] == []


@pytest.mark.parametrize("alias_id", [str(uuid.UUID(int=1)), "no-id"])
def test_what_is_not_there_is_not_found(api, scope, alias_id):
    assert api.post(f"/scopes/{scope.slug}/aliases/{alias_id}/retire").status_code == 404
    assert api.get("/scopes/nowhere/aliases").status_code == 404
    assert api.get(f"/scopes/{make_scope().slug}/aliases").status_code == 404


def test_a_token_that_only_reads_adds_none(api_of, owner, scope):
    reading = api_of(owner, scope, can_write=False)
    assert reading.post(f"/scopes/{scope.slug}/aliases", {"term": "a", "alias": "b"}).status_code == 403
    assert not standing(scope).exists()


def test_a_scope_is_named_with_its_owner_too(api, owner, scope):
    assert api.get(f"/scopes/{owner.username}/{scope.slug}/aliases").status_code == 200
