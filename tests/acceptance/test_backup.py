"""The real commands on real databases of their own: what is taken, under load, and what of it comes back."""

import dataclasses
import io
import json
import os
import shutil
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg import sql

from memories.access import actor_for_user
from memories.services import remember
from tests.factories import make_memory, make_scope, make_token, make_user, unit
from tests.memories.planted import plant
from zeromemory import backup, backup_file, database
from zeromemory.backup_file import BackupError
from zeromemory.launch import LOCK_NAME
from zeromemory.lib.locks import InstanceLock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.behaviour("F10")]
FRESH = f"restored_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"


@pytest.fixture
def filled() -> None:
    """The database of the tests, with rows in nearly every table, strange texts and vectors among them."""
    owner = make_user(username="owner")
    plant(owner)
    scope = make_scope(owner, slug="harbour")
    for number in range(30):
        make_memory(f"Memory {number}.", scope=scope, age_days=number, entities=["tide"], vector=unit(1, number))


@pytest.fixture
def fresh(settings: Any, tmp_path: Path) -> Iterator[str]:
    """The name of an empty database beside that of the tests, with a data folder of its own: of a restore at a time
    others of the same folder are told."""
    settings.DATA_FOLDER = tmp_path / "data"
    settings.DATA_FOLDER.mkdir()
    with server() as session:
        session.execute(f"DROP DATABASE IF EXISTS {FRESH}")
        session.execute(f"CREATE DATABASE {FRESH} TEMPLATE template0 ENCODING 'UTF8'")
    yield FRESH
    with server() as session:
        session.execute(f"DROP DATABASE {FRESH} WITH (FORCE)")


def server() -> psycopg.Connection:
    return inside("postgres")


def inside(name: str) -> psycopg.Connection:
    return psycopg.connect(**database.parameters() | {"dbname": name}, autocommit=True)


@contextmanager
def working_on(name: str) -> Iterator[None]:
    """As if DATABASE_URL named this database."""
    _leave()
    before, connection.settings_dict["NAME"] = connection.settings_dict["NAME"], name
    try:
        yield
    finally:
        _leave()
        connection.settings_dict["NAME"] = before


def _leave() -> None:
    connection.close()
    connection.close_pool()


def restore(path: Path, *options: str) -> str:
    """What ``manage.py restore`` says when it has filled the database beside that of the tests."""
    said = io.StringIO()
    with working_on(FRESH):
        call_command("restore", str(path), *options, stdout=said)
    return said.getvalue()


def refusal(path: Path, *options: str) -> str:
    with pytest.raises(CommandError) as caught:
        restore(path, *options)
    return str(caught.value)


def rows(session: psycopg.Connection) -> dict[str, list[str]]:
    """Every row of every table, in words."""
    query = sql.SQL("SELECT one::text FROM {} one ORDER BY 1")
    return {
        name: [row for (row,) in session.execute(query.format(sql.Identifier("public", name))).fetchall()]
        for name in backup.tables(session)
    }


def here() -> dict[str, list[str]]:
    with inside(str(connection.settings_dict["NAME"])) as session:
        return rows(session)


def there(name: str = FRESH) -> dict[str, list[str]]:
    with inside(name) as session:
        return rows(session)


# There and back ------------------------------------------------------------------------------


def test_a_restored_instance_is_the_same_row_by_row_but_for_who_is_signed_in(filled, folder, fresh, client_of):
    client_of(make_user())
    make_token(make_user(), [])
    before = here()
    assert len(before["django_session"]) == 1
    assert sum(bool(found) for found in before.values()) > 25
    manifest = backup.take(folder / "one")
    said = restore(folder / "one")
    assert there() == before | {"django_session": []}
    assert manifest.tables == {name: len(found) for name, found in there().items()}
    assert f"Restored {manifest.rows:,} rows" in said


def test_a_backup_under_load_is_one_moment(filled, folder, fresh):
    """Each write is a memory, its windows and an entry of the trail: all of it is there, or none."""
    scope = make_scope(make_user(username="busy"), slug="busy")
    actor, stop, written = actor_for_user(scope.owner), threading.Event(), threading.Event()

    def write(which: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            remember(actor=actor, scope=scope, content=f"Written by {which} meanwhile: {number}.")
            written.set()
        connection.close()

    writers = [threading.Thread(target=write, args=[which]) for which in range(3)]
    for writer in writers:
        writer.start()
    try:
        assert written.wait(10)
        backup.take(folder / "one")
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    restore(folder / "one")
    assert_one_moment(scope.pk)


def assert_one_moment(scope_id: int) -> None:
    found, now = there(), here()
    assert [name for name in found if not set(found[name]) <= set(now[name])] in ([], ["memories_token"])
    with inside(FRESH) as session:
        alone = "FROM memories m WHERE scope_id = %s AND content LIKE 'Written by %%'"
        trail = "EXISTS (SELECT FROM audit_entry e WHERE e.object_id = m.id::text AND e.action = 'remember')"
        pieces = "EXISTS (SELECT FROM memory_window w WHERE w.memory_id = m.id)"
        (count,) = session.execute(f"SELECT count(*) {alone}", [scope_id]).fetchone()
        (whole,) = session.execute(f"SELECT count(*) {alone} AND {trail} AND {pieces}", [scope_id]).fetchone()
        (entries,) = session.execute("SELECT count(*) FROM audit_entry e WHERE e.scope_id = %s", [scope_id]).fetchone()
    assert 0 < count == whole == entries


def test_the_restored_instance_works(filled, folder, fresh):
    """What is searched, and what the database itself enforces, is there as well."""
    backup.take(folder / "one")
    restore(folder / "one")
    with inside(FRESH) as session:
        kinds = "SELECT relkind, count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace GROUP BY 1"
        triggers = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1"
        with inside(str(connection.settings_dict["NAME"])) as ours:
            for query in (kinds, triggers):
                assert sorted(session.execute(query)) == sorted(ours.execute(query))
        with pytest.raises(psycopg.Error, match="never removed"):
            session.execute("DELETE FROM audit_entry")


# The file ------------------------------------------------------------------------------------


def test_the_file_is_private_whole_and_replaces_another_only_when_told(filled, folder):
    target = folder / "one"
    backup.take(target)
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.iterdir()] == ["one"]
    before = target.read_bytes()
    with pytest.raises(BackupError, match="--force"):
        backup.take(target)
    assert target.read_bytes() == before
    make_user()
    backup.take(target, force=True)
    assert target.read_bytes() != before


