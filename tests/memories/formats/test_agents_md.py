"""The files in which people instruct their agents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.models import Memory
from memories.transfer.agents_md import AgentsMd, is_instruction
from memories.transfer.markdown_blocks import blocks_of
from memories.transfer.records import EntityRecord
from tests.memories.formats.reading import a_file, a_folder, a_zip, load, records


def of(text: str, name: str = "AGENTS.md"):
    return records(AgentsMd(), a_file(text, name))


def texts(text: str, name: str = "AGENTS.md") -> list[str]:
    return [found.content for found in of(text, name)]


def test_each_paragraph_and_each_point_is_a_convention_under_its_headings():
    text = (
        "# AGENTS.md\n\n## Testing\n\nRun them all.\n\n"
        "### Slow ones\n\n- Only at night.\n- Never\n  at noon.\n\n## Style\n\nTabs.\n"
    )
    assert texts(text) == [
        "Run them all.\n\nUnder: Testing",
        "Only at night.\n\nUnder: Testing › Slow ones",
        "Never\nat noon.\n\nUnder: Testing › Slow ones",
        "Tabs.\n\nUnder: Style",
    ]
    assert {found.kind for found in of(text)} == {"convention"}


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("Known issues", "gotcha"),
        ("Gotchas", "gotcha"),
        ("Decisions", "decision"),
        ("Preferences", "preference"),
        ("TODO", "task"),
        ("Open questions", "open-question"),
        ("Commands", "convention"),
    ],
)
def test_the_heading_tells_another_kind(heading, kind):
    assert of(f"## {heading}\n\nThe berth silts up.\n")[0].kind == kind


def test_code_stays_with_the_sentence_before_it():
    assert texts("Build it so:\n\n```sh\nmake all\n\nmake more\n```\n\nThen rest.\n") == [
        "Build it so:\n\n```sh\nmake all\n\nmake more\n```",
        "Then rest.",
    ]
    assert texts("- Build it\n\n  ```sh\n  make\n  ```\n- Rest\n") == ["Build it\n\n```sh\nmake\n```", "Rest"]


def test_a_sentence_with_a_colon_goes_with_each_point_below_it():
    assert texts("Never commit:\n\n- secrets\n- pictures\n\nAlone.\n") == [
        "Never commit:\n- secrets",
        "Never commit:\n- pictures",
        "Alone.",
    ]


def test_points_within_points_and_steps_in_their_order_stay_together():
    assert texts("- One\n  - within\n- Two\n") == ["One\n- within", "Two"]
    assert texts("To release:\n\n1. Tag it.\n2. Push it.\n") == ["To release:\n\n1. Tag it.\n2. Push it."]


def test_a_table_stays_whole():
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    assert texts(f"The depths:\n\n{table}\n") == [f"The depths:\n\n{table}"]


def test_comments_rules_and_references_to_other_files_are_no_statements():
    format = AgentsMd()
    text = "<!-- generated -->\n\n@docs/style.md\n\n- @AGENTS.md\n\n---\n\nOnly this.\n"
    assert [found.content for found in records(format, a_file(text))] == ["Only this."]
    assert format.skipped["references to other files"] == 2


@pytest.mark.parametrize(
    ("header", "globs"),
    [
        ("description: About ships\nglobs: **/*.ts,*.tsx\nalwaysApply: false", ["**/*.ts", "*.tsx"]),
        ('description: "About ships"\nglobs: ["**/*.ts", "*.tsx"]', ["**/*.ts", "*.tsx"]),
        ("description: About ships\nglobs:\n  - '**/*.ts'\n  - *.tsx", ["**/*.ts", "*.tsx"]),
        ("description: About ships\nglobs: **/*.{ts,tsx}", ["**/*.{ts,tsx}"]),
        ("description: About ships\napplyTo: '**/*.ts'\nglobs:", ["**/*.ts"]),
    ],
)
def test_the_files_that_a_rule_is_for_are_paths_and_its_description_leads(header, globs):
    (found,) = of(f"---\n{header}\n---\n\nMind the keel.\n", "ships.mdc")
    assert found.content == "Mind the keel.\n\nUnder: About ships"
    assert found.entities == (EntityRecord("ships.mdc", "file"), *(EntityRecord(glob, "path") for glob in globs))
    assert found.source == f"agents-md:ships.mdc (globs: {' '.join(globs)})"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("AGENTS.md", True),
        ("web/CLAUDE.md", True),
        (".cursor/rules/style.mdc", True),
        ("web/.cursor/rules/style.md", True),
        (".claude/rules/style.md", True),
        (".github/copilot-instructions.md", True),
        (".github/instructions/ts.instructions.md", True),
        (".cursorrules", True),
        ("README.md", False),
        ("docs/agents.md", False),
        (".github/PULL_REQUEST_TEMPLATE.md", False),
    ],
)
def test_of_a_project_only_the_files_for_agents_are_read(name, is_one):
    assert is_instruction(name) == is_one


@pytest.mark.django_db
@pytest.mark.behaviour("Z87")
def test_a_project_is_read_once_however_often_a_file_was_copied(scope, tmp_path):
    files = {
        "AGENTS.md": "- One.\n- Two.\n",
        "CLAUDE.md": "- One.\n- Two.\n",
        ".cursor/rules/three.mdc": "Three.\n",
        "node_modules/x/AGENTS.md": "Theirs.\n",
        "README.md": "Not this.\n",
    }
    report = load(AgentsMd(), a_folder(tmp_path, files), scope)
    assert (report.written, report.skipped) == (3, {"entries that stand there twice": 2})
    assert set(Memory.objects.values_list("content", flat=True)) == {"One.", "Two.", "Three."}
    moved = {"docs/AGENTS.md": files["AGENTS.md"]}
    assert load(AgentsMd(), a_zip(moved), scope).written == 0


@given(
    st.lists(st.sampled_from(["# a", "- b", "  - c", "1. d", "```", "e", "", "> f", "| g |", "---", "<!-- h", "\t"]))
)
def test_whatever_a_file_looks_like_it_is_read(lines):
    for found in of("\n".join(lines)):
        assert found.content.strip()


@given(st.text(alphabet="-*#>`|[] \n\tab1."))
def test_every_block_is_text_of_the_file(text):
    lines = text.split("\n")
    for block in blocks_of(text):
        assert 0 <= block.start < block.stop <= len(lines)
