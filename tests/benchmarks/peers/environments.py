"""A peer runs in a virtual environment of its own: its packages are never among ours."""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.peers.task import Answer, Answers

LONGEST_SECONDS: Final = 3600


class PeerError(RuntimeError):
    """The peer could not be installed, or did not answer; the message ends with what it said."""


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    requirements: Sequence[str]
    script: str
    shown: str


PEERS: Final = (
    Peer("agentrecall", ["agentrecall-db==0.2.0"], "ask_agentrecall.py", "agentrecall-db 0.2.0, words only"),
    Peer(
        "mem0",
        ["mem0ai==2.2.1", "psycopg[binary,pool]>=3.3", "pgvector>=0.5"],
        "ask_mem0.py",
        "mem0ai 2.2.1 (pgvector, our embedder, `infer=False`)",
    ),
)


def ask(peer: Peer, task: Mapping[str, Any], folder: Path) -> Answers:
    """Installs the peer where it is missing. Raises PeerError."""
    python = _interpreter(peer, folder / peer.name)
    work = folder / f"{peer.name}-work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    file = work / "task.json"
    file.write_text(json.dumps({**task, "folder": str(work)}), encoding="utf-8")
    script = Path(__file__).with_name(peer.script)
    told = json.loads(_run([python, script, file], work).splitlines()[-1])
    answers = [Answer(one["found"], one["seconds"]) for one in told["answers"]]
    return Answers(peer.shown, told["seconds"], answers)


def _interpreter(peer: Peer, place: Path) -> Path:
    stamp, wanted = place / "installed", "\n".join(peer.requirements)
    python = place / "bin" / "python"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        venv.create(place, clear=True, with_pip=True)
        _run([python, "-m", "pip", "install", "--quiet", *peer.requirements], place)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def _run(command: Sequence[str | Path], folder: Path) -> str:
    """Whatever the peer keeps for its user lands in *folder*; our own settings are none of its business."""
    ours = ("DATABASE_URL", "DJANGO_", "ZEROMEMORY_", "PYTHONPATH", "VIRTUAL_ENV")
    around = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        command, cwd=folder, env=around | {"HOME": str(folder)}, capture_output=True, text=True, check=False,
        timeout=LONGEST_SECONDS,
    )  # fmt: skip
    if done.returncode:
        raise PeerError(f"{Path(command[1]).name} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    sys.stderr.write(done.stderr[-2000:] if "Traceback" in done.stderr else "")
    return done.stdout
