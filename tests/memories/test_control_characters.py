"""Control characters are taken out of a text with a notice, because nobody sees them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.access import actor_for_user
from memories.controls import notices_of, without_controls
from memories.errors import ValidationFailed
from memories.models import Memory
from memories.services import edit, remember
from tests.factories import make_memory, make_token
from tests.secret_shapes import SHAPES

COLOURED = "\x1b[31mred\x1b[0m\x00 buoy\x07"
PLAIN = "[31mred[0m buoy"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (COLOURED, PLAIN),
        ("one\x0ctwo\x0bthree\x85four", "one\ntwo\nthree\nfour"),
        ("tab\tand\r\nline", "tab\tand\r\nline"),
        ("C1 \x9b and \x7f", "C1  and "),
        ("👩‍👩‍👧 and \u202eReversed\u202c and \u200b", "👩‍👩‍👧 and \u202eReversed\u202c and \u200b"),
    ],
)
def test_what_nobody_sees_goes_and_what_scripts_need_stays(text, kept):
    assert without_controls(text) == kept


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text):
    assert without_controls(without_controls(text)) == without_controls(text)


@pytest.mark.django_db
def test_what_is_written_is_clean_and_the_writer_is_told(owner, scope):
    done = remember(actor=actor_for_user(owner), scope=scope, content=COLOURED, verbatim="a\x00b")
    assert (done.memory.content, done.memory.verbatim) == (PLAIN, "ab")
    assert [notice.split(" held ")[0] for notice in done.notices if "control characters" in notice] == [
        "The content",
        "The verbatim",
    ]
    again = remember(actor=actor_for_user(owner), scope=scope, content=COLOURED)
    assert again.deduplicated
    assert again.notices[0].startswith("The content held control characters")


@pytest.mark.django_db
def test_a_text_without_them_brings_no_notice(owner, scope):
    done = remember(actor=actor_for_user(owner), scope=scope, content="A red buoy.\n\tAnchored.")
    assert not any("control" in notice for notice in done.notices)


@pytest.mark.django_db
def test_a_change_over_rest_is_clean_and_says_so(owner, scope, client):
    memory = make_memory(scope=scope)
    headers = {"Authorization": f"Bearer {make_token(owner, [scope])[1]}"}
    path = f"/api/v1/memories/{memory.pk}"
    answer = client.patch(path, {"content": COLOURED}, content_type="application/json", headers=headers).json()
    assert (answer["content"], len(answer["notices"])) == (PLAIN, 1)
    path = f"/api/v1/memories/{answer['id']}"
    answer = client.patch(path, {"source": "the log"}, content_type="application/json", headers=headers).json()
    assert answer["notices"] == []


@pytest.mark.django_db
def test_the_form_tells_the_person(owner, scope, client_of):
    sent = {"content": "A \x1b[31mred buoy.", "kind": "fact", "scope": scope.pk}
    page = client_of(owner).post("/memories/new/", sent, follow=True)
    assert "The content held control characters, which nobody sees. They were taken out." in page.text
    assert Memory.objects.get().content == "A [31mred buoy."


@pytest.mark.django_db
def test_a_secret_with_a_control_character_in_it_is_refused(owner, scope):
    secret = SHAPES[7][2]
    for write in (
        lambda text: remember(actor=actor_for_user(owner), scope=scope, content=text),
        lambda text: edit(
            actor=actor_for_user(owner), memory=make_memory(scope=scope), expected_version=1, content=text
        ),
    ):
        with pytest.raises(ValidationFailed, match="secret_content_rejected: content github_token"):
            write(f"ghp_{secret[:9]}\x1b{secret[9:]}")


def test_only_a_field_that_is_changed_is_named():
    assert notices_of({"content": "x", "verbatim": "\x1b", "source": "\x1b"}) == (
        "The verbatim held control characters, which nobody sees. They were taken out.",
    )
