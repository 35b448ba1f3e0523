import os
import time

import pytest
from django.db import connection, transaction
from django.test import override_settings

from zeromemory.celery import app, make_broker_folders
from zeromemory.lib import heartbeat
from zeromemory.tasks import beat


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROMEMORY_DATA", str(tmp_path))
    with override_settings(BROKER_FOLDER=tmp_path / "broker"):
        yield tmp_path


@pytest.mark.django_db
def test_alive_is_answered_without_signing_in_and_without_the_database(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert client.get("/healthz").json() == {"status": "ok"}


@pytest.mark.django_db
def test_ready_tells_each_part(client, data_folder):
    heartbeat.beat()
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "ready": True,
        "database": {"ok": True},
        "broker": {"ok": True},
        "worker": {"ok": True, "seconds_since_heartbeat": 0},
        "embedder": {"ok": True, "model": "local:all-MiniLM-L6-v2-int8"},
    }


@pytest.mark.django_db
def test_a_silent_worker_shows_and_does_not_take_the_pages_out_of_service(client, data_folder):
    assert client.get("/readyz").json()["worker"] == {"ok": False, "detail": "No worker has answered yet."}
    heartbeat.beat()
    late = time.time() - heartbeat.LATE_AFTER_SECONDS - 1
    os.utime(data_folder / "worker_heartbeat", (late, late))
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert not answer.json()["worker"]["ok"]


@pytest.mark.django_db
def test_without_a_broker_it_is_not_ready_and_the_pages_stay_in_service(client, data_folder):
    (data_folder / "broker").write_text("a file where the folder should be")
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["ready"] is False
    assert not answer.json()["broker"]["ok"]


@pytest.mark.django_db
@override_settings(EMBEDDER="none")
def test_an_embedder_that_is_switched_off_is_no_fault(client, data_folder):
    assert client.get("/readyz").json()["embedder"]["ok"]


@pytest.mark.django_db(transaction=True)
def test_without_the_database_it_is_not_ready(client, data_folder, monkeypatch):
    connection.close()
    connection.close_pool()
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {"connect_timeout": 1})
    connection.connection = None
    try:
        answer = client.get("/readyz")
    finally:
        monkeypatch.undo()
        connection.close()
    assert answer.status_code == 503
    assert answer.json()["ready"] is False
    assert answer.json()["database"] == {"ok": False, "detail": "The database does not answer."}


def test_broker_folders_are_private(data_folder):
    make_broker_folders()
    made = sorted(folder.name for folder in (data_folder / "broker").iterdir())
    assert made == ["control", "queue", "taken"]
    assert {folder.stat().st_mode & 0o777 for folder in (data_folder / "broker").iterdir()} == {0o700}


@pytest.mark.django_db(transaction=True)
def test_a_bell_that_cannot_be_rung_neither_fails_nor_delays_the_write(data_folder, monkeypatch):
    (data_folder / "broker").write_text("a file where the folder should be")
    monkeypatch.setattr(app, "_pool", None)  # as in a process that has rung no bell yet
    app.amqp._producer_pool = None
    began = time.monotonic()
    with transaction.atomic():
        beat.delay_on_commit()
    assert time.monotonic() - began < 3
    app.amqp._producer_pool = None


@pytest.mark.django_db  # the admin, imported with the tasks, asks the database for its version
def test_each_scheduled_task_exists():
    app.loader.import_default_modules()
    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert scheduled <= set(app.tasks)
