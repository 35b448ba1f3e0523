"""Memories about the code of a working tree, for tests of what asks about them."""

from pathlib import Path

from memories.models import Anchor, Memory
from memories.services import AnchorSpec, remember
from reflections.models import Dispute
from tests.memories.code.trees import register, write
from tests.reflections.factories import person
from tests.reflections.stepping import run_step

BEFORE, AFTER = "    return {0} + 1\n", "    return {0} - 1\n"


def function(number: int, body: str = BEFORE) -> str:
    return f"def f{number}(x):\n{body.format(f'x * {number}')}"


def module(number: int, *, changed: int = 0) -> dict[str, str]:
    """A file of so many functions, of which the first so many say something else."""
    return {"all.py": "\n\n".join(function(each, AFTER if each < changed else BEFORE) for each in range(number))}


def about(scope, path: str, symbol: str = "", *, repository: str = "shop", **given) -> Memory:
    specs = [AnchorSpec(repository, path, symbol)]
    content = given.pop("content", f"What {symbol or path} does.")
    made = remember(actor=person(scope.owner), scope=scope, content=content, anchors=specs, ring=False, **given)
    return made.memory


def functions(scope, tree: Path, number: int) -> list[Memory]:
    """A memory about each of so many functions."""
    write(tree, module(number))
    register(scope, tree)
    return [about(scope, "all.py", f"f{each}") for each in range(number)]


def look(*scopes):
    return run_step("code_changes", *scopes)


def asked(status: str = "pending") -> list[Dispute]:
    return list(Dispute.objects.filter(type="code_changed", status=status).order_by("pk"))


def in_force(memory: Memory) -> list[Anchor]:
    return list(Anchor.objects.filter(memory=memory, retired_at=None))
