"""``manage.py up``: everything a running Zero Memory needs, in one foreground command."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import psutil
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from memories.models import Memory, User
from memories.services import people
from zeromemory import database, embedded, launch
from zeromemory.lib.counting import counted
from zeromemory.lib.locks import InstanceLock
from zeromemory.programs import END_SECONDS
from zeromemory.supervisor import Supervisor


class Command(BaseCommand):
    help = "Start the database, the pages, the worker and the clock. Ctrl-C ends them all."
    requires_system_checks: list[str] = []
    with_demo = False

    def handle(self, *args: Any, **options: Any) -> None:
        os.umask(0o077)  # what it and its children write is for this user alone
        lock = InstanceLock(settings.DATA_FOLDER / launch.LOCK_NAME)
        try:
            code = self._run(lock) if lock.acquire() else self._already_running(lock)
        except (launch.LaunchError, database.UnusableDatabaseError) as error:
            raise CommandError(str(error)) from error
        finally:
            lock.release()
        if code:
            raise SystemExit(code)

    def _run(self, lock: InstanceLock) -> int:
        # A note that is still there is from a start that was killed: its web process may need a moment to end.
        listener = launch.listening_socket(patience=END_SECONDS + 5 if lock.read_note() else 0)
        note = {"pid": os.getpid(), "address": launch.base_address(), "local": launch.local_address()}
        lock.leave_note(json.dumps(note))
        owner = self._prepare()
        supervisor = Supervisor(launch.programs(listener), self._say, self._look_at_database)

        def announce(watch: Callable[[], bool]) -> None:
            self._step("pages", "starting")
            launch.wait_for_web(watch)
            self._step("worker", "starting")
            if late := launch.wait_for_worker(watch):
                self._step("worker", late)
            if watch():
                self._welcome(owner)

        code = supervisor.run(announce)
        lock.leave_note("")
        self._say("Everything has ended. Your data is in " + str(settings.DATA_FOLDER))
        return code

    def _look_at_database(self) -> None:
        if not os.environ.get("ZEROMEMORY_EMBEDDED"):
            return
        try:
            if embedded.revive(embedded.folder(), say=self._say):
                self._say("The embedded PostgreSQL had ended; it runs again.")
        except embedded.EmbeddedPostgresError as error:
            self._say(str(error))

    def _prepare(self) -> User | None:
        facts = database.inspect()
        database.require(facts)
        where = "embedded" if os.environ.get("ZEROMEMORY_EMBEDDED") else settings.DATABASES["default"]["HOST"]
        self._step("database", f"PostgreSQL {facts.readable_version} with pgvector {facts.vector} ({where})")
        if settings.READ_ONLY:
            self._look_only()
            return None
        applied = database.migrate()
        self._step("tables", f"{counted(applied, 'migration')} applied" if applied else "up to date")
        self._step("files", "collected" if launch.collect_static() else "up to date")
        created = people.create_owner()
        self._step("owner", f"account {created.username!r} created" if created else "exists")
        if self.with_demo:
            self.load_demo()
        return people.owner_without_password()

    def _look_only(self) -> None:
        if missing := database.unapplied():
            raise database.UnusableDatabaseError(
                f"ZEROMEMORY_READ_ONLY: the tables lack {counted(len(missing), 'migration')}. Start once without it."
            )
        self._step("files", "collected" if launch.collect_static() else "up to date")
        self._step("writes", "refused: the store is opened for reading only")

    def load_demo(self) -> None:
        """``demo`` loads its corpus here; ``up`` leaves that to a button on the empty first page."""

    def what_to_look_at(self) -> list[str]:
        if Memory.objects.exists():
            return []
        return ["There are no memories yet: the first page offers to load a demo corpus."]

    def _welcome(self, owner: User | None) -> None:
        address = launch.base_address()
        self._say(f"\nReady in {time.time() - psutil.Process().create_time():.1f} s: {address}/")
        if owner is not None:
            path = reverse("sign_in_link", args=[people.create_sign_in_link(owner, label="start")])
            self._say(f"Sign in once with this link, within 24 hours; then choose a password:\n  {address}{path}")
        for line in self.what_to_look_at():
            self._say(line)
        if settings.BIND_HOST not in ("127.0.0.1", "localhost", "::1"):
            self._say("Other machines can reach this address without encryption: put a TLS proxy in front of it.")
        self._say("Ctrl-C ends everything.\n")

    def _already_running(self, lock: InstanceLock) -> int:
        note = json.loads(lock.read_note() or "{}")
        self._say(f"Zero Memory is already running at {note.get('address')}/ (process {note.get('pid')}).")
        if self.with_demo:
            self.load_demo()
        return 0

    def _step(self, what: str, how: str) -> None:
        self._say(f"{what:<9}{how}")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
