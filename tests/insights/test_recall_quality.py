"""Whether recall is useful: each figure against a count of its own, what is shown of too little, and for whom."""

import csv
import io
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone

from insights.recall_quality import recall_quality
from insights.recall_words import tiles
from memories.access import actor_for_user
from memories.services.reinforcement import record_challenge, withdraw_reports
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.insights.asking import make_event, make_recall, make_surfaced

pytestmark = pytest.mark.django_db

FROM_DAY = "current_date_utc - 29"
IN_SCOPES = "memory_id IN (SELECT id FROM memories WHERE scope_id = ANY(%(scopes)s))"
SURFACED = f"FROM memory_surfacing WHERE day >= {FROM_DAY} AND {IN_SCOPES}"
WITHDRAWN = "SELECT FROM usage_event w WHERE w.memory_id = e.memory_id AND w.at = e.at AND w.source = 'withdrawn'"
SAID = (
    f"FROM usage_event e WHERE (at AT TIME ZONE 'UTC')::date >= {FROM_DAY} AND {IN_SCOPES} "
    f"AND source <> 'withdrawn' AND (source <> 'challenge' OR NOT EXISTS ({WITHDRAWN}))"
)
GIVEN_SO = f"AND memory_id IN (SELECT memory_id {SURFACED})"
ASKED = f"FROM recall_activity WHERE user_id = %(user)s AND (at AT TIME ZONE 'UTC')::date >= {FROM_DAY}"
GIVEN = (
    "FROM (SELECT unnest(memories) AS memory_id, unnest(ages) AS age, unnest(reinforced) AS reinforced "
    f"{ASKED} {{narrow}}) AS one WHERE {IN_SCOPES}"
)
COUNTED = {
    "surfaced": f"SELECT count(DISTINCT memory_id) {SURFACED}",
    "times": f"SELECT coalesce(sum(count), 0) {SURFACED}",
    "useful": f"SELECT count(DISTINCT memory_id) {SAID} AND useful {GIVEN_SO}",
    "misled": f"SELECT count(DISTINCT memory_id) {SAID} AND misled {GIVEN_SO}",
    "reports": f"SELECT count(*) {SAID}",
    "judged": f"SELECT count(*) {SAID} AND relevant IS NOT NULL",
    "relevant": f"SELECT count(*) {SAID} AND relevant",
    "recalls": f"SELECT count(*) {ASKED} {{narrow}} AND outcome <> 'error'",
    "empty": f"SELECT count(*) {ASKED} {{narrow}} AND outcome = 'empty'",
    "failed": f"SELECT count(*) {ASKED} {{narrow}} AND outcome = 'error'",
    "given": f"SELECT count(*) {GIVEN}",
    "reinforced": f"SELECT count(*) {GIVEN} AND reinforced",
    "median_age_days": f"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) {GIVEN}",
}


def counted(name, owner, scopes, narrow=""):
    statement = COUNTED[name].format(narrow=narrow).replace("current_date_utc", "(now() AT TIME ZONE 'UTC')::date")
    with connection.cursor() as cursor:
        cursor.execute(statement, {"user": owner.pk, "scopes": [scope.pk for scope in scopes]})
        return cursor.fetchone()[0]


def quality(user, **asked):
    return recall_quality(actor=actor_for_user(user), now=timezone.now(), **asked)


@pytest.fixture
def garden(owner):
    return make_scope(owner, slug="garden")


@pytest.fixture
def quarter(owner, scope, garden):
    """Two scopes of one person and one of somebody else, with recalls and reports in and before the period."""
    foreign = make_scope(slug="foreign")
    memories = [
        make_memory(scope=(scope, garden, foreign)[number % 3], age_days=200 - number * 3) for number in range(24)
    ]
    for number, memory in enumerate(memories):
        if number % 4:
            make_surfaced(memory, days_ago=number * 2, times=number + 1)
        make_event(memory, days_ago=number * 2, useful=number % 2 == 0, session=f"s{number}")
        make_event(memory, days_ago=number, source="judge", relevant=number % 3 > 0, misled=number % 5 == 0)
        at = timezone.now() - timedelta(days=number)
        record_challenge(memory=memory, user=owner, at=at)
        if number % 3:
            withdraw_reports(memory=memory, user=owner, only_of=at)
    for number in range(20):
        mine = [memories[number], memories[number + 1], memories[number + 3]]
        make_recall(
            owner,
            mine[: number % 4],
            scopes=[[scope], [scope, garden], [garden]][number % 3],
            days_ago=number * 1.7,
            reinforced=[number % 2 == 0, True, False][: number % 4],
        )
        make_recall(make_user(), mine, scopes=[scope], days_ago=number)
    make_recall(owner, error="unavailable", days_ago=2)
    make_recall(owner, error="unavailable", days_ago=2, scopes=[garden])
    return memories


