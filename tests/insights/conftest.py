"""Programs with a token, for what pages and REST say alike."""

from tests.api.conftest import api, api_of

__all__ = ["api", "api_of"]
