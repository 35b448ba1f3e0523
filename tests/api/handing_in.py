"""Conversations that are handed in over REST and read by a worker."""

from memories.models import UsageEvent
from reflections import judging

SAID = "The note said port 8080.\nIt was 9090, so the deploy had to be undone.\n"


def recall(api, session="monday"):
    found = api.post("/recall", {"query": "API port", "session": session}).json()
    assert found["results"]


def hand_in(api, **body):
    return api.post("/usefulness/transcripts", {"session": "monday", "transcript": SAID} | body)


def verdict(memory, **said):
    return {"id": str(memory.pk), "useful": False, "relevant": True, "misled": False, "confidence": 0.8} | said


def answers(*verdicts):
    return {"verdicts": list(verdicts)}


def judged(api, **body):
    """Handed in and read by a worker; what it has become."""
    answer = hand_in(api, **body)
    assert answer.status_code == 202, answer.content
    judging.work_on(answer.json()["id"])
    return api.get(f"/usefulness/transcripts/{answer.json()['id']}").json()


def events():
    return list(UsageEvent.objects.values_list("source", "session", "useful", "relevant", "misled", "confidence"))
