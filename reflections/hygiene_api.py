"""REST over the hygiene cycle: start it, follow it, stop it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema, Status
from pydantic import Field

from memories.access import Actor, scope_for
from memories.api.routes import ERRORS, acting
from memories.api.shapes import Request, Text
from memories.errors import Forbidden, ValidationFailed
from memories.models import Scope
from reflections import hygiene, services
from reflections.access import run_for
from reflections.models import Run
from reflections.reports import StepReport, reports_of
from reflections.services.runs import Started

router = Router()


class CycleIn(Request):
    kind: Literal["quick", "full"] = Field(default="full", description="quick leaves out what asks a model.")
    scopes: list[Text] | None = Field(default=None, description="Names of scopes; all you may write to unless given.")
    steps: list[Text] | None = Field(default=None, description="Only these steps, whatever the kind.")


class StepOut(Schema):
    name: str
    state: str
    found: int
    done: int
    skipped: int
    failed: int
    tokens: int
    note: str
    started_at: datetime | None
    finished_at: datetime | None


class RunOut(Schema):
    id: UUID
    kind: str
    state: str
    scopes: list[str]
    requested_by: str
    requested_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempts: int
    error: str
    steps: list[StepOut]


class BusyOut(Schema):
    """*run_id* is null where the run looks after a scope that this token does not read."""

    code: str
    message: str
    run_id: UUID | None


@router.post(
    "/hygiene/runs",
    response={202: RunOut, **ERRORS, 409: BusyOut},
    summary="Start the hygiene cycle, or some of its steps; 409 where one is under way",
)
def start_cycle(request: HttpRequest, body: CycleIn | None = None) -> Any:
    actor, asked = acting(request), body or CycleIn()
    scopes = scopes_to_look_after(actor, asked.scopes)
    started = hygiene.start_cycle(actor=actor, scopes=scopes, kind=asked.kind, steps=asked.steps)
    return Status(202, run_answer(started.run)) if started.is_new else Status(409, _busy(actor, started))


def scopes_to_look_after(actor: Actor, names: list[str] | None) -> list[Scope]:
    if names is None and not actor.writable:
        raise Forbidden("You may not write to any scope, so there is none to look after. Use a token that writes.")
    if names is None:
        return list(Scope.objects.filter(pk__in=actor.writable).order_by("pk"))
    if not names:
        raise ValidationFailed("Name at least one scope, or leave scopes out for all you may write to.", field="scopes")
    return list({scope.pk: scope for scope in (scope_for(actor, name) for name in names)}.values())


def _busy(actor: Actor, started: Started) -> dict[str, Any]:
    visible = Run.objects.visible_to(actor).filter(pk=started.run.pk).exists()
    return {
        "code": "conflict",
        "message": f"{busy_with(started.run)} Follow it, or try again when it has ended.",
        "run_id": started.run.pk if visible else None,
    }


def busy_with(run: Run) -> str:
    return f"One of these scopes is being looked after already: {run.get_state_display().lower()}."


@router.get("/hygiene/runs/{run_id}", response={200: RunOut, **ERRORS}, summary="A run: progress and report by step")
def read_run(request: HttpRequest, run_id: str) -> Any:
    return run_answer(run_for(acting(request), run_id))


@router.post("/hygiene/runs/{run_id}/cancel", response={200: RunOut, **ERRORS}, summary="Stop a run; what it did stays")
def cancel_run(request: HttpRequest, run_id: str) -> Any:
    actor = acting(request)
    return run_answer(services.cancel(actor=actor, run=run_for(actor, run_id)))


def run_answer(run: Run) -> dict[str, Any]:
    return {
        "id": run.pk,
        "kind": run.kind,
        "state": run.state,
        "scopes": list(run.scopes.order_by("pk").values_list("slug", flat=True)),
        "requested_by": run.requested_actor,
        "requested_at": run.requested_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "attempts": run.attempts,
        "error": run.error,
        "steps": [_step(report) for report in reports_of(run)],
    }


def _step(report: StepReport) -> dict[str, Any]:
    step = report.step
    counts = {name: getattr(step, name) for name in ("name", "state", "found", "done", "skipped", "failed", "note")}
    return counts | {"tokens": report.tokens, "started_at": step.started_at, "finished_at": step.finished_at}
