"""Starts the web server, the worker and the clock; restarts what dies; ends them all together."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from zeromemory.lib.folders import PROJECT
from zeromemory.lib.logs import keep_small, last_lines, log_path

END_SECONDS = 8
LOOK_SECONDS = 0.2
LOG_CHECK_SECONDS = 30
LOOK_BESIDE_SECONDS = 2
MOST_DEATHS = 5
DEATHS_WITHIN_SECONDS = 60
LONGEST_PAUSE_SECONDS = 10


@dataclass
class Program:
    """One child process: how to start it, and how often it died lately."""

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    descriptors: Sequence[int] = ()
    child: subprocess.Popen[bytes] | None = None
    deaths: list[float] = field(default_factory=list)
    start_at: float = 0.0

    @property
    def log(self) -> Path:
        return log_path(self.name)

    def start(self) -> None:
        keep_small(self.log)
        with self.log.open("ab") as output:
            self.child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "zeromemory.programs", self.name],
                stdin=subprocess.PIPE,  # its end tells the child that we are gone
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=PROJECT,
                env=os.environ | self.environment | {"ZEROMEMORY_SUPERVISED": "1"},
                pass_fds=self.descriptors,
                start_new_session=True,
            )

    def ask_to_end(self) -> None:
        if self.child:
            self.child.terminate()

    def ends_by(self, deadline: float) -> bool:
        """Wait for the end until the monotonic clock shows *deadline*; False when it did not come."""
        try:
            if self.child:
                self.child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def note_death(self, now: float) -> None:
        self.child = None
        self.deaths = [at for at in self.deaths if now - at < DEATHS_WITHIN_SECONDS] + [now]
        self.start_at = now + min(2.0 ** (len(self.deaths) - 1) / 2, LONGEST_PAUSE_SECONDS)

    def keeps_dying(self) -> bool:
        return len(self.deaths) >= MOST_DEATHS


class Supervisor:
    """Runs *programs* until told to stop. ``run`` returns the exit code."""

    def __init__(
        self, programs: Sequence[Program], say: Callable[[str], None], look_beside: Callable[[], None] = lambda: None
    ) -> None:
        """*look_beside* is called every few seconds: for what the programs need and are no parents of."""
        self.programs = programs
        self.say = say
        self.look_beside = look_beside
        self.stopping = False
        self._looked_at_logs = self._looked_beside = time.monotonic()

    def run(self, when_started: Callable[[Callable[[], bool]], None]) -> int:
        """Start everything, call *when_started* with a function that keeps watch, then watch until the end."""
        self._listen()
        try:
            for program in self.programs:
                program.start()
            when_started(self.watch)
            while self.watch():
                time.sleep(LOOK_SECONDS)
        finally:
            self.end_all()
        return 1 if any(program.keeps_dying() for program in self.programs) else 0

    def watch(self) -> bool:
        """Look once at every child. False when it is time to stop."""
        now = time.monotonic()
        for program in self.programs:
            self._look_at(program, now)
        if now - self._looked_beside > LOOK_BESIDE_SECONDS and not self.stopping:
            self._looked_beside = now
            self.look_beside()
        if now - self._looked_at_logs > LOG_CHECK_SECONDS:
            self._looked_at_logs = now
            for log in self.programs[0].log.parent.glob("*.log"):
                keep_small(log)
        return not self.stopping

    def _listen(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask_to_stop)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup ignores it, and so do we then
            signal.signal(signal.SIGHUP, self._ask_to_stop)

    def end_all(self) -> None:
        running = [program for program in self.programs if program.child and program.child.poll() is None]
        if running:
            self.say("Stopping ...")
        for program in running:
            program.ask_to_end()
        deadline = time.monotonic() + END_SECONDS
        for program in running:
            if not program.ends_by(deadline):
                self.say(f"The {program.name} process does not end; ending it by force")
        for program in self.programs:
            self._end_group(program)

    def _look_at(self, program: Program, now: float) -> None:
        if program.child is None:
            if now >= program.start_at and not self.stopping:
                program.start()
            return
        code = program.child.poll()
        if code is None or self.stopping:
            return
        self._end_group(program)
        program.note_death(now)
        if program.keeps_dying():
            self.say(f"The {program.name} process keeps ending. Its last lines ({program.log}):")
            self.say(last_lines(program.log, 15))
            self.stopping = True
            return
        self.say(f"The {program.name} process ended ({_describe(code)}); starting it again")

    @staticmethod
    def _end_group(program: Program) -> None:
        """End what a child left behind: the pool of a killed worker lives in the same group."""
        if program.child is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left, as it should be
            os.killpg(program.child.pid, signal.SIGKILL)
        program.child.wait()
        if program.child.stdin:
            program.child.stdin.close()

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        if self.stopping:  # asked twice: no more waiting
            for program in self.programs:
                if program.child and program.child.poll() is None:
                    program.child.kill()
        self.stopping = True


def _describe(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
