"""What ``manage.py doctor`` looks at. Each check is one line: fine, or what is wrong and what to do."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import django
from django.conf import settings
from django.urls import reverse

from memories.set_up import VARIABLE
from zeromemory import database, diagnosis_of_rows, health, launch, llm
from zeromemory.embedding import EmbedderError, get_embedder
from zeromemory.finding import Finding
from zeromemory.lib import heartbeat
from zeromemory.lib.counting import counted

LEAST_DISK_MB = 500
LATE_MESSAGE_SECONDS = 600  # longer than a worker that keeps up ever takes
SAMPLE = ["Deploys go out on Tuesdays after the smoke test, never on Fridays."] * 32


def findings(*, ask_model: bool = False) -> Iterator[Finding]:
    """One finding a check, as soon as it is known. A database that does not answer ends the checks that need it."""
    yield python()
    try:
        facts = database.inspect()
        database.require(facts)
    except database.UnusableDatabaseError as problem:
        yield Finding("database", False, str(problem))
    else:
        yield Finding("database", True, f"PostgreSQL {facts.readable_version}, pgvector {facts.vector}")
        yield (applied := migrations())
        if applied.ok:
            yield from diagnosis_of_rows.findings()
    for check in OTHERS:
        yield check()
    yield language_model(ask=ask_model)


def python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", sys.version_info >= (3, 12), f"Python {version}, Django {django.__version__}")


def migrations() -> Finding:
    missing = database.unapplied()
    if missing:
        lacking = "1 migration is" if len(missing) == 1 else f"{len(missing)} migrations are"
        return Finding("tables", False, f"{lacking} missing. Run: manage.py migrate")
    return Finding("tables", True, "all migrations are applied")


def embedder() -> Finding:
    try:
        found = get_embedder()
        if found is None:
            return Finding("embedder", True, "switched off: recall uses words alone")
        began = time.perf_counter()
        found.encode_documents(SAMPLE)
        loaded = time.perf_counter()
        found.encode_documents(SAMPLE)
        rate = len(SAMPLE) / (time.perf_counter() - loaded)
    except EmbedderError as error:
        return Finding("embedder", False, f"{error} Until then recall uses words alone.")
    return Finding("embedder", True, f"{found.name}: ready in {loaded - began:.1f} s, {rate:.0f} short texts a second")


def language_model(*, ask: bool) -> Finding:
    """Which one is configured. Only where *ask* is true is it asked, because an answer costs money."""
    choice = llm.model_in_use()
    if choice is None:
        return Finding("model", True, "none is configured: what needs a language model waits for people")
    if not ask:
        return Finding("model", True, f"{choice.name} is configured; --ask-model finds out whether it answers")
    began = time.perf_counter()
    try:
        answer = llm.ask(_sample_question())
    except llm.ModelError as error:
        return Finding("model", False, str(error))
    spent = counted(answer.input_tokens + answer.output_tokens, "token")
    return Finding("model", True, f"{choice.name} answered in {time.perf_counter() - began:.1f} s for {spent}")


def _sample_question() -> llm.KindAudit:
    return llm.KindAudit(
        memory=llm.MemoryShown("1", "fact", SAMPLE[0], datetime.now(UTC), "agent"),
        kinds={"fact": "something that is so", "convention": "how things are to be done"},
    )


def broker() -> Finding:
    state = health.broker()
    waiting = sorted(each.stat().st_mtime for each in _messages()) if state["ok"] else []
    if waiting and time.time() - waiting[0] > LATE_MESSAGE_SECONDS:
        messages = "1 message waits" if len(waiting) == 1 else f"{len(waiting):,} messages wait"
        detail = f"{messages}, the first for {(time.time() - waiting[0]) / 60:.0f} minutes. The"
        return Finding("broker", False, f"{detail} worker lags behind: start it with make up. None of them is needed")
    return Finding("broker", state["ok"], state.get("detail", f"{settings.BROKER_FOLDER} can be written"))


def _messages() -> list[Path]:
    queue = settings.BROKER_FOLDER / "queue"
    return list(queue.glob("*.msg")) if settings.BROKER_URL.startswith("filesystem://") and queue.is_dir() else []


def worker() -> Finding:
    age = heartbeat.age()
    if heartbeat.is_fresh():
        return Finding("worker", True, f"answered {age:.0f} s ago")
    last = "never answered" if age is None else f"last answered {_ago(age)} ago"
    if heartbeat.is_stopped():
        last = f"was stopped; it {last}"
    return Finding(
        "worker", False, f"{last}. Start it with make up, or read {settings.DATA_FOLDER / 'logs' / 'worker.log'}"
    )


def _ago(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes"


def pages() -> Finding:
    """A real page, with its tables and templates. That none runs now is no fault."""
    note = launch.note_of_running()
    address = note.get("local") or launch.local_address()
    if launch.answers(address, reverse("sign_in")):
        return Finding("pages", True, f"answer at {address}/")
    if not note and _is_taken():
        detail = f"another program has {settings.BIND}, so make up cannot start. End it, or choose another address: "
        return Finding("pages", False, f"{detail}ZEROMEMORY_BIND=127.0.0.1:{settings.BIND_PORT + 1}")
    if not note:
        return Finding("pages", True, f"nothing runs at {address}/ now: make up starts it")
    log = settings.DATA_FOLDER / "logs" / "web.log"
    return Finding(
        "pages", False, f"do not answer at {address}/, and process {note['pid']} should see to it. Read {log}"
    )


def _is_taken() -> bool:
    try:
        launch.listening_socket().close()
    except launch.LaunchError:
        return True
    return False


def door() -> Finding:
    """The agents' door, with the token in the environment where there is one. Without one it has to refuse."""
    note = launch.note_of_running()
    address = note.get("local") or launch.local_address()
    if not note and not launch.answers(address, "/healthz"):
        return Finding("mcp", True, "nothing runs now; manage.py mcp_stdio works without")
    secret = os.environ.get(VARIABLE, "").strip()
    status, name = _opening(address, secret)
    if status == 200 and name:
        return Finding("mcp", True, f"{name} answers at {address}/mcp")
    if status == 401 and not secret:
        return Finding("mcp", True, f"answers at {address}/mcp, and asks for a token")
    if status == 401:
        return Finding("mcp", False, f"{VARIABLE} holds no valid token. Create one on the Tokens page")
    log = settings.DATA_FOLDER / "logs" / "web.log"
    return Finding("mcp", False, f"{address}/mcp does not answer as it should ({status or 'nothing'}). Read {log}")


