"""What a tree holds by language, and git that takes too long."""

import pytest

from memories import checkout
from memories.checkout import Checkout
from memories.committed import Committed
from memories.tree_languages import languages_of
from tests.memories.code.trees import commit, git, make_tree, register, write
from tests.memories.pages import text_of


@pytest.fixture
def tree(tmp_path):
    made = make_tree(tmp_path / "shop")
    write(made, {"a.py": "", "b.ts": "", "README.md": "", "schema.sql": "", ".gitignore": "built/\n", "built/c.py": ""})
    return made


@pytest.mark.behaviour("H29")
def test_files_are_counted_by_language_and_those_without_a_parser_apart(tree):
    found = languages_of(Checkout(str(tree)))
    assert found.parsed == (("python", 2), ("typescript", 1))
    assert found.others == 3


@pytest.mark.behaviour("H29")
@pytest.mark.django_db
def test_the_page_says_which_are_read_by_symbol(client_of, scope, tree):
    register(scope, tree)
    page = text_of(client_of(scope.owner).get("/repositories/shop/"))
    assert "python 2, typescript 1 and 3 without a parser, compared whole by their text" in page


@pytest.mark.django_db
def test_a_tree_that_is_too_large_to_count_says_so(client_of, scope, tree, monkeypatch):
    register(scope, tree)
    monkeypatch.setattr(checkout, "MOST_FILES", 3)
    assert "more than 3 files" in text_of(client_of(scope.owner).get("/repositories/shop/"))


def test_all_calls_of_git_in_one_look_take_no_longer_than_they_may_together(tree):
    look = Checkout(str(tree))
    assert look.revision
    look.git_seconds_in_all = 0.0
    assert look.git("rev-parse", "HEAD") is None
    assert "README.md" in look.paths  # walked, without git


def test_a_commit_is_read_whatever_is_checked_out(tree):
    first = git(tree, "rev-parse", "HEAD")
    write(tree, {"rank.py": "x = 1\n", "new.py": "y = 2\n"})
    (tree / "link.py").symlink_to("rank.py")
    second = commit(tree)
    assert Committed(str(tree), first).paths == ["rank.py"]
    assert "def relevance" in Committed(str(tree), first).read("rank.py").text
    then = Committed(str(tree), second)
    assert then.read("rank.py").text == "x = 1\n"
    assert "link.py" not in then.paths
