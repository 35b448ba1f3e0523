"""Why a memory ranks where it does, in one plain sentence. Pure."""

from typing import Final

from memories.ranking import DECAYING, Candidate, Scored

_LOWERED_BY: Final = {
    "relevance": "a weaker match than the best",
    "kind": "its kind",
    "age": "its age",
    "provenance": "being provisional",
    "reinforcement": "its track record",
    "structural": "a change in its code",
    "confidence": "being unverified",
}
_LEFT_OUT: Final = {"age": "age", "reinforcement": "track record", "structural": "code changes"}
_VISIBLE: Final = 0.005  # a factor nearer to 1 than this reads ×1.00


def why(scored: Scored) -> str:
    """One plain sentence: what matched, how its kind and age counted, what raised it and what lowered it most."""
    clauses = (_match(scored.candidate), _kind_and_age(scored), _raised(scored), _lowered(scored), _left_out(scored))
    return "; ".join(clause for clause in clauses if clause) + "."


def _match(candidate: Candidate) -> str:
    parts = []
    if candidate.text_matched:
        parts.append(f"matched {candidate.text_matched} of your words")
    if candidate.rank_vector is not None:
        parts.append(f"came {_ordinal(candidate.rank_vector)} by meaning")
    if candidate.rank_recency is not None:
        parts.append(f"came {_ordinal(candidate.rank_recency)} by newness")
    sentence = " and ".join(parts) or ("matched your text" if candidate.rank_text else "listed without a match")
    return sentence[0].upper() + sentence[1:]


def _kind_and_age(scored: Scored) -> str:
    kind = scored.candidate.kind.replace("-", " ")
    article = "an" if kind[:1].lower() in tuple("aeiou") else "a"
    return f"{article} {kind}, {_age_in_words(scored.age_days)}, ranked by {_basis(scored)}"


def _basis(scored: Scored) -> str:
    if scored.policy == DECAYING:
        return "kind alone because its scope keeps weight by last access"
    if "age" in scored.ignored:
        return "kind alone"
    return f"age ({scored.rule.curve} curve) and kind"


def _raised(scored: Scored) -> str:
    raised = {"reinforced": scored.factors.reinforcement, "verified": scored.factors.confidence}
    return " and ".join(f"{how} {_times(factor)}" for how, factor in raised.items() if factor >= 1 + _VISIBLE)


def _lowered(scored: Scored) -> str:
    lowest = min(_LOWERED_BY, key=lambda name: getattr(scored.factors, name))
    value = getattr(scored.factors, lowest)
    if value > 1 - _VISIBLE:
        return ""
    return f"lowered most by {_LOWERED_BY[lowest]} ({_times(value)})"


def _left_out(scored: Scored) -> str:
    if not scored.ignored:
        return ""
    return "left out as asked: " + ", ".join(_LEFT_OUT[name] for name in sorted(scored.ignored))


def _times(value: float) -> str:
    return f"×{value:.2f}" if value >= 0.01 else "below ×0.01"


def _age_in_words(days: float) -> str:
    whole = int(days)
    if whole == 0:
        return "less than a day old"
    if whole < 730:
        return f"{whole} day{'' if whole == 1 else 's'} old"
    return f"{int(days / 365.25)} years old"


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
