from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.instance import open_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as made:
        yield made
