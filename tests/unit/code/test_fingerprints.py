"""A fingerprint follows what code says, and nothing else about it."""

import subprocess
import sys

import pytest

from memories.code.again import fingerprinted_again
from memories.code.grammars import GRAMMARS, TEXT, language_of
from memories.code.symbols import Source
from tests.unit.code.samples import SAMPLES


def exact(code, language, symbol):
    found = Source(code, language).symbol(symbol)
    assert found is not None, Source(code, language).names()
    assert not found.fingerprints.is_weak
    return found.fingerprints.exact


each_language = pytest.mark.parametrize("sample", SAMPLES, ids=str)


@pytest.mark.behaviour("H29")
def test_every_language_with_a_parser_has_a_sample():
    assert {sample.language for sample in SAMPLES} == set(GRAMMARS)


@each_language
def test_what_a_file_defines_has_qualified_names(sample):
    assert tuple(Source(sample.code, sample.language).names()) == sample.names


@pytest.mark.behaviour("H8")
@each_language
def test_layout_comments_documentation_and_trailing_commas_change_nothing(sample):
    assert sample.code != sample.same
    before, after = (exact(code, sample.language, sample.symbol) for code in (sample.code, sample.same))
    assert before == after


@pytest.mark.behaviour("H9")
@each_language
def test_every_change_of_what_it_says_changes_it(sample):
    before = exact(sample.code, sample.language, sample.symbol)
    for old, new in sample.changes:
        assert old in sample.code, old
        assert exact(sample.code.replace(old, new), sample.language, sample.symbol) != before, (old, new)


@pytest.mark.behaviour("H10")
@each_language
def test_another_symbol_of_the_file_changes_nothing(sample):
    comment = {"python": "#", "ruby": "#", "elixir": "#", "bash": "#", "lua": "--"}.get(sample.language, "//")
    more = (
        f"{sample.code}\n{comment} more\n"
        if sample.language != "php"
        else sample.code.replace("LIMIT = 3", "LIMIT = 4")
    )
    assert exact(more, sample.language, sample.symbol) == exact(sample.code, sample.language, sample.symbol)


@pytest.mark.behaviour("H11")
@each_language
def test_line_endings_and_a_byte_order_mark_change_nothing(sample):
    windows = "\ufeff" + sample.code.replace("\n", "\r\n")
    assert exact(windows, sample.language, sample.symbol) == exact(sample.code, sample.language, sample.symbol)


@each_language
def test_the_name_is_all_that_the_masked_fingerprint_leaves_out(sample):
    own = sample.symbol.rpartition(".")[2]
    before = Source(sample.code, sample.language).symbol(sample.symbol).fingerprints
    renamed = Source(sample.code.replace(own, "renamed"), sample.language)
    after = renamed.symbol(sample.symbol.replace(own, "renamed")).fingerprints
    assert before.masked == after.masked
    assert before.exact != after.exact
    old, new = sample.changes[0]
    other = Source(sample.code.replace(old, new), sample.language).symbol(sample.symbol).fingerprints
    assert other.masked != before.masked


@pytest.mark.behaviour("H21")
@each_language
def test_it_can_be_made_anew_from_the_text_of_the_symbol(sample):
    found = Source(sample.code, sample.language).symbol(sample.symbol)
    assert fingerprinted_again(found.text, sample.language, sample.symbol) == found.fingerprints


@pytest.mark.parametrize("code", ["def f(a):\n    return (a\n", "def f(a):\n    return a +\n", "def f(a:\n    pass\n"])
def test_code_that_cannot_be_parsed_is_compared_by_its_text(code):
    source = Source(code, "python")
    assert source.has_errors
    assert source.whole.fingerprints.is_weak
    assert Source("\n\n  " + code, "python").whole.fingerprints == source.whole.fingerprints


@each_language
def test_code_as_people_write_it_lacks_nothing(sample):
    assert not Source(sample.code, sample.language).has_errors


def test_a_file_in_which_the_parser_put_in_a_token_cannot_be_relied_on():
    source = Source("def f(:\n    return 1\n", "python")
    assert source.symbol("g") is None
    assert source.has_errors


