"""Working trees made in a test, with real git."""

import subprocess
from pathlib import Path

from memories.models import Repository

RANKING = '''\
"""How results are ordered."""


def relevance(match, age):
    """The best match first."""
    return match / (1 + age)


def newest_first(rows):
    return sorted(rows, reverse=True)
'''


def git(tree: Path, *arguments: str) -> str:
    command = ["git", "-C", str(tree), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def make_tree(folder: Path, files: dict[str, str] | None = None, *, with_git: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, files or {"rank.py": RANKING})
    if with_git:
        git(folder, "init", "-q", "-b", "main")
        commit(folder)
    return folder


def write(tree: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")


def commit(tree: Path, message: str = "change") -> str:
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "--allow-empty", "-m", message)
    return git(tree, "rev-parse", "HEAD")


def register(scope, tree: Path, name: str = "shop") -> Repository:
    repository = Repository.objects.create(owner=scope.owner, name=name, path=str(tree))
    repository.scopes.add(scope)
    return repository
