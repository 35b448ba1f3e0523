"""One template for a page and its fragment."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def is_fragment(request: HttpRequest) -> bool:
    """htmx asks for a part; a page that is gone back to must be whole."""
    htmx = request.htmx  # type: ignore[attr-defined]  # set by HtmxMiddleware
    return bool(htmx and not htmx.boosted and not htmx.history_restore_request)


def page_or_part(
    request: HttpRequest, template: str, part: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    name = f"{template}#{part}" if is_fragment(request) else template
    response = render(request, name, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response
