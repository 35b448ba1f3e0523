from django.utils import timezone

from reflections.models import Transcript
from tests.browser.conftest import NARROW


def test_background_work_is_accessible_and_fits_a_phone(visit, owner):
    window = visit(owner, size=NARROW)
    assert window.open("/runs/").get_by_role("heading", level=1).inner_text() == "Background work"
    window.assert_accessible()
    window.assert_no_sideways_scroll()


def test_conversations_that_were_handed_in_are_accessible_and_fit_a_phone(visit, owner):
    for state in ("queued", "failed"):
        Transcript.objects.create(
            user=owner,
            actor="night-watch (token of owner)",
            session=f"watch-{state}",
            digest=state,
            shown=[],
            state=state,
            note="The model refuses the key." if state == "failed" else "",
            finished_at=timezone.now() if state == "failed" else None,
        )
    window = visit(owner, size=NARROW)
    window.open("/runs/").get_by_role("heading", name="Conversations of your agents").wait_for()
    window.assert_accessible()
    window.assert_no_sideways_scroll()
