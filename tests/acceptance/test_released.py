"""Whoever upgrades finds what was there."""

import gzip
import json
from pathlib import Path

import psycopg
import pytest

from tests.acceptance import released
from tests.acceptance.released.corpus import seen
from tests.acceptance.test_backup import FRESH, fresh, restore, working_on
from zeromemory import backup, backup_file, database

__all__ = ["fresh"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.behaviour("F12")]
FOLDER = Path(released.__file__).parent
BOOKKEEPING = {"django_migrations", "django_content_type", "auth_permission"}  # they follow the program


@pytest.mark.parametrize("version", sorted(path.stem for path in FOLDER.glob("*.json")))
def test_an_instance_of_a_released_version_migrates_and_shows_the_same(version, folder, fresh):
    file = folder / "taken"
    file.write_bytes(gzip.decompress((FOLDER / f"{version}.backup.gz").read_bytes()))
    manifest, _ = backup_file.unpack(file, folder)
    restore(file)
    with working_on(FRESH):
        assert database.unapplied() == []
        assert numbers(backup_counts(), manifest) == numbers(manifest.tables, manifest)
        assert seen() == json.loads((FOLDER / f"{version}.json").read_text())


def numbers(tables, manifest):
    return {name: tables.get(name) for name in manifest.tables if name not in BOOKKEEPING}


def backup_counts() -> dict[str, int]:
    with psycopg.connect(**database.parameters()) as session:
        return backup.counts(session)
