"""``make demo``: from an empty folder to pages that have something to show."""

from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.instance import Instance, open_folder
from tests.acceptance.test_start import PASSWORD, browser, post

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("F55")]


@pytest.fixture(scope="module")
def demo() -> Iterator[Instance]:
    with open_folder() as folder:
        instance = Instance(folder / "data")
        instance.start("demo")
        yield instance
        instance.interrupt()
        instance.remove()


@pytest.fixture(scope="module")
def owner(demo: Instance) -> Iterator[httpx.Client]:
    with browser(demo) as client:
        client.get(demo.link)
        post(client, demo.link)
        post(client, "/choose-password/", new_password1=PASSWORD, new_password2=PASSWORD)
        yield client


def test_it_says_what_to_look_at_first(demo):
    assert "memories loaded" in demo.output
    for path in ("/reflections/", "/memories/", "/insights/", "/memories/compare/?q="):
        assert f"{demo.address}{path}" in demo.output


@pytest.mark.parametrize("path", ["/", "/memories/", "/memories/compare/", "/reflections/", "/insights/"])
def test_each_page_to_look_at_answers(owner, path):
    answer = owner.get(path)
    assert answer.status_code == 200
    assert answer.url.path == path


def test_reflections_wait_for_a_person(owner):
    assert "Approve" in owner.get("/reflections/").text


def test_a_second_demo_adds_nothing(demo):
    again = demo.run("demo")
    assert again.returncode == 0
    assert "already running" in again.stdout
    assert "0 memories loaded" in again.stdout
