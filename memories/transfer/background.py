"""A worker's import: one long transaction, watched from a thread that says how far it is and learns whether to stop."""

from __future__ import annotations

import logging
import threading
from dataclasses import asdict
from functools import partial
from types import TracebackType
from typing import Any, Final

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from memories.access import actor_for_user
from memories.errors import Conflict, ZeroMemoryError
from memories.models import Import
from memories.services import transfers
from memories.transfer import kept_files
from memories.transfer.errors import Mistakes
from memories.transfer.importing import Report, import_from
from memories.transfer.registry import format_called

logger = logging.getLogger(__name__)
EVERY_SECONDS: Final = 1.0
NAMED: Final = 50  # of the lines whose memory says something else by now
OUR_FAULT: Final = (
    "This file made the import fail in a way that it should not, and nothing was imported. The worker's log says where."
)
State = Import.State


class StoppedError(Exception):
    """The import was cancelled, or is another worker's by now."""


def work_on(id: str) -> None:
    row = transfers.claim(id)
    if row is None:
        return
    try:
        with _Watch(row) as watch:
            _do(row, watch)
    except StoppedError:
        if transfers.mine(row).filter(cancel_asked_at__isnull=False).exists():
            transfers.finish(row, State.CANCELLED)
    except Mistakes as error:
        summary = error.message.partition("\n")[0]
        transfers.finish(row, State.FAILED, error=summary, report={"mistakes": error.told})
    except ZeroMemoryError as error:
        if isinstance(error, Conflict) and transfers.put_back(row):
            return
        transfers.finish(row, State.FAILED, error=error.message)
    except DatabaseError:
        raise  # the database may be back when the sweep takes it up again
    except Exception:  # whatever it is: the row must not wait for a worker that was never lost
        logger.exception("The import %s could not be read", row.pk)
        transfers.finish(row, State.FAILED, error=OUR_FAULT)


def _do(row: Import, watch: _Watch) -> None:
    """Memories and the state of the row in one transaction, so that neither is there without the other."""
    is_check = row.state == State.CHECKING
    with transaction.atomic(), kept_files.opened(row.pk, row.file_name) as file:
        report = import_from(
            format_called(row.format)(),
            file,
            actor=actor_for_user(row.user),
            scope=row.scope,
            dry_run=is_check,
            progress=watch.tell,
            wrote=None if is_check else partial(transfers.note_members, row),
        )
        watch.stop_if_asked()
        state = State.CHECKED if is_check else State.DONE
        if not transfers.finish(row, state, report=counts(report), read=report.read):
            raise StoppedError


def counts(report: Report) -> dict[str, Any]:
    """The report as it is kept and answered."""
    told = asdict(report)
    told["differing"] = list(report.differing[:NAMED])
    told["differing_count"] = len(report.differing)
    return told | {name: list(told[name]) for name in ("scopes", "created_scopes")}


class _Watch:
    def __init__(self, row: Import) -> None:
        self._row = row
        self._read = 0
        self._must_stop = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep_watching, daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()

    def tell(self, read: int) -> None:
        self._read = read
        self.stop_if_asked()

    def stop_if_asked(self) -> None:
        if self._must_stop:
            raise StoppedError

    def _keep_watching(self) -> None:
        while not self._done.wait(EVERY_SECONDS):
            try:
                self._look()
            except DatabaseError as error:
                logger.warning("Import %s could not be heard of: %s", self._row.pk, error)
            finally:
                connection.close()

    def _look(self) -> None:
        mine = transfers.mine(self._row)
        beaten = mine.update(heartbeat_at=timezone.now(), read=self._read)
        self._must_stop = not beaten or mine.filter(cancel_asked_at__isnull=False).exists()
