"""Ranking and fusion configuration: read at each call, written by staff only, every change kept."""

import threading

import pytest
from django.db import DatabaseError, connection, transaction

from memories.configuration import fusion_rule, in_force, ranking_rules, snapshot
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.fusion import FusionRule
from memories.models import AuditEntry, ConfigVersion, FusionConfig
from memories.ranking import KIND_DEFAULTS, UNKNOWN_RULE, KindRule
from memories.services.config import change_fusion, change_ranking, remove_ranking, restore_ranking
from tests.factories import make_user

NONSENSE_HALF_LIVES = [0, -1, float("nan"), float("inf"), 1e9, 10**400, "", None, "a year", True, 1e-300, "١e99"]


@pytest.mark.behaviour("Z1", "Z2")
def test_a_fresh_store_ranks_by_the_shipped_rules(owner):
    assert ranking_rules() == dict(KIND_DEFAULTS)
    assert fusion_rule() == FusionRule()


@pytest.mark.behaviour("Z8")
def test_a_changed_half_life_is_read_at_the_next_call(owner):
    change_ranking(user=owner, kind="fact", half_life_days=10, weight=0.5)
    assert ranking_rules()["fact"] == KindRule(0.5, 10)


@pytest.mark.behaviour("Z8")
def test_a_removed_row_behaves_as_an_unknown_kind(owner):
    remove_ranking(user=owner, kind="decision")
    assert ranking_rules()["decision"] == UNKNOWN_RULE == KindRule(0.85, 365)


@pytest.mark.behaviour("Z12")
def test_a_missing_fusion_row_behaves_as_the_defaults(owner):
    FusionConfig.objects.all().delete()
    assert fusion_rule() == FusionRule()


def test_the_rules_cost_few_queries_and_one_together(owner, django_assert_num_queries):
    change_ranking(user=owner, kind="fact", half_life_days=90)
    change_fusion(user=owner, contrast=4)
    ranking_rules_now, fusion_now = ranking_rules(), fusion_rule()
    with django_assert_num_queries(1):
        ranking_rules()
    with django_assert_num_queries(2):  # the fusion and its weights
        fusion_rule()
    with django_assert_num_queries(1):
        together = in_force()
    assert (together.rules, together.fusion) == (ranking_rules_now, fusion_now)


@pytest.mark.behaviour("Z9")
def test_the_snapshot_shows_every_kind_with_its_version(owner):
    change_ranking(user=owner, kind="fact", weight=0.8)
    remove_ranking(user=owner, kind="task")
    shown = {row["kind"]: row for row in snapshot()["ranking"]}
    assert shown.keys() == KIND_DEFAULTS.keys()
    assert shown["fact"] == {
        "kind": "fact", "weight": 0.8, "half_life_days": 365, "curve": "exponential", "version": 2,
    }  # fmt: skip
    assert shown["task"] == {
        "kind": "task", "weight": 0.85, "half_life_days": 365, "curve": "exponential", "version": 0,
    }  # fmt: skip
    assert snapshot()["fusion"]["version"] == 1


@pytest.mark.behaviour("Z9")
def test_a_change_keeps_who_when_old_new_and_why(owner):
    change_ranking(user=owner, kind="fact", half_life_days=90, reason="Prices move every quarter.")
    version = ConfigVersion.objects.get(table="ranking_config", row="fact")
    assert (version.version, version.changed_by, version.reason) == (2, owner, "Prices move every quarter.")
    assert version.old == {"weight": 0.9, "half_life_days": 365, "curve": "exponential"}
    assert version.new == {"weight": 0.9, "half_life_days": 90, "curve": "exponential"}
    assert version.changed_at is not None


@pytest.mark.behaviour("Z9")
def test_a_change_leaves_an_audit_entry_with_old_and_new(owner):
    change_fusion(user=owner, contrast=4, reason="Measured.")
    entry = AuditEntry.objects.get(object_type="fusionconfig")
    assert (entry.user, entry.action, entry.reason) == (owner, "change_configuration", "Measured.")
    assert (entry.detail["old"]["contrast"], entry.detail["new"]["contrast"]) == (3, 4)


def test_a_change_to_the_same_values_writes_nothing(owner):
    row = change_ranking(user=owner, kind="fact", half_life_days=365)
    assert row.version == 1
    assert not ConfigVersion.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.behaviour("Z9")
@pytest.mark.parametrize("act", [change_ranking, remove_ranking, restore_ranking])
def test_only_staff_may_write_ranking(owner, act):
    with pytest.raises(Forbidden, match="Only staff"):
        act(user=make_user(), kind="fact")


@pytest.mark.behaviour("Z9")
def test_only_staff_may_write_fusion(owner):
    with pytest.raises(Forbidden):
        change_fusion(user=make_user(), contrast=2)
    with pytest.raises(Forbidden):
        change_fusion(user=make_user(is_staff=True, is_active=False), contrast=2)
    assert fusion_rule() == FusionRule()


