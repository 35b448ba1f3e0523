"""Forms of the inbox. The services check again; forms are for a clear word beside the field."""

from django import forms

from reflections.forms import RowForm
from reflections.models.disputes import EVIDENCE_LENGTH, RATIONALE_LENGTH


class ApproveForm(RowForm):
    """``shown`` is the SHA-256 of the draft on the screen."""

    shown = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)


class SettleForm(RowForm):
    """Which side stays, and why."""

    winner = forms.UUIDField(required=False, widget=forms.HiddenInput)
    reason = forms.CharField(required=False, max_length=2000)


class MergeForm(RowForm):
    text = forms.CharField(strip=False, widget=forms.Textarea(attrs={"rows": 5}), label="What both become")


class CorrectForm(RowForm):
    """Of one memory the text that holds now; ``seen`` is the version of the memory it was drawn from."""

    text = forms.CharField(strip=False, widget=forms.Textarea(attrs={"rows": 5}), label="What holds now")
    seen = forms.IntegerField(min_value=1, max_value=2_000_000_000, widget=forms.HiddenInput)


class ChallengeForm(forms.Form):
    reason = forms.CharField(max_length=RATIONALE_LENGTH, required=False)
    evidence = forms.CharField(max_length=EVIDENCE_LENGTH, required=False, widget=forms.Textarea(attrs={"rows": 3}))
