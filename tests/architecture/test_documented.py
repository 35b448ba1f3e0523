"""What is not documented fails here."""

import re
from pathlib import Path

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from zeromemory.lib.folders import PROJECT
from zeromemory.reference import pages

REFERENCE = PROJECT / "docs" / "reference"
APPS = ("zeromemory", "memories", "reflections", "insights")


@pytest.mark.parametrize("path", list(pages()), ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == pages()[path], "run: manage.py reference"


def test_every_environment_variable_is_documented():
    named = {
        name
        for app in APPS
        for path in (PROJECT / app).rglob("*.py")
        for name in re.findall(r'"(ZEROMEMORY_[A-Z_]+|DATABASE_URL)"', path.read_text(encoding="utf-8"))
    }
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    internal = {"ZEROMEMORY_EMBEDDED"}  # set by the program for its own child processes
    assert sorted(name for name in named - internal if f"`{name}`" not in page) == []


def names(patterns: list[URLPattern | URLResolver], space: str = "") -> set[str]:
    found: set[str] = set()
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            found |= names(pattern.url_patterns, pattern.namespace or space)
        elif pattern.name and not space:
            found.add(pattern.name)
    return found


def test_every_page_is_documented():
    page = (REFERENCE / "pages.md").read_text(encoding="utf-8")
    assert sorted(name for name in names(get_resolver().url_patterns) if f"`{name}`" not in page) == []


def test_every_make_target_is_in_the_readme_or_the_guides():
    targets = re.findall(r"^([a-z]+):.*##", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.M)
    documents = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in documents)
    assert [target for target in targets if f"make {target}" not in text] == []


def relative_links() -> list[tuple[Path, str]]:
    documents = [PROJECT / "README.md", PROJECT / "THREAT_MODEL.md", *sorted((PROJECT / "docs").rglob("*.md"))]
    return [
        (path, target)
        for path in documents
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    ]


def test_every_link_between_documents_leads_somewhere():
    assert [f"{path.name}: {target}" for path, target in relative_links() if not (path.parent / target).exists()] == []
