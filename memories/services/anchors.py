"""Saying which code a memory is about, and that it still holds for the code as it is now."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils import timezone

from memories.access import Actor
from memories.anchors import AnchorNow, Looking, anchors_of, spot_of
from memories.checkout import Checkout, Missing, Unreadable, check_path
from memories.code.again import fingerprinted_again
from memories.code.grammars import TEXT, language_of
from memories.code.naming import plain
from memories.code.symbols import Source, Symbol
from memories.code.verdicts import DEMOTING, Place, Verdict
from memories.errors import Conflict, NotFound, ValidationFailed
from memories.guard import masked
from memories.models import Anchor, Memory, Repository, Scope
from memories.services import audit
from memories.services.validation import AnchorSpec, check_line, check_storable
from memories.services.verification import stamp
from memories.services.writing import locked, writing

MOST_ANCHORS: Final = 20
NEAR_NAMES: Final = 5
STILL_HOLDS: Final = "Still holds"
SEARCH_SECONDS: Final = 10.0  # a person waits for it


@dataclass(frozen=True, slots=True)
class Read:
    """Anchors as they would be stored, and what is to be said of those that could not be read."""

    anchors: tuple[Anchor, ...] = ()
    notices: tuple[str, ...] = ()


def check_anchors(specs: Sequence[AnchorSpec]) -> None:
    if len(specs) > MOST_ANCHORS:
        raise ValidationFailed(f"A memory names at most {MOST_ANCHORS} places in code.", field="anchors")
    for spec in specs:
        for name, most in (("repository", 80), ("path", 1000), ("symbol", 500)):
            value = getattr(spec, name)
            check_storable(value, "anchors")
            if len(value) > most or (not value.strip() and name != "symbol"):
                raise ValidationFailed(f"The {name} of an anchor has from 1 to {most} characters.", field="anchors")
        check_storable(spec.code, "anchors")
        try:
            check_path(spec.path)
        except Unreadable as problem:
            raise ValidationFailed(f"The anchor to {spec.path!r} is refused: {problem}", field="anchors") from problem


def read_anchors(scope: Scope, specs: Sequence[AnchorSpec], beside: Mapping[str, str] | None = None) -> Read:
    """The code as it is now, fingerprinted; nothing is written. Folders in *beside*, by the name of the repository in
    lower case, go before those that are registered.

    What cannot be looked at is left out with a notice. Raises ValidationFailed for a file or a symbol that is not
    there, with the names that are near, and for a short name that means several symbols.
    """
    found, notices = {}, []
    trees: dict[str, Checkout | None] = {}
    for spec in specs:
        key = spec.repository.lower()
        if key not in trees and not spec.code:
            path = (beside or {}).get(key)
            trees[key] = Checkout(path) if path else _tree(scope, spec.repository)
        try:
            anchor = _from_text(spec) if spec.code else _from_tree(spec, trees[key])
        except Unreadable as problem:
            notices.append(f"Not anchored to {spec.path} in {spec.repository}: {problem}")
            continue
        found[spot_of(anchor)] = anchor
    return Read(tuple(found.values()), tuple(notices))


def _tree(scope: Scope, name: str) -> Checkout | None:
    path = Repository.objects.filter(scopes=scope, name__iexact=name).values_list("path", flat=True).first()
    return Checkout(path) if path else None


def _from_text(spec: AnchorSpec) -> Anchor:
    language, name = language_of(spec.path), plain(spec.symbol)
    source = Source(spec.code, language)
    if not name:
        return _anchor(spec, "", source.whole, source, revision="")
    again = fingerprinted_again(spec.code, language, name)
    if again is None:
        raise ValidationFailed(f"The code that was sent does not define {spec.symbol!r} and it alone.", field="anchors")
    return _anchor(spec, name, Symbol(name, 1, source.text, again), None, revision="")


def _from_tree(spec: AnchorSpec, tree: Checkout | None) -> Anchor:
    if tree is None:
        raise Unreadable("no repository of that name is registered for this scope.")
    try:
        source = tree.source(spec.path)
        if tree.is_ignored(spec.path):
            raise Unreadable("git ignores the file.")
    except Missing as problem:
        near = difflib.get_close_matches(spec.path, tree.paths, NEAR_NAMES, 0.5)
        raise _no_such(f"file {spec.path!r} in {spec.repository}", near) from problem
    name = _only(spec, source)
    symbol = source.symbol(name) if name else source.whole
    if symbol is None:
        raise Unreadable("the file does not parse.")
    return _anchor(spec, name, symbol, source, revision=tree.revision)


def _only(spec: AnchorSpec, source: Source) -> str:
    """The qualified name that is meant; empty for the whole file."""
    if not spec.symbol.strip():
        return ""
    if source.language == TEXT:
        raise ValidationFailed(
            f"No parser reads {spec.path!r}, so no symbol can be found in it. Leave the symbol out, to anchor the "
            "memory to the whole file.",
            field="anchors",
        )
    meant = source.called(spec.symbol)
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise ValidationFailed(
            f"{spec.symbol!r} means several symbols of {spec.path}: {', '.join(sorted(meant)[:NEAR_NAMES])}. "
            "Name one of them in full.",
            field="anchors",
        )
    if source.has_errors:
        raise Unreadable("the file does not parse.")
    names = source.names()
    short = {name.rpartition(".")[2]: name for name in names}
    near = difflib.get_close_matches(plain(spec.symbol), names, NEAR_NAMES, 0.5) or [
        short[name] for name in difflib.get_close_matches(plain(spec.symbol).rpartition(".")[2], short, NEAR_NAMES, 0.5)
    ]
    raise _no_such(f"symbol {spec.symbol!r} in {spec.path}", near)


def _no_such(what: str, near: Sequence[str]) -> ValidationFailed:
    advice = f" Near it are {', '.join(near)}." if near else ""
    return ValidationFailed(f"There is no {what}.{advice}", field="anchors")


def _anchor(spec: AnchorSpec, name: str, symbol: Symbol, source: Source | None, *, revision: str) -> Anchor:
    language = language_of(spec.path)
    code, is_whole = _kept(symbol, name, language, source)
    return Anchor(
        repository=spec.repository,
        path=spec.path,
        symbol=name,
        language=language,
        exact=symbol.fingerprints.exact,
        masked=symbol.fingerprints.masked,
        had_twins=bool(source) and _has_twins(source, symbol),
        code=code,
        whole_file=is_whole,
        code_sha256=symbol.sha256,
        revision=revision,
    )


def _kept(symbol: Symbol, name: str, language: str, source: Source | None) -> tuple[str, bool]:
    """The text that is shown beside the code as it is now, and from which the fingerprint can be made anew.

    Code that holds a secret is kept with the secret masked: what was learned about it can then not be made anew.
    """
    text, is_whole = symbol.text, False
    if name and source and fingerprinted_again(text, language, name) != symbol.fingerprints:
        text, is_whole = source.text, True
    return masked(text).replace("\0", ""), is_whole


def _has_twins(source: Source | None, symbol: Symbol) -> bool:
    if source is None or not symbol.fingerprints.masked:
        return False
    others = (source.symbol(name) for name in source.names() if name != symbol.name)
    return any(other and other.fingerprints.masked == symbol.fingerprints.masked for other in others)


def attach(*, actor: Actor, memory: Memory, anchors: Sequence[Anchor]) -> int:
    """Inside the caller's transaction. What is anchored there already stays as it is; how many are new."""
    if not anchors:
        return 0
    there = {spot_of(each) for each in anchors_of([memory.pk]).get(memory.pk, [])}
    new = [each for each in anchors if spot_of(each) not in there]
    if len(there) + len(new) > MOST_ANCHORS:
        raise ValidationFailed(f"A memory names at most {MOST_ANCHORS} places in code.", field="anchors")
    _write(actor, memory, new)
    return len(new)


