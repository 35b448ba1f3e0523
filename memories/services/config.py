"""Changes of configuration: by staff only, each with its version, its reason and an audit entry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models import Max

from memories.access import actor_for_user
from memories.configuration import MISSING
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.guard import refuse_secrets
from memories.limits import FUSION_LIMITS, RANKING_LIMITS, REINFORCEMENT_LIMITS, WEIGHTS_LIMITS, Limits
from memories.models import ConfigVersion, FusionConfig, FusionWeights, RankingConfig, ReinforcementConfig, User
from memories.ranking import KIND_DEFAULTS, KINDS
from memories.services.audit import record

LONGEST_REASON = 2000
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
ACTION_CHANGE, ACTION_REMOVE = "change_configuration", "remove_configuration"


def change_ranking(
    *, user: User, kind: str, reason: str = "", expected_version: int | None = None, **values: Any
) -> RankingConfig:
    """Change how a kind weighs and ages: ``weight``, ``half_life_days``, ``curve``. A removed row comes back."""
    row = RankingConfig(kind=_known_kind(kind), **asdict(KIND_DEFAULTS[kind]))
    return change_row(
        user=user, row=row, values=values, limits=RANKING_LIMITS, reason=reason, expected_version=expected_version
    )


def restore_ranking(*, user: User, kind: str, reason: str = "", expected_version: int | None = None) -> RankingConfig:
    """Give a kind its shipped weight, half-life and curve again, whether its row was changed or removed."""
    shipped = asdict(KIND_DEFAULTS[_known_kind(kind)])
    return change_ranking(user=user, kind=kind, reason=reason, expected_version=expected_version, **shipped)


def change_fusion(*, user: User, reason: str = "", expected_version: int | None = None, **values: Any) -> FusionConfig:
    return change_row(
        user=user,
        row=FusionConfig(),
        values=values,
        limits=FUSION_LIMITS,
        reason=reason,
        expected_version=expected_version,
    )


def change_weights(
    *, user: User, reason: str = "", expected_version: int | None = None, **values: Any
) -> FusionWeights:
    """Change the weights of the log-linear fusion. A learned set is one change, so that it has one version."""
    return change_row(
        user=user,
        row=FusionWeights(),
        values=values,
        limits=WEIGHTS_LIMITS,
        reason=reason,
        expected_version=expected_version,
    )


def change_reinforcement(
    *, user: User, reason: str = "", expected_version: int | None = None, **values: Any
) -> ReinforcementConfig:
    """Change what signals count, from the next roll-up on."""
    return change_row(
        user=user,
        row=ReinforcementConfig(),
        values=values,
        limits=REINFORCEMENT_LIMITS,
        reason=reason,
        expected_version=expected_version,
    )


def remove_ranking(*, user: User, kind: str, reason: str = "", expected_version: int | None = None) -> None:
    """Take a kind's row away; from then on the kind behaves as an unknown one."""
    _require_staff(user)
    _check_reason(reason)
    with transaction.atomic():
        stored = _locked(RankingConfig(kind=_known_kind(kind)))
        if stored is None:
            raise NotFound(f"There is no ranking row for {kind!r}; it is already removed.", field="kind")
        _refuse_stale(stored, expected_version)
        _write_version(user, stored, old=_values(stored, RANKING_LIMITS), new=None, reason=reason)
        record(actor=actor_for_user(user), action=ACTION_REMOVE, subject=stored, reason=reason)
        stored.delete()


def change_row[Row: models.Model](
    *,
    user: User,
    row: Row,
    values: Mapping[str, Any],
    limits: Limits,
    reason: str = "",
    expected_version: int | None = None,
) -> Row:
    """Write *values* to the configuration row that *row* names by its key, and return it as stored.

    A missing row is created from *row*. Values equal to the stored ones write nothing. ``expected_version`` is the
    version that was on the screen, 0 for a missing row.
    """
    _require_staff(user)
    _check_reason(reason)
    try:
        with transaction.atomic():
            return _change(user, row, values, limits, reason, expected_version)
    except IntegrityError as error:
        raise Conflict("Somebody changed this configuration at the same moment. Load it again.") from error


def _change[Row: models.Model](
    user: User, row: Row, values: Mapping[str, Any], limits: Limits, reason: str, expected_version: int | None
) -> Row:
    stored = _locked(row)
    _refuse_stale(stored, expected_version)
    old = _values(stored, limits) if stored else None
    new = limits.clean(_values(stored or row, limits) | dict(values))
    if new == old:
        return stored or row
    changed = stored or row
    for field, value in new.items():
        setattr(changed, field, value)
    changed.version = _write_version(user, changed, old=old, new=new, reason=reason)  # type: ignore[attr-defined]  # every configuration row has one
    changed.save(force_insert=stored is None)
    record(actor=actor_for_user(user), action=ACTION_CHANGE, subject=changed, reason=reason, old=old or {}, new=new)
    return changed


def _locked[Row: models.Model](row: Row) -> Row | None:
    return type(row)._default_manager.select_for_update().filter(pk=row.pk).first()


def _values(row: models.Model, limits: Limits) -> dict[str, Any]:
    return {field: getattr(row, field) for field in limits.fields}


def _write_version(
    user: User, row: models.Model, *, old: dict[str, Any] | None, new: dict[str, Any] | None, reason: str
) -> int:
    """The number of the version written. It goes on counting over a removal, so no number is used twice."""
    key = {"table": row._meta.db_table, "row": str(row.pk)}
    last = ConfigVersion.objects.filter(**key).aggregate(last=Max("version"))["last"] or 0
    number = max(last, getattr(row, "version", 0) if old else 0) + 1
    ConfigVersion.objects.create(**key, version=number, old=old, new=new, reason=reason, changed_by=user)
    return number


def _require_staff(user: User) -> None:
    if not (user.is_active and user.is_staff):
        raise Forbidden("Only staff may change the configuration. Ask an administrator.")


def _refuse_stale(stored: models.Model | None, expected_version: int | None) -> None:
    current = getattr(stored, "version", MISSING)
    if expected_version is not None and expected_version != current:
        raise Conflict(
            f"The configuration changed meanwhile: it is at version {current}, not {expected_version}. "
            "Load it again, then repeat your change."
        )


def _check_reason(reason: str) -> None:
    if len(reason) > LONGEST_REASON:
        raise ValidationFailed(f"Keep the reason within {LONGEST_REASON} characters.", field="reason")
    if UNSTORABLE.search(reason):
        raise ValidationFailed("The reason holds characters that cannot be stored. Type it again.", field="reason")
    refuse_secrets(reason, "reason")


def _known_kind(kind: str) -> str:
    if kind not in KINDS:
        raise ValidationFailed(f"There is no kind {kind!r}. Choose from {', '.join(KINDS)}.", field="kind")
    return kind
