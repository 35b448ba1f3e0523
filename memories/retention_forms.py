"""The form of a scope's policy. The service checks again; the form is for a clear word beside the field."""

from __future__ import annotations

from typing import Any, Final

from django import forms

from memories.models import RetentionPolicy, Scope
from memories.retention import FLOOR, HALF_LIFE_HOURS, THRESHOLD, TOP_K

RETENTION: Final = [
    ("ageing", "Ageing: nothing leaves. Older memories count for less in search, each kind by its half-life"),
    ("decaying", "Decaying: what nobody asks for loses weight and leaves. Search does not weigh age"),
]
PRUNE: Final = [
    ("archive", "Into the archive, from where it can be restored"),
    ("delete", "Deleted for good: no way back but an export made before"),
]
SUMMARIES: Final = [
    ("review", "A person approves each in the inbox"),
    ("automatic", "They take effect at once, marked and restorable"),
]


class PolicyForm(forms.Form):
    retention = forms.ChoiceField(
        label="How this scope keeps its memories", choices=RETENTION, widget=forms.RadioSelect
    )
    half_life_hours = forms.FloatField(
        label="Half-life in hours",
        required=False,
        help_text=f"After so long without a recall, half the weight is left. Blank or 0: {HALF_LIFE_HOURS:g}, 30 days.",
    )
    floor = forms.FloatField(
        label="Floor",
        required=False,
        help_text=f"A weight below it leaves. Blank or 0: {FLOOR:g}, 199 days at 720 hours.",
    )
    threshold = forms.IntegerField(
        label="Threshold",
        required=False,
        help_text=f"Nothing decays until the scope holds so many; above it, summaries too. Blank or 0: {THRESHOLD}.",
    )
    top_k = forms.IntegerField(
        label="Results of a recall",
        required=False,
        help_text=f"Where the agent names no number. Blank or 0: {TOP_K}.",
    )
    prune_action = forms.ChoiceField(label="What becomes of what leaves", choices=PRUNE, widget=forms.RadioSelect)
    summaries = forms.ChoiceField(label="Summaries of fading memories", choices=SUMMARIES, widget=forms.RadioSelect)
    confidence_weight = forms.FloatField(
        label="Effect of confidence",
        required=False,
        help_text="From 0, none, to 1: verified memories rank higher by so much, unverified ones lower.",
    )
    version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    @staticmethod
    def of(scope: Scope) -> PolicyForm:
        policy = RetentionPolicy.of(scope)
        fields = ("half_life_hours", "floor", "threshold", "top_k", "prune_action", "summaries", "confidence_weight")
        stored = {name: getattr(policy, name) for name in fields}
        version = policy.version if RetentionPolicy.objects.filter(scope=scope).exists() else 0
        return PolicyForm(initial=stored | {"retention": scope.retention, "version": version})

    def values(self) -> dict[str, Any]:
        """As ``set_policy`` takes them."""
        given = dict(self.cleaned_data)
        given.pop("version")
        given.pop("retention")
        return given | {"confidence_weight": given["confidence_weight"] or 0}
