"""A real Zero Memory: the real command in a process of its own, a data folder of its own, a free port."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from zeromemory.lib.folders import PROJECT

READY = "Ctrl-C ends everything."
START_SECONDS = 180
DEAD_PROXY = "http://127.0.0.1:9"  # the discard port: whatever would use the internet fails at once


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that the database server's own user can reach. pytest closes its temporary folders to others."""
    with tempfile.TemporaryDirectory(prefix="zeromemory-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def wait_until(done: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, f"after {seconds} s still not: {what}"
        time.sleep(0.1)


class Instance:
    """``start()``, look, ``interrupt()``. ``output`` is what a person sees in the terminal."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.home = folder.parent / f"home of {folder.name}"
        self.home.mkdir(parents=True)
        self.port = free_port()
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ZEROMEMORY_", "DATABASE_URL", "DJANGO_", "PYTEST_", "ORT_", "XDG_"))
        }
        self.environment = inherited | {
            "ZEROMEMORY_DATA": str(folder),
            "ZEROMEMORY_BIND": f"127.0.0.1:{self.port}",
            "HOME": str(self.home),
            "HTTP_PROXY": DEAD_PROXY,
            "HTTPS_PROXY": DEAD_PROXY,
            "NO_PROXY": "127.0.0.1,localhost",
            **environment,
        }
        self.lines: list[str] = []
        self.supervisor: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    @property
    def link(self) -> str:
        found = re.search(r"http://\S+/sign-in/\S+", self.output)
        assert found, self.output
        return found[0]

    @property
    def pid(self) -> int:
        assert self.supervisor
        return self.supervisor.pid

    def begin(self, command: str = "up") -> None:
        self.lines = []
        self.supervisor = subprocess.Popen(
            [sys.executable, "manage.py", command],
            cwd=PROJECT, env=self.environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        threading.Thread(target=self._listen, args=[self.supervisor], daemon=True).start()

    def start(self, command: str = "up") -> None:
        self.begin(command)
        supervisor = self.supervisor
        assert supervisor
        wait_until(lambda: READY in self.output or supervisor.poll() is not None, START_SECONDS, "ready")
        assert supervisor.poll() is None, self.output

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Any other command of ``manage.py``, until it ends."""
        return subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=PROJECT, env=self.environment, text=True, capture_output=True, check=False, timeout=START_SECONDS,
        )  # fmt: skip

    def interrupt(self, number: int = signal.SIGINT) -> int:
        assert self.supervisor
        self.supervisor.send_signal(number)
        return self.supervisor.wait(60)

    def child(self, name: str) -> psutil.Process | None:
        """The running process that the supervisor started as *name*."""
        for each in psutil.Process(self.pid).children():
            with contextlib.suppress(psutil.Error):  # it may end while we look
                if each.status() != psutil.STATUS_ZOMBIE and each.cmdline()[-1:] == [name]:
                    return each
        return None

    def processes(self) -> list[psutil.Process]:
        """Everything that runs for this data folder, whoever started it."""
        return [each for each in psutil.process_iter() if self._is_ours(each)]

    def noted(self) -> dict[str, object]:
        note: dict[str, object] = json.loads((self.folder / "up.lock").read_text())
        return note

    def remove(self) -> None:
        """End whatever is left, by its number."""
        for each in self.processes():
            each.kill()
        psutil.wait_procs(self.processes(), timeout=10)

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            if str(self.folder / "postgres") in process.cmdline():
                return True
            return process.environ().get("ZEROMEMORY_DATA") == str(self.folder)
        except psutil.Error:
            return False

    def _listen(self, supervisor: subprocess.Popen[str]) -> None:
        assert supervisor.stdout
        for line in supervisor.stdout:
            self.lines.append(line.rstrip("\n"))
