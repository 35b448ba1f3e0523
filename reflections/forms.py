"""Forms of the queue. The services check again; forms are for a clear word beside the field."""

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone

from reflections.services.decisions import KINDS, LONGEST_SNOOZE


class RowForm(forms.Form):
    """A form of one row; its ids carry the row's, because a page has many rows."""

    def __init__(self, sent: Mapping[str, Any] | None = None, *, row: object, **kwargs: Any) -> None:
        super().__init__(sent, auto_id=f"id_{row}_%s", **kwargs)


class EditForm(RowForm):
    content = forms.CharField(strip=False, widget=forms.Textarea(attrs={"rows": 5}), label="What is stored")
    kind = forms.ChoiceField(choices=[(kind, kind.capitalize()) for kind in KINDS])


class DismissForm(RowForm):
    reason = forms.CharField(required=False, max_length=2000)


class SnoozeForm(RowForm):
    until = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}), label="Until")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        today = timezone.localdate()
        limits = {"min": today + timedelta(days=1), "max": today + LONGEST_SNOOZE}
        self.fields["until"].widget.attrs.update({name: day.isoformat() for name, day in limits.items()})

    def clean_until(self) -> datetime | None:
        """The beginning of that day where the person is."""
        day = self.cleaned_data["until"]
        return timezone.make_aware(datetime.combine(day, time.min)) if day else None
