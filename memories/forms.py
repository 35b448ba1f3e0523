"""Forms of the memory pages. The services check again; forms are for a clear word beside the field."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime, time
from typing import Any, Final

from django import forms
from django.utils import timezone

from memories.access import Actor, readable_scopes
from memories.entities import EntitySpec
from memories.facets import Choice
from memories.models import Kind, Role, Scope, User
from memories.models.memory import Confidence
from memories.moments import time_zones
from memories.presentation import scope_names

_ENTITY_LINE: Final = re.compile(r"(?P<name>.*?)(?:\s+\[(?P<type>[^\[\]]+)\])?")
_LINE_END: Final = re.compile(r"\r\n?|\n")
CONFIDENCE_CHOICES: Final = [
    (Confidence.INFERRED, "Inferred: taken from what was said or seen"),
    (Confidence.VERIFIED, "Verified: somebody checked that it holds"),
    (Confidence.UNVERIFIED, "Unverified: heard or guessed"),
]


def entity_of(line: str) -> EntitySpec:
    """``api/cache.py [path]`` as an entity; without brackets its type is ``thing``."""
    line = line.strip()
    found = _ENTITY_LINE.fullmatch(line)
    return EntitySpec(found["name"], found["type"] or "thing") if found else EntitySpec(line)


def line_of(entity: EntitySpec) -> str:
    """One line that ``entity_of`` reads back: a name that ends in brackets is followed by its type."""
    name = " ".join(entity.name.split())
    plain = entity.type == "thing" and entity_of(name) == EntitySpec(name)
    return name if plain else f"{name} [{entity.type}]"


class MomentField(forms.DateTimeField):
    """A date and a time of day, in the zone of the person."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"})

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    @staticmethod
    def typed(moment: datetime | None) -> str:
        """As a browser sends it: to the minute, so that what nobody touched is told from a change."""
        return timezone.localtime(moment).replace(tzinfo=None).isoformat(timespec="minutes") if moment else ""


class ScopeField(forms.ModelChoiceField):
    """Scopes under the names that find them."""

    def offer(self, scopes: Sequence[Scope]) -> None:
        self.names = scope_names(scopes)
        self.queryset = Scope.objects.filter(pk__in=[scope.pk for scope in scopes]).order_by("slug", "pk")

    def label_from_instance(self, scope: Scope) -> str:
        return self.names[scope.pk]


class ScopesField(ScopeField, forms.ModelMultipleChoiceField):
    pass


def _scopes(actor: Actor, among: Collection[int]) -> list[Scope]:
    return [scope for scope in readable_scopes(actor) if scope.pk in among]


