"""Which repository a working tree is: the one that is registered there, or that git says it belongs to."""

from __future__ import annotations

from pathlib import Path

from memories.access import Actor
from memories.checkout import Checkout, Unreadable
from memories.errors import NotFound, ValidationFailed
from memories.models import Anchor, Memory, Repository


def name_of(tree: Checkout, actor: Actor, named: str = "") -> str:
    """What anchors call the repository of *tree*. *named* is taken where something is called so.

    Raises NotFound, and ValidationFailed where several could be meant.
    """
    known = {each.name: each.path for each in Repository.objects.visible_to(actor).order_by("name")}
    if named:
        return _called(named, known, actor)
    real = str(_folder(tree))
    found = [name for name, path in known.items() if path == real] or _of_one_history(tree, known)
    if len(found) == 1:
        return found[0]
    if found:
        raise ValidationFailed(f"{real} could be {', '.join(found)}. Say which, with --repo-name.", field="name")
    raise NotFound(
        f"No repository is registered at {real}. Register it on /repositories/, or say which of those that are it is a "
        f"checkout of, with --repo-name. {_listed(known)}",
        field="repo",
    )


def _folder(tree: Checkout) -> Path:
    try:
        return tree.real_root
    except Unreadable as problem:
        raise NotFound(f"{tree.root}: {problem}", field="repo") from problem


def _called(named: str, known: dict[str, str], actor: Actor) -> str:
    for name in known:
        if name.lower() == named.lower():
            return name
    anchors = Anchor.objects.filter(repository__iexact=named, memory__in=Memory.objects.live().visible_to(actor))
    found = anchors.values_list("repository", flat=True).first()
    if found is None:
        raise NotFound(f"No repository is called {named!a}, and no anchor names one. {_listed(known)}", field="name")
    return found


def _listed(known: dict[str, str]) -> str:
    return f"Registered are {', '.join(known)}." if known else "None is registered yet."


def _of_one_history(tree: Checkout, known: dict[str, str]) -> list[str]:
    """Those of which *tree* is another worktree."""
    mine = _history(tree)
    return [name for name, path in known.items() if mine and _history(Checkout(path)) == mine]


def _history(tree: Checkout) -> str | None:
    """Where git keeps it, and which folder of it this is."""
    try:
        return tree.git("rev-parse", "--path-format=absolute", "--git-common-dir", "--show-prefix")
    except Unreadable:
        return None
