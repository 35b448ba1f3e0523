"""Each bad value stops the start with a sentence that names its variable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zeromemory.lib.folders import PROJECT

BAD = {
    "DATABASE_URL": "mysql://localhost/memory",
    "ZEROMEMORY_ALLOWED_HOSTS": "https://memory.example",
    "ZEROMEMORY_BEHIND_PROXY": "perhaps",
    "ZEROMEMORY_BIND": "8000",
    "ZEROMEMORY_BROKER_URL": "kafka://localhost",
    "ZEROMEMORY_DATA": "/proc/nowhere",
    "ZEROMEMORY_DATABASE_POOL": "none",
    "ZEROMEMORY_DEBUG": "maybe",
    "ZEROMEMORY_EMBEDDER": "magic",
    "ZEROMEMORY_LOG_LEVEL": "LOUD",
    "ZEROMEMORY_MODEL": "opnai:name",
    "ZEROMEMORY_MODEL_BASE_URL": "localhost:11434",
    "ZEROMEMORY_MODEL_DAILY_TOKENS": "many",
    "ZEROMEMORY_MODEL_KEY": "schlüssel",
    "ZEROMEMORY_MODEL_TIMEOUT": "0",
    "ZEROMEMORY_SECRET_KEY": "short",
    "ZEROMEMORY_SECURE_COOKIES": "2",
    "ZEROMEMORY_WORKERS": "0",
}


def read(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ZEROMEMORY_", "DATABASE_"))}
    code = "import zeromemory.settings as s; print(s.SECRET_KEY)"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=PROJECT, text=True, capture_output=True, check=False,
        env=kept | {"ZEROMEMORY_DATA": str(folder)} | environment,
    )  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_refused_by_the_name_of_its_variable(tmp_path, name):
    said = read(tmp_path, **{name: BAD[name]}).stderr.strip().splitlines()[-1]
    assert said.startswith(f"django.core.exceptions.ImproperlyConfigured: {name}: ")
    assert said.endswith(".")


@pytest.mark.parametrize("model", ["openai", "openai:", ":name", "openai:two words", "name"])
def test_a_model_is_a_provider_and_a_name(tmp_path, model):
    said = read(tmp_path, ZEROMEMORY_MODEL=model).stderr.strip().splitlines()[-1]
    assert f"ZEROMEMORY_MODEL: {model!r} is not provider:model" in said


def test_an_address_is_refused_where_the_provider_has_its_own(tmp_path):
    given = {"ZEROMEMORY_MODEL": "openrouter:some/model", "ZEROMEMORY_MODEL_BASE_URL": "http://localhost/v1"}
    said = read(tmp_path, **given).stderr.strip().splitlines()[-1]
    assert "ZEROMEMORY_MODEL_BASE_URL: openrouter:some/model has an address of its own" in said


@pytest.mark.parametrize("address", ["ftp://host/v1", "http://", "http://u:letmein@host/v1", "http://host:99999/v1"])
def test_an_address_that_no_model_can_have_is_refused_without_its_password(tmp_path, address):
    said = read(tmp_path, ZEROMEMORY_MODEL_BASE_URL=address).stderr.strip().splitlines()[-1]
    assert "ZEROMEMORY_MODEL_BASE_URL: " in said
    assert "letmein" not in said


@pytest.mark.parametrize("number", ["-1", "65", "9" * 5000, "1e3", "two", "²"])
def test_a_number_of_workers_that_cannot_be_is_refused_in_one_short_sentence(tmp_path, number):
    said = read(tmp_path, ZEROMEMORY_WORKERS=number).stderr.strip().splitlines()[-1]
    assert "ZEROMEMORY_WORKERS: " in said
    assert said.endswith("is not a whole number from 1 to 64.")
    assert len(said) < 200


@pytest.mark.parametrize("url", ["postgres://", "postgres://host", "postgresql://@/", f"postgres://u@h/{'n' * 64}"])
def test_an_address_without_a_usable_database_name_is_refused_by_the_name_of_its_variable(tmp_path, url):
    said = read(tmp_path, DATABASE_URL=url).stderr.strip().splitlines()[-1]
    assert "ImproperlyConfigured: DATABASE_URL: names " in said


def test_an_address_without_a_name_means_the_database_called_like_the_user(tmp_path):
    assert read(tmp_path, DATABASE_URL="postgres://somebody@host").returncode == 0


@pytest.mark.parametrize("content", [b"", b"\n", b"short", b"\xff\xfe\x00\x01" * 20])
def test_a_damaged_secret_key_file_is_named_with_what_to_do(tmp_path, content):
    (tmp_path / "secret_key").write_bytes(content)
    said = read(tmp_path).stderr.strip().splitlines()[-1]
    assert f"ZEROMEMORY_SECRET_KEY: the file {tmp_path / 'secret_key'} does not hold a key" in said
    assert "delete the file" in said
    (tmp_path / "secret_key").unlink()
    assert read(tmp_path).returncode == 0


def test_manage_py_says_it_without_a_traceback_and_before_it_starts_a_database(tmp_path):
    environment = {"PATH": os.environ["PATH"], "ZEROMEMORY_DATA": str(tmp_path), "ZEROMEMORY_BIND": "nonsense"}
    done = subprocess.run(
        [sys.executable, "manage.py", "up"], cwd=PROJECT, env=environment, text=True, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "ZEROMEMORY_BIND: 'nonsense' is not host:port, for example 127.0.0.1:8000.\n"
    assert not (tmp_path / "postgres").exists()


def test_empty_values_mean_the_defaults(tmp_path):
    assert read(tmp_path, **dict.fromkeys(BAD, "") | {"ZEROMEMORY_DATA": str(tmp_path)}).returncode == 0


def test_the_secret_key_is_made_once_and_kept_private(tmp_path):
    first, second = read(tmp_path / "data"), read(tmp_path / "data")
    assert len(first.stdout.strip()) >= 50
    assert first.stdout == second.stdout
    assert (tmp_path / "data" / "secret_key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["secret_key"]