class MemoryForm(forms.Form):
    """Write or edit a memory. The text is kept exactly as typed, white space included."""

    content = forms.CharField(
        strip=False, widget=forms.Textarea(attrs={"rows": 8}), help_text="One statement that stands on its own."
    )
    kind = forms.ChoiceField(choices=Kind.choices, initial=Kind.FACT)
    entities = forms.CharField(
        required=False,
        max_length=60_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        label="About",
        help_text="The things it is about, one a line. A type may follow in brackets: api/cache.py [path]",
    )
    source = forms.CharField(
        required=False, max_length=2000, strip=False, help_text="Where it comes from: an address, a document."
    )
    confidence = forms.ChoiceField(
        choices=CONFIDENCE_CHOICES,
        required=False,
        initial=Confidence.INFERRED,
        help_text="How sure you are. Searches can leave out what is less sure.",
    )
    valid_from = MomentField(help_text="Shown beside it. It is recalled before this moment too.")
    valid_until = MomentField(
        help_text="From then on it is not recalled. Empty: for ever. Both in the time zone of your settings."
    )
    version = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def __init__(self, *args: Any, named: Sequence[EntitySpec] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = {line_of(spec): spec for spec in named}

    def clean_content(self) -> str:
        """Browsers send every line end as CR LF; a text that was stored with those keeps them."""
        before = str(self.initial.get("content", ""))
        end = "\r\n" if 0 < before.count("\n") == before.count("\r\n") else "\n"
        return _LINE_END.sub(end, str(self.cleaned_data["content"]))

    def clean_entities(self) -> list[EntitySpec]:
        lines = [line.strip() for line in _LINE_END.split(self.cleaned_data["entities"])]
        return [self.known.get(line) or entity_of(line) for line in lines if line]

    def clean(self) -> None:
        # A hidden field has no place for its own error.
        if "version" in self.errors:
            self.add_error(None, "The form was not sent as it stood. Load the page again and repeat your change.")

    def clean_source(self) -> str:
        return str(self.cleaned_data["source"]).strip()

    def changes(self) -> dict[str, Any]:
        """Only what the person changed, so that editing the text touches nothing else."""
        fields = ("content", "kind", "source", "entities", "confidence", "valid_from", "valid_until")
        return {name: self.cleaned_data[name] for name in fields if self._was_changed(name)}

    def typed(self, name: str) -> str:
        return _LINE_END.sub("\n", str(self.data.get(name, "")))

    def _was_changed(self, name: str) -> bool:
        # A browser sends line ends back altered, from a field of one line not at all.
        end = "\n" if name in ("content", "entities") else ""
        before = str(self.initial.get(name, ""))
        after = str(self.data.get(name, before))
        return _LINE_END.sub(end, before) != _LINE_END.sub(end, after)


class NewMemoryForm(MemoryForm):
    scope = ScopeField(Scope.objects.none(), empty_label=None)

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["scope"].offer(_scopes(actor, actor.writable))  # type: ignore[attr-defined]  # a ScopeField
        self.order_fields(["content", "kind", "scope", "entities", "source", "confidence"])


class ReasonForm(forms.Form):
    reason = forms.CharField(required=False, max_length=2000)


class BulkForm(forms.Form):
    """Which memories to forget together: the filters of the list, and a date. Shown are those that matter here."""

    scope = forms.ChoiceField(help_text="One scope. Another one is not touched.")
    before = forms.DateField(
        required=False,
        label="Learned before",
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Only what was learned before the beginning of this day.",
    )
    kind = forms.ChoiceField(required=False, choices=[("", "Every kind"), *Kind.choices])
    state = forms.CharField(required=False, widget=forms.HiddenInput)
    author = forms.CharField(required=False, widget=forms.HiddenInput)
    age = forms.CharField(required=False, widget=forms.HiddenInput)
    entity = forms.CharField(required=False, widget=forms.HiddenInput)
    confidence = forms.CharField(required=False, widget=forms.HiddenInput)
    pinned = forms.BooleanField(required=False, widget=forms.HiddenInput)
    faded = forms.BooleanField(required=False, widget=forms.HiddenInput)
    waiting = forms.BooleanField(required=False, widget=forms.HiddenInput)
    stale = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        writable = scope_names(readable_scopes(actor))
        names = [(name, name) for scope, name in writable.items() if scope in actor.writable]
        self.fields["scope"].choices = [("", "Choose a scope"), *names]  # type: ignore[attr-defined]  # a ChoiceField

    def choice(self, scope: Scope) -> Choice:
        """The filters of the list, in *scope*."""
        wanted = {name: value for name, value in self.cleaned_data.items() if value and name not in ("scope", "before")}
        return Choice(scope=scope, **wanted)

    def before_moment(self) -> datetime | None:
        """The beginning of the chosen day in the person's zone."""
        day = self.cleaned_data["before"]
        return timezone.make_aware(datetime.combine(day, time.min)) if day else None


class ScopeForm(forms.Form):
    name = forms.CharField(max_length=120, help_text="As people read it.")
    slug = forms.CharField(
        required=False,
        max_length=120,
        label="Short name",
        help_text="As agents and programs write it: lower case, digits and hyphens. Empty: made from the name.",
    )


class RenameForm(forms.Form):
    name = forms.CharField(max_length=120)


class MemberForm(forms.Form):
    username = forms.CharField(max_length=150, label="User name")
    role = forms.ChoiceField(choices=Role.choices)


class TokenForm(forms.Form):
    name = forms.CharField(max_length=80, help_text="Which agent or program will use it.")
    scopes = ScopesField(Scope.objects.none(), widget=forms.CheckboxSelectMultiple)
    can_write = forms.BooleanField(
        required=False, initial=True, label="May write", help_text="Without it, the token only reads."
    )
    can_adjudicate = forms.BooleanField(
        required=False,
        label="May settle disputes",
        help_text="It decides in your name which of two memories stays. It never approves drafts.",
    )
    days = forms.IntegerField(
        required=False, min_value=1, max_value=3650, label="Valid for (days)", help_text="Empty: until you revoke it."
    )

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = _scopes(actor, actor.readable)
        self.fields["scopes"].offer(offered)  # type: ignore[attr-defined]  # a ScopeField
        if len(offered) == 1:
            self.fields["scopes"].initial = offered


class RepositoryForm(forms.Form):
    """Register a repository, or, where *named* already, move it or change its scopes."""

    name = forms.CharField(
        max_length=80, help_text="As anchors write it: letters, digits, dots, dashes and underscores. It stays."
    )
    path = forms.CharField(
        max_length=4000,
        label="Folder",
        help_text="On the server, from the root of its file system. It is read, and never written to.",
    )
    scopes = ScopesField(
        Scope.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text="Members of these scopes may anchor memories to this code, and see the code of their anchors.",
    )

    def __init__(self, *args: Any, actor: Actor, named: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["scopes"].offer(_scopes(actor, actor.administered))  # type: ignore[attr-defined]  # a ScopeField
        if named:
            del self.fields["name"]
            self.fields["scopes"].required = False


class ProfileForm(forms.ModelForm):
    time_zone = forms.ChoiceField(choices=[], required=False, help_text="Dates and times are shown in this zone.")

    class Meta:
        model = User
        fields = ("first_name", "last_name", "email", "time_zone")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["time_zone"]
        field.choices = [("", "UTC"), *((name, name) for name in time_zones())]  # type: ignore[attr-defined]  # a ChoiceField
