"""Which folders of the server anchors may name. What is in them is read, and never written."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from memories.access import Actor
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.guard import refuse_secrets
from memories.models import Repository, Scope
from memories.models.code import NAME
from memories.read_only import is_read_only
from memories.services import audit

PATH_LENGTH: Final = 4000


def register(*, actor: Actor, name: str, path: str, scopes: Collection[Scope]) -> Repository:
    """Raises Forbidden unless a member of staff asks, ValidationFailed, and Conflict for a name that is taken."""
    _require_staff(actor)
    name, folder = _checked_name(name), readable_folder(path)
    _require_administered(actor, scopes)
    if not scopes:
        raise ValidationFailed("Choose at least one scope whose memories may name this code.", field="scopes")
    try:
        with transaction.atomic():
            made = Repository.objects.create(owner=actor.user, name=name, path=folder, read_at=timezone.now())
            made.scopes.set(scopes)
            _note(actor, "register_repository", made, scopes)
    except IntegrityError as error:
        raise Conflict(f"A repository called {name!r} is registered already. Choose another name.", field="name") from (
            error
        )
    return made


@transaction.atomic
def register_demo(*, actor: Actor, name: str, folder: Path, scope: Scope) -> Repository:
    """The repository of the demonstration, made by the program itself; a second scope may name it too."""
    place = str(folder.resolve())
    made, _ = Repository.objects.get_or_create(name=name, defaults={"owner": actor.user, "path": place})
    if made.path != place:
        raise Conflict(f"The story about code was not loaded: another repository is registered as {name!r}.")
    if not made.scopes.filter(pk=scope.pk).exists():
        made.scopes.add(scope)
        _note(actor, "register_repository", made, [scope])
    return made


def demo_folder() -> Path:
    """The one part of the data folder in which there is code to be read."""
    return Path(settings.DATA_FOLDER) / "demo-code"


@transaction.atomic
def change(*, actor: Actor, repository: Repository, path: str, scopes: Collection[Scope]) -> Repository:
    """Read it from another folder, or for other scopes. Scopes that the person does not administer stay as they are.

    The name stays too: anchors refer to it.
    """
    repository = _locked(actor, repository)
    folder = readable_folder(path)
    _require_administered(actor, scopes)
    before = set(repository.scopes.all())
    kept = {scope for scope in before if scope.pk not in actor.administered}
    after = kept | set(scopes)
    if not after:
        raise ValidationFailed("Choose at least one scope, or remove the repository.", field="scopes")
    repository.path, repository.read_at = folder, timezone.now()
    repository.save(update_fields=["path", "read_at"])
    repository.scopes.set(after)
    _note(actor, "change_repository", repository, before | after)
    return repository


@transaction.atomic
def remove(*, actor: Actor, repository: Repository) -> None:
    """Forget where it stands. Anchors to it stay, and their verdict is unknown from then on."""
    repository = _locked(actor, repository)
    _note(actor, "remove_repository", repository, list(repository.scopes.all()))
    repository.delete()


def note_read(repositories: Iterable[Repository]) -> None:
    """That somebody looked into them just now with success; of a store that is only read nothing is noted."""
    if is_read_only():
        return
    Repository.objects.filter(pk__in=[repository.pk for repository in repositories]).update(read_at=timezone.now())


def readable_folder(path: str) -> str:
    """The real path of a folder that can be read and holds something. Raises ValidationFailed with what to do."""
    if "\0" in path or len(path) > PATH_LENGTH or not Path(path.strip()).is_absolute():
        raise ValidationFailed("Write the path of the folder from the root, such as /srv/code/shop.", field="path")
    try:
        real = Path(path.strip()).resolve(strict=True)
        with os.scandir(real) as entries:
            is_empty = next(entries, None) is None
    except (OSError, RuntimeError) as error:
        why = (getattr(error, "strerror", None) or "it is not a path").lower()
        raise ValidationFailed(
            f"The server cannot read this folder: {why}. Check the path, and that the user who runs the server may "
            "read it.",
            field="path",
        ) from error
    if is_empty:
        raise ValidationFailed("This folder is empty. Is it mounted, or not checked out yet?", field="path")
    _refuse_private(real)
    return str(real)


def _refuse_private(real: Path) -> None:
    """Whoever may anchor to a folder may read what is in it."""
    if real.is_relative_to(demo_folder().resolve()):
        return
    kept = Path(settings.DATA_FOLDER).resolve()
    if real == Path(real.anchor):
        raise ValidationFailed("That is the whole file system. Name the folder of one repository.", field="path")
    if real.is_relative_to(kept) or kept.is_relative_to(real):
        raise ValidationFailed(
            "Zero Memory keeps its own data in this folder, which members of the scopes could then read. Set "
            "ZEROMEMORY_DATA to a place outside it, or name another folder.",
            field="path",
        )


def _checked_name(name: str) -> str:
    name = name.strip()
    try:
        NAME(name)
    except ValidationError as error:
        raise ValidationFailed(f"This name will not do. {error.messages[0]}", field="name") from error
    refuse_secrets(name, "name")
    return name


def _require_staff(actor: Actor) -> None:
    if not (actor.is_person and actor.user.is_staff):
        raise Forbidden("Only staff may say which folders of the server are read. Ask whoever runs it.")


def _require_administered(actor: Actor, scopes: Collection[Scope]) -> None:
    if any(scope.pk not in actor.administered for scope in scopes):
        raise Forbidden("Only admins of a scope may choose it here. Ask one of them.", field="scopes")


def _locked(actor: Actor, repository: Repository) -> Repository:
    seen = Repository.objects.visible_to(actor).filter(pk=repository.pk).values("pk")
    row = Repository.objects.select_for_update().filter(pk__in=seen).first()
    if row is None:
        raise NotFound("There is no such repository here. Check the address.")
    _require_staff(actor)
    return row


def _note(actor: Actor, action: str, repository: Repository, scopes: Iterable[Scope]) -> None:
    """In the trail of each scope, without the path, which only staff may know."""
    for scope in sorted(scopes, key=lambda each: each.pk):
        audit.record(actor=actor, action=action, subject=repository, scope=scope, repository=repository.name)
