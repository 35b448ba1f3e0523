"""Forms of the memory pages. The services check again; forms are for a clear word beside the field."""

from __future__ import annotations

import re
from typing import Any, Final
from zoneinfo import available_timezones

from django import forms

from memories.access import Actor, readable_scopes
from memories.entities import EntitySpec
from memories.models import Kind, Role, Scope, User

_LINE: Final = re.compile(r"\s*(?P<name>.*?)(?:\s+\[(?P<type>[^\[\]]+)\])?\s*")


def entity_of(line: str) -> EntitySpec:
    """``api/cache.py [path]`` as an entity; without brackets its type is ``thing``."""
    found = _LINE.fullmatch(line)
    return EntitySpec(found["name"], found["type"] or "thing") if found else EntitySpec(line.strip())


def line_of(entity: EntitySpec) -> str:
    return entity.name if entity.type == "thing" else f"{entity.name} [{entity.type}]"


class MemoryForm(forms.Form):
    """Write or edit a memory. The text is kept exactly as typed, white space included."""

    content = forms.CharField(
        strip=False, widget=forms.Textarea(attrs={"rows": 8}), help_text="One statement that stands on its own."
    )
    kind = forms.ChoiceField(choices=Kind.choices, initial=Kind.FACT)
    entities = forms.CharField(
        required=False,
        max_length=30_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        label="About",
        help_text="The things it is about, one a line. A type may follow in brackets: api/cache.py [path]",
    )
    source = forms.CharField(required=False, max_length=2000, help_text="Where it comes from: an address, a document.")
    version = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def clean_content(self) -> str:
        # Browsers send line ends as CR LF, whatever was in the field.
        return str(self.cleaned_data["content"]).replace("\r\n", "\n")

    def clean_entities(self) -> list[EntitySpec]:
        return [entity_of(line) for line in self.cleaned_data["entities"].splitlines() if line.strip()]


class NewMemoryForm(MemoryForm):
    scope = forms.ModelChoiceField(Scope.objects.none(), empty_label=None)

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["scope"]
        field.queryset = Scope.objects.filter(pk__in=actor.writable).order_by("slug")  # type: ignore[attr-defined]
        self.order_fields(["content", "kind", "scope", "entities", "source"])


class ReasonForm(forms.Form):
    reason = forms.CharField(required=False, max_length=2000)


class ScopeForm(forms.Form):
    name = forms.CharField(max_length=120, help_text="As people read it.")
    slug = forms.SlugField(
        max_length=80, label="Short name", help_text="As agents and programs write it: lower case, digits and hyphens."
    )


class MemberForm(forms.Form):
    username = forms.CharField(max_length=150, label="User name")
    role = forms.ChoiceField(choices=Role.choices)


class TokenForm(forms.Form):
    name = forms.CharField(max_length=80, help_text="Which agent or program will use it.")
    scopes = forms.ModelMultipleChoiceField(Scope.objects.none(), widget=forms.CheckboxSelectMultiple)
    can_write = forms.BooleanField(required=False, initial=True, label="May write")
    days = forms.IntegerField(
        required=False, min_value=1, max_value=3650, label="Valid for (days)", help_text="Empty: until you revoke it."
    )

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mine = [scope.pk for scope in readable_scopes(actor)]
        field = self.fields["scopes"]
        field.queryset = Scope.objects.filter(pk__in=mine).order_by("slug")  # type: ignore[attr-defined]


class ProfileForm(forms.ModelForm):
    time_zone = forms.ChoiceField(choices=[], required=False, help_text="Dates and times are shown in this zone.")

    class Meta:
        model = User
        fields = ("first_name", "last_name", "email", "time_zone")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["time_zone"]
        field.choices = [("", "UTC"), *((name, name) for name in sorted(available_timezones()))]  # type: ignore[attr-defined]
