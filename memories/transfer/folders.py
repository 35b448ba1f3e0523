"""An export as a folder of files."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from memories.transfer.errors import TransferError

LIST: Final = ".zero-memory-export"  # names the files that the export wrote, so that the next one may remove them


def write_folder(path: Path, files: Iterable[tuple[str, bytes]], *, force: bool) -> None:
    """The files are gathered beside the folder and moved into it when all are there: what fails before that leaves the
    folder as it was. What fails while they are moved leaves files of both exports, each of them whole; all of them are
    named in the list, so the next export with *force* puts that right.

    With *force* what is not of an earlier export, such as a git repository around it, stays as it is. Raises
    TransferError.
    """
    if not force and path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise TransferError(f"{path} exists. Choose another name, or replace it with --force.")
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as gathered:
            names = _gather(Path(gathered), files)
            path.mkdir(mode=0o700, exist_ok=True)
            earlier = _listed(path)
            _refuse_links(path, earlier.union(names))
            _list(path, earlier.union(names))
            for name in names:
                _move(Path(gathered) / name, path / name)
            _remove(path, earlier - set(names))
            _list(path, names)
    except OSError as error:
        raise TransferError(f"{path} cannot be written: {error.strerror}.") from error


def _gather(folder: Path, files: Iterable[tuple[str, bytes]]) -> list[str]:
    names = []
    for name, raw in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)
        (folder / name).chmod(0o600)
        names.append(name)
    return names


def _listed(path: Path) -> set[str]:
    """What an earlier export wrote here. A list that was tampered with names nothing outside."""
    if not (path / LIST).is_file():
        return set()
    names = (path / LIST).read_text(encoding="utf-8", errors="replace").splitlines()
    return {name for name in names if name.endswith(".md") and ".." not in Path(name).parts and name[0] != "/"}


def _list(path: Path, names: Iterable[str]) -> None:
    anew = path / f"{LIST}.new"
    anew.unlink(missing_ok=True)
    anew.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")
    anew.replace(path / LIST)


def _refuse_links(path: Path, names: Iterable[str]) -> None:
    """A folder that somebody has replaced by a link may stand anywhere."""
    folders = {parent for name in names for parent in Path(name).parents}
    if linked := sorted(folder for folder in folders if (path / folder).is_symlink() and folder != Path()):
        raise TransferError(
            f"{path / linked[0]} is a symbolic link, and what is written there would stand elsewhere. Nothing was "
            "changed. Remove the link, or choose another folder."
        )


def _move(source: Path, target: Path) -> None:
    if not target.is_file() or target.is_symlink() or target.read_bytes() != source.read_bytes():
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        source.replace(target)


def _remove(path: Path, names: Iterable[str]) -> None:
    for name in names:
        (path / name).unlink(missing_ok=True)
