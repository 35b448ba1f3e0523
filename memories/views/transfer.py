"""Bringing memories in from a file, looked at before it is done; and taking them out."""

from __future__ import annotations

import uuid
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from memories.access import Actor, actor_for_request, readable_scopes
from memories.errors import Conflict, ZeroMemoryError
from memories.models import Import
from memories.services import transfers
from memories.transfer.contents import contents_of
from memories.transfer.registry import format_called
from memories.transfer.streaming import exported
from memories.transfer_forms import ExportForm, ImportForm
from memories.transfer_presentation import row_of_import, shown
from memories.views.fragments import page_or_part
from memories.views.sent import whole_number

MOST: Final = 50


@require_safe
@never_cache
def transfer_page(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    return _page(request, actor, ImportForm(actor=actor))


def _page(request: HttpRequest, actor: Actor, form: ImportForm, *, status: int = 200) -> HttpResponse:
    export = ExportForm(request.GET if "format" in request.GET else None, actor=actor)
    rows = Import.objects.filter(scope__in=actor.readable).select_related("scope", "user").order_by("-handed_in_at")
    context = {
        "form": form,
        "export": export,
        "export_contents": _contents(actor, export),
        "imports": [row_of_import(row, actor) for row in rows[:MOST]],
        "may_write": bool(actor.writable),
        "may_read": bool(actor.readable),
    }
    return render(request, "memories/transfer.html", context, status=status)


def _contents(actor: Actor, form: ExportForm) -> dict[str, Any] | None:
    """What the export that was asked about would hold."""
    if not form.is_bound or not form.is_valid():
        return None
    scope, format = form.cleaned_data["scope"], format_called(form.cleaned_data["format"])
    counted = contents_of([scope] if scope else readable_scopes(actor))
    return {"format": format, "scope": form["scope"].value() or "", "counted": counted}


@require_POST
def import_new(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    form = ImportForm(request.POST, request.FILES, actor=actor)
    if not form.is_valid():
        return _page(request, actor, form, status=422)
    given = form.cleaned_data["file"]
    try:
        row = transfers.hand_in(
            actor=actor,
            scope=form.cleaned_data["scope"],
            format=form.cleaned_data["format"],
            file_name=given.name,
            pieces=given.chunks(),
        )
    except ZeroMemoryError as error:
        form.add_error(error.field if error.field in form.fields else None, error.message)
        return _page(request, actor, form, status=error.status)
    if form.recognised_by:
        label = format_called(row.format).label
        messages.info(
            request,
            f"Recognised as {label}, by {form.recognised_by}. If it is something else, cancel it, and choose the "
            "format with the file.",
        )
    return redirect("import_detail", import_id=row.pk)


@require_safe
@never_cache
def import_detail(request: HttpRequest, import_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    row = transfers.import_for(actor, import_id)
    return page_or_part(request, "memories/import.html", "report", shown(row, actor))


@require_POST
def import_start(request: HttpRequest, import_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    try:
        transfers.confirm(actor=actor, row=transfers.import_for(actor, import_id))
    except Conflict as error:
        messages.info(request, error.message)
    return redirect("import_detail", import_id=import_id)


@require_POST
def import_cancel(request: HttpRequest, import_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    try:
        transfers.cancel(actor=actor, row=transfers.import_for(actor, import_id))
        messages.success(request, "Cancelled. Nothing of the file is written.")
    except Conflict as error:
        messages.info(request, error.message)
    return redirect("import_detail", import_id=import_id)


@require_POST
def import_undo(request: HttpRequest, import_id: uuid.UUID) -> HttpResponse:
    actor = actor_for_request(request)
    row = transfers.import_for(actor, import_id)
    try:
        done = transfers.undo(
            actor=actor, row=row, expected=whole_number(request.POST.get("expected", ""), otherwise=-1)
        )
    except Conflict as error:
        messages.warning(request, error.message)
        return redirect("import_detail", import_id=import_id)
    return redirect("memory_bulk_done", operation_id=done.operation)


@require_safe
def export_file(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    actor = actor_for_request(request)
    if "format" not in request.GET:
        return redirect("transfer_page")
    form = ExportForm(request.GET, actor=actor)
    if not form.is_valid():
        return _page(request, actor, ImportForm(actor=actor), status=422)
    scope = form.cleaned_data["scope"]
    return exported(request, actor, form.cleaned_data["format"], [scope] if scope else None)
