"""What the steps have in common that do nothing without a model."""

from typing import Final

from reflections.services import asking
from reflections.services.progress import Progress

NOTE: Final = "No model is configured, so nobody was asked. Name one in ZEROMEMORY_MODEL."
SURVEY: Final = "would do nothing, because no model is configured"


def is_ready(progress: Progress) -> bool:
    """Whether there is a model; where there is none, the report says so."""
    ready = asking.is_model_configured()
    if not ready:
        progress.note(NOTE)
    return ready
