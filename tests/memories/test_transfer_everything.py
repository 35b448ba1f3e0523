"""An installation into a file and out of one: what is kept about memories, and the settings, table by table."""

import io
import json
from datetime import UTC, datetime

import pytest
from django.apps import apps
from django.db import connection

from memories import services as memory_services
from memories.access import actor_for_user
from memories.models import (
    AuditEntry,
    ConfigVersion,
    EmbedderChange,
    FusionConfig,
    Memory,
    RankingConfig,
    Reinforcement,
    Scope,
    UsageEvent,
    Verification,
)
from memories.services.config import change_fusion, change_ranking, remove_ranking
from memories.transfer import carried
from memories.transfer.exporting import Export, export_to
from memories.transfer.importing import Report, import_from
from memories.transfer.jsonl import Jsonl
from reflections.models import Candidate, CandidateMember, Dispute, StandingRule
from reflections.services import decisions, disputes, rules
from tests.conftest import write_shipped_configuration
from tests.factories import make_memory, make_scope, make_user
from tests.memories.carrying import erase_everything, exported, failure, load
from tests.queries import queries_of
from tests.reflections.disputing import make_pair, make_single, states
from tests.reflections.factories import make_candidate, make_episodes, make_failed_cluster, person
from tests.reflections.ruling import make_proposal, make_rule, multiplier, useful

pytestmark = pytest.mark.django_db
NOON = datetime(2025, 3, 30, 12, tzinfo=UTC)
KEPT = (StandingRule, Dispute, Candidate, CandidateMember)
SETTINGS = [table.model for table in carried.configuration()]
EVIDENCE = (Reinforcement, UsageEvent, Verification)
HERE_ONLY = {"embedded_at", "embedded_with", "embedding_error", "embedding_claimed_at"}  # vectors are computed again


def whole(owner) -> bytes:
    return b"".join(export_to(Jsonl(), Scope.objects.filter(owner=owner), whole=True))


def restored(raw: bytes, owner, **asked) -> Report:
    return import_from(Jsonl(), io.BytesIO(raw), actor=actor_for_user(owner), **{"trusted": True} | asked)


def start_anew() -> None:
    """A database as the first start leaves it, with its people and scopes."""
    for model in reversed(KEPT):
        model.objects.all().delete()
    erase_everything()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE config_version")
    for model in SETTINGS[:-1]:
        model.objects.all().delete()
    write_shipped_configuration()


def table_of(model) -> list[str]:
    """Every column of every row, but for a key that the database counts up."""
    counted = {field.name for field in model._meta.concrete_fields if field.get_internal_type().endswith("AutoField")}
    names = [f.attname for f in model._meta.concrete_fields if f.name not in counted | HERE_ONLY]
    many = [field.name for field in model._meta.many_to_many]
    return sorted(
        repr([getattr(row, name) for name in names])
        + repr([sorted(str(other.pk) for other in getattr(row, name).all()) for name in many])
        for row in model._default_manager.all()
    )


def a_settled_installation(owner) -> Scope:
    """Rules, disputes and drafts in states of theirs, with evidence, and settings that somebody changed."""
    scope, other, actor = make_scope(owner, slug="harbour"), make_scope(owner, slug="notes"), person(owner)
    rule, both = make_proposal(scope), [scope.pk, other.pk]
    rules.promote(actor=actor, rule=rule, version=1, text="In my words.", layer="scope", scopes=both)
    rules.pin(actor=actor, rule=rule, version=2)
    useful(rule.memory, "one", "two")
    memory_services.edit(actor=actor, memory=rule.memory, expected_version=1, content="Newer words.")
    rules.revoke(actor=actor, rule=make_rule(scope, "Gone."), version=1, reason="Old.")
    rules.snooze(actor=actor, rule=make_proposal(scope, "Later."), version=1)
    make_rule(make_scope(owner, slug="core"), "Everywhere.")
    settle(actor, make_pair(scope, "supersedes"))
    make_single(scope)
    decisions.approve(actor=actor, candidate=make_candidate(scope), version=1)
    refused = make_candidate(scope, sources=make_episodes(scope), draft="Ports are closed.")
    decisions.dismiss(actor=actor, candidate=refused, version=1)
    make_candidate(scope, sources=make_episodes(scope), draft="Tides turn.")
    seen = make_memory("Seen.", scope=scope, weight=0.25)
    Verification.objects.create(memory=seen, at=NOON, verdict="current", method="person", actor="owner", user=owner)
    change_ranking(user=owner, kind="fact", weight=1.5, reason="Facts first.")
    change_ranking(user=owner, kind="fact", weight=1.6)
    change_fusion(user=owner, contrast=4)
    remove_ranking(user=owner, kind="task")
    return scope


