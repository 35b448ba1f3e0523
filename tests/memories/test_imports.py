"""A file that is handed in: kept, checked, confirmed, imported by a worker, and undone. The row is the list of work."""

import os
import threading
import time
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from memories import services
from memories.access import actor_for_user
from memories.errors import Conflict, Forbidden, NotFound, PayloadTooLarge
from memories.models import AuditEntry, Import, ImportedMemory, Memory, Role
from memories.services import bulk, transfers, writing
from memories.transfer import background, kept_files
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.memories.handing_in import handed_in, lines, make_import
from zeromemory import database

IN_TURN = ("hand_in_import", "confirm_import", "import", "forget_together")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.DATA_FOLDER = tmp_path


def now(row):
    return Import.objects.get(pk=row.pk)


def imported(scope, raw=None):
    row = make_import(scope, raw)
    transfers.confirm(actor=actor_for_user(scope.owner), row=row)
    background.work_on(str(row.pk))
    return now(row)


def undo(row, expected):
    return transfers.undo(actor=actor_for_user(row.user), row=row, expected=expected)


# Checked, then imported ----------------------------------------------------------------------


def test_a_check_counts_and_writes_nothing(scope):
    make_memory("Told 0.", scope=scope, external_id="t0")
    row = make_import(scope)
    assert row.state == "checked"
    counts = {name: row.report[name] for name in ("read", "written", "existing", "kinds")}
    assert counts == {"read": 3, "written": 2, "existing": 1, "kinds": {"fact": 2}}
    assert Memory.objects.count() == 1
    assert not ImportedMemory.objects.exists()


def test_memories_are_about_the_file_as_it_was_called_when_it_was_handed_in(scope):
    pieces = [b"# Conventions\n\n- Deploy on Tuesdays.\n"]
    actor = actor_for_user(scope.owner)
    row = transfers.hand_in(actor=actor, scope=scope, format="agents-md", file_name="CLAUDE.md", pieces=pieces)
    background.work_on(str(row.pk))
    transfers.confirm(actor=actor, row=now(row))
    background.work_on(str(row.pk))
    memory = Memory.objects.get()
    assert "CLAUDE.md" in memory.source
    assert [entity.name for entity in memory.entities.all()] == ["CLAUDE.md"]
    assert str(row.pk) not in memory.source + memory.external_id


def test_what_was_looked_at_is_imported_once_as_an_import_of_its_person(scope):
    row = imported(scope)
    assert (row.state, row.report["written"]) == ("done", 3)
    assert set(Memory.objects.values_list("author_kind", "author")) == {("import", scope.owner_id)}
    assert ImportedMemory.objects.filter(arrival=row).count() == 3
    background.work_on(str(row.pk))
    assert Memory.objects.count() == 3
    again = imported(scope)
    assert (again.report["written"], again.report["existing"]) == (0, 3)
    assert Memory.objects.count() == 3


def test_what_is_noted_of_a_file_is_in_its_report(scope):
    text = b'[{"id": "g1", "text": "Deploy on Tuesdays.", "superseded_by": "nowhere"}]'
    actor = actor_for_user(scope.owner)
    row = transfers.hand_in(actor=actor, scope=scope, format="graymatter", file_name="g.json", pieces=[text])
    background.work_on(str(row.pk))
    assert now(row).state == "checked"
    assert sum(now(row).report["notes"].values()) == 1


