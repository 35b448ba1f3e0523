"""What one commit says, and what it is about."""

import pytest

from memories.transfer.commits import clean, decode, parse_commit, without_trailers
from memories.transfer.mentions import PACKAGES, PATHS, is_telling, mentioned, package_of, touched


def test_a_commit_without_any_date_is_left_out_and_counted():
    raw = b"tree 1\nauthor A <a@example.org> yesterday\ncommitter A <a@example.org> 99999999999999 +0000\n\ntext"
    commit = parse_commit(raw)
    assert (commit.authored_at, commit.committed_at, commit.message) == (None, None, "text")


def test_a_message_of_zero_width_characters_says_nothing():
    assert parse_commit("tree 1\n\n\u200b\ufeff\n".encode()).own_text == ""


def test_signatures_and_merge_tags_are_no_part_of_the_message():
    raw = b"tree 1\nparent 2\nauthor A <a@b> 5 +0000\ngpgsig -----BEGIN\n parent 3\n \n -----END\n\nsubject\n\nbody"
    commit = parse_commit(raw)
    assert commit.parents == (b"2",)
    assert commit.message == "subject\n\nbody"


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("Fix it\n\nSigned-off-by: A <a@b.org>\nCo-authored-by: B <b@b.org>", "Fix it"),
        ("Fix it\n\nFixes: #12\nReviewed-by: A <a@b.org>", "Fix it\n\nFixes: #12"),
        ("Fix it\n\nwhy\n\nChange-Id: I0123\nCc: a@b.org", "Fix it\n\nwhy"),
        ("Fix it\n\n(cherry picked from commit 0123)", "Fix it"),
        ("Fix it\n\nCo-authored-by: B <b@b.org>\n\n* another commit", "Fix it\n\n* another commit"),
        ("Note: this is a subject", "Note: this is a subject"),
        ("Fix it\n\nNote: people read this\nand go on", "Fix it\n\nNote: people read this\nand go on"),
    ],
)
def test_trailers_for_tools_go_and_words_for_people_stay(message, kept):
    assert without_trailers(message) == kept


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Call load_all() in `Tide Station` twice: load_all()", ["load_all", "Tide Station"]),
        ("see https://example.org/a_b/cD and a_b@example.org", []),
        ("HTTPServer, camelCase, SnakeCase, snake_case, __init__", None),
        ("on GitHub at example.com, e.g. v1.2.3 of it. Then stop", []),
        ("numpy.linalg.norm and numpy.linalg.norm", ["numpy.linalg.norm"]),
    ],
)
def test_identifiers_are_told_from_prose(message, found):
    expected = ["HTTPServer", "camelCase", "SnakeCase", "snake_case", "__init__"] if found is None else found
    assert [name for type, name in mentioned(message) if type == "identifier"] == expected


def test_issue_numbers_are_found_and_anchors_and_colours_are_not():
    message = "Closes #12, GH-7 and (#12) but not page#4, a/b#5 or &#39;"
    assert [name for type, name in mentioned(message) if type == "issue"] == ["#12", "#7"]


def test_the_most_telling_paths_come_first_and_their_number_is_bounded():
    paths = [f"lib/core/m{number}/file.py" for number in range(40)] + ["README.md", "tests/test_a.py", "main.py"]
    found = touched(paths)
    assert [type for type, _ in found].count("path") == PATHS
    assert found[0] == ("path", "main.py")
    assert ("path", "README.md") not in found
    assert [type for type, _ in found].count("package") <= PACKAGES


@pytest.mark.parametrize(
    ("path", "telling"),
    [
        ("src/a.py", True),
        ("vendor/x/a.go", False),
        ("web/node_modules/a/index.js", False),
        ("poetry.lock", False),
        ("web/package-lock.json", False),
        ("static/app.min.js", False),
        ("docs/logo.svg", False),
        ("x" * 301, False),
        ("", False),
    ],
)
def test_what_tools_write_is_no_entity(path, telling):
    assert is_telling(path) == telling


@pytest.mark.parametrize(
    ("path", "package"),
    [("a.py", ""), ("memories/models/x.py", "memories"), ("crates/core/src/x.rs", "crates/core"), ("src/x.py", "src")],
)
def test_the_package_of_a_path(path, package):
    assert package_of(path) == package


def test_any_bytes_decode_to_text_that_can_be_stored():
    for encoding in ("", "utf-8", "utf-16", "utf-7", "punycode", "raw_unicode_escape", "rot13", "\x00"):
        for raw in (bytes(range(256)), b"\xff\xfe", b"+2AA-", b"\\ud800"):
            clean(decode(raw, encoding)).encode("utf-8")
