import pytest
from django.core.management import CommandError, call_command

from memories.models import AuditEntry, Embedding, Memory
from reflections.models import Candidate, ReflectionConfig, Run
from reflections.services import start_run
from tests.factories import make_scope
from tests.reflections.factories import make_episodes
from zeromemory.embedding import get_embedder

pytestmark = pytest.mark.django_db


@pytest.fixture
def clusters(owner, scope):
    """One cluster at home and one elsewhere, with vectors that pass for the configured embedder's."""
    ReflectionConfig.objects.update_or_create(id=1, defaults={"cosine_min": 0.78, "cosine_max": 0.92})
    make_episodes(scope, 4)
    make_episodes(make_scope(owner, slug="work"), 3)
    embedder = get_embedder()
    Embedding.objects.update(model=embedder.name, model_version=embedder.version)
    Memory.objects.update(embedded_with=embedder.stamp)


def hygiene(capsys, *arguments) -> str:
    call_command("hygiene", *arguments)
    return capsys.readouterr().out


def test_the_cycle_proposes_drafts_in_every_scope(clusters, capsys):
    assert "reflection: done. 7 found, 2 done" in hygiene(capsys)
    assert Candidate.objects.count() == 2
    run = Run.objects.get()
    assert (run.state, run.kind) == ("done", "full")


def test_one_scope_and_one_step_can_be_named(clusters, capsys):
    said = hygiene(capsys, "--scope", "owner/work", "--step", "reflection")
    assert said == "reflection: done. 3 found, 1 done\n"
    assert Run.objects.get().kind == "chosen"


def test_a_dry_run_counts_and_writes_nothing(clusters, capsys):
    before = AuditEntry.objects.count()
    said = hygiene(capsys, "--dry-run")
    assert "home: would propose 1 draft from 4 free episodes" in said
    assert (Candidate.objects.count(), Run.objects.count(), AuditEntry.objects.count()) == (0, 0, before)


@pytest.mark.behaviour("X7")
def test_the_cycle_run_twice_in_a_row_changes_nothing_the_second_time(clusters, capsys):
    hygiene(capsys)
    before = list(Candidate.objects.order_by("pk").values()), list(Memory.objects.order_by("pk").values())
    assert "reflection: done. 0 found, 0 done" in hygiene(capsys)
    assert (list(Candidate.objects.order_by("pk").values()), list(Memory.objects.order_by("pk").values())) == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--step", "polish"], "The steps are: pair_scan, "),
        (["--scope", "nowhere"], "There is no scope 'nowhere'."),
    ],
)
def test_what_is_not_there_is_refused_with_a_sentence(clusters, arguments, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command("hygiene", *arguments)
    assert not Run.objects.exists()


def test_a_search_under_way_is_not_started_twice(clusters, scope):
    run = start_run(actor=None, scopes=[scope], ring=False).run
    Run.objects.filter(pk=run.pk).update(state="running")
    with pytest.raises(CommandError, match="running already"):
        call_command("hygiene")


def test_without_an_embedder_the_command_says_so(clusters, settings):
    settings.EMBEDDER = "none"
    with pytest.raises(CommandError, match="ZEROMEMORY_EMBEDDER"):
        call_command("hygiene")
    assert Run.objects.get().state == "failed"
