"""The processes of a running Zero Memory: ``python -m zeromemory.programs web|worker|beat``.

Each ends by itself when the supervisor that started it is gone, however it went: its standard
input is a pipe that the supervisor holds, and reading the end of it is the sign.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

END_SECONDS = 10


def web() -> None:
    import uvicorn
    from django.conf import settings

    inherited = os.environ.get("ZEROMEMORY_SOCKET")
    server = uvicorn.Server(
        uvicorn.Config(
            "zeromemory.asgi:application",
            host=settings.BIND_HOST,
            port=settings.BIND_PORT,
            lifespan="auto",
            access_log=False,
            log_level="warning",
            proxy_headers=settings.BEHIND_PROXY,
            server_header=False,
            timeout_graceful_shutdown=5,
        )
    )
    server.run(sockets=[socket.socket(fileno=int(inherited))] if inherited else None)


def worker() -> None:
    from zeromemory.celery import app, make_broker_folders

    make_broker_folders()
    app.worker_main(["worker", "--loglevel=INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"])


def beat() -> None:
    from zeromemory.celery import app

    app.start(["beat", "--loglevel=WARNING", "--pidfile="])


PROGRAMS: dict[str, Callable[[], None]] = {"web": web, "worker": worker, "beat": beat}


def end_with_supervisor() -> None:
    """Block until the supervisor is gone, then end this process and those it started."""
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zeromemory.settings")
    if os.environ.get("ZEROMEMORY_SUPERVISED"):
        threading.Thread(target=end_with_supervisor, daemon=True).start()
    PROGRAMS[sys.argv[1]]()


if __name__ == "__main__":
    main()
