"""What ``doctor`` says about the agents' door."""

import json

import pytest

from tests.factories import make_token
from zeromemory import diagnosis


@pytest.fixture
def at_the_door(door, monkeypatch):
    monkeypatch.delenv("ZEROMEMORY_TOKEN", raising=False)
    monkeypatch.setattr(diagnosis.launch, "note_of_running", lambda: {"local": door.removesuffix("/mcp"), "pid": 1})
    return monkeypatch


@pytest.mark.parametrize("held", [None, "", " "])
def test_without_a_token_it_sees_that_one_is_asked_for(at_the_door, held):
    if held is not None:
        at_the_door.setenv("ZEROMEMORY_TOKEN", held)
    found = diagnosis.door()
    assert found.ok, found
    assert "asks for a token" in found.detail


def test_with_a_token_it_opens_a_conversation(at_the_door, owner, scope):
    at_the_door.setenv("ZEROMEMORY_TOKEN", make_token(owner, [scope])[1])
    found = diagnosis.door()
    assert found.ok, found
    assert "zero-memory answers" in found.detail


def test_a_token_that_is_refused_is_a_problem(at_the_door):
    at_the_door.setenv("ZEROMEMORY_TOKEN", "zm_wrong")
    found = diagnosis.door()
    assert not found.ok
    assert "Tokens page" in found.detail
    assert "zm_wrong" not in json.dumps(found.detail)