@pytest.mark.parametrize("code", ["int f(int a) { return g(a; }", "int f(int a { return a; }"])
def test_what_the_parser_puts_in_by_itself_is_an_error_too(code):
    assert Source(code, "c").whole.fingerprints.is_weak


@pytest.mark.behaviour("H22")
def test_every_process_makes_the_same_one_whatever_its_hash_seed():
    script = (
        "from memories.code.symbols import Source; from tests.unit.code.samples import SAMPLES\n"
        "for s in SAMPLES: print(Source(s.code, s.language).symbol(s.symbol).fingerprints.exact)"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    (lines,) = made
    assert lines.splitlines() == [exact(sample.code, sample.language, sample.symbol) for sample in SAMPLES]


def test_structure_counts_where_only_indentation_shows_it():
    inside = exact("def f():\n    if a:\n        b()\n        c()\n", "python", "f")
    outside = exact("def f():\n    if a:\n        b()\n    c()\n", "python", "f")
    assert inside != outside


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 'it'", 'x = "it"'),
        ("x = 'it\\'s'", 'x = "it\'s"'),
        ("x = 'a' 'b'", "x = 'ab'"),
        ("x = ('a'\n     'b')", "x = 'ab'"),
        ("x = 1_000", "x = 1000"),
        ("x = 0xff", "x = 255"),
        ("x = (a + b)", "x = a + b"),
        ("x = a \\\n  + b", "x = a + b"),
        ("x = (a, b)", "x = a, b"),
        ("x = [a, b,]", "x = [a, b]"),
        ("x = 1; ", "x = 1"),
    ],
)
def test_python_values_count_and_not_how_they_are_written(one, other):
    assert exact(one + "\n", "python", "x") == exact(other + "\n", "python", "x")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = (a,)", "x = (a)"),
        ("x = a[b,]", "x = a[b]"),
        ("x = (a + b) * c", "x = a + b * c"),
        ("x = 'a'", "x = b'a'"),
        ("x = f'{a}'", "x = '{a}'"),
        ("x = f'{a!r}'", "x = f'{a}'"),
        ("x = 1", "x = 1.0"),
        ("x = 'a '", "x = 'a'"),
        ("x = ' '", "x = ''"),
        ("x: int = 1", "x = 1"),
        ("x = not a", "x = a"),
    ],
)
def test_python_values_that_differ_are_told_apart(one, other):
    assert exact(one + "\n", "python", "x") != exact(other + "\n", "python", "x")


def test_an_elided_place_of_an_array_counts():
    assert exact("const x = [a,,];", "javascript", "x") != exact("const x = [a,];", "javascript", "x")


def test_semicolons_that_separate_nothing_do_not_count_but_those_of_a_loop_do():
    loop = "function f() {{ for ({}) go() }}"
    assert exact(loop.format("a;;"), "javascript", "f") != exact(loop.format(";;a"), "javascript", "f")


@pytest.mark.parametrize("deep", ["[" * 30_000 + "]" * 30_000, "+".join(["1"] * 30_000)])
def test_what_is_nested_beyond_measure_is_compared_by_its_text(deep):
    assert Source(f"x = {deep}\n", "python").symbol("x").fingerprints.is_weak
    assert not Source(f"x = {'[' * 300}{']' * 300}\n", "python").symbol("x").fingerprints.is_weak


def test_a_long_table_takes_no_more_than_its_length():
    table = "x = [" + "1, " * 20_000 + "]\n"
    assert exact(table, "python", "x") == exact(table.replace(", ]", "]"), "python", "x")


@pytest.mark.behaviour("H29")
def test_files_that_no_parser_reads_are_compared_by_their_words():
    assert language_of("notes/plan.txt") == TEXT
    one, other = Source("a  b\n\n c", TEXT).whole.fingerprints, Source("a b c\n", TEXT).whole.fingerprints
    assert one == other
    assert one.is_weak
    assert Source("a b d", TEXT).whole.fingerprints != one
    assert Source("def f(): pass", TEXT).names() == []


@pytest.mark.parametrize(
    ("path", "language"),
    [("a.py", "python"), ("web/App.TSX", "tsx"), ("a.h", "cpp"), ("Makefile", TEXT), (".py", TEXT), ("x.tar.gz", TEXT)],
)
def test_the_ending_names_the_language(path, language):
    assert language_of(path) == language
