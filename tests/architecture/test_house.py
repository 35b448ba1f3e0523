"""The shape of the house: small functions, small files, one place for SQL, walls between rooms."""

import ast
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
APPS = ("zeromemory", "memories", "reflections", "insights")
SOURCES = sorted(path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts)
TOP_LEVEL = {
    "manage.py", "zeromemory", "memories", "reflections", "insights", "templates", "static", "tests",
    "README.md", "CHANGELOG.md", "LICENSE", "Makefile", "pyproject.toml", "requirements.txt",
    "requirements-dev.txt", ".python-version", "docs", ".ci", ".github", ".gitignore", "THREAT_MODEL.md",
}  # fmt: skip


def functions(path: Path) -> list[ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(function: ast.FunctionDef) -> int:
    """Lines of the body, without decorators, signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno - body[0].lineno + 1) if body else 0


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def test_the_top_level_holds_what_the_architecture_names_and_nothing_else():
    assert {name.split("/")[0] for name in tracked()} <= TOP_LEVEL


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_longer_than_400_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_functions_are_short():
    lengths = sorted(length(function) for path in SOURCES for function in functions(path))
    assert statistics.median(lengths) <= 8
    assert lengths[int(len(lengths) * 0.9)] <= 30


def test_views_are_short():
    lengths = [
        length(function)
        for path in SOURCES
        if "views" in path.name
        for function in functions(path)
        if function.args.args and function.args.args[0].arg == "request"
    ]
    assert statistics.median(lengths) <= 12


def test_raw_sql_lives_only_where_reads_and_sql_live():
    allowed = re.compile(r"(querysets|queries|/sql/|expressions|embedded|supervisor|postgres)")
    statement = re.compile(r"\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b")
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        if not allowed.search(path.as_posix())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.splitlines()) > 3
        if statement.search(node.value)
    ]
    assert wrong == []


def test_names_are_from_the_glossary():
    vague = re.compile(r"(^|/)(utils?|helpers?|managers?|misc|common)(\.py)?$")
    assert [name for name in tracked() if vague.search(name)] == []


def test_the_import_contracts_hold():
    lint = Path(sys.executable).with_name("lint-imports")
    answer = subprocess.run([lint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_templates_have_no_inline_script_or_style():
    inline = re.compile(r"""<style|\sstyle=|\son[a-z]+=|hx-on|<script(?![^>]*\b(?:src=|type="application/json"))""")
    wrong = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        if (match := inline.search(path.read_text(encoding="utf-8")))
    ]
    assert wrong == []


def test_nothing_on_a_page_comes_from_elsewhere():
    foreign = re.compile(r"""(src|href)=["'](https?:)?//""")
    wrong = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "templates").rglob("*.html"))
        if any(not line.lstrip().startswith("<a ") and foreign.search(line) for line in path.read_text().splitlines())
    ]
    assert wrong == []


def test_every_behaviour_mark_names_a_behaviour():
    known = re.compile(r"[ZGHXF]\d{1,2}$")
    marks = [
        name
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for call in re.findall(r"mark\.behaviour\(([^)]*)\)", path.read_text(encoding="utf-8"))
        for name in re.findall(r"[\"']([^\"']+)[\"']", call)
    ]
    assert [name for name in marks if not known.match(name)] == []