def _opening(address: str, secret: str) -> tuple[int, str]:
    """The status of an answer to ``initialize``, and what the server calls itself; 0 where none answers."""
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "doctor", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Host": "localhost"}
    bearer = {"Authorization": f"Bearer {secret}"} if secret else {}
    request = urllib.request.Request(f"{address}/mcp", json.dumps(body).encode(), headers | bearer)  # noqa: S310 - ours
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5) as answer:
            return answer.status, str(json.load(answer)["result"]["serverInfo"]["name"])
    except urllib.error.HTTPError as error:
        return error.code, ""
    except (OSError, ValueError, KeyError, TypeError):
        return 0, ""


def disk() -> Finding:
    free = shutil.disk_usage(settings.DATA_FOLDER).free // 1024**2
    enough = free >= LEAST_DISK_MB
    advice = "" if enough else ". Free some space: without any, nothing can be remembered"
    return Finding("disk", enough, f"{free} MB free where {settings.DATA_FOLDER} lives{advice}")


def static_files() -> Finding:
    if launch.static_files_are_current():
        return Finding("files", True, "static files are collected and current")
    return Finding("files", False, "static files are missing or old. Run: manage.py collectstatic, or make up")


OTHERS: list[Callable[[], Finding]] = [embedder, broker, worker, pages, door, disk, static_files]
