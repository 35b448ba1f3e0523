"""Pages for what goes wrong."""

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db


def broken(error):
    def execute(wrapped, sql, params, many, context):
        raise error

    return execute


@pytest.mark.parametrize(("error", "status"), [(OperationalError("gone"), 503), (RuntimeError("gone astray"), 500)])
def test_a_database_that_is_away_is_told_apart_from_a_fault_of_ours(client_of, owner, error, status):
    client = client_of(owner)
    client.raise_request_exception = False
    with connection.execute_wrapper(broken(error)):
        answer = client.get(reverse("memory_list"))
    assert answer.status_code == status
    assert ("The database does not answer" in answer.text) == (status == 503)
    assert answer.headers.get("Retry-After") == ("5" if status == 503 else None)
    assert "gone" not in answer.text


def test_the_address_of_a_button_says_so_when_it_is_opened(client_of, owner):
    answer = client_of(owner).get(reverse("run_start"))
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert "only takes what a button sends" in answer.text
    assert Client().get(reverse("run_start")).status_code == 302
