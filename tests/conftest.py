from collections.abc import Callable, Iterator
from dataclasses import asdict

import pytest
from django.test import Client, override_settings
from hypothesis import HealthCheck, settings

from memories import quick_meaning
from memories.models import (
    BriefingConfig,
    CodeConfig,
    FusionConfig,
    FusionWeights,
    RankingConfig,
    ReinforcementConfig,
    Scope,
    User,
)
from memories.ranking import KIND_DEFAULTS
from reflections.models import ReflectionConfig
from tests.factories import make_scope, make_user

# No test fails because the machine has other work.
settings.register_profile("zeromemory", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("zeromemory")

PLAIN_STATIC = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}


# A password hash is slow on purpose; hundreds of accounts in tests need not be safe.
QUICK_HASHER = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _settings_for_tests() -> Iterator[None]:
    """Manifest storage answers 404 before collectstatic ran, so tests serve files by their plain names.

    No test asks a model that this machine happens to have configured: ``model_server`` is one that may be asked.
    """
    with override_settings(STORAGES=PLAIN_STATIC, AXES_ENABLED=False, PASSWORD_HASHERS=QUICK_HASHER, MODEL=""):
        yield


LONG = (
    "acceptance/test_backup_killed.py",
    "acceptance/test_killed_in_a_step.py",
    "acceptance/test_killed_in_an_import.py",
    "acceptance/test_start_database.py",
    "acceptance/test_worker_in_a_cycle.py",
    "api/test_fuzz_deep.py",
    "browser/test_evaluation.py",
    "insights/test_evaluation_page.py",
    "insights/test_quality_harness.py",
    "insights/test_quality_learning.py",
    "insights/test_quality_replay.py",
    "memories/test_embedding_slices.py",
    "memories/test_recall_at_scale.py",
    "memories/test_reembedding.py",
    "reflections/test_a_season_of_use.py",
    "reflections/test_consolidation_at_once.py",
    "reflections/test_killed_with_a_model.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole files, so that what a file sets up is set up in one place."""
    for item in items:
        if item.path.as_posix().endswith(LONG):
            item.add_marker(pytest.mark.long)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take its time to encode a text; what is answered must not depend on that."""
    monkeypatch.setattr(quick_meaning, "SECONDS", 30.0)


@pytest.fixture(autouse=True)
def _shipped_configuration(request: pytest.FixtureRequest) -> None:
    """A test that commits leaves every table empty; the rows of the migrations are written again for the next one.

    Not by serialized_rollback: beside a browser Django sees another connection object, which has nothing to restore.
    """
    uses_database = {"db", "transactional_db", "live_server"} & set(request.fixturenames)
    if not uses_database and not request.node.get_closest_marker("django_db"):
        return
    request.getfixturevalue("_django_db_helper")
    write_shipped_configuration()


def write_shipped_configuration() -> None:
    """The rows of the migrations, where an earlier test left the tables empty."""
    if not RankingConfig.objects.exists():
        RankingConfig.objects.bulk_create(
            RankingConfig(kind=kind, **asdict(rule)) for kind, rule in KIND_DEFAULTS.items()
        )
        FusionConfig.objects.get_or_create(id=1)
        FusionWeights.objects.get_or_create(id=1)
        ReinforcementConfig.objects.get_or_create(id=1)
        ReflectionConfig.objects.get_or_create(id=1)
        BriefingConfig.objects.get_or_create(id=1)
        CodeConfig.objects.get_or_create(id=1)


@pytest.fixture
def owner(db: None) -> User:
    return make_user(username="owner", is_staff=True, is_superuser=True)


@pytest.fixture
def scope(owner: User) -> Scope:
    return make_scope(owner, slug="home", name="Home")


def _signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def client_of() -> Callable[[User], Client]:
    """``client_of(user)`` is that person's signed-in browser."""
    return _signed_in
