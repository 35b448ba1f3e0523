"""Which model the settings name."""

import os
from dataclasses import dataclass, field

from django.conf import settings


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The key is a secret: it is shown and stored nowhere. Without one the provider's own variable is read."""

    name: str
    base_url: str = ""
    key: str = field(default="", repr=False)
    timeout: float = 60.0  # seconds, for one question with all its retries

    @property
    def provider(self) -> str:
        return self.name.partition(":")[0]

    @property
    def model(self) -> str:
        return self.name.partition(":")[2]

    @property
    def key_elsewhere(self) -> str:
        """The key in the provider's own variable, which messages must not repeat either."""
        return os.environ.get(f"{self.provider.partition('-')[0].upper()}_API_KEY", "")


def model_in_use() -> ModelChoice | None:
    """The configured model, or None. Asks nobody and imports no model library."""
    if not settings.MODEL:
        return None
    return ModelChoice(
        name=settings.MODEL,
        base_url=settings.MODEL_BASE_URL,
        key=settings.MODEL_KEY,
        timeout=settings.MODEL_TIMEOUT,
    )
