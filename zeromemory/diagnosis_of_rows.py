"""What ``manage.py doctor`` reads in the database: what the role may do there, and what waits for too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.db.models import Min, Q
from django.utils import timezone

from memories import embedding_queue
from memories.models import Memory, Scope, Token
from reflections.models import Run
from zeromemory.finding import Finding
from zeromemory.lib.counting import counted

NAMED: Final = 5
CLOCKS_APART: Final = timedelta(seconds=5)
EMBEDDED_WITHIN: Final = timedelta(minutes=10)
TAKEN_UP_WITHIN: Final = timedelta(minutes=10)
CONNECTED_WITHIN: Final = timedelta(days=1)

MAY_NOT: Final = """
SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace AND EXISTS
(SELECT FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) p WHERE NOT has_table_privilege(oid, p)) ORDER BY 1"""
LOCALE: Final = """
SELECT current_setting('server_encoding'), datcollate, datcollversion, pg_database_collation_actual_version(oid)
FROM pg_database WHERE datname = current_database()"""


def findings() -> Iterator[Finding]:
    for check in CHECKS:
        yield check()


def rights() -> Finding:
    """Of the role that the pages and the worker act with; migrations also make tables."""
    role = str(_row("SELECT current_user")[0])
    may_make, schema = _row("SELECT has_schema_privilege(current_schema(), 'CREATE'), current_schema()")
    closed = [name for (name,) in _rows(MAY_NOT)]
    if closed:
        detail = f"{role} may not read and write {_some(closed)}. Run as their owner: GRANT ALL ON ALL TABLES IN SCHEMA"
        return Finding("rights", False, f'{detail} {schema} TO "{role}";')
    if not may_make:
        detail = f"{role} may not make tables, so no update can be applied. Run as the schema's owner: GRANT CREATE ON"
        return Finding("rights", False, f'{detail} SCHEMA {schema} TO "{role}";')
    return Finding("rights", True, f"{role} may read, write and make tables")


def locale() -> Finding:
    encoding, name, recorded, actual = _row(LOCALE)
    if encoding != "UTF8":
        detail = f"the database is encoded in {encoding}. Make one with ENCODING 'UTF8', and restore a backup into it"
        return Finding("locale", False, detail)
    if recorded and actual and recorded != actual:
        database = connection.ops.quote_name(connection.settings_dict["NAME"])
        return Finding(
            "locale", False,
            f"the system sorts {name} by version {actual} now, and indexes were made with {recorded}. Run: REINDEX "
            f"DATABASE {database}; ALTER DATABASE {database} REFRESH COLLATION VERSION;",
        )  # fmt: skip
    return Finding("locale", True, f"{encoding}, {name}")


def clock() -> Finding:
    there = _row("SELECT clock_timestamp()")[0]
    apart = abs(datetime.now(UTC) - there)
    if apart > CLOCKS_APART:
        return Finding(
            "clock", False,
            f"this machine and the database are {apart.total_seconds():.0f} s apart, and ages are counted by both. Set "
            "both by NTP",
        )  # fmt: skip
    return Finding("clock", True, f"as the database's, within {apart.total_seconds():.1f} s")


def tokens() -> Finding:
    """That one was never used is worth knowing and no fault."""
    now = timezone.now()
    in_force = Token.objects.in_force(now)
    unused = in_force.filter(last_used_at=None, created_at__lt=now - CONNECTED_WITHIN).order_by("created_at")
    hints = [f"{hint}…" for hint in unused.values_list("hint", flat=True)]
    if hints:
        detail = f"{len(hints)} of {in_force.count()} never called: {_some(hints)}. Connect an agent with it, or revoke"
        return Finding("tokens", True, f"{detail} it on the Tokens page")
    return Finding("tokens", True, f"{in_force.count()} in force")


def queue() -> Finding:
    """Memories that wait to be found by meaning."""
    if settings.EMBEDDER == "none":
        return Finding("queue", True, "nothing is embedded")
    rows = embedding_queue.waiting(Memory.objects.all())
    oldest, number = rows.aggregate(oldest=Min("updated_at"))["oldest"], rows.count()
    if oldest and timezone.now() - oldest > EMBEDDED_WITHIN:
        return Finding(
            "queue", False,
            f"{_waiting(number)} to be embedded, the first since {oldest:%-d %B, %H:%M} UTC. They are found by "
            f"words alone. Start the worker with make up, or read {settings.DATA_FOLDER / 'logs' / 'worker.log'}",
        )  # fmt: skip
    return Finding("queue", True, f"{_waiting(number)} to be embedded")


def _waiting(number: int, noun: str = "memory", plural: str = "memories") -> str:
    return f"{counted(number, noun, plural)} {'waits' if number == 1 else 'wait'}"


def hygiene() -> Finding:
    stuck = Run.objects.filter(state__in=[Run.State.QUEUED, Run.State.RUNNING])
    before = timezone.now() - TAKEN_UP_WITHIN
    stuck = stuck.filter(Q(heartbeat_at__lt=before) | Q(heartbeat_at=None, requested_at__lt=before))
    if stuck.exists():
        waiting = _waiting(stuck.count(), "run", "runs")
        detail = f"{waiting} for a worker. Start it with make up, or cancel them on the page of runs"
        return Finding("hygiene", False, detail)
    if not settings.HYGIENE_HOURS:
        return Finding("hygiene", True, "runs when somebody asks: ZEROMEMORY_HYGIENE_HOURS is 0")
    overdue = _overdue(timedelta(hours=2 * settings.HYGIENE_HOURS))
    if overdue:
        return Finding(
            "hygiene", False,
            f"no full cycle for twice {counted(settings.HYGIENE_HOURS, 'hour')} in {_some(overdue)}. Start the worker "
            "and the clock with make up, or run: manage.py hygiene",
        )  # fmt: skip
    return Finding("hygiene", True, f"every {counted(settings.HYGIENE_HOURS, 'hour')}")


def _overdue(period: timedelta) -> list[str]:
    since = timezone.now() - period
    lately = Run.objects.filter(kind=Run.Kind.FULL, requested_at__gt=since).exclude(state=Run.State.CANCELLED)
    scopes = Scope.objects.filter(created_at__lt=since).exclude(runs__in=lately)
    return list(scopes.order_by("slug").values_list("slug", flat=True))


CHECKS: list[Callable[[], Finding]] = [rights, locale, clock, tokens, queue, hygiene]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _row(statement: str) -> tuple[Any, ...]:
    return _rows(statement)[0]


def _rows(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
