"""The demo corpus: every page finds something true in it."""

import io
import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from memories import ranking
from memories.access import Actor, actor_for_user, scope_for
from memories.configuration import ranking_rules
from memories.errors import Conflict
from memories.history import versions
from memories.models import Kind, Link, Memory, Reinforcement, Scope
from memories.transfer import demo
from memories.transfer.demo import story
from memories.transfer.exporting import export_to
from memories.transfer.importing import import_from
from memories.transfer.jsonl import Jsonl
from reflections.models import Candidate
from tests.conftest import write_shipped_configuration
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.llm.server import status
from tests.memories.carrying import erase_everything

FADING = [kind for kind, rule in ranking.KIND_DEFAULTS.items() if rule.half_life_days < 400]


@pytest.fixture(scope="module")
def keeper(django_db_setup: None, django_db_blocker) -> Iterator[Actor]:
    """Somebody with the corpus in their scopes. Loaded once: it is only read here."""
    with django_db_blocker.unblock(), transaction.atomic():
        write_shipped_configuration()
        actor = actor_for_user(make_user(username="keeper"))
        demo.load(actor=actor, now=timezone.now())
        yield actor_for_user(actor.user)
        transaction.set_rollback(True)


def corpus(keeper: Actor, scope: str = "harbour"):
    return Memory.objects.filter(scope=scope_for(keeper, scope))


def test_it_is_large_enough_and_lies_in_two_scopes(keeper):
    assert corpus(keeper).count() + corpus(keeper, "notes").count() >= 180
    assert corpus(keeper, "notes").count() >= 25


def test_it_reaches_from_today_back_over_two_years_and_never_into_the_future(keeper):
    now = timezone.now()
    dates = list(corpus(keeper).values_list("created_at", flat=True))
    assert now - timedelta(days=1) < max(dates) <= now
    assert min(dates) < now - timedelta(days=850)


@pytest.mark.parametrize("kind", Kind.values)
def test_every_kind_is_there_live_and_fresh(keeper, kind):
    live = corpus(keeper).live().filter(kind=kind)
    assert live.exclude(pk__in=live.faded(ranking_rules()).values("pk")).count() >= 2


@pytest.mark.parametrize("kind", FADING)
def test_every_kind_that_fades_within_a_year_has_faded_ones(keeper, kind):
    assert corpus(keeper).live().filter(kind=kind).faded(ranking_rules()).count() >= 2


def test_a_convention_of_two_years_is_still_strong(keeper):
    old = corpus(keeper).live().filter(kind="convention", created_at__lt=timezone.now() - timedelta(days=730))
    assert old.exists()
    assert not old.faded(ranking_rules()).exists()


def test_every_age_bucket_has_live_memories(keeper):
    live = corpus(keeper).live()
    assert all(live.in_age_bucket(name).count() >= 5 for name in ("le_7d", "d8_30", "d31_90", "d91_365", "gt_1y"))


def test_three_chains_have_three_versions_and_one_live_end(keeper):
    ends = corpus(keeper).live().filter(version=3)
    chains = [versions(end, keeper) for end in ends]
    assert [[row.version for row in chain] for chain in chains] == [[3, 2, 1]] * 3
    assert all(row.invalidated_at == newer.created_at for chain in chains for newer, row in pairwise(chain))


def test_some_were_retired_alone_by_somebody_for_a_reason(keeper):
    alone = corpus(keeper).filter(invalidated_at__isnull=False, superseded_by__isnull=True)
    assert alone.count() >= 3
    assert all(row.invalidation_reason and row.invalidated_actor and row.invalidated_by for row in alone)


def test_some_are_pinned_provisional_long_quoted_or_in_another_script(keeper):
    live = corpus(keeper).live()
    assert live.filter(pinned=True).count() >= 4
    assert live.filter(provenance=0).count() >= 2
    assert live.exclude(verbatim="").count() >= 2
    assert live.filter(content__contains="満潮").exists()
    assert live.filter(content__contains="Gezeitentafeln").exists()
    longest = max(live, key=lambda row: len(row.content))
    assert len(longest.content) > 5000
    assert longest.windows.count() > 3


def test_people_agents_and_an_import_wrote_them(keeper):
    kinds = Counter(corpus(keeper).values_list("author_kind", flat=True))
    assert all(kinds[kind] >= 4 for kind in ("human", "agent", "import"))
    assert corpus(keeper).exclude(agent="").values("agent").distinct().count() >= 4


def test_links_of_every_type_tie_them_together(keeper):
    links = Link.objects.filter(source__scope=scope_for(keeper, "harbour"))
    assert set(links.values_list("type", flat=True)) == set(Link.Type.values)


