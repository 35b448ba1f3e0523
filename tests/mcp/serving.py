"""A real server in a thread of this process."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import uvicorn
from django.core.asgi import get_asgi_application

from zeromemory.mcp.door import with_door


class _Server(uvicorn.Server):
    def install_signal_handlers(self) -> None:
        """The signals are the test runner's."""


@contextlib.contextmanager
def served() -> Iterator[str]:
    """The address of the door, as long as this lasts."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        config = uvicorn.Config(with_door(get_asgi_application()), lifespan="on", log_level="error", access_log=False)
        server = _Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 30
        while not server.started:
            assert thread.is_alive(), "the server ended at once"
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/mcp"
        server.should_exit = True
        thread.join(20)
