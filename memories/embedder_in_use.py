"""Which embedder answers queries. After a change of the setting that is the former one, until the new one is ready."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from memories.models import EmbedderChange
from zeromemory.embedding import Choice, Embedder, EmbedderError, configured, embedder_of, get_embedder

_OPENAI: Final = "openai:"


@dataclass(frozen=True, slots=True)
class InUse:
    """*answering* makes the vectors of queries, and a new memory's first. *coming* is being changed to."""

    answering: Embedder | None
    coming: Embedder | None = None
    change: EmbedderChange | None = None

    @property
    def stamps(self) -> tuple[str, ...]:
        """A memory that bears one of these has vectors of the answering embedder."""
        return tuple(embedder.stamp for embedder in (self.answering, self.coming) if embedder)


def in_use() -> InUse:
    """Raises EmbedderError when the embedder cannot be told and no former one stands in for it."""
    return in_use_by(newest_change())


def in_use_by(change: EmbedderChange | None) -> InUse:
    """The same where the newest change is known."""
    chosen = get_embedder()
    if chosen is None or change is None:
        return InUse(chosen, change=change)
    stamp, error = _stamp_or_error(chosen)
    former = None if stamp == change.answering_stamp else former_of(change)
    if former is None:
        if error:
            raise error
        return InUse(chosen, change=change)
    is_coming = change.is_open and stamp == change.stamp
    return InUse(former, chosen if is_coming else None, change)


def query_embedder() -> Embedder | None:
    """The embedder to encode queries with; None where none is configured.

    Raises EmbedderError, with a sentence for a notice, when there is one and it cannot be used.
    """
    return in_use().answering


def newest_change() -> EmbedderChange | None:
    return EmbedderChange.objects.order_by("-pk").first()


def former_of(change: EmbedderChange) -> Embedder | None:
    """The embedder that answers by *change*; None when it cannot be had, is another by now, or does not answer."""
    choice = change.answering_choice
    if choice is None:
        return None
    try:
        embedder = embedder_of(replace(choice, key=_key_for(choice)))
        return embedder if embedder.stamp == change.answering_stamp and not embedder.resting else None
    except EmbedderError:
        return None


def _stamp_or_error(embedder: Embedder) -> tuple[str, EmbedderError | None]:
    try:
        return embedder.stamp, None
    except EmbedderError as error:
        return "", error


def _key_for(choice: Choice) -> str:
    """The configured key is told to the server it was set for, and to no other."""
    if not choice.setting.startswith(_OPENAI):
        return ""
    given: str = settings.EMBEDDER_FORMER_KEY
    same = _server_of(choice.setting) == _server_of(configured().setting)
    return given or (configured().key if same else "")


def _server_of(setting: str) -> tuple[str, str]:
    parts = urlsplit(setting.removeprefix(_OPENAI))
    return parts.scheme, parts.netloc.rpartition("@")[2]
