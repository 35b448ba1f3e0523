"""Forms of the page of imports and exports."""

from __future__ import annotations

from typing import Any, Final

from django import forms

from memories.access import Actor, readable_scopes
from memories.errors import ZeroMemoryError
from memories.forms import ScopeField
from memories.models import Scope
from memories.transfer import kept_files, offered
from memories.transfer.recognised import recognise

GUESS: Final = ""


class ImportForm(forms.Form):
    file = forms.FileField(label="Choose a file, or drop it here", widget=forms.FileInput(attrs={"class": "drop-zone"}))
    format = forms.ChoiceField(required=False, label="Format", help_text="Left open, it is told by the file itself.")
    scope = ScopeField(
        Scope.objects.none(), label="Into", empty_label=None, help_text="Everything in the file goes into this scope."
    )

    recognised_by = ""  # what has told the format, where nobody chose it

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        writable = [scope for scope in readable_scopes(actor) if scope.pk in actor.writable]
        self.fields["scope"].offer(writable)  # type: ignore[attr-defined]  # a ScopeField
        choices = [(format.name, format.label) for format in offered.readable()]
        self.fields["format"].choices = [(GUESS, "as the file tells"), *choices]  # type: ignore[attr-defined]  # a ChoiceField

    def clean_file(self) -> Any:
        given = self.cleaned_data["file"]
        try:
            kept_files.refuse_larger(given.size)
        except ZeroMemoryError as error:
            raise forms.ValidationError(error.message) from error
        return given

    def clean(self) -> None:
        given = self.cleaned_data.get("file")
        if given is None or self.cleaned_data.get("format") or "format" in self.errors:
            return
        found = recognise(given.name, given, given.size)
        if found.format is None:
            labels = "; ".join(format.label for format in found.fitting)
            self.add_error(
                "format",
                f"This file does not tell which format it is in. It may be: {labels}. Choose one, and the file again.",
            )
            return
        self.cleaned_data["format"] = found.format.name
        self.recognised_by = found.by


class ExportForm(forms.Form):
    format = forms.ChoiceField(label="Format")
    scope = ScopeField(Scope.objects.none(), required=False, empty_label="all that you read", label="Scope")

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["scope"].offer(readable_scopes(actor))  # type: ignore[attr-defined]  # a ScopeField
        choices = [(format.name, format.label) for format in offered.writable()]
        self.fields["format"].choices = choices  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["format"].initial = "jsonl"
