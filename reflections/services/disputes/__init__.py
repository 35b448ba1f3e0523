"""Every write of disputes, as verbs."""

from reflections.services.disputes.automatic import act_automatically, carry_out, sweep_stale
from reflections.services.disputes.bulk import POLICIES, Ask, Settled, resolve_many
from reflections.services.disputes.opening import Challenged, challenge, open_pair, open_single
from reflections.services.disputes.pairs import pair_of
from reflections.services.disputes.settling import RESOLUTIONS, resolve
from reflections.services.disputes.waiting import snooze, undo

__all__ = [
    "POLICIES",
    "RESOLUTIONS",
    "Ask",
    "Challenged",
    "Settled",
    "act_automatically",
    "carry_out",
    "challenge",
    "open_pair",
    "open_single",
    "pair_of",
    "resolve",
    "resolve_many",
    "snooze",
    "sweep_stale",
    "undo",
]