# Each figure ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTED)
def test_a_figure_over_all_scopes_is_its_count(owner, scope, garden, quarter, name):
    found = getattr(quality(owner), name)
    assert found
    assert found == pytest.approx(counted(name, owner, [scope, garden]))


@pytest.mark.parametrize("name", COUNTED)
def test_a_figure_of_one_scope_is_its_count(owner, garden, quarter, name):
    found = getattr(quality(owner, scope=garden), name)
    assert found
    assert found == pytest.approx(counted(name, owner, [garden], f"AND {garden.pk} = ANY(scopes)"))


def test_shares_are_quotients_of_the_counts(owner, quarter):
    found = quality(owner)
    assert found.usefulness == found.useful / found.surfaced
    assert found.empty_share == found.empty / found.recalls
    assert found.reinforced_share == found.reinforced / found.given
    assert all(0 <= share <= 1 for share in (found.usefulness, found.empty_share, found.reinforced_share))


def test_what_was_useful_and_not_given_in_the_period_is_no_share_of_what_was_given(owner, scope):
    given, before = make_memory(scope=scope), make_memory(scope=scope)
    make_surfaced(given)
    make_surfaced(before, days_ago=31)
    for memory in (given, before):
        make_event(memory, useful=True)
    assert (quality(owner).useful, quality(owner).usefulness) == (1, 1.0)


@pytest.mark.parametrize(("days", "counts"), [(7, 1), (30, 2), (90, 3)])
def test_the_period_is_of_whole_days_in_utc_and_today_is_one(owner, scope, days, counts):
    midnight = datetime.combine(timezone.now().astimezone(UTC).date(), datetime.min.time(), tzinfo=UTC)
    for period in (7, 30, 90):
        memory = make_memory(scope=scope)
        first = midnight - timedelta(days=period - 1)
        make_surfaced(memory, days_ago=period - 1)
        make_event(memory, at=first, useful=True)
        make_event(make_memory(scope=scope), at=first - timedelta(microseconds=1), useful=True)
    found = quality(owner, days=days)
    assert (found.surfaced, found.useful) == (counts, counts)


def test_every_day_has_its_bar_and_the_bars_add_up(owner, quarter):
    found = quality(owner)
    assert len(found.by_day) == 30
    assert found.by_day[-1].day == timezone.now().astimezone(UTC).date()
    assert sum(day.found + day.empty for day in found.by_day) == found.recalls
    assert (sum(day.empty for day in found.by_day), sum(day.failed for day in found.by_day)) == (
        found.empty,
        found.failed,
    )


def test_of_a_longer_period_the_log_has_thirty_days(owner, scope):
    found = quality(owner, days=90)
    assert (found.log_days, len(found.by_day)) == (30, 30)


# Too little to say ---------------------------------------------------------------------------


@pytest.mark.behaviour("Z84")
def test_without_any_data_there_is_no_share(owner, scope):
    found = quality(owner)
    assert (found.usefulness, found.precision, found.empty_share, found.reinforced_share) == (None,) * 4
    assert found.median_age_days is None
    shown = {tile["label"]: tile["value"] for tile in tiles(found, "/activity/")}
    assert shown["Useful among the given"] is None
    assert shown["Reported useful"] is None
    assert "0 %" not in shown.values()


@pytest.mark.behaviour("Z84")
@pytest.mark.parametrize(("judged", "label"), [(24, "Useful among the given"), (25, "Relevant to the question")])
def test_the_stand_in_is_shown_below_25_judged_events_and_never_both(owner, scope, judged, label):
    memory = make_memory(scope=scope)
    make_surfaced(memory)
    for number in range(judged):
        make_event(memory, source="judge", relevant=number < 20, useful=number < 3)
    found = quality(owner)
    shown = {tile["label"] for tile in tiles(found, "/activity/")}
    assert shown & {"Useful among the given", "Relevant to the question"} == {label}
    assert found.precision == (20 / 25 if judged == 25 else None)


@pytest.mark.behaviour("Z84")
def test_below_25_the_page_says_how_many_are_judged(client_of, owner, scope):
    memory = make_memory(scope=scope)
    make_surfaced(memory, times=3)
    for _ in range(12):
        make_event(memory, source="judge", relevant=True)
    shown = text_of(client_of(owner).get("/insights/"))
    assert "12 of 25 judged events" in shown
    assert "Useful among the given 0 % 0 of 1; a stand-in, 12 of 25 judged events" in shown


