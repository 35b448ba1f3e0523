"""Forms of standing rules. The services check again; forms are for a clear word beside the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from memories.access import Actor
from memories.models import Scope
from memories.presentation import scope_names
from reflections.forms import RowForm
from reflections.models import StandingRule
from reflections.models.rules import LONGEST

WORDED = "What agents are told"


class TextForm(RowForm):
    text = forms.CharField(strip=False, max_length=LONGEST, widget=forms.Textarea(attrs={"rows": 4}), label=WORDED)


class RevokeForm(RowForm):
    reason = forms.CharField(max_length=2000, label="Why it is no rule any more")


class WordingForm(TextForm):
    """What is delivered, and where. It asks for nothing that its reader cannot choose."""

    layer = forms.ChoiceField(choices=StandingRule.Layer.choices, widget=forms.RadioSelect, label="Where")
    scopes = forms.TypedMultipleChoiceField(
        coerce=int, required=False, widget=forms.CheckboxSelectMultiple, label="Which scopes"
    )

    def __init__(
        self,
        sent: Mapping[str, Any] | None = None,
        *,
        row: object,
        places: Sequence[tuple[int, str]],
        everywhere: bool,
        **kwargs: Any,
    ) -> None:
        super().__init__(sent, row=row, **kwargs)
        self.fields["scopes"].choices = places  # type: ignore[attr-defined]  # a field of choices
        if len(places) < 2:
            del self.fields["scopes"]
        if not everywhere:
            del self.fields["layer"]


def wording_form(
    actor: Actor,
    scope: Scope,
    writable: Sequence[Scope],
    sent: Mapping[str, Any] | None = None,
    *,
    row: object,
    initial: Mapping[str, Any] | None = None,
) -> WordingForm:
    """For a memory of *scope*; *writable* are the scopes its reader may write to."""
    names = scope_names(writable)
    return WordingForm(
        sent,
        row=row,
        places=[(place.pk, names[place.pk]) for place in writable],
        everywhere=scope.is_core or scope.owner_id == actor.user.pk,
        initial=initial,
    )
