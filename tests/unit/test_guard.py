"""Secrets are named and masked, never repeated."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.errors import NotFound, ValidationFailed
from memories.guard import masked, refuse_secrets, secret_in
from memories.secret_shapes import DETECTORS
from memories.transfer.errors import TransferError
from tests.secret_shapes import HARMLESS, SHAPES

OURS = "zm_" + "Zq8xW2" * 7 + "Z"  # a token of this program, of nobody


def test_there_are_forty_of_each_and_every_family_is_among_them():
    assert (len(SHAPES), len(HARMLESS)) == (40, 40)
    assert {detector for detector, _, _ in SHAPES} == {*DETECTORS} - {"zero_memory_token"}


@pytest.mark.behaviour("Z77")
@pytest.mark.parametrize(("detector", "text", "secret"), SHAPES, ids=[f"{at}" for at in range(len(SHAPES))])
def test_a_secret_of_every_shape_is_refused_by_name_and_not_repeated(detector, text, secret):
    with pytest.raises(ValidationFailed) as refused:
        refuse_secrets(f"Keep this: {text}", "evidence")
    assert refused.value.message.startswith(f"secret_content_rejected: evidence {detector} ")
    assert refused.value.field == "evidence"
    assert secret not in str(refused.value)
    assert secret[:12] not in str(refused.value)


@pytest.mark.behaviour("Z77")
@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_resembles_a_secret_passes(text):
    refuse_secrets(text, "evidence")
    assert masked(text) == text


@pytest.mark.parametrize(("detector", "text", "secret"), SHAPES, ids=[f"{at}" for at in range(len(SHAPES))])
def test_masking_takes_the_whole_secret_out(detector, text, secret):
    shown = masked(f"before {text}")
    assert shown.startswith("before ")
    assert secret not in shown
    assert secret[-6:] not in shown
    assert secret_in(shown) is None


def test_a_token_of_this_program_is_a_secret_too():
    assert secret_in(f"Authorization: Bearer {OURS}").detector == "zero_memory_token"


def test_an_unseen_character_hides_no_secret():
    _, text, secret = SHAPES[7]
    hidden = text.replace(secret, f"{secret[:5]}\u200b{secret[5:]}")
    assert secret_in(hidden) is not None
    assert secret[:5] not in masked(hidden)


words = st.text(st.characters(codec="utf-8"), max_size=60)


@given(words, st.lists(st.tuples(st.sampled_from(SHAPES), words), max_size=3))
def test_masking_leaves_no_secret_whatever_stands_around_it(before, pieces):
    text = before + "".join(f" {shape} {after}" for (_, shape, _), after in pieces)
    shown = masked(text)
    assert secret_in(shown) is None
    assert masked(shown) == shown
    assert not any(secret in shown for (_, _, secret), _ in pieces)


@given(st.text(st.characters(codec="utf-8"), max_size=400))
def test_a_text_without_a_secret_is_left_as_it_is(text):
    assert secret_in(text) is not None or masked(text) == text


HOSTILE = [
    "a", "sk-", "sk-a", "sk-ant-", "eyJ-", "eyJaaaaaa.", "a.", "xoxb-", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----",
    "-----END A", "a://b", "a://b:c", "://:", "AKIA", "ghp_", "github_pat_", "sk_live_", "AIza", "zm_", "\u200b",
]  # fmt: skip


@pytest.mark.parametrize("part", HOSTILE)
def test_a_hostile_megabyte_takes_no_longer_than_its_length(part):
    """Eight times the text: quadratic time would be 64 times as much."""
    long = part * (1_000_000 // len(part))
    short, whole = (min(_seconds(text) for _ in range(3)) for text in (long[: len(long) // 8], long))
    assert whole < 32 * short + 0.02  # the second is for what takes no time at all


def _seconds(text: str) -> float:
    began = time.process_time()
    masked(text)
    return time.process_time() - began


@pytest.mark.parametrize("error", [ValidationFailed, NotFound, TransferError])
def test_no_error_of_ours_repeats_a_secret_that_it_quotes(error):
    _, text, secret = SHAPES[7]
    raised = error(f"There is no kind {text!r}.", field=text)
    assert secret not in f"{raised} {raised.message} {raised.field} {raised.args}"
