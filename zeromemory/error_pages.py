"""The page of an error that nobody expected, and of a database that is away."""

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string

from zeromemory import last_answer

RETRY_SECONDS = 5


def server_error(request: HttpRequest) -> HttpResponse:
    """Without the request's context: what it holds may need what has just failed."""
    if not isinstance(sys.exc_info()[1], (OperationalError, InterfaceError)):
        return HttpResponseServerError(render_to_string("500.html"))
    answer = HttpResponse(render_to_string("503.html", {"last_good": last_answer.when()}), status=503)
    answer["Retry-After"] = str(RETRY_SECONDS)
    return answer
