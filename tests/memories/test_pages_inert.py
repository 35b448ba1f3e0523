"""Markup in stored text is text: on every page and in every fragment, whatever field holds it."""

import re

import pytest
from django.urls import reverse

from reflections.models import Run
from tests.factories import make_memory, make_user
from tests.insights.evaluations import make_run
from tests.memories.pages import Html, named_pages, text_of
from tests.memories.planted import MARKUP, plant

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("F32")]

HTMX = {"HX-Request": "true"}
PAGES = named_pages()
QUERIES = {
    "activity": ["?q=%3Cscript%3Ealert(1)%3C/script%3E", "?agent=%3Cb%3E%22%27", "?outcome=%3Cb%3E", "?cursor=%3Cb%3E"],
    "memory_list": ["?state=all", "?q=alert", "?q=%3Cscript%3Ealert(1)%3C/script%3E", "?kind=%3Cb%3E%22%27",
                    "?entity=%3Cimg%20src=x%20onerror=1%3E", "?cursor=%3Cb%3E", "?scope=%3Cb%3E"],
    "memory_bulk": ["?scope=planted&kind=fact", "?scope=%3Cb%3E&before=%3Cb%3E",
                    "?scope=planted&entity=%3Cimg%20src=x%3E"],
    "reflection_list": ["?state=dismissed", "?scope=%3Cb%3E", "?after=%3Cb%3E"],
    "inbox": ["?state=decided", "?after=%3Cb%3E~%3Cb%3E", "?type=%3Cb%3E", "?item=draft.%3Cb%3E"],
    "memory_new": ["?scope=%3Cscript%3E"],
    "sign_in": ["?next=javascript:alert(1)"],
}  # fmt: skip
# Elements that no page of ours has, and that the planted text would make.
FOREIGN = {"img", "iframe", "style", "object", "embed"}


@pytest.fixture
def hostile(db):
    person = make_user(username="<b>person</b>", first_name=MARKUP[:150], last_name=MARKUP[:150], email="a@example.org")
    rows = plant(person)
    run = Run.objects.create(requested_by=person, state="failed", error=MARKUP)
    run.scopes.add(rows.scope)
    rows.person, rows.run = person, run
    rows.evaluation = make_run(name=MARKUP[:200], queries=4)
    return rows


def addresses_of(name, values, rows):
    known = {
        "memory_id": [rows.memory.pk, rows.old.pk, rows.gone.pk],
        "candidate_id": [rows.candidate.pk, rows.decided.pk],
        "cluster_id": [rows.cluster.pk],
        "operation_id": [rows.operation],
        "alias_id": [rows.alias.pk],
        "cycle_id": [rows.cycle.pk],
        "import_id": [rows.arrival.pk],
        "repository": [rows.repository.name],
        "anchor_id": [rows.memory.pk],
        "run_id": [rows.run.pk],
        "evaluation_id": [rows.evaluation.pk],
        "rule_id": [rows.rule.pk],
        "scope_id": [rows.scope.pk],
        "user_id": [rows.member.pk],
        "token_id": [rows.token.pk],
        "secret": ["<script>"],
        "name": ["age"],
        "source": ["draft"],
        "item_id": [rows.candidate.pk],
        "action": ["dismiss"],
    }
    assert set(values) <= known.keys(), f"This test must learn what a hostile {set(values) - known.keys()} is."
    if not values:
        return [reverse(name) + query for query in ["", *QUERIES.get(name, [])]]
    if len(values) == 1:
        return [reverse(name, args=[value]) for value in known[values[0]]]
    return [reverse(name, kwargs={value: known[value][0] for value in values})]


def wrongs(answer):
    """Everything on the page that could run, load or send something elsewhere."""
    found = []
    for element in Html(answer).elements:
        attributes = element.attributes
        if element.tag in FOREIGN:
            found.append(f"<{element.tag}>")
        if (
            element.tag == "script"
            and not attributes.get("src", "").startswith("/static/")
            and attributes.get("type") != "application/json"
        ):
            found.append(f"script {attributes}")
        found += [f"{element.tag} {name}" for name in attributes if re.fullmatch(r"on\w+|style|srcdoc|hx-on.*", name)]
        for name in ("href", "src", "action", "formaction", "hx-get", "hx-post"):
            value = attributes.get(name, "").strip().lower()
            if re.match(r"[a-z][a-z0-9+.-]*:|//", value):
                found.append(f"{element.tag} {name}={value}")
    return found


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
@pytest.mark.parametrize(("name", "values"), PAGES, ids=[name for name, _ in PAGES])
def test_no_page_runs_loads_or_sends_anything_that_a_text_says(name, values, headers, hostile, client_of):
    mine = client_of(hostile.person)
    for address in addresses_of(name, values, hostile):
        answer = mine.get(address, headers=headers)
        assert answer.status_code < 500, address
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            assert wrongs(answer) == [], address
            assert "14{% debug" not in answer.text, address  # the text is no template either


def test_the_text_itself_can_be_read(hostile, client_of):
    mine = client_of(hostile.person)
    for address in ("/memories/", reverse("memory_detail", args=[hostile.memory.pk]), "/reflections/", "/"):
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;" in mine.get(address).text, (
            address
        )


def test_a_form_holds_the_text_as_it_is(hostile, client_of):
    html = Html(client_of(hostile.person).get(reverse("memory_edit", args=[hostile.memory.pk])))
    assert html.field("content") == f"newer {MARKUP}"


@pytest.mark.parametrize("name", ["scope_list", "token_new", "memory_new", "settings_page"])
def test_what_was_typed_and_refused_comes_back_inert(name, hostile, client_of):
    fields = ("content", "name", "slug", "scopes", "scope", "kind", "source", "first_name", "email", "days")
    sent = dict.fromkeys(fields, MARKUP)
    answer = client_of(hostile.person).post(reverse(name), sent)
    assert wrongs(answer) == []


def test_a_message_about_a_hostile_name_is_inert(hostile, client_of):
    mine = client_of(hostile.person)
    answer = mine.post(reverse("token_revoke", args=[hostile.token.pk]), follow=True)
    assert "Revoked &lt;script&gt;" in answer.text
    assert wrongs(answer) == []


@pytest.mark.parametrize(
    ("character", "shown"),
    [("\u200b", "U+200B"), ("\u202e", "U+202E"), ("\x1b", "U+001B"), ("\u2066", "U+2066"), ("\ufeff", "U+FEFF")],
)
def test_what_cannot_be_seen_is_marked_on_the_pages_of_a_memory(character, shown, owner, scope, client_of):
    memory = make_memory(f"be{character}fore", scope=scope)  # an import keeps even what a write takes out
    for address in ("/memories/", reverse("memory_detail", args=[memory.pk]), "/"):
        assert shown in text_of(client_of(owner).get(address)), address
