from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """WhiteNoise with whole answers. It streams files synchronously, which under ASGI costs a thread for each chunk."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(found.status))
        del response["content-type"]  # the file's own follows, or none for 304
        for name, value in found.headers:
            response[name] = value
        return response
