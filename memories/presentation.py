"""Memories as people see them: rows, chips, breakdowns, differences of versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.urls import reverse

from memories.headlines import headline
from memories.models import Memory, Scope
from memories.ranking import UNKNOWN_RULE, KindRule, age_factor, age_in_days, is_faded
from memories.recall import Result
from memories.retention import UNVERIFIED, VERIFIED
from memories.verdict_words import row_badge
from zeromemory.lib.counting import counted

Rules = Mapping[str, KindRule]

EXCERPT: Final = 280
SMALLEST_SHOWN: Final = 0.0001
STATE_BADGES: Final = {
    "superseded": {"text": "superseded", "tone": ""},
    "invalidated": {"text": "forgotten", "tone": "danger"},
    "archived": {"text": "archived", "tone": ""},
    "lapsed": {"text": "no longer valid", "tone": "amber"},
}
CONFIDENCE_BADGES: Final = {
    VERIFIED: {"text": "verified", "tone": "accent"},
    UNVERIFIED: {"text": "unverified", "tone": ""},
}
AUTHOR_WORDS: Final = {"human": "person", "agent": "agent", "import": "import", "distilled": "distilled"}
PROVENANCE_WORDS: Final = {0: "provisional", 1: "agent or import", 2: "typed by a person"}


ACTION_WORDS: Final = {
    "add_alias": "added as an alias",
    "approve": "approved",
    "archive": "let go into the archive",
    "cancel_import": "cancelled",
    "challenge": "challenged",
    "close": "closed",
    "confirm_import": "confirmed",
    "consolidate": "done",
    "create_scope": "created the scope",
    "dismiss": "dismissed",
    "dismiss_rule": "dismissed",
    "edit": "edited",
    "enrich": "added entities or links",
    "recognise": "saved again",
    "forget": "forgotten",
    "forget_together": "forgotten together",
    "hand_in_import": "handed in to be imported",
    "import": "imported",
    "link": "linked",
    "merge_entities": "had entities merged",
    "open_dispute": "put in dispute",
    "pin": "pinned",
    "pin_rule": "pinned",
    "promote_rule": "promoted",
    "propose": "proposed as drafts",
    "prune": "deleted for good",
    "propose_rule": "proposed",
    "put_anchors_back": "anchored to the code as it was",
    "reanchor": "said to hold for the code as it is",
    "register_repository": "registered the repository",
    "change_repository": "changed the repository",
    "remove_repository": "removed the repository",
    "reinstate_rule": "made a rule again",
    "remember": "remembered",
    "remove_member": "removed a member",
    "rename_scope": "renamed the scope",
    "reopen_dispute": "reopened",
    "reopen_rule": "reopened",
    "restore": "restored",
    "retire_alias": "retired as an alias",
    "revoke_rule": "revoked",
    "reword_rule": "reworded",
    "set_member": "let in or changed a member",
    "set_retention": "switched between ageing and decaying",
    "set_retention_policy": "changed the policy",
    "settle_dispute": "settled",
    "skip_web_check": "not looked up on the web",
    "snooze": "snoozed",
    "snooze_dispute": "snoozed",
    "snooze_rule": "snoozed",
    "supersede": "replaced by a newer version",
    "take_back_check": "took back that it was looked at",
    "take_back_together": "brought back together",
    "undo": "decision undone",
    "unpin": "unpinned",
    "unpin_rule": "unpinned",
    "verify": "looked at",
    "wake": "back from snooze",
}


# What an act is done to, where that is not a memory; and the words of a count, where the trail names the thing itself.
ACTED_ON: Final = {
    "add_alias": "pair of words",
    "approve": "draft",
    "cancel_import": "import",
    "confirm_import": "import",
    "consolidate": "cycle",
    "create_scope": "scope",
    "dismiss": "draft",
    "dismiss_rule": "rule",
    "hand_in_import": "file",
    "import": "import",
    "open_dispute": "dispute",
    "pin_rule": "rule",
    "promote_rule": "rule",
    "propose": "draft",
    "propose_rule": "rule",
    "register_repository": "repository",
    "change_repository": "repository",
    "remove_repository": "repository",
    "reinstate_rule": "rule",
    "remove_member": "member",
    "rename_scope": "scope",
    "reopen_dispute": "dispute",
    "reopen_rule": "rule",
    "retire_alias": "pair of words",
    "revoke_rule": "rule",
    "reword_rule": "rule",
    "set_member": "member",
    "set_retention": "scope",
    "set_retention_policy": "scope",
    "settle_dispute": "dispute",
    "skip_web_check": "scope",
    "snooze": "draft",
    "snooze_dispute": "dispute",
    "snooze_rule": "rule",
    "undo": "decision",
    "unpin_rule": "rule",
    "wake": "draft",
}
COUNTED_WORDS: Final = {
    "create_scope": "created",
    "import": "done",
    "open_dispute": "opened",
    "propose": "proposed",
    "reinstate_rule": "made rules again",
    "remove_member": "removed",
    "rename_scope": "renamed",
    "set_member": "let in or changed",
    "undo": "undone",
}


def counted_words(action: str) -> tuple[str, str]:
    """What was acted on, in the singular, and what was done: ``draft``, ``proposed``."""
    return ACTED_ON.get(action, "memory"), COUNTED_WORDS.get(action) or action_words(action)


def action_words(action: str) -> str:
    return ACTION_WORDS.get(action) or action.replace("_", " ")


def scope_names(scopes: Iterable[Scope]) -> dict[int, str]:
    """The name that finds each scope, by its key: the slug, or ``owner/slug`` where several share one."""
    scopes = list(scopes)
    uses = Counter(scope.slug.casefold() for scope in scopes)
    return {
        scope.pk: scope.slug if uses[scope.slug.casefold()] == 1 else f"{scope.owner.get_username()}/{scope.slug}"
        for scope in scopes
    }


def freshness(memory: Memory, rules: Rules, now: datetime) -> tuple[float, bool]:
    """The age factor, and whether it has faded; in a decaying scope the retention weight, which never fades a row."""
    if memory.scope.retention == Scope.Retention.DECAYING:
        return memory.weight, False
    rule = rules.get(memory.kind, UNKNOWN_RULE)
    age = age_in_days(memory.created_at, now)
    return age_factor(age, rule.half_life_days, rule.curve), is_faded(age, rule.half_life_days)


def row_of(memory: Memory, rules: Rules, now: datetime) -> dict[str, Any]:
    """One line of a list; *memory* comes from ``for_list()``."""
    factor, faded = freshness(memory, rules, now)
    state = memory.state
    title = headline(memory.opening)  # type: ignore[attr-defined]  # annotated by for_list()
    return {
        "id": memory.pk,
        "url": reverse("memory_detail", args=[memory.pk]),
        "kind": memory.kind,
        "scope": memory.scope.slug,
        "headline": title,
        "excerpt": _after(memory.opening, title),  # type: ignore[attr-defined]  # annotated by for_list()
        "created_at": memory.created_at,
        "age_factor": factor,
        "faded": faded and state == "live",
        "invalid": state != "live",
        "pinned": memory.pinned,
        "author": author_of(memory),
        "badges": _badges(memory, state),
    }


def _badges(memory: Memory, state: str) -> list[dict[str, str]]:
    """What sets it apart: a state other than live, and a confidence other than the usual."""
    found = [STATE_BADGES.get(state), CONFIDENCE_BADGES.get(memory.confidence)]
    return [badge for badge in found if badge]


def _after(text: str, title: str) -> str:
    """What follows the headline; where that was cut, the text goes on from there."""
    rest = text.strip().removeprefix(title.removesuffix("…")).strip()
    rest = f"…{rest}" if rest and title.endswith("…") else rest
    return _short(rest)


def _short(text: str) -> str:
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1].rstrip() + "…"


def author_of(memory: Memory) -> str:
    """Who wrote it, in a word or two: a person's name, an agent's name, or where it was imported from."""
    if memory.author_kind == "human" and memory.author:
        return memory.author.get_username()
    return memory.agent or AUTHOR_WORDS[memory.author_kind]


def result_row(result: Result, place: int, best: float, rules: Rules, now: datetime) -> dict[str, Any]:
    """One result of a search: its *place*, its score as a share of the best, how near it is in itself, each factor, and
    why it stands here."""
    row = row_of(result.memory, rules, now)
    if result.start:  # what matched stands further down than the list shows
        row["excerpt"] = f"…{_short(result.excerpt.strip())}"
    row["badges"] = [*row["badges"], *row_badge(result.anchors)]
    return row | {
        "place": f"#{place}",
        "share": f"{round(100 * result.score / best) if best else 0} % of the best",
        "signals": _signals(result),
        "why": result.why,
        "factors": factor_list(result, rules.get(result.memory.kind, UNKNOWN_RULE)),
        "score": figure(result.score),
        "ranks": rank_list(result),
    }


def _signals(result: Result) -> str:
    """How near it is by itself: of a poor lot the best is poor, too."""
    words = f"{result.text_matched} word{'' if result.text_matched == 1 else 's'}" if result.text_matched else "no word"
    return words if result.similarity is None else f"cosine {figure(result.similarity)}, {words}"


def with_unchecked(rows: list[dict[str, Any]], stale_days: Mapping[UUID, int | None]) -> list[dict[str, Any]]:
    """Rows with a badge on each world fact that is past its days without a check."""
    for row in rows:
        if days := stale_days.get(row["id"]):
            row["badges"] = [*row["badges"], {"text": f"not checked for {counted(days, 'day')}", "tone": "amber"}]
    return rows


def factor_list(result: Result, rule: KindRule) -> list[dict[str, Any]]:
    """Each factor with its value and where that comes from in this very result."""
    factors = result.factors
    reasons = {
        "relevance": _match(result),
        "kind": f"{with_article(result.memory.kind)} weighs {figure(rule.weight)}",
        "age": _ageing(result, rule),
        "provenance": PROVENANCE_WORDS[result.memory.provenance],
        "reinforcement": _direction(factors.reinforcement, "raised by use", "lowered by challenges", "no feedback yet"),
        "structural": _direction(factors.structural, "", "the code it names has changed", "no change of code known"),
        "confidence": _sureness(result),
    }
    return [
        {"name": name, "number": value, "value": figure(value), "neutral": value == 1.0, "why": why}
        for name, why in reasons.items()
        for value in [getattr(factors, name)]
    ]


def _match(result: Result) -> str:
    ranks = {"by meaning": result.ranks.vector, "by words": result.ranks.text, "by newness": result.ranks.recency}
    places = " and ".join(f"#{rank} {words}" for words, rank in ranks.items() if rank is not None)
    return f"{places or 'no match'}; the best of all counts 1, however weak it is"


def _ageing(result: Result, rule: KindRule) -> str:
    if result.policy == Scope.Retention.DECAYING:
        return "its scope keeps by last access, so age does not count"
    age = _in_days(int(result.age_days)) if result.age_days >= 1 else "under a day"
    return f"{age} old, half-life {_in_days(rule.half_life_days)}, {rule.curve}"


def _in_days(days: float) -> str:
    return f"{days:,g} day{'' if days == 1 else 's'}"


def _direction(value: float, above: str, below: str, neutral: str) -> str:
    return neutral if value == 1.0 else above if value > 1 else below


def _sureness(result: Result) -> str:
    counts = "its scope lets that count" if result.factors.confidence != 1.0 else "which does not count here"
    return f"{result.memory.confidence}, {counts}"


def with_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def rank_list(result: Result) -> list[dict[str, Any]]:
    """Places in the search legs, and what they were found by."""
    ranks = result.ranks
    return [
        {"label": "by meaning", "text": _place(ranks.vector)},
        {"label": "by words", "text": _place(ranks.text)},
        {"label": "words matched", "text": str(result.text_matched)},
        {"label": "similarity", "text": figure(result.similarity) if result.similarity is not None else None},
        {"label": "fused", "text": figure(result.fused.value)},
        {"label": "policy", "text": result.policy},
    ]


def _place(rank: int | None) -> str | None:
    return None if rank is None else f"#{rank}"


def figure(value: float) -> str:
    """Two places, more only where two would say nothing: 0.62, 1, 0.0041; nobody reads more than four."""
    if value == 1:
        return "1"
    if 0 < value < SMALLEST_SHOWN:
        return f"< {SMALLEST_SHOWN}"
    return f"{value:.2f}" if value >= 0.01 or value == 0 else f"{value:.2g}"
