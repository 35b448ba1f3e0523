"""Repositories: which code memories may be about, and what hangs on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memories.access import Actor, actor_for_request, readable_scopes
from memories.anchored import Hanging, hanging_on, memories_of
from memories.anchors import AnchorNow
from memories.checkout import Checkout
from memories.code.verdicts import Verdict
from memories.errors import ValidationFailed, ZeroMemoryError
from memories.forms import RepositoryForm
from memories.models import CodeLook, Repository
from memories.presentation import scope_names
from memories.services import repositories as services
from memories.tree_languages import languages_of
from memories.verdict_words import badge_of, tally
from memories.views.access import visible_repository


@require_http_methods(["GET", "HEAD", "POST"])
def repository_list(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    form = RepositoryForm(request.POST or None, actor=actor)
    if request.method == "POST" and form.is_valid():
        try:
            made = services.register(actor=actor, **form.cleaned_data)
        except ValidationFailed as error:
            form.add_error(error.field, error.message)
        except ZeroMemoryError as error:
            if error.field != "name":
                raise
            form.add_error("name", error.message)
        else:
            messages.success(request, f"Registered {made.name}. Memories may name its code from now on.")
            return redirect("repository_detail", repository=made.name)
    context = {"form": form, "may_register": _may_register(actor), "rows": _rows(actor)}
    return render(request, "memories/repositories.html", context, status=422 if form.errors else 200)


def _may_register(actor: Actor) -> bool:
    return actor.user.is_staff and bool(actor.administered)


def _rows(actor: Actor) -> list[dict[str, Any]]:
    found = list(Repository.objects.visible_to(actor).prefetch_related("scopes").order_by("name"))
    hanging, names = hanging_on(found, actor), scope_names(readable_scopes(actor))
    problems = {each.pk: _problem(each) for each in found}
    services.note_read([each for each in found if not problems[each.pk]])
    return [
        {
            "repository": each,
            "scopes": _readable_names(each, names),
            "problem": problems[each.pk],
            **_summary(hanging[each.pk]),
        }
        for each in found
    ]


def _readable_names(repository: Repository, names: dict[int, str]) -> str:
    return ", ".join(sorted(names[scope.pk] for scope in repository.scopes.all() if scope.pk in names))


def _problem(repository: Repository) -> str:
    """Why the folder cannot be read; empty where it can."""
    try:
        services.readable_folder(repository.path)
    except ValidationFailed as error:
        return error.message
    return ""


def _summary(hanging: Hanging) -> dict[str, Any]:
    return {
        "total": hanging.total,
        "looked_at": len(hanging.looked_at),
        "tally": tally(hanging.by_verdict),
        "unread": hanging.total - len(hanging.looked_at),
        "languages": ", ".join(hanging.languages),
    }


@require_safe
def repository_detail(request: HttpRequest, repository: str) -> HttpResponse:
    actor = actor_for_request(request)
    return _page(request, actor, visible_repository(actor, repository))


def _page(
    request: HttpRequest, actor: Actor, repository: Repository, form: RepositoryForm | None = None
) -> HttpResponse:
    sought = {name: request.GET.get(name, "").replace("\0", "").strip()[:1000] for name in ("path", "symbol")}
    hanging, verdict = hanging_on([repository], actor, **sought)[repository.pk], _verdict(request)
    problem = _problem(repository)
    if not problem:
        services.note_read([repository])
    names = scope_names(readable_scopes(actor))
    summary = _summary(hanging) | {
        "tree": languages_of(Checkout(repository.path)),
        "scopes": _readable_names(repository, names),
        "problem": problem,
    }
    context = {
        "repository": repository,
        "summary": summary,
        "problem": problem,
        "sought": sought,
        "narrowed": any(sought.values()) or bool(verdict),
        "verdict": verdict,
        "verdicts": list(Verdict),
        "files": _files([now for now in hanging.looked_at if not verdict or now.verdict == verdict], actor),
        **_held(actor, repository),
        "staff": actor.user.is_staff,
        "form": form or _change_form(actor, repository),
        **summary,
    }
    return render(request, "memories/repository.html", context, status=422 if form else 200)


def _verdict(request: HttpRequest) -> str:
    """One of them, as of now; anything else is none."""
    asked = request.GET.get("verdict", "")
    return asked if asked in list(Verdict) else ""


def _held(actor: Actor, repository: Repository) -> dict[str, Any]:
    """What changed at once, of which nobody is asked until somebody says so here."""
    rows = CodeLook.objects.visible_to(actor).asking().filter(repository__iexact=repository.name)
    held = list(rows.told())
    return {"held": held, "may_ask": any(look.scope_id in actor.writable for look in held)}


def _change_form(actor: Actor, repository: Repository, sent: Any = None) -> RepositoryForm:
    initial = {"path": repository.path, "scopes": [scope.pk for scope in repository.scopes.all()]}
    return RepositoryForm(sent, actor=actor, named=True, initial=initial)


def _files(nows: Sequence[AnchorNow], actor: Actor) -> list[dict[str, Any]]:
    """What hangs on each file, in the order of their paths."""
    memories = memories_of(nows, actor)
    files: dict[str, list[dict[str, Any]]] = {}
    for now in nows:
        memory = memories[now.anchor.memory_id]
        files.setdefault(now.anchor.path, []).append(
            {
                "symbol": now.anchor.symbol,
                "badge": badge_of(now.verdict),
                "detail": now.judged.detail,
                "since": now.anchor.created_at,
                "memory": memory,
                "url": reverse("memory_detail", args=[memory.pk]) + "#code",
            }
        )
    return [{"path": path, "anchors": anchors} for path, anchors in files.items()]


@require_POST
def repository_change(request: HttpRequest, repository: str) -> HttpResponse:
    actor = actor_for_request(request)
    found = visible_repository(actor, repository)
    form = _change_form(actor, found, request.POST)
    if form.is_valid():
        try:
            services.change(actor=actor, repository=found, **form.cleaned_data)
        except ValidationFailed as error:
            form.add_error(error.field, error.message)
        else:
            messages.success(request, "Changed. What hangs on it was looked at anew.")
            return redirect("repository_detail", repository=found.name)
    return _page(request, actor, found, form)


@require_POST
def repository_remove(request: HttpRequest, repository: str) -> HttpResponse:
    actor = actor_for_request(request)
    found = visible_repository(actor, repository)
    services.remove(actor=actor, repository=found)
    messages.success(request, f"Removed {found.name}. Anchors to it stay, and cannot be checked.")
    return redirect("repository_list")
