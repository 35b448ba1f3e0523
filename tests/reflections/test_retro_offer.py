from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories.models import Memory
from reflections.models import Dispute
from reflections.services import disputes
from tests.factories import make_scope
from tests.reflections.factories import person
from tests.reflections.stepping import fresh, near

pytestmark = pytest.mark.django_db


def offer(capsys, *arguments):
    """What the command says, and its cursor."""
    call_command("retro_offer", *arguments)
    said = capsys.readouterr().out
    return said, said.split("cursor: ")[1].split()[0]


def of_old(scope, content, *given, **more):
    memory = near(scope, content, *given, **more)
    Memory.objects.filter(pk=memory.pk).update(recorded_at=timezone.now() - timedelta(days=8))
    return memory


@pytest.fixture
def pair(scope):
    return of_old(scope, "The export runs on Monday."), of_old(scope, "The export runs on Friday.", 0.9)


@pytest.mark.behaviour("Z51")
def test_a_pair_is_parked_with_no_verdict_and_both_stay_live(scope, pair, model_server, capsys):
    said, cursor = offer(capsys)
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status, dispute.scanner, dispute.model) == (
        "unjudged",
        "pending",
        "retro offer",
        "",
    )
    assert (dispute.confidence, dispute.rationale, dispute.proposed_winner, dispute.winner) == (None, "", None, None)
    assert [fresh(memory).state for memory in pair] == ["live", "live"]
    assert model_server.requests == []
    assert said.startswith("1 pair of 2 older memories looked at")
    assert cursor == str(pair[1].pk)


@pytest.mark.behaviour("Z51")
def test_the_cursor_goes_on_where_the_last_offer_stopped(scope, capsys):
    for number in range(3):
        of_old(scope, f"Export {number} runs on Monday.", 0.95, axis=number + 1)
    cursor, texts = "00000000-0000-0000-0000-000000000000", []
    for _ in range(4):
        said, cursor = offer(capsys, "--limit", "1", "--cursor", cursor)
        texts.append(said.split(",")[0])
    assert [text[:6] for text in texts] == ["1 pair", "1 pair", "1 pair", "0 pair"]
    assert "all were looked at" in said
    assert Dispute.objects.count() == 3


def test_the_same_text_is_offered_and_not_forgotten(scope, capsys):
    older, newer = of_old(scope, "The export runs on Monday."), of_old(scope, "the export runs on monday", 0.99)
    offer(capsys)
    assert (Dispute.objects.get().type, fresh(older).state, fresh(newer).state) == ("unjudged", "live", "live")


def test_what_is_new_is_the_pair_scans(scope, capsys):
    near(scope, "The export runs on Monday.")
    near(scope, "The export runs on Friday.", 0.9)
    assert offer(capsys)[0].startswith("0 pairs of 0 older memories")


def test_a_pair_is_offered_once_whatever_became_of_it(owner, scope, pair, capsys):
    offer(capsys)
    disputes.resolve(actor=person(owner), dispute=Dispute.objects.get(), version=1, resolution="keep_both")
    assert offer(capsys)[0].startswith("0 pairs")


def test_one_scope_can_be_named(owner, scope, pair, capsys):
    work = make_scope(owner, slug="work")
    of_old(work, "The export runs on Monday.")
    of_old(work, "The export runs on Friday.", 0.9)
    offer(capsys, "--scope", "owner/work")
    assert Dispute.objects.get().scope == work


def test_commits_of_two_repositories_are_no_pair(scope, capsys):
    of_old(scope, "Run the export on Monday.", source="git:one@" + "a" * 40)
    of_old(scope, "Run the export on Friday.", 0.9, source="git:two@" + "b" * 40)
    assert offer(capsys)[0].startswith("0 pairs of 2")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--limit", "0"], "from 1 on"),
        (["--scope", "nowhere"], "no scope 'nowhere'"),
        (["--cursor", "x"], "invalid UUID"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(scope, arguments, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command("retro_offer", *arguments)


def test_without_an_embedder_the_command_says_so(scope, pair, settings):
    settings.EMBEDDER = "none"
    with pytest.raises(CommandError, match="ZEROMEMORY_EMBEDDER"):
        call_command("retro_offer")