def settle(actor, dispute) -> None:
    disputes.resolve(actor=actor, dispute=dispute, version=1, resolution="supersede", winner=dispute.other_id)


def rows_in(raw: bytes, table: str) -> list[dict]:
    lines = [json.loads(line) for line in raw.splitlines()]
    return [line["row"] for line in lines if line.get("type") == table]


# There and back ------------------------------------------------------------------------------


@pytest.mark.behaviour("F10")
def test_everything_restored_into_an_empty_database_is_the_same_table_by_table(owner):
    EmbedderChange.objects.create(stamp="packaged@1", state="finished", ended_at=NOON)
    a_settled_installation(owner)
    tables = (Memory, *EVIDENCE, *KEPT, *SETTINGS)
    raw, before = whole(owner), {model: table_of(model) for model in tables}
    assert all(before[model] for model in (Memory, *EVIDENCE, *KEPT, ConfigVersion))
    start_anew()
    assert not any(table_of(model) for model in (Memory, *EVIDENCE, *KEPT, ConfigVersion))

    report = restored(raw, owner)

    assert {model.__name__: table_of(model) for model in tables} == {m.__name__: before[m] for m in tables}
    assert report.notes == {}
    assert report.carried == {"standing_rule": 4, "dispute": 2, "reflection_candidate": 3}
    assert whole(owner) == raw
    assert json.loads(raw.splitlines()[0])["embedder"] == "packaged@1"


def test_everything_is_restored_once(owner):
    a_settled_installation(owner)
    raw = whole(owner)
    start_anew()
    restored(raw, owner)
    again = restored(raw, owner)
    assert (again.written, again.carried, again.notes) == (0, {}, {})
    assert whole(owner) == raw


def test_a_restored_decision_is_undone_as_if_it_had_never_left(owner):
    scope = make_scope(owner, slug="harbour")
    dispute = make_pair(scope, "supersedes")
    settle(person(owner), dispute)
    raw = whole(owner)
    start_anew()
    restored(raw, owner)
    assert states(dispute.subject, dispute.other) == ["superseded", "live"]
    disputes.undo(actor=person(owner), dispute=dispute, version=2)
    assert states(dispute.subject, dispute.other) == ["live", "live"]


def test_a_restored_rule_can_be_revoked_and_its_memory_then_ranks_by_its_signals(owner):
    rule = make_rule(make_scope(owner, slug="harbour"), pinned=True)
    raw = whole(owner)
    start_anew()
    restored(raw, owner)
    assert multiplier(rule.memory) == 0.6
    rules.revoke(actor=person(owner), rule=rule, version=1, reason="Old.")
    assert multiplier(rule.memory) == 1.0


def test_a_copy_into_another_scope_brings_what_is_not_there_already(owner):
    scope, copy = make_scope(owner, slug="harbour"), make_scope(owner, slug="copy")
    rule, draft = make_rule(scope, scopes=[scope]), make_candidate(scope)
    raw = exported(scope)
    start_anew()
    restored(raw, owner, scope="copy")
    assert (StandingRule.objects.get().scope, list(StandingRule.objects.get().scopes.all())) == (copy, [copy])
    assert StandingRule.objects.get().memory_id == rule.memory_id
    assert CandidateMember.objects.filter(candidate=draft, memory__scope=copy).count() == 3


