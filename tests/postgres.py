"""A pytest plugin: a real PostgreSQL before Django reads its settings.

``DATABASE_URL`` is used where it is set; otherwise the embedded server runs under the data folder.
With several test processes the first one starts it, and the others find its address in the environment. Each has a
data folder of its own for all else.
"""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from zeromemory.lib.folders import data_folder

_stack = ExitStack()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    test_folder = Path(os.environ.setdefault("ZEROMEMORY_TEST_DATA", str(data_folder() / "test")))
    # One for each process: bells that tests of one ring are not for the tests of another.
    own_folder = test_folder / os.environ.get("PYTEST_XDIST_WORKER", "")
    os.environ["ZEROMEMORY_DATA"] = str(own_folder)
    (own_folder / "staticfiles").mkdir(parents=True, exist_ok=True)
    if os.environ.get("DATABASE_URL"):
        return
    from zeromemory import embedded

    os.environ["DATABASE_URL"] = _stack.enter_context(
        embedded.running(test_folder / "postgres", settings=embedded.FOR_TESTS)
    )


def pytest_unconfigure() -> None:
    _stack.close()