def test_a_backup_that_cannot_be_written_leaves_nothing(filled, folder):
    with pytest.raises(BackupError, match="cannot be written"):
        backup.take(folder / "nowhere" / "one")
    with pytest.raises(BackupError, match="is a folder"):
        backup.take(folder)
    assert list(folder.iterdir()) == []


def test_the_manifest_says_what_is_in_it_and_no_secret(filled, folder, settings):
    backup.take(folder / "one")
    with tarfile.open(folder / "one") as archive:
        assert archive.getnames() == ["manifest.json", "database.dump"]
        words = archive.extractfile("manifest.json").read().decode()
    manifest = json.loads(words)
    assert manifest["product"] == "0.1.0"
    assert "memories.0001_initial" in manifest["migrations"]
    assert manifest["tables"]["memories"] >= 30
    assert manifest["without_rows"] == ["django_session"]
    assert settings.SECRET_KEY.encode() not in (folder / "one").read_bytes()


# What is refused -----------------------------------------------------------------------------


@pytest.fixture
def taken(filled, folder) -> Path:
    backup.take(folder / "one")
    return folder / "one"


@pytest.mark.parametrize("how", ["cut off", "changed", "something else", "missing"])
def test_a_damaged_file_is_refused_before_anything_is_touched(taken, folder, how):
    raw = taken.read_bytes()
    middle = len(raw) // 2
    damaged = {
        "cut off": raw[:middle],
        "changed": raw[:middle] + bytes([raw[middle] ^ 1]) + raw[middle + 1 :],
        "something else": b"no backup at all",
    }
    broken = folder / "broken"
    if how in damaged:
        broken.write_bytes(damaged[how])
    with pytest.raises(BackupError, match=r"no whole backup|no file"):
        backup_file.unpack(broken, make_folder(folder))


def make_folder(folder: Path) -> Path:
    made = folder / "unpacked"
    made.mkdir()
    return made


def changed(taken: Path, target: Path, **values: object) -> Path:
    """The same backup, whose manifest says something else."""
    room = target.with_name("room")
    room.mkdir()
    manifest, dump = backup_file.unpack(taken, room)
    backup_file.pack(dataclasses.replace(manifest, **values), dump, target)
    shutil.rmtree(room)
    return target


def test_a_backup_of_a_newer_version_is_refused(taken, folder, fresh):
    newer = changed(taken, folder / "newer", product="9.0.0", migrations=("memories.9999_from_the_future",))
    assert "of version 9.0.0, newer than" in refusal(newer)
    assert there() == {}


def test_a_database_that_is_not_empty_is_lost_only_with_force(taken, folder, fresh):
    restore(taken)
    with inside(FRESH) as session:
        session.execute("CREATE TABLE left_over (number int)")
    before = there()
    assert f"not empty: it holds 2 people, 2 scopes, {len(before['memories'])} memories" in refusal(taken)
    assert there() == before
    restore(taken, "--force")
    assert "left_over" not in there()
    assert there()["memories"] == before["memories"]


def test_a_database_in_use_is_refused(taken, folder, fresh):
    with inside(FRESH):
        assert "1 other sessions use this database" in refusal(taken)


def test_a_restore_that_fails_half_way_leaves_the_database_as_it_was(taken, folder, fresh):
    """The manifest announces a row more than the dump brings; that is known when all is written."""
    restore(taken)
    before = there()
    more = changed(taken, folder / "more", tables={"memories": len(before["memories"]) + 1})
    said = refusal(more, "--force")
    assert "memories does not hold the" in said
    assert "The database is as it was" in said
    assert there() == before


def test_nothing_is_restored_while_the_instance_runs(taken, fresh, settings):
    lock = InstanceLock(settings.DATA_FOLDER / LOCK_NAME)
    assert lock.acquire()
    lock.leave_note(json.dumps({"pid": 42, "address": "http://127.0.0.1:8000"}))
    said = refusal(taken)
    lock.leave_note("")
    lock.release()
    assert "Zero Memory is running at http://127.0.0.1:8000 (process 42)" in said
    assert there() == {}


def test_the_command_says_what_it_wrote(filled, folder):
    said = io.StringIO()
    call_command("backup", str(folder / "one"), stdout=said)
    assert "Backed up" in said.getvalue()
    assert "keep it as private as the instance" in said.getvalue()