def test_entities_are_shared(keeper):
    entities = scope_for(keeper, "harbour").entities.all()
    assert sum(entity.memories.count() >= 3 for entity in entities) >= 15


def test_track_records_follow_from_what_was_reported(keeper):
    rows = Reinforcement.objects.filter(memory__scope=scope_for(keeper, "harbour"))
    for row in rows:
        events = row.memory.usage_events.all()
        useful, misled = sum(event.useful for event in events), sum(event.misled for event in events)
        assert row.multiplier == pytest.approx(ranking.reinforcement_multiplier(useful, misled), abs=1e-12)
    multipliers = sorted(rows.values_list("multiplier", flat=True))
    assert multipliers[0] < 0.75
    assert multipliers[-1] > 1.2


def test_nothing_in_it_was_approved_in_anybodys_name(keeper):
    assert not Candidate.objects.filter(scope__owner=keeper.user).exists()
    assert not corpus(keeper).filter(author_kind="distilled").exists()


def test_loading_it_again_on_another_day_changes_nothing(keeper):
    before = list(Memory.objects.order_by("pk").values())
    report = demo.load(actor=keeper, now=timezone.now() - timedelta(days=3))
    assert (report.written, report.differing) == (0, ())
    assert list(Memory.objects.order_by("pk").values()) == before


@pytest.mark.behaviour("Z87")
@pytest.mark.django_db
def test_it_survives_the_way_out_and_back_in(owner):
    actor = actor_for_user(owner)
    demo.load(actor=actor, now=timezone.now())
    scopes = list(Scope.objects.order_by("slug"))
    before = b"".join(export_to(Jsonl(), scopes))
    erase_everything()
    import_from(Jsonl(), io.BytesIO(before), actor=actor_for_user(owner), trusted=True)
    assert b"".join(export_to(Jsonl(), scopes)) == before


# The command ---------------------------------------------------------------------------------


def run(**options) -> str:
    out = io.StringIO()
    call_command("load_demo", stdout=out, **options)
    return out.getvalue()


def topics(candidate: Candidate) -> set[str]:
    """``midnight`` of ``demo:harbour:midnight-3``; other episodes are their own topic."""
    return {re.sub(r".*:|-\d+$", "", member.external_id) for member in candidate.episodes.all()}


@pytest.mark.django_db
@pytest.mark.behaviour("Z53")
def test_reflections_wait_after_loading_each_about_one_recurring_incident(owner):
    told = run(owner="owner")

    candidates = Candidate.objects.all()
    assert f"{candidates.count()} new reflections wait for you." in told
    assert candidates.filter(scope__slug="harbour", state="pending").count() >= 4
    assert candidates.filter(scope__slug="notes").exists()
    assert all(len(topics(candidate)) == 1 for candidate in candidates)
    assert not Memory.objects.live().filter(embedded_at__isnull=True).exists()
    assert "0 memories loaded, 210 there already.\nA story about code: 0 memories" in run()


@pytest.mark.django_db
def test_a_configured_model_is_not_asked_about_the_demo(owner, model_server):
    model_server.always(status(401))
    assert "new reflections wait for you." in run()
    assert {candidate.origin for candidate in Candidate.objects.all()} == {"extractive"}
    assert model_server.requests == []


@pytest.mark.django_db
@override_settings(EMBEDDER="none")
def test_without_an_embedder_the_corpus_is_there_and_the_notice_says_what_is_missing(owner):
    told = run()
    assert Memory.objects.count() == 210 + len(story.MEMORIES)
    assert "No reflections yet: " in told
    assert "ZEROMEMORY_EMBEDDER" in told


@pytest.mark.django_db
def test_an_owner_who_is_not_there_is_refused(owner):
    with pytest.raises(CommandError, match="no active person called 'nobody'"):
        run(owner="nobody")
    assert not Memory.objects.exists()


@pytest.mark.django_db
@pytest.mark.behaviour("Z79")
def test_nobody_else_sees_it(owner):
    with override_settings(EMBEDDER="none"):
        run()
    assert not Memory.objects.visible_to(actor_for_user(make_user())).exists()


def test_it_never_mixes_with_memories_of_ones_own(owner):
    mine = make_memory("A note of my own.", scope=make_scope(owner, slug="notes"))
    with pytest.raises(Conflict, match="'notes' holds memories of your own"):
        demo.load(actor=actor_for_user(owner), now=timezone.now())
    assert Memory.objects.get() == mine


def test_a_shared_scope_of_the_same_name_is_not_meant(owner):
    shared = make_scope(make_user(), slug="notes")
    make_member(shared, "writer", owner)
    demo.load(actor=actor_for_user(owner), now=timezone.now())
    assert not shared.memories.exists()
    assert Scope.objects.filter(owner=owner, slug="notes").get().memories.exists()
