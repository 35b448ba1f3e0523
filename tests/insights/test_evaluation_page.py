"""The pages of the evaluation: the runs, one run, and its figures as CSV."""

import csv
import io
import re

import pytest

from insights.evaluation_views import RUNS_SHOWN
from insights.models import EvaluationRun
from insights.quality.harness import SYSTEMS
from insights.quality.metrics import METRICS
from memories.services.config import change_fusion
from tests.factories import make_user
from tests.insights.evaluations import make_ageing_run, make_run
from tests.queries import queries_of, recorded_queries

LIST = "/insights/quality/"


@pytest.fixture
def person(client_of, db):
    return client_of(make_user())


def text_of(response):
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def shown(person, run):
    return text_of(person.get(f"{LIST}{run.pk}/"))


def test_without_runs_the_page_says_how_to_measure(person):
    page = text_of(person.get(LIST))
    assert "Nothing measured yet" in page
    assert "manage.py evaluate" in page
    assert "ZEROMEMORY_EVAL_DATA" in page


def test_a_visitor_without_an_account_is_sent_to_sign_in(client, db):
    run = make_run()
    for address in (LIST, f"{LIST}{run.pk}/", f"{LIST}{run.pk}.csv"):
        assert client.get(address).status_code == 302


def test_the_page_of_ages_leads_to_the_runs(person):
    assert f'href="{LIST}"' in person.get("/insights/").content.decode()


def test_runs_stand_newest_first_with_their_main_figures(person):
    older, newer = make_run(name="garden"), make_run(name="kitchen", kind="episode", better_by=0.1)
    page = text_of(person.get(LIST))
    assert page.index("kitchen") < page.index("garden")
    mean, low, high = newer.results["systems"][0]["overall"]["R@8"]
    assert f"{mean:.3f} ({low:.3f}–{high:.3f})" in page
    assert "1,200" in page
    assert older.revision[:7] in page
    assert older.revision not in page
    assert "2 runs" in page


def test_runs_of_the_probes_stand_apart_with_how_many_passed(person):
    run = make_ageing_run()
    page = text_of(person.get(LIST))
    assert "Ageing probes" in page
    failing = dict(run.results["failing"])[run.results["contrast"]]
    assert f"{run.queries - len(failing)} of {run.queries}" in page
    assert "Retrieval sets" not in page


def test_only_the_newest_runs_are_listed_and_the_page_says_so(person):
    first = make_run(name="the first one", queries=4)
    for _ in range(RUNS_SHOWN):
        make_run(queries=4)
    page = text_of(person.get(LIST))
    assert f"the newest {RUNS_SHOWN} of {RUNS_SHOWN + 1}" in page
    assert first.name not in page


def test_the_list_costs_the_same_queries_however_many_runs(person):
    make_run(queries=4)
    one = queries_of(lambda: person.get(LIST))
    for _ in range(5):
        make_run(queries=4)
    assert queries_of(lambda: person.get(LIST)) == one == recorded_queries("evaluation_list")


def test_a_run_shows_its_systems_categories_configuration_and_revision(person):
    run = make_run(curve=True)
    page = shown(person, run)
    systems = ("product, age ignored", "words alone, age ignored", "12.0", "single-hop 20", "temporal 20")
    circumstances = (run.revision, "test-model 1", "fusion 1, ranking 1", "Half-life, days", "3650")
    for expected in (*systems, *circumstances, "What does age cost?"):
        assert expected in page


def test_the_first_run_has_none_to_compare_with(person):
    assert "There is no earlier run" in shown(person, make_run())


def test_a_run_is_compared_question_by_question_with_the_one_before(person):
    before, after = make_run(), make_run(better_by=0.1)
    page = person.get(f"{LIST}{after.pk}/")
    assert "product +0.100 (+0.100 to +0.100, certain)" in text_of(page)
    assert f'href="{LIST}{before.pk}/"' in page.content.decode()


def test_no_change_is_not_called_certain(person):
    make_run()
    page = shown(person, make_run())
    assert "product +0.000 (+0.000 to +0.000)" in page
    assert "certain)" not in page


@pytest.mark.parametrize("other", [{"kind": "episode"}, {"name": "kitchen"}, {"queries": 30}])
def test_a_run_on_something_else_is_not_compared(person, other):
    make_run(**other)
    assert "There is no earlier run" in shown(person, make_run())


def test_a_run_shows_the_configuration_it_was_measured_with_not_the_present_one(person, owner):
    run = make_run()
    change_fusion(user=owner, contrast=33, reason="a trial")
    page = shown(person, run)
    assert f"Contrast {run.configuration['fusion']['contrast']:g}" in page
    assert "Contrast 33" not in page
    assert "fusion 1, ranking 1" in page


def test_a_run_of_the_probes_shows_which_failed_under_which_contrast(person):
    run = make_ageing_run()
    contrast, failing = run.results["failing"][-1]
    page = shown(person, run)
    assert failing
    assert f"Contrast {contrast:g} {run.queries - len(failing)} of {run.queries} passed; not: {failing[0]}" in page
    assert "Against the run before" not in page


def test_the_figures_come_as_csv_one_a_row(person):
    run = make_run()
    answer = person.get(f"{LIST}{run.pk}.csv")
    assert f'filename="evaluation-{run.pk}.csv"' in answer["Content-Disposition"]
    head, *rows = csv.reader(io.StringIO(answer.content.decode()))
    assert head == ["System", "Category", "Questions", "Metric", "Mean", "Low", "High"]
    mean, low, high = run.results["systems"][0]["overall"]["R@5"]
    assert rows[0] == ["product", "all", "40", "R@5", str(mean), str(low), str(high)]
    assert len(rows) == len(SYSTEMS) * 3 * len(METRICS)


def test_the_probes_come_as_csv(person):
    run = make_ageing_run()
    rows = list(csv.reader(io.StringIO(person.get(f"{LIST}{run.pk}.csv").content.decode())))
    assert rows[0] == ["Contrast", "Passed", "Failing"]
    assert len(rows) == 1 + len(run.results["failing"])


@pytest.mark.parametrize("ending", ["/", ".csv"])
def test_a_run_that_is_not_there_is_not_found(person, ending):
    assert person.get(f"{LIST}{99_999}{ending}").status_code == 404


def test_a_run_cannot_end_before_it_began(db):
    from django.db import IntegrityError

    run = make_run()
    with pytest.raises(IntegrityError, match="evaluation_run_times_ordered"):
        EvaluationRun.objects.filter(pk=run.pk).update(finished_at=run.started_at.replace(year=2001))
