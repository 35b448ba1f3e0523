"""The embedder of this process, chosen by the settings."""

import os
from threading import Lock

from django.conf import settings
from django.utils.module_loading import import_string

from zeromemory.embedding.contract import Embedder, EmbedderError

# scheme -> a function (setting, model folder, key) -> Embedder, imported only when chosen
PROVIDERS = {
    "local": "zeromemory.embedding.local.from_settings",
    "openai": "zeromemory.embedding.openai.from_settings",
}

type Choice = tuple[str, str, str]

_chosen: dict[Choice, Embedder] = {}  # at most one
_inherited: list[Embedder] = []
_choosing = Lock()


def get_embedder() -> Embedder | None:
    """The configured embedder, or None when it is ``none``. Loads no model and asks no endpoint by itself.

    Raises EmbedderError when the setting names no known provider.
    """
    if settings.EMBEDDER == "none":
        return None
    choice = (settings.EMBEDDER, settings.EMBEDDER_MODEL_PATH, settings.EMBEDDER_KEY)
    with _choosing:
        if choice not in _chosen:
            _chosen.clear()
            _chosen[choice] = _build(*choice)
        return _chosen[choice]


def reset() -> None:
    """Forget the embedder, its model and its cached queries."""
    with _choosing:
        _chosen.clear()


def _start_anew() -> None:
    """In a forked child. A model's threads do not survive the fork, so the child needs a model of its own.

    The inherited one is kept, because onnxruntime would wait for ever for those threads while freeing it.
    """
    global _choosing
    _inherited.extend(_chosen.values())
    _chosen.clear()
    _choosing = Lock()  # another thread of the parent may have held it


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_start_anew)


def _build(setting: str, model_path: str, key: str) -> Embedder:
    provider = PROVIDERS.get(setting.partition(":")[0])
    if provider is None:
        known = ", ".join(sorted(PROVIDERS))
        raise EmbedderError(f"ZEROMEMORY_EMBEDDER: {setting!r} names no known provider. Known: {known}, none.")
    embedder: Embedder = import_string(provider)(setting, model_path, key)
    return embedder