# What it does not bring ----------------------------------------------------------------------


def test_a_memory_said_to_be_a_rule_ranks_as_one_only_with_the_rule(owner):
    scope = make_scope(owner, slug="harbour")
    line = {"content": "Test first.", "reinforcement": {"multiplier": 0.6, "promoted": True}}
    report = load(line, scope=scope)
    assert multiplier(Memory.objects.get()) == 1.0
    assert not Reinforcement.objects.filter(promoted=True).exists()
    assert report.notes == {"memories said to be rules, without the rule: they rank by what was said of them": 1}


def test_whoever_only_sends_a_file_brings_memories_and_nothing_else(owner):
    a_settled_installation(owner)
    raw = whole(owner)
    start_anew()
    shipped = {model: table_of(model) for model in SETTINGS}

    report = restored(raw, owner, trusted=False)

    assert report.written > 0
    assert [model.objects.count() for model in (*KEPT, Reinforcement)] == [0] * 5
    assert {model: table_of(model) for model in SETTINGS} == shipped
    assert report.notes["standing rules: an operator's import alone restores them"] == 4
    assert report.notes["disputes: an operator's import alone restores them"] == 2
    assert report.notes["fusion configuration: an operator's import alone restores them"] == 1


def test_one_scope_is_exported_without_the_settings(owner):
    scope = a_settled_installation(owner)
    assert {json.loads(line).get("type") for line in exported(scope).splitlines()[1:]} == {
        "scope",
        None,
        *(model._meta.db_table for model in (StandingRule, Dispute, Candidate)),
    }


def test_what_names_a_scope_that_stays_behind_stays_with_it_and_is_counted(owner):
    scope, other = make_scope(owner, slug="harbour"), make_scope(owner, slug="notes")
    make_rule(scope, "There alone.", scopes=[other])
    make_rule(scope, "In both.", scopes=[scope, other])
    export = Export()
    raw = b"".join(export_to(Jsonl(), [scope], export))
    assert [row["scopes"] for row in rows_in(raw, "standing_rule")] == [["harbour"]]
    assert export.left_out == {"standing rules for scopes that are not exported": 1}


def test_a_dispute_with_a_memory_that_stays_behind_stays_too(owner):
    scope, other = make_scope(owner, slug="harbour"), make_scope(owner, slug="notes")
    dispute = make_pair(scope)
    Memory.objects.filter(pk=dispute.other_id).update(scope=other)
    export = Export()
    assert rows_in(b"".join(export_to(Jsonl(), [scope], export)), "dispute") == []
    assert export.left_out == {"disputes about memories of scopes that are not exported": 1}


def test_failed_clusters_stay_and_are_counted(owner):
    scope, export = make_scope(owner), Export()
    make_failed_cluster(scope, make_episodes(scope))
    b"".join(export_to(Jsonl(), [scope], export))
    reason = "they hang on calls of the model, which stay where they were made"
    assert export.left_out == {f"failed clusters: {reason}": 1}


def test_what_somebody_unknown_here_has_decided_waits_for_their_account(owner):
    scope, colleague = make_scope(owner, slug="harbour"), make_user(username="colleague")
    make_rule(scope, promoted_by=colleague)
    raw = exported(scope)
    start_anew()
    type(colleague).objects.filter(pk=colleague.pk).update(username="renamed")
    assert restored(raw, owner).notes["standing rules decided by people who have no account here"] == 1
    assert (StandingRule.objects.count(), Reinforcement.objects.count()) == (0, 0)
    type(colleague).objects.filter(pk=colleague.pk).update(username="colleague")
    assert restored(raw, owner).carried == {"standing_rule": 1}
    assert StandingRule.objects.get().promoted_by == colleague


# What stands here already --------------------------------------------------------------------


