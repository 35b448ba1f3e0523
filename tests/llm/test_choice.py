"""Which model is in use, what that costs before it is asked, and what doctor says."""

import asyncio
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.llm import server as scripted
from tests.llm.factories import pair
from tests.llm.server import status
from zeromemory import diagnosis
from zeromemory.lib import model_names
from zeromemory.lib.folders import PROJECT
from zeromemory.llm import ModelChoice, ModelUnavailable, ask, model_in_use
from zeromemory.llm.providers import model_of

VERDICT = {"relation": "duplicate", "confidence": 0.9, "rationale": "the same words"}


def test_no_model_is_configured_unless_one_is_named(settings):
    settings.MODEL = ""
    assert model_in_use() is None


def test_the_choice_is_what_the_settings_say_and_hides_the_key(model_server):
    choice = model_in_use()
    assert (choice.provider, choice.model, choice.timeout) == ("openai", "scripted-model", 20)
    assert choice.base_url == model_server.base_url()
    assert "key-of-the-tests" not in repr(choice)


def test_another_model_can_be_asked_than_the_configured_one(model_server, settings):
    settings.MODEL = ""
    model_server.will_answer(VERDICT)
    choice = ModelChoice("openai:other", model_server.base_url())
    assert ask(pair(), choice=choice).model == "openai:other"
    assert model_server.last.body["model"] == "other"


@pytest.mark.parametrize("provider", model_names.PROVIDERS)
def test_every_provider_that_may_be_named_can_be_built(provider):
    address = "https://example.org/v1" if provider in model_names.MOVABLE else ""

    async def build():
        async with httpx2.AsyncClient() as client:
            return model_of(ModelChoice(f"{provider}:some/model", address, "a-key"), client)

    with ThreadPoolExecutor(1) as thread:  # where no browser of another test has left a loop running
        assert thread.submit(asyncio.run, build()).result().model_name == "some/model"


@pytest.mark.parametrize("provider", model_names.PROVIDERS)
def test_every_provider_that_may_be_named_is_documented(provider):
    assert f"`{provider}`" in (PROJECT / "docs/how-to/connect-a-model.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_missing_key_says_which_setting_to_set(provider, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match="Set ZEROMEMORY_MODEL_KEY") as caught:
        ask(pair(), choice=ModelChoice(f"{provider}:model"))
    assert not caught.value.retryable


def test_the_providers_own_variable_holds_the_key_where_ours_does_not(model_server, settings, monkeypatch):
    settings.MODEL_KEY = ""
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-provider")
    model_server.will_answer(VERDICT)
    ask(pair())
    assert model_server.last.headers["authorization"] == "Bearer from-the-provider"


def test_a_server_of_ones_own_needs_no_key(model_server, settings, monkeypatch):
    settings.MODEL_KEY = ""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model_server.will_answer(VERDICT)
    assert ask(pair()).value.relation == "duplicate"


@pytest.mark.parametrize(
    "start", ["import zeromemory.llm", "from django.core.management import call_command as c; c('check')"]
)
def test_starting_imports_no_model_library(start):
    code = (
        "import sys, django; django.setup()\n"
        f"{start}\n"
        "print([name for name in ('pydantic_ai', 'anthropic', 'openai') if name in sys.modules])"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "zeromemory.settings", "ZEROMEMORY_MODEL": "openai:any"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, env=environment, text=True, capture_output=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


# doctor ----------------------------------------------------------------------------------------


def test_doctor_says_that_no_model_is_configured(settings):
    settings.MODEL = ""
    found = diagnosis.language_model(ask=True)
    assert found.ok
    assert "none is configured" in found.detail


def test_doctor_names_the_model_and_asks_it_nothing_by_itself(model_server):
    found = diagnosis.language_model(ask=False)
    assert found.ok
    assert "openai:scripted-model" in found.detail
    assert not model_server.requests


def test_doctor_asks_when_it_is_told_to(model_server):
    model_server.will_answer({"kind": "convention", "confidence": 0.9, "rationale": "It tells how deploys go."})
    found = diagnosis.language_model(ask=True)
    assert found.ok
    assert "for 120 tokens" in found.detail


def test_doctor_says_what_to_do_about_a_model_that_does_not_answer(model_server):
    model_server.always(status(401))
    found = diagnosis.language_model(ask=True)
    assert not found.ok
    assert "Check ZEROMEMORY_MODEL_KEY" in found.detail


def test_the_server_is_named_by_both_protocols(model_server, settings):
    for protocol in (scripted.OPENAI, scripted.ANTHROPIC):
        scripted.use(settings, model_server, protocol)
        model_server.will_answer(VERDICT)
        ask(pair())
    assert [request.protocol for request in model_server.requests] == [scripted.OPENAI, scripted.ANTHROPIC]