@pytest.mark.behaviour("F15", "F39")
@pytest.mark.parametrize("value", NONSENSE_HALF_LIVES)
def test_a_nonsense_half_life_is_refused_with_a_sentence(owner, value):
    with pytest.raises(
        ValidationFailed, match=r"^Half life days must be a number from 0\.001 to 36500, not "
    ) as refusal:
        change_ranking(user=owner, kind="fact", half_life_days=value)
    assert refusal.value.field == "half_life_days"
    assert ranking_rules()["fact"] == KIND_DEFAULTS["fact"]
    assert not ConfigVersion.objects.exists()


@pytest.mark.behaviour("F39")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("weight", 0), ("weight", 2.1), ("weight", -1), ("weight", float("nan")), ("weight", "much"),
        ("curve", "cliff"), ("curve", ""), ("curve", None), ("kind_of_day", 3),
    ],
)  # fmt: skip
def test_other_nonsense_in_a_ranking_row_is_refused(owner, field, value):
    with pytest.raises(ValidationFailed) as refusal:
        change_ranking(user=owner, kind="fact", **{field: value})
    assert refusal.value.field == field


@pytest.mark.behaviour("F39")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rrf_k", 0), ("rrf_k", 1001), ("pool_multiplier", 0), ("pool_multiplier", 21), ("pool_multiplier", 2.5),
        ("vector_weight", -0.1), ("text_weight", 11), ("recency_weight", "no"), ("contrast", 0), ("contrast", 65),
        ("contrast", float("-inf")),
    ],
)  # fmt: skip
def test_nonsense_in_the_fusion_row_is_refused(owner, field, value):
    with pytest.raises(ValidationFailed) as refusal:
        change_fusion(user=owner, **{field: value})
    assert refusal.value.field == field
    assert fusion_rule() == FusionRule()


def test_a_fusion_without_any_search_leg_is_refused(owner):
    with pytest.raises(ValidationFailed, match="nothing would be found"):
        change_fusion(user=owner, vector_weight=0, text_weight=0, recency_weight=1)


@pytest.mark.parametrize("reason", ["x" * 2001, "a\0b", "a\ud800b"])
def test_a_reason_that_cannot_be_kept_is_refused(owner, reason):
    with pytest.raises(ValidationFailed) as refusal:
        change_ranking(user=owner, kind="fact", weight=1, reason=reason)
    assert refusal.value.field == "reason"


def test_an_unknown_kind_is_refused_by_name(owner):
    with pytest.raises(ValidationFailed, match="There is no kind 'rumour'"):
        change_ranking(user=owner, kind="rumour", weight=1)


def test_a_stale_version_is_told_and_changes_nothing(owner):
    change_ranking(user=owner, kind="fact", weight=0.8, expected_version=1)
    with pytest.raises(Conflict, match="version 2, not 1"):
        change_ranking(user=owner, kind="fact", weight=0.7, expected_version=1)
    with pytest.raises(Conflict):
        remove_ranking(user=owner, kind="fact", expected_version=1)
    assert ranking_rules()["fact"].weight == 0.8


def test_a_restored_row_has_the_shipped_values_and_goes_on_counting(owner):
    change_ranking(user=owner, kind="fact", half_life_days=10)
    remove_ranking(user=owner, kind="fact")
    row = restore_ranking(user=owner, kind="fact", expected_version=0)
    assert ranking_rules()["fact"] == KIND_DEFAULTS["fact"]
    assert row.version == 4
    history = ConfigVersion.objects.filter(row="fact").order_by("version")
    assert [(entry.version, entry.old is None, entry.new is None) for entry in history] == [
        (2, False, False),
        (3, False, True),
        (4, True, False),
    ]


def test_removing_what_is_removed_is_told(owner):
    remove_ranking(user=owner, kind="fact")
    with pytest.raises(NotFound, match="already removed"):
        remove_ranking(user=owner, kind="fact")


def test_a_missing_fusion_row_is_written_again_by_the_next_change(owner):
    FusionConfig.objects.all().delete()
    change_fusion(user=owner, contrast=2)
    assert fusion_rule() == FusionRule(contrast=2)


def test_a_kept_version_can_not_be_rewritten(owner):
    change_ranking(user=owner, kind="fact", weight=1)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        ConfigVersion.objects.update(reason="something else")


@pytest.mark.django_db(transaction=True)
def test_two_people_changing_one_row_at_once_leave_two_versions_or_a_conflict():
    users = [make_user(is_staff=True) for _ in range(2)]
    ready, answers = threading.Barrier(2), []

    def change(user, weight):
        ready.wait()
        try:
            change_ranking(user=user, kind="fact", weight=weight, expected_version=1)
            answers.append("changed")
        except Conflict:
            answers.append("told")
        finally:
            connection.close()

    threads = [threading.Thread(target=change, args=(user, 0.1 * (n + 1))) for n, user in enumerate(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["changed", "told"]
    assert ConfigVersion.objects.count() == 1
