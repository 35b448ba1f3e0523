"""Settings of Zero Memory. Everything a deployment may change is an environment variable."""

import secrets
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP

from zeromemory.lib.folders import PROJECT, data_folder

BASE_DIR = PROJECT
env = environ.Env()


def _refuse(name: str, problem: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}: {problem}")


# Data folder and secret key ------------------------------------------------------------------

DATA_FOLDER = data_folder()


def _secret_key() -> str:
    given = env.str("ZEROMEMORY_SECRET_KEY", default="")
    if given:
        if len(given) < 32:
            raise _refuse("ZEROMEMORY_SECRET_KEY", "use at least 32 characters, or unset it to have one generated.")
        return given
    kept = DATA_FOLDER / "secret_key"
    if not kept.exists():
        try:
            DATA_FOLDER.mkdir(parents=True, exist_ok=True)
            with kept.open("x") as file:
                kept.chmod(0o600)
                file.write(secrets.token_urlsafe(48))
        except FileExistsError:
            pass  # another process generated it at the same moment
        except OSError as error:
            raise _refuse("ZEROMEMORY_DATA", f"{DATA_FOLDER} is not writable ({error.strerror}).") from error
    return kept.read_text().strip()


SECRET_KEY = _secret_key()
DEBUG = env.bool("ZEROMEMORY_DEBUG", default=False)

# Address -------------------------------------------------------------------------------------

BIND = env.str("ZEROMEMORY_BIND", default="127.0.0.1:8000")


def _bind_parts() -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{BIND}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _refuse("ZEROMEMORY_BIND", f"{BIND!r} is not host:port ({error}).") from error
    if not host or not port:
        raise _refuse("ZEROMEMORY_BIND", f"{BIND!r} is not host:port, for example 127.0.0.1:8000.")
    return host, port


BIND_HOST, BIND_PORT = _bind_parts()
ALLOWED_HOSTS = env.list("ZEROMEMORY_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in ALLOWED_HOSTS if host not in ("*", "localhost", "127.0.0.1", "[::1]")]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("ZEROMEMORY_BEHIND_PROXY", default=False) else None

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
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
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
    try:
        config: dict[str, Any] = dict(env.db_url("DATABASE_URL", default="postgres:///zeromemory"))
    except (ValueError, environ.ImproperlyConfigured) as error:
        raise _refuse("DATABASE_URL", f"cannot be read ({error}). Percent-encode special characters in the password.") from error
    if config.get("ENGINE") != "django.db.backends.postgresql":
        raise _refuse("DATABASE_URL", "must be a postgres:// address; Zero Memory needs PostgreSQL with pgvector.")
    options = config.setdefault("OPTIONS", {})
    options["pool"] = {"min_size": 1, "max_size": env.int("ZEROMEMORY_DATABASE_POOL", default=16), "timeout": 10}
    config["CONN_HEALTH_CHECKS"] = True
    return config


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
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.bool("ZEROMEMORY_SECURE_COOKIES", default=False)
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

# Text, time, files ---------------------------------------------------------------------------

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_FOLDER / "staticfiles"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# Background work -----------------------------------------------------------------------------

BROKER_FOLDER = DATA_FOLDER / "broker"
BROKER_URL = env.str("ZEROMEMORY_BROKER_URL", default="") or "filesystem://"
CELERY_BROKER_URL = BROKER_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_SERIALIZER = "json"
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
if BROKER_URL.startswith("filesystem://"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_FOLDER / "queue"),
        "data_folder_out": str(BROKER_FOLDER / "queue"),
        "control_folder": str(BROKER_FOLDER / "control"),
    }

# Embedding -----------------------------------------------------------------------------------

EMBEDDER = env.str("ZEROMEMORY_EMBEDDER", default="") or "local"
EMBEDDER_MODEL_PATH = env.str("ZEROMEMORY_EMBEDDER_PATH", default="")
EMBEDDER_KEY = env.str("ZEROMEMORY_EMBEDDER_KEY", default="")


def _check_embedder() -> None:
    if EMBEDDER in ("local", "none"):
        return
    address, _, model = EMBEDDER.removeprefix("openai:").partition("#")
    if not EMBEDDER.startswith("openai:") or not address.startswith(("http://", "https://")) or not model:
        raise _refuse("ZEROMEMORY_EMBEDDER", f"{EMBEDDER!r} is not one of: local, none, openai:<base url>#<model>.")


_check_embedder()

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("ZEROMEMORY_LOG_LEVEL", default="INFO")},
}