def test_a_fault_of_ours_ends_the_import_and_says_so(scope, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    row = handed_in(scope)
    monkeypatch.setattr(background, "import_from", fail)
    background.work_on(str(row.pk))
    assert (now(row).state, now(row).error) == ("failed", background.OUR_FAULT)
    assert not Memory.objects.exists()


def test_a_file_with_one_wrong_line_writes_nothing_and_names_it(scope):
    row = make_import(scope, lines() + b'{"content": "x", "kind": "opinion"}\n')
    assert row.state == "failed"
    assert "Line 4: kind:" in row.error
    assert not Memory.objects.exists()


def test_what_became_wrong_after_the_check_is_told_and_writes_nothing(scope):
    row = make_import(scope)
    member = row.user
    scope.owner = make_user()
    scope.save()
    make_member(scope, Role.READER, member)
    Import.objects.filter(pk=row.pk).update(state="queued")
    background.work_on(str(row.pk))
    assert now(row).state == "failed"
    assert "You may read this scope, not write to it" in now(row).error
    assert not Memory.objects.exists()


def test_a_confirmation_counts_once(scope):
    row = make_import(scope)
    transfers.confirm(actor=actor_for_user(scope.owner), row=row)
    with pytest.raises(Conflict, match="does not wait"):
        transfers.confirm(actor=actor_for_user(scope.owner), row=row)


# The file ------------------------------------------------------------------------------------


def test_the_file_is_private_and_goes_when_the_import_ends(scope):
    row = make_import(scope)
    (path,) = kept_files.folder().iterdir()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    transfers.confirm(actor=actor_for_user(scope.owner), row=row)
    background.work_on(str(row.pk))
    assert list(kept_files.folder().iterdir()) == []


@pytest.mark.parametrize("how", ["failed", "cancelled"])
def test_the_file_goes_however_the_import_ends(scope, how):
    row = make_import(scope, b"no json\n" if how == "failed" else None)
    if how == "cancelled":
        transfers.cancel(actor=actor_for_user(scope.owner), row=row)
    assert now(row).state == how
    assert list(kept_files.folder().iterdir()) == []


def test_a_file_that_is_too_large_is_refused_and_nothing_is_kept(scope, settings):
    settings.IMPORT_MEGABYTES = 1
    with pytest.raises(PayloadTooLarge, match=r"larger than 1 MB.*ZEROMEMORY_IMPORT_MB"):
        handed_in(scope, pieces=[b"x" * 600_000] * 2)
    assert not Import.objects.exists()
    assert list(kept_files.folder().iterdir()) == []


def test_nothing_of_the_file_is_in_the_database(scope):
    row = handed_in(scope, lines(content="A very particular sentence."))
    with connection.cursor() as cursor:
        cursor.execute("SELECT one::text FROM memory_import one")
        assert "particular" not in str(cursor.fetchall())
    assert row.file_bytes == len(lines(content="A very particular sentence."))


def test_a_file_that_nobody_imports_goes_after_a_day(scope):
    row = make_import(scope)
    Import.objects.filter(pk=row.pk).update(handed_in_at=timezone.now() - timedelta(hours=23))
    transfers.sweep()
    assert now(row).state == "checked"
    Import.objects.filter(pk=row.pk).update(handed_in_at=timezone.now() - timedelta(hours=25))
    old = time.time() - 60
    kept = kept_files.folder() / str(row.pk)
    os.utime(kept, (old, old))
    transfers.sweep()
    assert now(row).state == "cancelled"
    assert "within a day" in now(row).error
    assert not kept.exists()


def test_a_file_that_is_gone_is_told(scope):
    row = handed_in(scope)
    kept_files.remove(row.pk)
    background.work_on(str(row.pk))
    assert "The file is not there any more" in now(row).error


# Who may -------------------------------------------------------------------------------------


def test_nobody_hands_in_for_a_scope_that_is_not_theirs_to_write(scope):
    with pytest.raises(NotFound):
        handed_in(scope, actor=actor_for_user(make_user()))
    with pytest.raises(Forbidden):
        handed_in(scope, actor=actor_for_user(make_member(scope, Role.READER)))
    assert not kept_files.folder().exists()


def test_an_import_is_its_persons_alone(scope):
    row = handed_in(scope)
    other = actor_for_user(make_member(scope, Role.ADMIN))
    with pytest.raises(NotFound):
        transfers.import_for(other, row.pk)
    with pytest.raises(Conflict):
        transfers.cancel(actor=other, row=row)
    assert transfers.import_for(actor_for_user(scope.owner), row.pk) == row


def test_a_person_has_so_many_files_waiting_at_most(scope):
    for _ in range(transfers.MOST_WAITING):
        handed_in(scope)
    with pytest.raises(Conflict, match="wait to be imported"):
        handed_in(scope)


# A worker that is lost, and one that is told to stop -------------------------------------------


def test_an_import_whose_worker_was_lost_is_taken_up_again(scope):
    row = make_import(scope)
    transfers.confirm(actor=actor_for_user(scope.owner), row=row)
    assert transfers.claim(row.pk)
    assert transfers.claim(row.pk) is None
    silent(row)
    transfers.sweep()
    assert now(row).state == "queued"
    background.work_on(str(row.pk))
    assert (now(row).state, Memory.objects.count()) == ("done", 3)


def test_two_imports_into_one_scope_are_done_one_after_the_other(scope):
    first, second = handed_in(scope), handed_in(scope)
    assert transfers.claim(first.pk)
    assert transfers.claim(second.pk) is None
    background.work_on(str(second.pk))
    assert now(second).state == "to_check"
    assert transfers.claim(handed_in(make_scope(scope.owner)).pk)


def test_an_import_that_another_write_stands_in_the_way_of_is_tried_again(scope, monkeypatch):
    row = make_import(scope)
    transfers.confirm(actor=actor_for_user(scope.owner), row=row)
    monkeypatch.setattr(writing, "LOCK_TIMEOUT", "50ms")
    with held_elsewhere(scope):
        background.work_on(str(row.pk))
    assert now(row).state == "queued"
    background.work_on(str(row.pk))
    assert now(row).state == "done"


@contextmanager
def held_elsewhere(scope):
    """The row of the scope, locked in a session of its own."""
    with psycopg.connect(**database.parameters()) as session:
        session.execute("SELECT FROM memories_scope WHERE id = %s FOR UPDATE", [scope.pk])
        yield


def silent(row):
    Import.objects.filter(pk=row.pk).update(heartbeat_at=timezone.now() - transfers.SILENT_FOR * 2)


def test_an_import_that_keeps_losing_its_worker_ends(scope):
    row = handed_in(scope)
    for _ in range(transfers.MOST_ATTEMPTS):
        assert transfers.claim(row.pk)
        silent(row)
        transfers.sweep()
    assert now(row).state == "failed"
    assert "lost 3 times" in now(row).error


def test_a_worker_that_was_taken_for_lost_writes_nothing_beside_the_other(scope):
    row = make_import(scope)
    transfers.confirm(actor=actor_for_user(scope.owner), row=row)
    first = transfers.claim(row.pk)
    silent(row)
    transfers.sweep()
    background.work_on(str(row.pk))
    assert now(row).state == "done"
    assert transfers.finish(first, "done") is False
    assert Memory.objects.count() == 3


def test_an_import_that_is_cancelled_under_way_writes_nothing(scope, monkeypatch):
    row = make_import(scope, lines(600))
    transfers.confirm(actor=actor_for_user(scope.owner), row=row)
    monkeypatch.setattr(background, "EVERY_SECONDS", 0.01)
    told = []

    class Slow(background._Watch):
        """Cancelled after the first batch, and slow enough to hear of it."""

        def tell(self, read):
            told.append(read)
            if len(told) == 1:
                cancel_elsewhere(row)
                time.sleep(0.3)
            super().tell(read)

    monkeypatch.setattr(background, "_Watch", Slow)
    background.work_on(str(row.pk))
    assert told == [250]
    assert now(row).state == "cancelled"
    assert not Memory.objects.exists()
    assert list(kept_files.folder().iterdir()) == []


def cancel_elsewhere(row):
    """In a session of its own, as a page would."""

    def act():
        transfers.cancel(actor=actor_for_user(row.user), row=row)
        connection.close()

    other = threading.Thread(target=act)
    other.start()
    other.join()


def test_what_has_ended_cannot_be_cancelled(scope):
    row = imported(scope)
    with pytest.raises(Conflict, match="ended already"):
        transfers.cancel(actor=actor_for_user(scope.owner), row=row)


# Taking it back ------------------------------------------------------------------------------


def test_undo_forgets_what_the_import_wrote_and_brings_it_back_as_it_was(scope):
    make_memory("Told 0.", scope=scope, external_id="t0")
    mine = make_memory("Mine.", scope=scope)
    row = imported(scope, lines(3, pinned=True, kind="decision"))
    before = dict(Memory.objects.values_list("pk", "updated_at"))
    done = undo(row, 2)
    assert set(Memory.objects.live().values_list("content", flat=True)) == {"Mine.", "Told 0."}
    bulk.take_back_many(actor=actor_for_user(row.user), operation=done.operation)
    assert dict(Memory.objects.live().values_list("pk", "updated_at")) == before
    assert mine.pk in before
    assert now(row).undone_by == done.operation


def test_undo_leaves_what_somebody_has_touched_since(scope):
    row = imported(scope)
    one, two, _ = Memory.objects.order_by("external_id")
    services.edit(actor=actor_for_user(row.user), memory=one, expected_version=1, content="Mine now.")
    services.pin(actor=actor_for_user(row.user), memory=two)
    with pytest.raises(Conflict, match="1 match by now, not 3"):
        undo(row, 3)
    undo(row, 1)
    assert set(Memory.objects.live().values_list("content", flat=True)) == {"Mine now.", "Told 1."}


def test_undo_after_undo_and_back_is_possible_again(scope):
    row = imported(scope)
    first = undo(row, 3)
    bulk.take_back_many(actor=actor_for_user(row.user), operation=first.operation)
    assert undo(now(row), 3).count == 3


def test_a_confirmation_that_comes_too_late_leaves_no_trace(scope):
    row = imported(scope)
    with pytest.raises(Conflict):
        transfers.confirm(actor=actor_for_user(row.user), row=row)
    assert AuditEntry.objects.filter(action="confirm_import").count() == 1


def test_the_trail_names_who_handed_in_confirmed_imported_and_undid(scope):
    undo(imported(scope), 3)
    acts = AuditEntry.objects.exclude(object_type="memory").order_by("pk").values_list("action", "user")
    assert list(acts) == [(act, scope.owner_id) for act in IN_TURN]


def test_a_file_that_was_not_imported_has_nothing_to_undo(scope):
    with pytest.raises(Conflict, match="nothing to undo"):
        undo(make_import(scope), 0)


def test_a_name_with_a_secret_is_kept_without_it(scope):
    row = handed_in(scope, file_name="ghp_" + "a1B2" * 9 + ".jsonl\x00")
    assert "a1B2a1B2" not in row.file_name
