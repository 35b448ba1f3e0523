"""Secrets are named and masked, never repeated."""

import time

import pytest

from memories.errors import ValidationFailed
from memories.guard import masked, refuse_secrets, secret_in

BODY = "Zq8xW2" * 8  # no secret of anybody
SECRETS = [
    ("private_key", f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----"),
    ("private_key", f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{BODY}"),
    *[("github_token", f"gh{letter}_{BODY[:36]}") for letter in "pousr"],
    ("github_fine_grained_token", f"github_pat_{BODY}"),
    ("aws_access_key", "AKIA" + "Q8ZW" * 4),
    ("aws_access_key", "ASIA" + "Q8ZW" * 4),
    *[("slack_token", f"xox{letter}-{BODY[:20]}") for letter in "baprs"],
    ("json_web_token", f"eyJ{BODY[:20]}.eyJ{BODY[:20]}.{BODY[:20]}"),
    ("password_in_url", f"postgres://app:{BODY[:12]}@db.example.org/app"),
    ("password_in_url", f"redis://:{BODY[:12]}@cache.example.org:6379"),
    ("password_in_url", f"https://bot:{BODY[:12]}@example.org"),
    ("anthropic_key", f"sk-ant-{BODY[:30]}"),
    ("openai_key", f"sk-{BODY[:30]}"),
    ("openai_key", f"sk-proj-{BODY[:30]}"),
    *[("stripe_key", f"{kind}k_{mode}_{BODY[:24]}") for kind in "rs" for mode in ("live", "test")],
    ("google_api_key", f"AIza{BODY[:35]}"),
]


@pytest.mark.parametrize(("detector", "secret"), SECRETS)
def test_a_secret_of_every_family_is_refused_by_name_and_not_repeated(detector, secret):
    with pytest.raises(ValidationFailed) as refused:
        refuse_secrets(f"The key is {secret}, keep it.", "evidence")
    assert refused.value.message.startswith(f"secret_content_rejected: evidence {detector} ")
    assert refused.value.field == "evidence"
    assert BODY[:6] not in refused.value.message
    assert "Q8ZW" not in refused.value.message


@pytest.mark.parametrize(("detector", "secret"), SECRETS)
def test_masking_takes_the_whole_secret_out(detector, secret):
    shown = masked(f"before {secret}")
    assert shown.startswith("before ")
    assert BODY[:6] not in shown
    assert "Q8ZW" not in shown
    assert secret_in(shown) is None


@pytest.mark.parametrize("part", ["eyJ-", "sk-", "a.", "xoxb", "-----BEGIN ", "a://b", "AKIA", "ghp_"])
def test_a_hostile_text_takes_no_longer_than_its_length(part):
    began = time.perf_counter()
    masked(part * 100_000)
    assert time.perf_counter() - began < 5  # quadratic time would be minutes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The token begins with ghp_ and has 36 characters.",
        "See https://example.org:8080/path and postgres://db.example.org/app.",
        "mailto:somebody@example.org",
        "A task-list-with-many-words-in-one-name is risk-free.",
        "sk-learn-is-a-library-for-learning",
        "AKIA is how keys begin.",
        "-----BEGIN CERTIFICATE-----",
        "https://example.org/@somebody",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "Ratio 3:4@5 and 10:30@home",
    ],
)
def test_what_is_no_secret_passes(text):
    refuse_secrets(text, "evidence")
    assert masked(text) == text