def test_another_rule_and_another_draft_of_the_same_memories_stay(owner):
    scope = make_scope(owner, slug="harbour")
    rule, draft = make_rule(scope), make_candidate(scope)
    raw = exported(scope)
    episodes = [member.memory for member in draft.members.all()]
    rule.delete()
    draft.delete()
    kept = make_rule(scope, "Another.", memory=rule.memory), make_candidate(scope, sources=episodes[:2])
    report = restored(raw, owner)
    assert (StandingRule.objects.get(), Candidate.objects.get()) == kept
    assert report.notes == {
        "standing rules that stand against others here, which were kept": 1,
        "candidates that stand against others here, which were kept": 1,
    }


def test_settings_that_were_changed_here_stay(owner):
    change_fusion(user=owner, contrast=4)
    raw = whole(owner)
    start_anew()
    change_fusion(user=owner, contrast=5)
    report = restored(raw, owner)
    assert FusionConfig.objects.get().contrast == 5
    assert ConfigVersion.objects.get().new["contrast"] == 5
    assert report.notes == {"settings that were changed here, and stay": 1}


def test_restored_settings_and_rules_are_in_the_audit_trail(owner):
    a_settled_installation(owner)
    raw = whole(owner)
    start_anew()
    restored(raw, owner)
    entries = AuditEntry.objects.filter(action="import")
    assert {entry.object_id for entry in entries.filter(object_type="rankingconfig")} == {"fact"}
    assert entries.get(scope__slug="harbour").detail["carried"]["standing_rule"] == 3


def test_a_kind_whose_settings_were_removed_is_removed_again(owner):
    remove_ranking(user=owner, kind="task", reason="Not ours.")
    raw = whole(owner)
    start_anew()
    restored(raw, owner)
    assert not RankingConfig.objects.filter(kind="task").exists()


def test_another_embedder_is_noted(owner):
    change = EmbedderChange.objects.create(stamp="packaged@1", state="finished", ended_at=NOON)
    raw = whole(owner)
    EmbedderChange.objects.filter(pk=change.pk).update(stamp="other@2")
    assert restored(raw, owner).notes == {"change of the embedder: packaged@1 there, other@2 here": 1}


# Refusals ------------------------------------------------------------------------------------

UNKNOWN = "019a0000-0000-7000-8000-000000000000"


def a_rule_line(about: Memory, **columns) -> dict:
    row = {"id": UNKNOWN, "memory": str(about.pk), "scope": about.scope.slug, "text": "Test.", "layer": "core"}
    return {"type": "standing_rule", "row": {"scopes": []} | row | columns}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"memory": UNKNOWN}, "memory: '019a0000-0000-7000-8000-000000000000' is neither in this import"),
        ({"layer": "sky"}, "layer: Value 'sky' is not a valid choice"),
        ({"text": "half \ud800"}, "text: The text holds a NUL or half of a surrogate pair"),
        ({"text": "The key is AKIAIOSFODNN7EXAMPLE."}, "secret_content_rejected"),
        ({"text": None}, "row.text: is missing"),
        ({"texts": "x"}, "row.texts: is not a field here"),
        ({"state": "promoted"}, "standing_rule_decided_by_somebody"),
        ({"scopes": "home"}, "row.scopes: must be a list"),
        ({"version": -1}, "row.version: must be a whole number"),
    ],
    ids=["memory", "choice", "unstorable", "secret", "missing", "unknown", "constraint", "list", "number"],
)
def test_a_row_that_cannot_be_stops_the_import_with_its_line(scope, columns, words):
    memory = make_memory("Kept.", scope=scope)
    problem = failure({"content": "New."}, a_rule_line(memory, **columns), scope=scope)
    assert str(problem.message).startswith("Line 2: ")
    assert words in problem.message
    assert Memory.objects.count() == 1


