"""What a browser sent beside a form."""

from django.http import HttpRequest


def whole_number(sent: str, *, otherwise: int) -> int:
    """*otherwise* where it is none, or longer than any number of ours."""
    return int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 10 else otherwise


def version_on_screen(request: HttpRequest) -> int:
    """0, which is never current, where none was sent."""
    return whole_number(request.POST.get("version") or request.GET.get("version") or "", otherwise=0)
