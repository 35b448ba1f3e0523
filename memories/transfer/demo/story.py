"""A story to play: three memories about a small repository, in which a function was rewritten this morning.

Memories and repository are made as they would have come about; what somebody has changed in the folder since stays.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from dulwich import porcelain
from dulwich.repo import Repo

from memories.access import Actor, actor_for_user
from memories.code.symbols import Source
from memories.errors import Conflict
from memories.models import Anchor, Memory, Scope
from memories.services import AnchorSpec, remember
from memories.services.repositories import demo_folder, register_demo
from memories.services.scopes import create_scope

SLUG: Final = "demo-shop"
NAME: Final = "Shop, a story about code"
REPOSITORY: Final = "demo-shop"
QUESTION: Final = "How are search results ordered?"
FILE: Final = "search.py"
SYMBOL: Final = "newest_first"
_AUTHOR: Final = b"Demo <demo@localhost>"
_TEXTS: Final = Path(__file__).parent / "shop"


@dataclass(frozen=True, slots=True)
class Chapter:
    """What the file says from that day on."""

    text: str
    days_ago: float
    commit: str


@dataclass(frozen=True, slots=True)
class Told:
    """A memory, and the symbol of a chapter that it names."""

    key: str
    days_ago: float
    kind: str
    content: str
    chapter: int
    symbol: str


CHAPTERS: Final = (
    Chapter("1-relevance.txt", 180, "Order search results by relevance"),
    Chapter("2-newest-first.txt", 2, "Show the newest results first"),
    Chapter("3-rewritten.txt", 0.1, "Order by relevance again"),
)
MEMORIES: Final = (
    Told(
        "relevance",
        180,
        "decision",
        "Search results are ordered by relevance: a word in the title of an item counts three times as much as in "
        "its text.",
        0,
        "relevance",
    ),
    Told("page-size", 60, "fact", "A page of search results holds 24 items; more made phones slow.", 0, "PAGE_SIZE"),
    Told(
        "newest-first",
        2,
        "decision",
        "Search results are ordered newest first: what was added last is shown first.",
        1,
        "newest_first",
    ),
)


def tell(*, actor: Actor, now: datetime) -> int:
    """How many memories are new. Raises Conflict where the scope is in use for something else."""
    scope = _scope(actor)
    folder = demo_folder() / "shop"
    if not (folder / ".git").exists():
        _build(folder, now)
    register_demo(actor=actor, name=REPOSITORY, folder=folder, scope=scope)
    there = set(Memory.objects.in_scopes([scope.pk]).values_list("external_id", flat=True))
    new = [told for told in MEMORIES if _external(told) not in there]
    for told in new:
        _remember(actor_for_user(actor.user), scope, told, now)
    return len(new)


def scope_of(actor: Actor) -> Scope | None:
    return Scope.objects.filter(owner=actor.user, slug=SLUG).first()


def _scope(actor: Actor) -> Scope:
    scope = scope_of(actor) or create_scope(actor=actor, slug=SLUG, name=NAME)
    if Memory.objects.filter(scope=scope).exclude(external_id__startswith="demo:").exists():
        raise Conflict(f"The story about code was not loaded: your scope {SLUG!r} holds memories of your own.")
    return scope


def _remember(actor: Actor, scope: Scope, told: Told, now: datetime) -> None:
    learned = now - timedelta(days=told.days_ago)
    spec = AnchorSpec(REPOSITORY, FILE, told.symbol, _code(told))
    made = remember(
        actor=actor,
        scope=scope,
        content=told.content,
        kind=told.kind,
        created_at=learned,
        external_id=_external(told),
        anchors=[spec],
        ring=False,
    )
    Anchor.objects.filter(memory=made.memory).update(created_at=learned)


def _external(told: Told) -> str:
    return f"demo:{SLUG}:{told.key}"


def _text(chapter: Chapter) -> str:
    return (_TEXTS / chapter.text).read_text(encoding="utf-8")


def _code(told: Told) -> str:
    symbol = Source(_text(CHAPTERS[told.chapter]), "python").symbol(told.symbol)
    if symbol is None:
        raise LookupError(f"{told.symbol} is not in chapter {told.chapter}")
    return symbol.text


def _build(folder: Path, now: datetime) -> None:
    """Beside its place first, so that half a repository is never taken for one."""
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    with porcelain.init(fresh) as repository:
        _set_up(repository)
        for chapter in CHAPTERS:
            (fresh / FILE).write_text(_text(chapter), encoding="utf-8")
            porcelain.add(repository, [FILE])
            _commit(repository, chapter, (now - timedelta(days=chapter.days_ago)).timestamp())
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


def _set_up(repository: Repo) -> None:
    """So that a revert needs no settings of somebody's own."""
    config = repository.get_config()
    config.set(b"user", b"name", b"Demo")
    config.set(b"user", b"email", b"demo@localhost")
    config.set(b"commit", b"gpgsign", b"false")
    config.write_to_path()


def _commit(repository: Repo, chapter: Chapter, at: float) -> None:
    porcelain.commit(
        repository,
        message=chapter.commit,
        author=_AUTHOR,
        author_timestamp=at,
        author_timezone=0,
        committer=_AUTHOR,
        commit_timestamp=at,
        commit_timezone=0,
        sign=False,
    )