def _write(actor: Actor, memory: Memory, anchors: Sequence[Anchor]) -> None:
    now = timezone.now()
    for anchor in anchors:
        anchor.memory, anchor.scope_id = memory, memory.scope_id
        anchor.created_at, anchor.user, anchor.actor = now, actor.user, actor.label[:200]
    Anchor.objects.bulk_create(anchors)


def carry_anchors(old: Memory, new: Memory) -> None:
    """An edit keeps what the memory is about: the new wording has the anchors of the old one, with their dates."""
    rows = list(Anchor.objects.filter(memory=old, retired_at=None).order_by("created_at", "pk"))
    for row in rows:
        row.pk, row.memory, row._state.adding = Anchor._meta.pk.get_default(), new, True
    Anchor.objects.bulk_create(rows)


def reanchor(
    *, actor: Actor, memory: Memory, anchors: Collection[UUID] | None = None, reason: str = ""
) -> list[AnchorNow]:
    """Say that *memory* still holds for the code as it is now: each anchor, or those named, is taken anew, where its
    code moved or was renamed at the new place. The former ones stay in the history.

    Raises NotFound, Forbidden, ValidationFailed, and Conflict for a retired memory and where the code cannot be read.
    """
    check_line(reason, "reason")
    with writing():
        memory = _locked_live(actor, memory)
    former = _chosen(memory, anchors)
    looking = Looking(search_seconds=SEARCH_SECONDS)
    anew = _each_place_once([_anew(now, looking) for now in looking.at(former)])
    with writing():
        memory = _locked_live(actor, memory)
        put_in_place(actor=actor, memory=memory, former=former, anew=anew, reason=reason)
    return Looking().at(anchors_of([memory.pk])[memory.pk])


