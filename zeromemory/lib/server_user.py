"""PostgreSQL refuses to run as root. Under root it runs as its own system user."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

NAME = "zeromemory"


class ServerUserError(RuntimeError):
    """Under root, no system user could be made; the message says what to do."""


def run_as(cluster: Path) -> dict[str, Any]:
    """Arguments for ``subprocess`` that run a program as the owner of *cluster*; none unless we are root."""
    if os.geteuid() != 0:
        return {}
    owner = cluster.stat().st_uid if cluster.exists() else 0
    entry = pwd.getpwuid(owner) if owner else _system_user()
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def give(folder: Path, identity: dict[str, Any]) -> None:
    if identity:
        os.chown(folder, identity["user"], identity["group"])


def open_way_to(path: Path) -> list[Path]:
    """Let other users pass through (not list) each folder above *path*; return those that were closed."""
    closed = [parent for parent in path.resolve().parents if not parent.stat().st_mode & stat.S_IXOTH]
    for parent in closed:
        parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
    return closed


def _system_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        _add_system_user()
    return pwd.getpwnam(NAME)


def _add_system_user() -> None:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:" + os.environ.get("PATH", ""))
    problem = "useradd was not found"
    if useradd:
        command = [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", NAME]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed arguments
        if done.returncode in (0, 9):  # 9: another process added it a moment ago
            return
        problem = done.stderr.strip()
    raise ServerUserError(
        f"PostgreSQL does not run as root, and the system user {NAME!r} could not be added ({problem}). "
        "Start Zero Memory as a normal user, or set DATABASE_URL."
    )
