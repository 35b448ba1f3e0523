"""``zeromemory fingerprint``: what recall is told of code that the server does not see."""

import io
import json
import os
import subprocess
import sys

import pytest

from memories.access import actor_for_user
from memories.fingerprinting import from_command_line
from memories.services import AnchorSpec, remember
from tests.factories import make_token
from tests.memories.code.trees import RANKING, make_tree, register, write
from zeromemory.lib.folders import PROJECT

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age")


@pytest.fixture
def tree(tmp_path):
    return make_tree(tmp_path / "shop")


@pytest.fixture
def told(tree, capsys):
    def tell(*arguments, code=0):
        assert from_command_line(["--repo", str(tree), *arguments]) == code
        out, err = capsys.readouterr()
        return json.loads(out), err

    return tell


def test_a_symbol_a_whole_file_and_what_is_not_there(told):
    rows, _ = told("./rank.py#relevance", "rank.py", "rank.py#missing", "other.py")
    assert [(row["path"], row["symbol"], "fingerprint" in row) for row in rows] == [
        ("rank.py", "relevance", True),
        ("rank.py", "", True),
        ("rank.py", "missing", False),
        ("other.py", "", False),
    ]
    assert {row["repository"] for row in rows} == {"shop"}


def test_every_symbol_of_a_file_and_the_code_itself(told):
    rows, _ = told("--symbols", "--code", "--repo-name", "store", "rank.py")
    assert [row["symbol"] for row in rows] == ["", "relevance", "newest_first"]
    assert rows[1]["code"] == RANKING.split("\n\n\n")[1]
    assert rows[0]["repository"] == "store"


def test_places_come_from_standard_input_too(told, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("rank.py#relevance\n\nrank.py#newest_first\nrank.py#relevance\n"))
    assert [row["symbol"] for row in told("-")[0]] == ["relevance", "newest_first"]


def test_a_short_name_is_told_in_full_and_one_that_means_several_is_left_out(told, tree):
    write(
        tree, {"two.py": "class A:\n    def run(self): pass\nclass B:\n    def run(self): pass\n    def go(self): 1\n"}
    )
    rows, said = told("two.py#go", "two.py#run", code=1)
    assert [row["symbol"] for row in rows] == ["B.go"]
    assert "two.py#run: means several symbols: A.run, B.run." in said


@pytest.mark.behaviour("H25")
def test_what_cannot_be_read_is_left_out_and_never_told_as_gone(told, tree, tmp_path):
    write(tmp_path, {"outside.py": RANKING})
    (tree / "link.py").symlink_to(tmp_path / "outside.py")
    write(tree, {"broken.py": "def f(: ]]\n    return (\n"})
    rows, said = told("link.py#relevance", "../outside.py", "broken.py#g", code=1)
    assert rows == []
    assert "link.py#relevance: The path leads out of the repository." in said
    assert "broken.py#g: the file does not parse" in said
    assert from_command_line(["--repo", str(tmp_path / "nowhere"), "rank.py"]) == 1


@pytest.mark.django_db
@pytest.mark.behaviour("H22", "H28")
@pytest.mark.parametrize("form", [(), ("--code",)])
def test_recall_takes_it_as_it_is_printed(client, scope, tree, told, form):
    register(scope, tree)
    secret = make_token(scope.owner, [scope])[1]
    spec = AnchorSpec("shop", "rank.py", "relevance")
    content = "Results are ordered by relevance."
    remember(actor=actor_for_user(scope.owner), scope=scope, content=content, anchors=[spec], ring=False)

    def verdict():
        asked = {"query": "ordered by relevance", "code_state": told(*form, "rank.py#relevance")[0]}
        headers = {"Authorization": f"Bearer {secret}"}
        answer = client.post("/api/v1/recall", asked, content_type="application/json", headers=headers)
        (row,) = answer.json()["results"]
        return row["anchors"][0]["verdict"]

    assert verdict() == "unchanged"
    write(tree, {"rank.py": REWRITTEN})
    assert verdict() == "changed"
    (tree / "rank.py").unlink()
    assert verdict() == "gone"


def test_it_runs_beside_code_without_an_instance(tree, tmp_path):
    environment = {"PATH": os.environ["PATH"], "ZEROMEMORY_DATA": str(tmp_path / "data"), "PYTHONPATH": str(PROJECT)}
    for command in ([sys.executable, "-m", "zeromemory"], [sys.executable, str(PROJECT / "manage.py")]):
        done = subprocess.run(
            [*command, "fingerprint", "rank.py#relevance"],
            cwd=tree, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert json.loads(done.stdout)[0]["fingerprint"].startswith("v1:python:")
    assert not (tmp_path / "data").exists()


def test_trouble_of_the_settings_is_no_finding_of_the_check(tree, tmp_path):
    environment = {"PATH": os.environ["PATH"], "ZEROMEMORY_DATA": str(tmp_path), "ZEROMEMORY_BIND": "nonsense"}
    command = [sys.executable, "manage.py", "anchors", "check", "--repo", str(tree), "--since", "HEAD"]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "ZEROMEMORY_BIND" in done.stderr
