"""Forty shapes of secrets, none of them anybody's, and forty texts that resemble one and are harmless."""

import base64
import json
import random
import string
from typing import Final

_DRAWN = random.Random(40)
_LETTERS, _CAPITALS, _HEX = string.ascii_letters + string.digits, string.ascii_uppercase + "234567", "0123456789abcdef"


def _drawn(length: int, alphabet: str = _LETTERS) -> str:
    return "".join(_DRAWN.choices(alphabet, k=length))


def _base64(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def _pem(kind: str, *, whole: bool = True) -> str:
    lines = "\n".join(_drawn(64, _LETTERS + "+/") for _ in range(4))
    return f"-----BEGIN {kind}-----\n{lines}" + (f"\n-----END {kind}-----" if whole else "")


def _jwt() -> str:
    claims = {"sub": _drawn(10, string.digits), "name": "Nobody", "iat": 1516239022}
    return f"{_base64({'alg': 'HS256', 'typ': 'JWT'})}.{_base64(claims)}.{_drawn(43)}"


# The detector that names it, the text, and the piece of it that nobody may see again.
type Shape = tuple[str, str, str]


def _shape(detector: str, before: str, secret: str, after: str = "", *, kept: str = "") -> Shape:
    return detector, f"{before}{secret}{after}", secret.removeprefix(kept)


SHAPES: Final[list[Shape]] = [
    *[
        _shape("private_key", "", _pem(kind), kept=f"-----BEGIN {kind}-----\n")
        for kind in (
            "RSA PRIVATE KEY",
            "EC PRIVATE KEY",
            "DSA PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
        )
    ],
    _shape("private_key", "The log ends with\n", _pem("ENCRYPTED PRIVATE KEY", whole=False), kept="-----BEGIN "),
    *[_shape("github_token", "token: ", f"gh{letter}_{_drawn(36)}", kept=f"gh{letter}_") for letter in "pousr"],
    _shape("github_token", "git clone https://", f"ghp_{_drawn(36)}", "@github.com/a/b.git", kept="ghp_"),
    _shape("github_fine_grained_token", "GH_TOKEN=", f"github_pat_{_drawn(22)}_{_drawn(59)}", "\n", kept="github_pat_"),
    _shape("aws_access_key", "aws_access_key_id = ", f"AKIA{_drawn(16, _CAPITALS)}", kept="AKIA"),
    _shape("aws_access_key", "for the session ", f"ASIA{_drawn(16, _CAPITALS)}", ".", kept="ASIA"),
    _shape("aws_access_key", '{"AccessKeyId": "', f"AKIA{_drawn(16, _CAPITALS)}", '"}', kept="AKIA"),
    *[
        _shape("slack_token", "", f"xox{letter}-{_drawn(12, string.digits)}-{_drawn(24)}", kept=f"xox{letter}-")
        for letter in "baprs"
    ],
    _shape("json_web_token", "session=", _jwt(), kept="eyJ"),
    _shape("json_web_token", "Authorization: Bearer ", _jwt(), "\nAccept: */*", kept="eyJ"),
    *[
        ("password_in_url", f"{address}{password}@{host}", password)
        for address, password, host in (
            ("postgres://app:", _drawn(12), "db.example.org/app"),
            ("redis://:", _drawn(14), "cache.example.org:6379/0"),
            ("https://bot:", _drawn(16), "example.org/repository.git"),
            ("AMQP://worker:", _drawn(10), "queue.example.org"),
            ("mongodb+srv://reader:", f"{_drawn(6)}@{_drawn(6)}", "cluster.example.org"),
        )
    ],
    _shape("anthropic_key", "ANTHROPIC_API_KEY=", f"sk-ant-api03-{_drawn(40)}-{_drawn(52)}AA", kept="sk-ant-"),
    _shape("anthropic_key", "x-api-key: ", f"sk-ant-oat01-{_drawn(86)}", kept="sk-ant-"),
    _shape("openai_key", "OPENAI_API_KEY=", f"sk-{_drawn(20)}T3BlbkFJ{_drawn(20)}", kept="sk-"),
    _shape("openai_key", "key: ", f"sk-proj-{_drawn(74)}T3BlbkFJ{_drawn(74)}", kept="sk-"),
    _shape("openai_key", "key: ", f"sk-svcacct-{_drawn(9)}_{_drawn(12)}-{_drawn(30)}", kept="sk-"),
    _shape("openai_key", "export ROUTER_KEY='", f"sk-or-v1-{_drawn(64, _HEX)}", "'", kept="sk-"),
    *[
        _shape("stripe_key", "stripe ", f"{kind}k_{mode}_{_drawn(24)}", kept=f"{kind}k_{mode}_")
        for kind in "rs"
        for mode in ("live", "test")
    ],
    _shape("google_api_key", "https://maps.example.org/api?key=", f"AIza{_drawn(35)}", "&v=3", kept="AIza"),
]

HARMLESS: Final = [
    f"commit {_drawn(40, _HEX)}",
    f"git log {_drawn(7, _HEX)}..{_drawn(7, _HEX)}",
    f"sha256:{_drawn(64, _HEX)}",
    f"md5 {_drawn(32, _HEX)}  archive.tar.gz",
    "0190d0e4-7a3b-7c21-9f10-3b5f6a7c8d9e",
    "zm://memory/0190d0e4-7a3b-7c21-9f10-3b5f6a7c8d9e",
    f"![dot](data:image/png;base64,iVBORw0KGgo{_drawn(200, _LETTERS + '+/')}==)",
    f"//# sourceMappingURL=data:application/json;base64,{_base64({'version': 3, 'sources': ['a.ts', 'b.ts']})}",
    '<script integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC"></script>',
    f"/srv/releases/{_drawn(12, _HEX)}/static/app.{_drawn(8, _HEX)}.js",
    r"C:\Users\somebody\AppData\Local\Temp\tmp4f8a2c1d.log",
    "sk-learn-is-a-library-for-learning, pinned to 1.5.2",
    "class='sk-fading-circle12 sk-circle-fade-dot-3 sk-cube-grid-9'",
    "A task-list-with-many-words-in-one-name is risk-free since 2024.",
    "sk-550e8400-e29b-41d4-a716-446655440000 is the id of the sketch",
    "version 3.13.0rc2+build.20241001.g1a2b3c4",
    "numpy==2.1.3 @ https://files.example.org/numpy-2.1.3-cp313-manylinux_2_17_x86_64.whl",
    "See https://example.org/@somebody/109348571293847561",
    "https://example.org:8443/packages/@types/node@20.1.0",
    "https://example.org/search?q=a:b@c",
    "git@github.com:owner/repository.git",
    "ssh://git@example.org:2222/owner/repository.git",
    "mailto:somebody@example.org, or ring 10:30@home",
    "postgres://db.example.org:5432/app without a password",
    "postgres://app:${DB_PASSWORD}@db.example.org/app",
    "DATABASE_URL=postgres://<user>:<password>@<host>:5432/<name>",
    "cloned from https://bot:***@example.org/repository.git",
    "The token begins with ghp_ and has 36 characters.",
    f"GITHUB_TOKEN=ghp_{'x' * 36}",
    "Replace github_pat_your_own_token_goes_here by yours.",
    "AKIA and ASIA are how the ids of access keys begin; AKIAXXXXXXXXXXXXXXXX stands for one.",
    "SLACK_BOT_TOKEN=xoxb-your-bot-token-goes-here",
    "OPENAI_API_KEY=sk-your-api-key-goes-here",
    "Set it to sk-ant-your-own-key-goes-here before you start.",
    f"pk_live_{_drawn(24)} may be published",
    "sk_live_your_key_here is read from the environment: os.environ['STRIPE_API_KEY']",
    f"-----BEGIN CERTIFICATE-----\n{_drawn(64)}\n-----END CERTIFICATE-----",
    f"-----BEGIN PUBLIC KEY-----\n{_drawn(64)}\n-----END PUBLIC KEY-----",
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{_drawn(43)} somebody@example.org",
    "sk-ssh-ed25519@openssh.com and sk-ecdsa-sha2-nistp256@openssh.com are types of keys on a stick; password: ask.",
]
