"""The page "How it ages", its tables as CSV, and its small form on other pages."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from django.utils import timezone

from memories.models import Memory
from memories.ranking import KINDS
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.insights.corpus import FADED, counted, make_aged, make_corpus
from tests.queries import queries_of, recorded_queries

NO_NUMBER = re.compile(r"undefined|NaN|None|Infinity|null")


@pytest.fixture
def person(client_of, owner, scope):
    return client_of(owner)


def text_of(response):
    """What is read, without markup and without the figures' JSON."""
    html = re.sub(r"<script.*?</script>", "", response.content.decode(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def csv_of(person, name, **query):
    return list(csv.reader(io.StringIO(person.get(f"/insights/{name}.csv", query).content.decode())))


@pytest.mark.behaviour("F45")
@pytest.mark.parametrize("size", [0, 1, 400], ids=["empty", "one row", "many"])
def test_the_page_never_shows_a_missing_number(person, scope, size):
    make_corpus(scope, size, now=timezone.now())
    page = person.get("/insights/")
    assert page.status_code == 200
    assert not NO_NUMBER.search(text_of(page))
    assert not NO_NUMBER.search("".join(re.findall(r"<script[^>]*json.*?</script>", page.content.decode())))


@pytest.mark.behaviour("F45", "Z85")
def test_the_tiles_are_the_counted_numbers(person, scope):
    now = timezone.now()
    make_corpus(scope, 100, now=now)
    shown = text_of(person.get("/insights/"))
    live, faded = counted("count(*)", now=now), counted("count(*)", FADED, now=now)
    assert f"Live memories {live} " in shown
    assert f"{faded} of {live}" in shown
    assert f"{100 * faded / live:.0f} %" in shown


@pytest.mark.behaviour("Z84", "F46")
def test_an_empty_corpus_shows_dashes_and_what_to_do_next(person):
    shown = text_of(person.get("/insights/"))
    assert "Live memories 0 Median age – Faded – Oldest – Newest –" in shown
    assert "Nothing to age yet" in shown
    assert 'href="/memories/new/"' in person.get("/insights/").content.decode()


@pytest.mark.behaviour("F46")
def test_the_dates_shown_are_the_dates_stored(person, owner, scope):
    make_memory(scope=scope, created_at=datetime(2019, 3, 6, 23, 30, tzinfo=UTC))
    make_memory(scope=scope, created_at=datetime(2024, 2, 29, 8, 0, tzinfo=UTC))
    assert "Oldest 6 Mar 2019 Newest 29 Feb 2024" in text_of(person.get("/insights/"))
    owner.time_zone = "Asia/Tokyo"
    owner.save()
    assert "Oldest 7 Mar 2019" in text_of(person.get("/insights/"))


@pytest.mark.behaviour("F45", "Z85")
def test_every_number_leads_to_as_many_memories(person, scope):
    make_corpus(scope, 120, now=timezone.now())
    page = person.get("/insights/").content.decode()
    links = set(re.findall(r'<a href="(/memories/\?[^"]+)">([\d,]+)</a>', page))
    assert len(links) > 15
    for address, number in links:
        listed = person.get(address.replace("&amp;", "&"))
        assert listed.context["total"] == int(number.replace(",", "")), address


@pytest.mark.behaviour("F45")
def test_the_scope_is_kept_in_the_address_and_in_every_link(person, owner, scope):
    other = make_scope(owner, slug="garden")
    make_aged(scope, range(10), now=timezone.now())
    make_aged(other, range(3), now=timezone.now())
    page = person.get("/insights/", {"scope": "garden"})
    assert "How it ages in garden" in text_of(page)
    assert "Live memories 3 " in text_of(page)
    links = re.findall(r'href="(/memories/\?[^"]+|/insights/[a-z-]+\.csv[^"]*)"', page.content.decode())
    assert links
    assert all("scope=garden" in address for address in links)


@pytest.mark.behaviour("Z79")
@pytest.mark.parametrize("address", ["/insights/", "/insights/age.csv"])
def test_a_foreign_and_an_unknown_scope_are_equally_not_found(person, address):
    make_scope(make_user(), slug="secret")
    foreign = person.get(address, {"scope": "secret"})
    unknown = person.get(address, {"scope": "nowhere"})
    assert foreign.status_code == unknown.status_code == 404
    assert text_of(foreign) == text_of(unknown)


@pytest.mark.behaviour("Z79")
def test_somebody_else_sees_none_of_these_memories(client_of, scope):
    make_aged(scope, range(10), now=timezone.now())
    assert "Live memories 0 " in text_of(client_of(make_user()).get("/insights/"))
    assert "Live memories 10 " in text_of(client_of(make_member(scope)).get("/insights/"))


def test_somebody_signed_out_is_sent_to_sign_in(client, db):
    assert client.get("/insights/").headers["Location"] == "/sign-in/?next=/insights/"


def test_staff_find_the_half_lives_from_here(client_of, owner, scope):
    link = "/admin/memories/rankingconfig/"
    assert link in client_of(owner).get("/insights/").content.decode()
    assert link not in client_of(make_member(scope)).get("/insights/").content.decode()


def test_what_decays_is_faded_neither_in_its_row_nor_in_the_numbers(person, owner):
    make_aged(make_scope(owner, slug="cold", retention="decaying"), [900], now=timezone.now(), kinds=["task"])
    (row,) = person.get("/memories/", {"scope": "cold"}).context["rows"]
    listed = person.get("/memories/", {"scope": "cold", "faded": "1"})
    page = person.get("/insights/")
    assert not row["faded"]
    assert listed.context["total"] == 0
    assert "cold decaying 1 2.5 years – –" in text_of(page)
    assert csv_of(person, "scopes")[1][4:] == ["", ""]


def test_scopes_that_decay_are_named(person, owner):
    make_aged(make_scope(owner, slug="cold", retention="decaying"), [3], now=timezone.now())
    assert "cold: search here does not weigh age" in text_of(person.get("/insights/"))


@pytest.mark.parametrize("scope_name", ["%00", "a" * 5000, "%ff", "../../etc", "a/b/c", " "])
def test_a_strange_scope_is_no_failure(person, scope_name):
    assert person.get(f"/insights/?scope={scope_name}").status_code in (200, 404)


@pytest.mark.behaviour("F45")
def test_the_csv_holds_the_numbers_themselves(person, scope):
    now = timezone.now()
    make_corpus(scope, 60, now=now)
    rows = csv_of(person, "faded")
    assert rows[0] == ["Kind", "Memories", "Faded", "Share faded", "Median age", "Half-life"]
    assert [row[0] for row in rows[1:]] == list(KINDS)
    faded = {row[0]: row[2] for row in rows[1:]}
    assert faded["task"] == str(counted("count(*)", f"kind = 'task' AND {FADED}", now=now))


@pytest.mark.parametrize("name", ["age", "faded", "half-lives", "scopes"])
def test_each_table_is_offered_as_csv(person, name):
    answer = person.get(f"/insights/{name}.csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}.csv"'
    assert len(csv_of(person, name)) > 1
    assert f"/insights/{name}.csv" in person.get("/insights/").content.decode()


@pytest.mark.parametrize("address", ["/insights/", "/insights/age.csv"])
def test_these_pages_only_read(person, address):
    assert person.post(address).status_code == 405


def test_an_unknown_table_is_not_found(person):
    assert person.get("/insights/secrets.csv").status_code == 404


@pytest.mark.behaviour("F32")
@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\tx"])
def test_a_formula_in_a_scope_name_is_inert_in_csv(person, owner, name):
    make_scope(owner, slug=name)
    assert f"'{name}" in [row[0] for row in csv_of(person, "scopes")]


@pytest.mark.behaviour("F32")
def test_markup_in_a_scope_name_is_inert_on_the_page(person, owner):
    make_aged(make_scope(owner, slug="<script>alert(1)</script>", retention="decaying"), [1], now=timezone.now())
    page = person.get("/insights/").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_page_costs_its_recorded_queries_however_much_there_is(person, owner, scope):
    person.get("/insights/")
    for size in (1, 300):
        make_corpus(make_scope(owner), size)
        assert queries_of(lambda: person.get("/insights/")) == recorded_queries("insights")


def test_the_small_form_shows_the_same_numbers(owner, scope):
    now = timezone.now()
    make_corpus(scope, 260, now=now)
    shown = small(owner)
    faded, live = counted("count(*)", FADED, now=now), counted("count(*)", now=now)
    assert f"{faded} of {live}" in shown
    assert shown.count('href="/memories/?state=live&amp;age=') == 5


@pytest.mark.behaviour("Z84")
def test_the_small_form_of_an_empty_corpus_shows_dashes(owner, scope):
    shown = " ".join(re.sub(r"<[^>]+>", " ", small(owner)).split())
    assert "Median age – Faded –" in shown
    assert not NO_NUMBER.search(shown)


def small(user):
    request = RequestFactory().get("/")
    request.user = user
    return Template("{% load ageing %}{% how_it_ages %}").render(Context({"request": request}))


@pytest.mark.behaviour("Z6")
def test_looking_at_ages_changes_no_row(person, scope):
    make_aged(scope, [1, 4000], now=timezone.now())
    before = list(Memory.objects.values().order_by("pk"))
    person.get("/insights/")
    person.get("/insights/half-lives.csv")
    assert list(Memory.objects.values().order_by("pk")) == before


def test_the_numbers_do_not_wait_for_the_next_day(person, scope):
    make_memory(scope=scope, created_at=timezone.now() - timedelta(minutes=5))
    assert "Median age 0 days" in text_of(person.get("/insights/"))
