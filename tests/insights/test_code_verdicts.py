"""The share of anchors by verdict on /insights/, as of the last look of the cycle."""

import csv
import io

import pytest

from memories.models import CodeLook
from tests.factories import make_member, make_scope, make_user
from tests.memories.code.trees import make_tree, write
from tests.memories.pages import Html, text_of
from tests.reflections.anchored import about, functions, look, module

pytestmark = pytest.mark.django_db


@pytest.fixture
def tree(scope, tmp_path):
    made = make_tree(tmp_path / "shop")
    functions(scope, made, 10)
    write(made, module(10, changed=2) | {"away.py": "x = 1\n"})
    about(scope, "away.py")
    (made / "away.py").unlink()
    (made / "away.py").mkdir()
    look(scope)
    return made


@pytest.fixture
def mine(client_of, owner):
    return client_of(owner)


def section(client, query=""):
    return Html(client.get(f"/insights/{query}")).all("section", id="code")[0].text


def test_the_share_is_of_what_could_be_read_and_the_rest_is_counted_apart(mine, tree):
    text = section(mine)
    assert "Changed or gone 20 % 2 of 10" in text
    assert "Could not be checked 1 not in the share" in text
    assert "changed 20 % (2)" in mine.get("/insights/").text
    assert "just now" in text or "second" in text or "minute" in text


def test_without_a_look_or_without_code_there_is_no_share_of_nothing(mine, scope, tmp_path):
    assert "No memory names code here yet." in section(mine)
    functions(scope, make_tree(tmp_path / "shop"), 2)
    text = section(mine)
    assert "Memories name code in 2 places, and no hygiene cycle has read it yet." in text
    assert "%" not in text


def test_where_nothing_could_be_read_there_is_no_share_either(mine, scope, tree, tmp_path):
    tree.rename(tmp_path / "elsewhere")
    look(scope)
    text = section(mine)
    assert "No code could be read" in text
    assert "Changed or gone –" in text


def test_the_table_is_the_csv_and_leads_to_the_memories(mine, tree):
    rows = list(csv.DictReader(io.StringIO(mine.get("/insights/code.csv").content.decode())))
    assert [(row["Repository"], row["Scope"], row["Changed"], row["Could not be checked"]) for row in rows] == [
        ("shop", "home", "2", "1")
    ]
    page = mine.get("/insights/").text
    assert 'href="/repositories/shop/?verdict=changed"' in page
    files = text_of(mine.get("/repositories/shop/?verdict=changed"))
    assert "What f0 does." in files
    assert "What f5 does." not in files
    assert "What f5 does." in text_of(mine.get("/repositories/shop/?verdict=nonsense"))


def test_each_scope_has_its_own_and_a_stranger_none(mine, client_of, owner, scope, tree):
    make_scope(owner, slug="work")
    assert "2 of 10" in section(mine, "?scope=home")
    assert "No memory names code here yet." in section(mine, "?scope=work")
    assert "2 of 10" in section(client_of(make_member(scope)))
    stranger = make_user()
    make_scope(stranger)
    assert "No memory names code here yet." in section(client_of(stranger))


def test_a_formula_in_the_name_of_a_repository_is_text_in_a_spreadsheet(mine, scope, tree):
    CodeLook.objects.update(repository="=1+1")
    assert "'=1+1" in mine.get("/insights/code.csv").content.decode()
