"""From a choice to a model object. With ``conversation`` the only modules that import a model library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pydantic_ai
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.providers.openai import OpenAIProvider

from zeromemory.llm.errors import ModelUnavailable

if TYPE_CHECKING:
    import httpx2

    from zeromemory.llm.choice import ModelChoice

pydantic_ai.BANNER_ENABLED = False  # the library would greet in the worker's log


def model_of(choice: ModelChoice, client: httpx2.AsyncClient) -> Model:
    """Raises ModelUnavailable when the key is missing or the provider cannot be set up."""
    try:
        return _built(choice, client)
    except (UserError, ImportError, ValueError, TypeError) as error:
        raise ModelUnavailable(
            f"{choice.name} cannot be set up ({str(error).splitlines()[0]}). "
            "Set ZEROMEMORY_MODEL_KEY, or check ZEROMEMORY_MODEL and ZEROMEMORY_MODEL_BASE_URL."
        ) from error


def _built(choice: ModelChoice, client: httpx2.AsyncClient) -> Model:
    """``openai`` speaks chat completions, which every compatible server knows; ``openai-responses`` the newer API."""
    if choice.provider == "openai":
        return OpenAIChatModel(choice.model, provider=OpenAIProvider(**_arguments(choice, client)))
    return infer_model(choice.name, lambda provider: infer_provider_class(provider)(**_arguments(choice, client)))


def _arguments(choice: ModelChoice, client: httpx2.AsyncClient) -> dict[str, Any]:
    given = {"api_key": choice.key or None, "base_url": choice.base_url or None, "http_client": client}
    return {name: value for name, value in given.items() if value is not None}
