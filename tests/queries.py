"""List pages are fenced twice: their queries do not grow with rows, and their number is the recorded one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

RECORDED = Path(__file__).with_name("query_counts.json")


def queries_of(act: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)


def recorded_queries(page: str) -> int:
    """What ``query_counts.json`` allows *page*. A change of the number is a change of that file, in sight of review."""
    counts: dict[str, int] = json.loads(RECORDED.read_text())
    return counts[page]
