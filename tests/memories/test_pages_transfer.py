"""Import and export on the pages: chosen, checked, looked at, imported, undone; taken out."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memories.models import Import, Memory, Role
from memories.transfer import background
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.memories.handing_in import lines, make_import
from tests.memories.pages import Html, text_of
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db
PAGE = "/transfer/"


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.DATA_FOLDER = tmp_path


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def choose(client, scope, raw=None, name="told.jsonl", **fields):
    file = SimpleUploadedFile(name, lines() if raw is None else raw)
    return client.post(f"{PAGE}import/", {"file": file, "scope": scope.pk, "format": ""} | fields)


def worked(answer):
    """The page of the import that was handed in, when a worker had its turn."""
    row = Import.objects.latest("handed_in_at")
    assert answer.status_code == 302
    background.work_on(str(row.pk))
    return f"{PAGE}imports/{row.pk}/"


def test_a_file_is_checked_looked_at_imported_and_undone(mine, scope):
    make_memory("Told 0.", scope=scope, external_id="t0")
    page = worked(choose(mine, scope))
    shown = text_of(mine.get(page))
    assert "Nothing is written yet" in shown
    assert "New 2 (2 fact)" in shown
    assert "Already there 1, left as it is" in shown
    assert "Told 1." in shown
    assert "Import 2 memories" in shown
    assert Memory.objects.count() == 1
    mine.post(f"{page}start/")
    background.work_on(page.split("/")[-2])
    done = text_of(mine.get(page))
    assert "Undo: forget the 2 that nobody has touched" in done
    undone = mine.post(f"{page}undo/", {"expected": "2"}, follow=True)
    assert "2 memories of this act are forgotten" in text_of(undone)
    assert Memory.objects.live().count() == 1
    assert "Imported, undone" in text_of(mine.get(PAGE))


def test_while_a_worker_has_it_the_page_asks_again_and_afterwards_it_does_not(mine, scope):
    choose(mine, scope)
    row = Import.objects.get()
    page = f"{PAGE}imports/{row.pk}/"
    (section,) = Html(mine.get(page)).all("section", id="import")
    assert section.attributes["hx-trigger"] == "every 1s"
    assert "data-poll" in section.attributes
    part = mine.get(page, headers={"HX-Request": "true"})
    assert b"<html" not in part.content
    background.work_on(str(row.pk))
    (section,) = Html(mine.get(page)).all("section", id="import")
    assert "hx-get" not in section.attributes


def test_a_file_with_a_mistake_names_the_line_and_what_to_do(mine, scope):
    page = worked(choose(mine, scope, lines() + b'{"content": "x", "kind": "opinion"}\n'))
    assert "Line 4: kind" in text_of(mine.get(page))
    assert "Choose a file" in text_of(mine.get(page))


def test_all_mistakes_of_a_file_stand_on_its_page(mine, scope):
    page = worked(choose(mine, scope, b'{"content": "x", "knid": 1}\n{"content": "x", "kind": "opinion"}\n'))
    shown = text_of(mine.get(page))
    assert "2 mistakes, and nothing was imported" in shown
    assert "Line 1: knid: is not a field here" in shown
    assert "Line 2: kind: The kind must be one of" in shown


def test_cancelling_leaves_everything_as_it_is(mine, scope):
    page = worked(choose(mine, scope))
    mine.post(f"{page}cancel/")
    assert Import.objects.get().state == "cancelled"
    answer = mine.post(f"{page}start/", follow=True)
    assert "does not wait to be imported" in text_of(answer)
    assert not Memory.objects.exists()


def test_a_file_that_tells_its_format_is_not_asked_about_and_the_page_says_what_it_was_taken_for(mine, scope):
    answer = choose(mine, scope, b"# Depths\n\nMeasure in metres.\n", name="CLAUDE.md")
    shown = text_of(mine.get(answer["Location"]))
    assert "Recognised as AGENTS.md, CLAUDE.md and rules of editors, by its name. If it is something else" in shown
    assert Import.objects.get().format == "agents-md"


def test_a_file_that_does_not_tell_its_format_is_asked_about(mine, scope):
    answer = choose(mine, scope, b"what is this\n", name="notes.xyz")
    assert answer.status_code == 422
    assert "does not tell which format it is in. It may be: AGENTS.md, CLAUDE.md and rules" in text_of(answer)
    assert not Import.objects.exists()


def test_a_format_that_is_chosen_needs_no_name(mine, scope):
    choose(mine, scope, name="memories.backup", format="jsonl")
    assert Import.objects.get().format == "jsonl"


def test_a_file_that_is_too_large_is_told_beside_the_field(mine, scope, settings):
    settings.IMPORT_MEGABYTES = 1
    answer = choose(mine, scope, b"x" * 1_100_000)
    assert answer.status_code == 422
    assert "larger than 1 MB" in text_of(answer)


def test_what_a_file_says_is_shown_and_never_done(mine, scope):
    page = worked(choose(mine, scope, lines(1, content="<script>alert(1)</script>"), name="<b>.jsonl"))
    answer = mine.get(page).content.decode()
    assert "<script>alert(1)</script>" not in answer
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer


@pytest.mark.parametrize("act", ["", "start/", "cancel/", "undo/"])
def test_an_import_of_somebody_else_is_not_there(client_of, scope, act):
    row = make_import(scope)
    other = client_of(make_member(scope, Role.ADMIN))
    page = f"{PAGE}imports/{row.pk}/{act}"
    assert (other.post(page) if act else other.get(page)).status_code == 404
    assert Import.objects.get().state == "checked"


def test_members_see_that_something_was_imported_and_not_the_file(client_of, scope):
    make_import(scope)
    page = client_of(make_member(scope)).get(PAGE)
    assert "owner" in text_of(page)
    assert "told.jsonl" not in text_of(page)
    assert "told.jsonl" not in text_of(client_of(make_user()).get(PAGE))


def test_only_scopes_that_may_be_written_are_offered(client_of, owner, scope):
    make_scope(slug="theirs")
    reader = make_member(scope, Role.READER)
    own = make_scope(reader, slug="own")
    (offered,) = Html(client_of(reader).get(PAGE)).all("select", id="id_scope")[:1]
    assert offered.text == "own"
    assert choose(client_of(reader), scope).status_code == 422
    assert own.pk


def test_the_page_counts_what_an_export_would_hold(mine, owner, scope):
    make_memory("Live.", scope=scope)
    make_memory("Also.", scope=scope)
    shown = text_of(mine.get(f"{PAGE}?format=jsonl&scope={scope.pk}"))
    assert "2 live and 0 retired memories" in shown
    assert "vectors, which are computed again" in shown


def test_an_export_is_a_download_of_what_the_person_reads(mine, owner, scope):
    make_memory("Mine.", scope=scope)
    make_memory("Theirs.")
    answer = mine.get(f"{PAGE}export/?format=jsonl")
    raw = b"".join(answer.streaming_content)
    assert b"Mine." in raw
    assert b"Theirs." not in raw
    assert b"ranking_config" in raw
    assert 'filename="zero-memory-all-' in answer["Content-Disposition"]


def test_whoever_is_no_staff_exports_no_settings(client_of):
    person = make_user()
    make_memory("Mine.", scope=make_scope(person))
    raw = b"".join(client_of(person).get(f"{PAGE}export/?format=jsonl").streaming_content)
    assert b"Mine." in raw
    assert b"ranking_config" not in raw


@pytest.mark.parametrize("query", ["?format=tarot", "?format=jsonl&scope=999999"])
def test_an_export_that_cannot_be_is_told_on_the_page(mine, query):
    assert mine.get(f"{PAGE}export/{query}").status_code == 422


def test_the_queries_of_the_page_do_not_grow_with_imports(mine, scope):
    make_import(scope)
    mine.get(PAGE)
    assert queries_of(lambda: mine.get(PAGE)) == recorded_queries("transfer")
    for _ in range(4):
        make_import(scope)
    assert queries_of(lambda: mine.get(PAGE)) == recorded_queries("transfer")
