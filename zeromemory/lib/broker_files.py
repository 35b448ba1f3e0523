"""The file system broker: kombu's, made safe against files that are no message."""

from __future__ import annotations

import logging
import uuid
from pathlib import Path
from queue import Empty
from time import time_ns
from typing import Any, Final

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)
DAMAGED: Final = (ValueError, TypeError)
UNREADABLE: Final = (*DAMAGED, OSError, KeyError, AttributeError, RecursionError)


class Channel(filesystem.Channel):
    """A file that cannot be read is set aside with a line in the log. kombu's own channel ends the worker instead.

    Messages appear and disappear whole, by renaming, so that no reader meets half of one.
    """

    def _put(self, queue: str, payload: dict[str, Any], **kwargs: Any) -> None:  # type: ignore[override]  # kombu names it in two ways
        folder = Path(self.data_folder_out)
        name = f"{time_ns()}_{uuid.uuid4()}.{queue}.msg"
        part = folder / f"{name}.part"
        part.write_text(dumps(payload), encoding="utf-8")
        part.rename(folder / name)

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        for path in sorted(Path(self.data_folder_in).iterdir()):
            if path.name.partition(".")[2] == f"{queue}.msg" and (found := self._taken(path)):
                return found
        raise Empty

    def _taken(self, path: Path) -> dict[str, Any] | None:
        """The message in *path*, which is gone then; None where another worker was faster or it is none."""
        taken = Path(self.transport_options["taken_folder"]) / path.name
        try:
            path.rename(taken)
        except OSError:
            return None
        try:
            message = self._read(taken)
        except UNREADABLE as error:
            logger.warning("%s is not a message (%r). It was moved to %s and can be deleted.", path, error, taken)
            return None
        taken.unlink(missing_ok=True)
        return message

    def _read(self, path: Path) -> dict[str, Any]:
        if not path.is_file():
            raise ValueError("not a file")
        payload: dict[str, Any] = loads(path.read_text(encoding="utf-8"))
        self.Message(payload, channel=self).delivery_info["exchange"]  # what the worker is going to ask of it
        return payload

    def get_table(self, exchange: str) -> list[Any]:
        try:
            return super().get_table(exchange)  # type: ignore[no-any-return]  # kombu has no types
        except DAMAGED as error:
            self._remove_table(exchange, error)
        for binding in self.state.exchanges.get(exchange, {}).get("table", []):
            super()._queue_bind(exchange, *binding)
        return super().get_table(exchange)  # type: ignore[no-any-return]  # kombu has no types

    def _queue_bind(self, exchange: str, *binding: Any) -> None:
        try:
            super()._queue_bind(exchange, *binding)
        except DAMAGED as error:
            self._remove_table(exchange, error)
            super()._queue_bind(exchange, *binding)

    def _remove_table(self, exchange: str, error: Exception) -> None:
        table = self._exchange_file(exchange)
        logger.warning("%s cannot be read (%r) and is written anew.", table, error)
        table.unlink(missing_ok=True)


class Transport(filesystem.Transport):
    Channel = Channel


def use() -> None:
    """Let ``filesystem://`` mean this transport."""
    TRANSPORT_ALIASES["filesystem"] = f"{__name__}:Transport"
