"""The file system broker, through the same library that the worker uses."""

import json
import logging
from queue import Empty

import pytest
from kombu import Connection

from zeromemory.lib import broker_files

MESSAGE = {
    "body": "e30=",
    "headers": {},
    "content-type": "application/json",
    "content-encoding": "utf-8",
    "properties": {
        "delivery_tag": "1",
        "body_encoding": "base64",
        "delivery_info": {"exchange": "bells", "routing_key": "bells"},
    },
}
GARBAGE = {
    "nothing": b"",
    "bytes": b"\xff\xfe\x00",
    "text": b"hello",
    "half a message": json.dumps(MESSAGE).encode()[:40],
    "a list": b"[]",
    "a number": b"7",
    "no properties": b"{}",
    "no tag": json.dumps(MESSAGE | {"properties": {}}).encode(),
    "a body that is not base64": json.dumps(MESSAGE | {"body": "x"}).encode(),
    "no delivery": json.dumps(
        MESSAGE | {"properties": {"delivery_tag": "1", "delivery_info": None}, "body": ""}
    ).encode(),
    "a deep nest": b"[" * 100_000,
}


@pytest.fixture
def bells(tmp_path):
    broker_files.use()
    for name in ("queue", "control", "taken"):
        (tmp_path / name).mkdir()
    options = {
        "data_folder_in": str(tmp_path / "queue"),
        "data_folder_out": str(tmp_path / "queue"),
        "control_folder": str(tmp_path / "control"),
        "taken_folder": str(tmp_path / "taken"),
    }
    with Connection("filesystem://localhost", transport_options=options) as connection:
        connection.transport.state.clear()  # what earlier connections of this process have bound
        yield connection.SimpleQueue("bells")


def heard(bells):
    message = bells.get(block=False)
    message.ack()
    return message.payload


def test_what_is_put_in_comes_out_in_order_and_leaves_nothing_behind(bells, tmp_path):
    for number in range(3):
        bells.put({"number": number})
    assert [heard(bells) for _ in range(3)] == [{"number": 0}, {"number": 1}, {"number": 2}]
    with pytest.raises(Empty):
        bells.get(block=False)
    assert not list((tmp_path / "queue").iterdir())
    assert not list((tmp_path / "taken").iterdir())


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_file_that_is_no_message_is_moved_aside_with_a_line_in_the_log(bells, tmp_path, caplog, kind):
    (tmp_path / "queue" / "0.bells.msg").write_bytes(GARBAGE[kind])
    bells.put({"number": 1})
    with caplog.at_level(logging.WARNING):
        assert heard(bells) == {"number": 1}
    assert (tmp_path / "taken" / "0.bells.msg").exists()
    assert [record.name for record in caplog.records] == ["zeromemory.lib.broker_files"]
    assert "0.bells.msg is not a message" in caplog.text


def test_a_folder_among_the_messages_is_moved_aside_too(bells, tmp_path):
    (tmp_path / "queue" / "0.bells.msg").mkdir()
    bells.put({"number": 1})
    assert heard(bells) == {"number": 1}


def test_a_damaged_table_of_bindings_is_written_anew(bells, tmp_path, caplog):
    (table,) = (tmp_path / "control").iterdir()
    for damage in (b"garbage", b"[7]"):
        table.write_bytes(damage)
        bells.put({"number": 1})
        assert heard(bells) == {"number": 1}
    assert caplog.text.count("written anew") == 2


def test_a_start_with_a_damaged_table_of_bindings_writes_it_anew(bells, tmp_path):
    (table,) = (tmp_path / "control").iterdir()
    table.write_bytes(b"garbage")
    connection = bells.channel.connection.client
    connection.transport.state.clear()  # as in a process that has just started
    again = connection.SimpleQueue("bells")
    again.put({"number": 1})
    assert heard(again) == {"number": 1}