@pytest.mark.behaviour("Z84")
def test_nothing_reported_is_a_dash_and_not_0(client_of, owner, scope):
    make_surfaced(make_memory(scope=scope))
    shown = text_of(client_of(owner).get("/insights/"))
    assert "Reported useful – no reports yet" in shown
    assert "Useful among the given – 0 of 25 judged events" in shown
    assert "0 %" not in shown.split("Is recall useful")[1]


# The page, its table and REST ----------------------------------------------------------------


def text_of(response):
    html = re.sub(r"<script.*?</script>", "", response.content.decode(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_every_share_stands_beside_its_count(client_of, owner, quarter):
    found, shown = quality(owner), text_of(client_of(owner).get("/insights/"))
    assert f"Nothing found {100 * found.empty_share:.0f} % {found.empty} of {found.recalls} recalls" in shown
    assert f"Moved by use {100 * found.reinforced_share:.0f} % {found.reinforced} of {found.given} results" in shown


def test_scope_and_period_are_kept_in_the_address(client_of, owner, garden, quarter):
    mine = client_of(owner)
    shown = mine.get("/insights/", {"scope": "garden", "days": "7"})
    assert "Is recall useful in garden?" in text_of(shown)
    page = shown.content.decode()
    assert '<input type="hidden" name="days" value="7">' in page
    assert 'href="/insights/?scope=garden&amp;days=90#recall"' in page
    assert 'href="/insights/recalls.csv?scope=garden&amp;days=7"' in page
    assert 'href="/activity/?scope=garden"' in page


@pytest.mark.parametrize("days", ["0", "-1", "31", "x", "9" * 50, ""])
def test_another_period_is_the_usual_one(client_of, owner, scope, days):
    assert client_of(owner).get("/insights/", {"days": days}).context["days"] == 30


def test_the_csv_holds_the_days(client_of, owner, quarter):
    answer = client_of(owner).get("/insights/recalls.csv", {"days": "7"})
    rows = list(csv.reader(io.StringIO(answer.content.decode())))
    assert rows[0] == ["Day (UTC)", "Found something", "Nothing found", "Failed"]
    found = quality(owner, days=7)
    assert [[int(value) for value in row[1:]] for row in rows[1:]] == [
        [day.found, day.empty, day.failed] for day in found.by_day
    ]


def test_rest_gives_the_same_numbers(api_of, owner, scope, garden, quarter):
    api = api_of(owner, scope, garden)
    answer = api.get("/insights/recall", scope="garden", days=30)
    found = quality(owner, scope=garden)
    assert answer.status_code == 200
    assert {name: value for name, value in answer.json().items() if name in COUNTED} == {
        name: pytest.approx(getattr(found, name)) for name in COUNTED
    }
    assert json.dumps(answer.json()["by_day"][0]["day"])


@pytest.mark.parametrize("days", [0, 366, "x"])
def test_rest_refuses_another_number_of_days(api, days):
    assert api.get("/insights/recall", days=days).json()["code"] == "validation_failed"


# Walls ---------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z79")
def test_somebody_else_counts_nothing_of_this(owner, quarter):
    stranger = quality(make_user())
    assert {getattr(stranger, name) for name in COUNTED} == {0, None}


@pytest.mark.behaviour("Z79")
def test_a_member_counts_what_was_given_of_the_scope_and_none_of_what_others_asked(owner, scope, quarter):
    member = quality(make_member(scope))
    assert member.surfaced == counted("surfaced", owner, [scope])
    assert (member.recalls, member.failed, member.given, member.median_age_days) == (0, 0, 0, None)
    assert not any(day.found or day.empty or day.failed for day in member.by_day)


@pytest.mark.behaviour("Z79")
def test_a_foreign_scope_is_not_found(api, client_of, owner):
    make_scope(make_user(), slug="secret")
    assert api.get("/insights/recall", scope="secret").status_code == 404
    assert client_of(owner).get("/insights/recalls.csv", {"scope": "secret"}).status_code == 404


@pytest.mark.behaviour("Z79")
def test_a_token_counts_only_what_was_asked_where_it_may_read(api_of, owner, scope, garden):
    make_recall(owner, scopes=[garden])
    make_recall(owner, scopes=[scope])
    assert api_of(owner, garden).get("/insights/recall").json()["recalls"] == 1


def test_a_token_counts_its_own_failures_and_nobody_elses(api, api_of, owner, scope):
    other = api_of(owner, scope)
    for _ in range(2):
        assert api.post("/recall", {"query": "gate", "scopes": ["nowhere"]}).status_code == 404
    assert other.post("/recall", {"query": "gate", "scopes": ["nowhere"]}).status_code == 404
    told = api.get("/insights/recall").json()
    assert (told["failed"], sum(day["failed"] for day in told["by_day"])) == (2, 2)
    assert api.get("/insights/recall", scope="home").json()["failed"] == 0
