import os
import signal
import threading

import pytest

from zeromemory.lib import logs
from zeromemory.supervisor import Program, Supervisor


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROMEMORY_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def _signals():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.slow
def test_a_process_that_keeps_ending_ends_everything_with_its_last_lines(data_folder):
    said: list[str] = []
    code = Supervisor([Program("no such program")], said.append).run(lambda watch: None)
    assert code == 1
    assert sum("starting it again" in line for line in said) == 4
    assert "KeyError: 'no such program'" in "\n".join(said)


def test_each_restart_waits_longer_up_to_a_bound(data_folder):
    program = Program("web")
    pauses = []
    for _ in range(8):
        program.note_death(100.0)
        pauses.append(program.start_at - 100.0)
    assert pauses == [0.5, 1, 2, 4, 8, 10, 10, 10]


def test_deaths_long_ago_are_forgiven(data_folder):
    program = Program("web")
    for at in range(0, 1000, 100):
        program.note_death(float(at))
    assert not program.keeps_dying()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_with_success(data_folder, number):
    timer = threading.Timer(0.5, os.kill, [os.getpid(), number])
    timer.start()
    assert Supervisor([Program("beat")], print).run(lambda watch: None) == 0


def test_a_log_stays_bounded_and_keeps_its_writer(data_folder, monkeypatch):
    monkeypatch.setattr(logs, "LARGEST", 10)
    log = logs.log_path("web")
    with log.open("ab", buffering=0) as writer:
        writer.write(b"first, and long\n")
        logs.keep_small(log)
        writer.write(b"second\n")
    assert log.read_bytes() == b"second\n"
    assert log.with_name("web.log.1").read_bytes() == b"first, and long\n"
    assert logs.last_lines(log, 1) == "second"
