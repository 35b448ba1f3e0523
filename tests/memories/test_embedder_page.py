"""The page of a change of embedder: everybody sees it, staff steer it."""

import pytest

from memories import embedding_queue
from memories.access import actor_for_user
from memories.embedder_in_use import newest_change
from memories.models import EmbedderChange
from memories.services import reembedding, remember
from tests.factories import make_user
from tests.memories.embedding_servers import meaning_server, named
from tests.memories.pages import Html, text_of

pytestmark = pytest.mark.django_db
PAGE = "/settings/embedder/"
State = EmbedderChange.State


@pytest.fixture
def staff(client_of, owner):
    return client_of(owner)


@pytest.fixture
def changing(owner, scope):
    """Four memories embedded by m32, one of them by m48 as well."""
    with meaning_server() as server:
        for number in range(4):
            remember(actor=actor_for_user(owner), scope=scope, content=f"w{number}", ring=False)
        with named(server, "m32"):
            embedding_queue.embed_waiting()
        with named(server, "m48"):
            embedding_queue.embed_waiting(most=1)
            yield server


def test_without_a_change_the_page_says_what_is_in_use_and_how_to_change_it(staff):
    page = text_of(staff.get(PAGE))
    assert "In use local:all-MiniLM-L6-v2-int8" in page
    assert "Name another embedder in ZEROMEMORY_EMBEDDER" in page


@pytest.mark.usefixtures("changing")
def test_staff_see_how_far_it_is(staff):
    page = text_of(staff.get(PAGE))
    assert "1 of 4 live memories, 25 %" in page
    assert "Under way" in page


@pytest.mark.usefixtures("changing")
def test_others_see_the_change_without_numbers_or_buttons_and_cannot_steer_it(client_of):
    mine = client_of(make_user())
    answer = mine.get(PAGE)
    assert "Under way" in text_of(answer)
    assert "of 4" not in text_of(answer)
    assert not [form for form in Html(answer).all("form") if PAGE in form.attributes.get("action", "")]
    for act in ("pause", "resume", "roll-back"):
        assert mine.post(f"{PAGE}{act}/").status_code == 403
    assert newest_change().state == State.RUNNING


@pytest.mark.usefixtures("changing")
def test_staff_pause_resume_and_roll_back(staff):
    for act, state in (("pause", State.PAUSED), ("resume", State.RUNNING), ("roll-back", State.ROLLED_BACK)):
        assert staff.post(f"{PAGE}{act}/").headers["Location"] == PAGE
        assert newest_change().state == state
    assert "Begin again" in text_of(staff.get(PAGE))


@pytest.mark.usefixtures("changing")
def test_what_cannot_be_done_any_more_is_said_and_changes_nothing(staff):
    reembedding.pause()
    answer = staff.post(f"{PAGE}pause/", follow=True)
    assert "No change of embedder is under way." in text_of(answer)
    assert newest_change().state == State.PAUSED


@pytest.mark.behaviour("F26")
def test_a_notice_on_every_page_says_which_embedder_answers(changing, staff, client_of):
    for client in (staff, client_of(make_user())):
        assert f"Until that is done, searches go on with {changing.setting('m32')}" in text_of(client.get("/memories/"))
    reembedding.roll_back()
    assert "was rolled back" in text_of(staff.get("/memories/"))
    reembedding.resume()
    embedding_queue.embed_waiting()
    assert "searches go on" not in text_of(staff.get("/memories/")).lower()