def put_in_place(
    *, actor: Actor, memory: Memory, former: Sequence[Anchor], anew: Sequence[Anchor], reason: str
) -> None:
    """*anew* in the place of *former*, inside the caller's transaction, which holds the memory."""
    why = f"{STILL_HOLDS}: {reason}" if reason else STILL_HOLDS
    _give_up(actor, [anchor.pk for anchor in former], why)
    attach(actor=actor, memory=memory, anchors=anew)
    stamp(actor=actor, memory=memory, note="Looked at beside its code")
    audit.record(actor=actor, action="reanchor", subject=memory, scope=memory.scope, reason=reason, anchors=len(anew))


def _give_up(actor: Actor, ids: Collection[UUID], why: str) -> None:
    given_up = Anchor.objects.filter(pk__in=ids, retired_at=None).update(
        retired_at=timezone.now(), retired_actor=actor.label[:200], retired_reason=why[:2000]
    )
    if given_up != len(ids):
        raise Conflict("The anchors of this memory were changed at the same moment or since. Look at it again.")


@dataclass(frozen=True, slots=True)
class Renewal:
    """The anchors of a memory whose code says something else, and those that take their place: none for code that is
    gone."""

    former: tuple[Anchor, ...] = ()
    anew: tuple[Anchor, ...] = ()


def renewal_of(memory: Memory) -> Renewal:
    """How *memory* would hold for the code as it is now; nothing is written, and no lock is held.

    Raises Conflict where code of it cannot be read: nobody knows then what it would hold for.
    """
    looking = Looking(search_seconds=SEARCH_SECONDS)
    nows = looking.at(anchors_of([memory.pk]).get(memory.pk, []))
    if unread := next((now for now in nows if now.verdict == Verdict.UNKNOWN), None):
        raise Conflict(f"{unread.anchor} cannot be read at the moment: {unread.judged.detail} Look again later.")
    stale = [now for now in nows if now.verdict in DEMOTING]
    anew = [_anew(now, looking) for now in stale if now.verdict != Verdict.GONE]
    return Renewal(tuple(now.anchor for now in stale), tuple(_each_place_once(anew)))


def put_back(*, actor: Actor, memory: Memory, former: Collection[UUID], anew: Collection[UUID], reason: str) -> None:
    """Undo ``put_in_place``, inside the caller's transaction, which holds the memory. Raises Conflict where the anchors
    are no longer as it left them."""
    _give_up(actor, anew, reason)
    rows = list(Anchor.objects.filter(pk__in=former, memory=memory, retired_at__isnull=False))
    there = {spot_of(each) for each in anchors_of([memory.pk]).get(memory.pk, [])}
    if len(rows) != len(former) or any(spot_of(row) in there for row in rows):
        raise Conflict("The anchors of this memory were changed since, so the decision stands.")
    Anchor.objects.filter(pk__in=former).update(retired_at=None, retired_actor="", retired_reason="")
    audit.record(actor=actor, action="put_anchors_back", subject=memory, scope=memory.scope, reason=reason)


def _locked_live(actor: Actor, memory: Memory) -> Memory:
    memory = locked(actor, memory)
    if memory.invalidated_at:
        raise Conflict("This memory is retired. Restore it first.")
    return memory


def _each_place_once(anchors: Sequence[Anchor]) -> list[Anchor]:
    """Two may have moved to one place."""
    return list({spot_of(each): each for each in anchors}.values())


def _chosen(memory: Memory, wanted: Collection[UUID] | None) -> list[Anchor]:
    anchors = anchors_of([memory.pk]).get(memory.pk, [])
    chosen = anchors if wanted is None else [anchor for anchor in anchors if anchor.pk in set(wanted)]
    if not anchors:
        raise ValidationFailed("This memory names no code.", field="anchors")
    if wanted is not None and len(chosen) != len(set(wanted)):
        raise NotFound("There is no such anchor in force at this memory.", field="anchors")
    return chosen


def _anew(now: AnchorNow, looking: Looking) -> Anchor:
    place = now.judged.place or Place(now.anchor.path, now.anchor.symbol)
    spec = AnchorSpec(now.anchor.repository, place.path, place.symbol)
    try:
        return _from_tree(spec, looking.tree_of(now.anchor))
    except (Unreadable, ValidationFailed) as problem:
        text = problem.message if isinstance(problem, ValidationFailed) else str(problem)
        raise Conflict(f"{now.anchor} cannot be taken anew: {text}") from problem
