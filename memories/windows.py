"""Cut a memory's text into windows: short enough to embed whole and to index, found by words at once."""

import re
from typing import Final

from django.db import connection

from memories.models import Memory
from memories.sql import load
from zeromemory.embedding.windows import Window, windows

# Measured against the packaged model's tokenizer: prose needs 0.8 to 0.95 of these, tables and code 1.1, long German
# compounds 1.4. So 165 of them stay within the 254 tokens that the model reads.
_TOKEN: Final = re.compile(r"[A-Za-z]{1,5}|[0-9]{1,2}|[^\sA-Za-z0-9]")
WINDOW_TOKENS: Final = 165
OVERLAP_TOKENS: Final = 24


def windows_of(text: str) -> list[Window]:
    """Overlapping spans that cover the whole text; their number is bounded by its length.

    They do not depend on the embedder: one text is embedded by the old model and the new one while a change of model
    is under way, and a write must not load a model of some hundred megabytes into the web process.
    """
    return windows(text, [match.start() for match in _TOKEN.finditer(text)], WINDOW_TOKENS, OVERLAP_TOKENS)


def write_windows(*memories: Memory) -> int:
    """Insert the windows of the memories in one statement; the number of windows."""
    spans = [(memory, place, span) for memory in memories for place, span in enumerate(windows_of(memory.content))]
    with connection.cursor() as cursor:
        cursor.execute(
            load("insert_windows"),
            {
                "memories": [memory.pk for memory, _, _ in spans],
                "positions": [place for _, place, _ in spans],
                "starts": [span.start for _, _, span in spans],
                "stops": [span.stop for _, _, span in spans],
                "texts": [memory.content[span.start : span.stop] for memory, _, span in spans],
            },
        )
    return len(spans)
