"""Programs that register themselves to ask for access (RFC 7591), and the addresses people are sent back to.

Whoever reaches the door may register. So little is kept, what is kept is small, one network address registers seldom,
and of those that nobody ever allowed anything the oldest make room.
"""

from __future__ import annotations

import ipaddress
import re
import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from memories.errors import Conflict, ValidationFailed
from memories.guard import refuse_secrets
from memories.models import OAuthClient
from memories.services import audit
from memories.services.tokens import NAME_LENGTH
from memories.services.writing import LOCK_TIMEOUT

MOST_ADDRESSES: Final = 10  # of one client
ADDRESS_LENGTH: Final = 2000
MOST_IN_AN_HOUR: Final = 20  # registrations from one network address
MOST_NEVER_ALLOWED: Final = 500
NEVER_ALLOWED_FOR: Final = timedelta(days=1)
ANSWERED_WITHIN: Final = timedelta(minutes=30)  # a person may be reading what the client asks
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
LABEL: Final = "open registration"
# Schemes without a dot that programs for developers have made their own; others are named after a domain, reversed
# (RFC 8252, 7.1), and no scheme of the web has a dot.
NATIVE: Final = frozenset({"cursor", "jetbrains", "vscode", "vscode-insiders", "vscodium", "warp", "windsurf", "zed"})
_OF_A_DOMAIN: Final = re.compile(r"[a-z][a-z0-9-]*(\.[a-z0-9-]+)+")


class TooManyRegistrations(Conflict):
    code, status = "too_many_registrations", 429


@transaction.atomic
def register(*, client_id: uuid.UUID, name: str, redirect_uris: Sequence[str], address: str) -> OAuthClient:
    """The client as it is from now on. *address* is the network address it came from.

    Raises ValidationFailed, with ``redirect_uris`` or ``name`` to blame, and TooManyRegistrations.
    """
    name = name.strip()
    _check_name(name)
    _check_addresses(redirect_uris)
    came_from = _came_from(address)
    _take_turns()
    _check_rate(came_from)
    pruned = _make_room()
    client = OAuthClient.objects.create(
        id=client_id, name=name, redirect_uris=list(redirect_uris), registered_from=came_from
    )
    audit.record(actor=None, label=LABEL, action="register_client", subject=client, pruned=pruned)
    return client


def _check_name(name: str) -> None:
    if len(name) > NAME_LENGTH or "\x00" in name:
        raise ValidationFailed(f"client_name has at most {NAME_LENGTH} characters, none of them NUL.", field="name")
    refuse_secrets(name, "name")


def _check_addresses(addresses: Sequence[str]) -> None:
    if not 1 <= len(addresses) <= MOST_ADDRESSES:
        raise ValidationFailed(f"Name 1 to {MOST_ADDRESSES} redirect_uris.", field="redirect_uris")
    for address in addresses:
        if problem := problem_of_address(address):
            raise ValidationFailed(problem, field="redirect_uris")
        refuse_secrets(address, "redirect_uris")


def problem_of_address(address: str) -> str:
    """Why people cannot be sent back to *address*; empty where they can."""
    try:
        parts = urlsplit(address)
        host = parts.hostname
        parts.port  # noqa: B018  raises for a port that is none
    except ValueError:
        return "A redirect URI is not an address."
    if len(address) > ADDRESS_LENGTH or not address.isprintable():
        return f"A redirect URI has at most {ADDRESS_LENGTH} characters, all of them printable."
    if not _is_native(parts) and (not host or not (parts.scheme == "https" or _is_loopback(parts))):
        return (
            "A redirect URI begins with https://, with http:// and a loopback host (127.0.0.1, [::1], localhost), or "
            "with a program's own scheme: a reversed domain such as com.example.agent:/, or "
            f"{', '.join(sorted(NATIVE))}."
        )
    if "#" in address or "@" in parts.netloc:
        return "A redirect URI has no fragment and no user name."
    return ""


def is_registered(address: str, client: OAuthClient) -> bool:
    """Whether *address* is one of the client's: the same, or on loopback the same at any port (RFC 8252, 7.3)."""
    return not problem_of_address(address) and any(_place(address) == _place(kept) for kept in client.redirect_uris)


def _place(address: str) -> tuple[str, str | None, str, str, str]:
    parts = urlsplit(address)
    host = parts.hostname if _is_loopback(parts) else parts.netloc.lower()
    return parts.scheme, host, parts.path or "/", parts.query, parts.fragment


def _is_loopback(parts: SplitResult) -> bool:
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def _is_native(parts: SplitResult) -> bool:
    """Whether a program on this computer, and no site, answers to it."""
    return parts.scheme in NATIVE or _OF_A_DOMAIN.fullmatch(parts.scheme) is not None


def is_on_this_computer(address: str) -> bool:
    parts = urlsplit(address)
    return parts.hostname in LOOPBACK or _is_native(parts)


def host_of(address: str) -> str:
    """Host and port, without a user name that looks like a host; the scheme where that is a program's own."""
    parts = urlsplit(address)
    return f"{parts.scheme}:" if _is_native(parts) else parts.netloc.rpartition("@")[2]


def client_with(client_id: str) -> OAuthClient | None:
    try:
        return OAuthClient.objects.filter(pk=uuid.UUID(client_id)).first()
    except ValueError:
        return None


# Bounds --------------------------------------------------------------------------------------


def _came_from(address: str) -> str:
    """Told apart without being kept. Of IPv6 the network, because every machine has a whole one to itself."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        known = None
    if isinstance(known, ipaddress.IPv6Address) and known.ipv4_mapped is None:
        address = str(ipaddress.ip_network((known, 64), strict=False))
    return salted_hmac("memories.oauth.address", address, algorithm="sha256").hexdigest()


def _check_rate(came_from: str) -> None:
    since = timezone.now() - timedelta(hours=1)
    if OAuthClient.objects.filter(registered_from=came_from, created_at__gt=since).count() >= MOST_IN_AN_HOUR:
        raise TooManyRegistrations(f"At most {MOST_IN_AN_HOUR} clients an hour register from one place. Try later.")


def _take_turns() -> None:
    """So that each registration counts those before it. Raises OperationalError when they take too long."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('oauth_registration', 0))")


def _make_room() -> int:
    """How many clients were forgotten: what nobody allowed anything for a day, and the oldest of too many."""
    idle, now = OAuthClient.objects.filter(allowed_at=None), timezone.now()
    forgotten = _forget(idle.filter(created_at__lt=now - NEVER_ALLOWED_FOR))
    too_many = idle.count() - MOST_NEVER_ALLOWED + 1
    if too_many <= 0:
        return forgotten
    unanswered = idle.filter(created_at__lt=now - ANSWERED_WITHIN).order_by("created_at", "pk")
    made = _forget(unanswered[:too_many])
    if made < too_many:
        raise TooManyRegistrations("Too many clients that nobody let in registered lately. Try later.")
    return forgotten + made


def _forget(idle: QuerySet[OAuthClient]) -> int:
    """Those that nobody is letting in at this moment: ``oauth_asking.allow`` holds its client."""
    doomed = list(idle.select_for_update(skip_locked=True).values_list("pk", flat=True))
    return OAuthClient.objects.filter(pk__in=doomed).delete()[0]
