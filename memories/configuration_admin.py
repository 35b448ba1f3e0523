"""Editing configuration rows in Django's administration, through the services alone."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from memories.configuration import MISSING, difference
from memories.errors import ValidationFailed, ZeroMemoryError
from memories.limits import Limits
from memories.models import ConfigVersion
from memories.services.config import LONGEST_REASON, change_row

SHOWN_VERSIONS = 20


class ConfigurationForm(forms.ModelForm):
    """A configuration row, with the reason for the change and the version that was on the screen."""

    limits: Limits
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Why this change; kept with it for ever.",
    )
    expected_version = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["expected_version"] = MISSING if self.instance._state.adding else self.instance.version

    def clean(self) -> dict[str, Any]:
        super().clean()
        if not self.errors:
            self._check_limits()
        return self.cleaned_data

    def _check_limits(self) -> None:
        try:
            self.limits.clean({field: self.cleaned_data[field] for field in self.limits.fields})
        except ValidationFailed as error:
            self.add_error(error.field, error.message)


class ConfigurationAdmin(admin.ModelAdmin):
    """Any member of staff may change a row; what the services refuse is told on the page."""

    limits: Limits
    key_fields: tuple[str, ...] = ()
    actions = None

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = type("Form", (ConfigurationForm,), {"limits": self.limits})
        return super().get_form(request, obj, change, form=form, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        names = [*self.key_fields, *self.limits.fields]
        change = (None, {"fields": [*names, "reason", "expected_version"]})
        return [change, ("History", {"fields": ["version", "updated_at", "changes"]})] if obj else [change]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return (*self.key_fields, "version", "updated_at", "changes") if obj else ()

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.is_staff)

    has_change_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only where the single row is missing."""
        return self.has_view_permission(request) and not self.model._default_manager.exists()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: models.Model, form: Any, change: bool) -> None:
        change_row(
            user=request.user,  # type: ignore[arg-type]  # staff are signed in
            row=obj,
            values={field: form.cleaned_data[field] for field in self.limits.fields},
            limits=self.limits,
            reason=form.cleaned_data["reason"],
            expected_version=form.cleaned_data["expected_version"],
        )

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except ZeroMemoryError as error:
            return self._told(request, error)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().delete_view(request, *args, **kwargs)
        except ZeroMemoryError as error:
            return self._told(request, error)

    def _told(self, request: HttpRequest, error: ZeroMemoryError) -> HttpResponseRedirect:
        messages.error(request, error.message)
        return redirect(request.get_full_path())

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        versions = reverse("admin:memories_configversion_changelist")
        return redirect(f"{versions}?table__exact={self.model._meta.db_table}&row__exact={object_id}")

    @admin.display(description="Changes")
    def changes(self, row: models.Model) -> SafeString:
        versions = ConfigVersion.objects.filter(table=row._meta.db_table, row=str(row.pk)).select_related("changed_by")
        lines = [(_line(version),) for version in versions.order_by("-version")[:SHOWN_VERSIONS]]
        if not lines:
            return format_html("{}", "As shipped, never changed.")
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{}</li>", lines))


def _line(version: ConfigVersion) -> str:
    """``Version 2, 2 March 2026 by steward: half_life_days 365 → 90. Prices move every quarter.``"""
    when = date_format(localtime(version.changed_at), "j F Y, H:i")
    who = version.changed_by or "nobody"
    return f"Version {version.version}, {when} by {who}: {difference(version)}. {version.reason}"
