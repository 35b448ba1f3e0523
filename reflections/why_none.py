"""Why a search for clusters drafted nothing, in a sentence. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

_OF_EPISODES: Final = {
    "drafted": ("{} was part of a draft before", "{} were part of a draft before"),
    "others": (
        "{} is not embedded yet, or repeats what was known",
        "{} are not embedded yet, or repeat what was known",
    ),
}
_OF_GROUPS: Final = {
    "too_small": ("{} group is too small", "{} groups are too small"),
    "parked": (
        "{} group is parked after the model failed on it",
        "{} groups are parked after the model failed on them",
    ),
    "unsure": ("the model was too unsure about {} group", "the model was too unsure about {} groups"),
    "left": (
        "{} group waits for a disagreement to be settled, or was changed meanwhile",
        "{} groups wait for a disagreement to be settled, or were changed meanwhile",
    ),
    "failed": ("the model failed on {} group", "the model failed on {} groups"),
}


def summed(looked: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Over all scopes; ``others`` are the episodes that were neither seen nor drafted before."""
    whole = Counter[str]()
    for counts in looked:
        whole.update(counts)
    whole["others"] = max(0, whole["stored"] - whole["seen"] - whole["drafted"])
    return whole


def why_none(found: Mapping[str, int], min_members: int) -> str:
    """A sentence for each thing that kept a draft from being made; *found* is what ``summed`` counts."""
    if not found["stored"]:
        return "There are no episodes to look through yet."
    said = [_groups(found, min_members), _episodes(found)]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in said if text)


def _groups(found: Mapping[str, int], min_members: int) -> str:
    said = _told(_OF_GROUPS, found)
    if said and found["too_small"]:
        return f"{said}. A draft takes {min_members} episodes"
    if said or not found["seen"]:
        return said
    return "no two of them are alike enough for the time between them, or share what they are about"


def _episodes(found: Mapping[str, int]) -> str:
    said = _told(_OF_EPISODES, found)
    return f"of the other episodes {said}" if said and found["seen"] else said


def _told(words: Mapping[str, tuple[str, str]], found: Mapping[str, int]) -> str:
    return ", ".join(
        (one if found[name] == 1 else many).format(f"{found[name]:,}")
        for name, (one, many) in words.items()
        if found[name]
    )