def test_a_version_of_no_settings_is_refused(scope):
    row = {"table": "auth_user", "row": "1", "version": 1, "changed_at": "2025-01-01T00:00:00Z"}
    problem = failure({"type": "config_version", "row": row}, scope=scope)
    assert "'auth_user' is no table of settings here" in problem.message


# How much it asks ----------------------------------------------------------------------------


def test_an_export_asks_the_database_no_more_for_more_rules(owner):
    few, many = make_scope(owner), make_scope(owner)
    for number in range(6):
        make_rule(many, f"Rule {number}.")
    make_rule(few)
    assert queries_of(lambda: exported(few)) == queries_of(lambda: exported(many))


# Every model ---------------------------------------------------------------------------------

WITHIN = {
    "memories.Memory", "memories.Scope", "memories.Entity", "memories.MemoryEntity", "memories.Link",
    "memories.Reinforcement", "memories.UsageEvent", "memories.Verification", "reflections.CandidateMember",
    "reflections.StandingRule_scopes",
}  # fmt: skip
STAYS = {
    "memories.User": "People sign in to one installation; rows name them by user name.",
    "memories.User_groups": "People sign in to one installation.",
    "memories.User_user_permissions": "People sign in to one installation.",
    "memories.SignInLink": "A secret of one installation.",
    "memories.Token": "A secret of one installation.",
    "memories.Token_scopes": "A secret of one installation.",
    "memories.OAuthClient": "A program that was let into one installation; it registers anew at another.",
    "memories.OAuthCode": "A secret of one installation, for five minutes.",
    "memories.OAuthCode_scopes": "A secret of one installation, for five minutes.",
    "memories.OAuthGrant": "A secret of one installation.",
    "memories.Membership": "Whoever owns the scopes anew lets others in anew.",
    "memories.Window": "Computed from the text at the import.",
    "memories.Embedding": "Vectors are computed again.",
    "memories.EmbedderChange": "Vectors stay; the header names the embedder.",
    "memories.AuditEntry": "The trail is of acts that were done here; the import is one.",
    "memories.Surfacing": "Counts of the last days; they rank nothing.",
    "memories.RecallActivity": "A log of thirty days.",
    "memories.Import": "Work that was done here.",
    "memories.ImportedMemory": "Which memories an import wrote here, so that it can be undone here.",
    "insights.EvaluationRun": "What was measured here, on the memories and by the vectors of here.",
    "memories.RetentionCycle": "Work that was done here.",
    "memories.Regret": "What was asked for here.",
    "memories.ArchiveSample": "What was measured here.",
    "memories.Repository": "Folders of this machine.",
    "memories.Repository_scopes": "Folders of this machine.",
    "memories.CodeLook": "What the last look at those folders found; the next one finds it anew.",
    "reflections.FailedCluster": "Counted in the export: they hang on calls of the model.",
    "reflections.FailedCluster_episodes": "See the failed clusters.",
    "reflections.ModelCall": "What this installation spent.",
    "reflections.Run": "Work that was done here.",
    "reflections.RunScope": "Work that was done here.",
    "reflections.RunStep": "Work that was done here.",
    "reflections.Examined": "How far the work has come here; it is looked at again.",
    "reflections.Judged": "How far the work has come here; it is looked at again.",
    "reflections.Watermark": "How far the work has come here.",
    "reflections.Transcript": "Read once and forgotten.",
}


@pytest.mark.behaviour("F10")
def test_every_model_travels_or_says_why_it_stays():
    ours = ("memories", "reflections", "insights", "zeromemory")
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.app_label in ours]
    travel = {table.model for table in [*carried.about_memories(), *carried.configuration()] if not table.stays}
    unknown = {model._meta.label for model in models if model not in travel} - WITHIN - STAYS.keys()
    assert unknown == set(), "a new model travels (reflections/carrying.py), or says here why it does not"
    assert WITHIN | STAYS.keys() <= {model._meta.label for model in models if model not in travel}
    assert all(len(why) > 10 for why in STAYS.values())
