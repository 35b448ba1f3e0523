"""Links and successors, resolved when every row is there: a line may name one that stands further down."""

import uuid
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from itertools import batched

from django.db.models import Q

from memories.access import Actor
from memories.models import Link, Memory
from memories.transfer import successions
from memories.transfer.errors import Place, TransferError, told
from memories.transfer.records import LinkRecord, MemoryRecord
from memories.transfer.rows import keep_dates
from memories.transfer.successions import Succession

BATCH = 500


@dataclass(frozen=True, slots=True)
class _Wish:
    """Something a line says of another memory: the target's name, and the line to blame when nobody is called so."""

    line: Place | None
    scope_id: int
    memory: uuid.UUID
    target: str


@dataclass(slots=True)
class References:
    """Which row each name stands for, and the ties that wait for it. Holds names and ids, never texts."""

    _lines: dict[tuple[int, str, str], Place | None] = field(default_factory=dict)
    _rows: dict[tuple[int, str], uuid.UUID] = field(default_factory=dict)
    _anywhere: dict[str, uuid.UUID] = field(default_factory=dict)
    _links: list[tuple[_Wish, LinkRecord]] = field(default_factory=list)
    _successors: list[_Wish] = field(default_factory=list)

    def claim(self, record: MemoryRecord, scope_id: int) -> None:
        """Raises TransferError when an earlier line goes by the same id, external id or idempotency key."""
        names = {
            "id": str(record.id or ""),
            "external_id": record.external_id,
            "idempotency_key": record.idempotency_key,
        }
        for field_name, name in names.items():
            key = (scope_id, field_name, name)
            if name and key in self._lines:
                problem = f"{name!a} was used before, at {told(self._lines[key] or 'another place')}."
                raise TransferError(problem, line=record.line, field=field_name)
            if name:
                self._lines[key] = record.line

    def knows(self, external_id: str, scope_id: int) -> bool:
        return (scope_id, "external_id", external_id) in self._lines

    def stands_for(self, record: MemoryRecord, memory: uuid.UUID, scope_id: int) -> None:
        if record.id:
            self._rows[scope_id, str(record.id)] = self._anywhere[str(record.id)] = memory
        if record.external_id:
            self._rows.setdefault((scope_id, record.external_id), memory)
            self._anywhere.setdefault(record.external_id, memory)

    def wait(self, record: MemoryRecord, memory: Memory) -> None:
        """Keep the ties of a new row for later."""
        for link in record.links:
            self._links.append((_Wish(record.line, memory.scope_id, memory.pk, link.target), link))
        if record.superseded_by:
            self._successors.append(_Wish(record.line, memory.scope_id, memory.pk, record.superseded_by))

    def settle(self, actor: Actor) -> int:
        """Write what waited; the number of links. Raises TransferError for a target that nobody here is called."""
        self._look_up(actor, [wish for wish, _ in self._links] + self._successors)
        chain = [Succession(wish.line, wish.memory, self._target(wish, "superseded_by")) for wish in self._successors]
        made: set[tuple[uuid.UUID, uuid.UUID, str]] = set()
        for links in batched(self._links, BATCH):
            fresh = {self._key(wish, link): (wish, link) for wish, link in links}
            _insert({key: link for key, (_, link) in fresh.items() if key not in made})
            made.update(fresh)
            chain += [
                Succession(wish.line, target, source, by_link=True)
                for (source, target, type), (wish, _) in fresh.items()
                if type == Link.Type.SUPERSEDES
            ]
        successions.apply(actor, chain)
        return len(made)

    def rows_called(self, actor: Actor, names: Set[str]) -> dict[str, uuid.UUID]:
        """The memory that each of these ids stands for, in the import or else in a scope that *actor* may write to."""
        found = {name: self._anywhere[name] for name in names if name in self._anywhere}
        ids = filter(None, map(_id_in, names - found.keys()))
        stored = Memory.objects.filter(pk__in=list(ids), scope_id__in=actor.writable).values_list("pk", flat=True)
        return {str(id): id for id in stored} | found

    def _key(self, wish: _Wish, link: LinkRecord) -> tuple[uuid.UUID, uuid.UUID, str]:
        return wish.memory, self._target(wish, "links"), link.type

    def _target(self, wish: _Wish, field_name: str) -> uuid.UUID:
        found = self._found(wish)
        if found is None:
            raise TransferError(
                f"{wish.target!a} is neither in this import nor in a scope of yours. Import it too, or leave it out.",
                line=wish.line,
                field=field_name,
            )
        if found == wish.memory:
            raise TransferError("A memory cannot be tied to itself.", line=wish.line, field=field_name)
        return found

    def _found(self, wish: _Wish) -> uuid.UUID | None:
        return self._rows.get((wish.scope_id, wish.target)) or self._anywhere.get(wish.target)

    def _look_up(self, actor: Actor, wishes: Iterable[_Wish]) -> None:
        """Learn the rows of names that are not in the import, from what is stored already."""
        unknown = [wish for wish in wishes if self._found(wish) is None]
        for some in batched(unknown, BATCH):
            names = {wish.target for wish in some}
            own = Q(external_id__in=names, scope_id__in={wish.scope_id for wish in some})
            rows = Memory.objects.visible_to(actor).filter(own | Q(pk__in=filter(None, map(_id_in, names))))
            for pk, scope_id, external_id in rows.values_list("pk", "scope_id", "external_id"):
                self._anywhere.setdefault(str(pk), pk)
                self._rows.setdefault((scope_id, external_id), pk)


def _id_in(name: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(name)
    except ValueError:
        return None


def _insert(links: dict[tuple[uuid.UUID, uuid.UUID, str], LinkRecord]) -> None:
    rows = [
        Link(source_id=source, target_id=target, type=type, created_by=link.created_by)
        for (source, target, type), link in links.items()
    ]
    Link.objects.bulk_create(rows)
    keep_dates(Link, rows, "created_at", [link.created_at for link in links.values()])
