"""The server over standard input beside a working tree, as two agents on two branches use it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.management import CommandError, call_command

from memories.access import actor_for_user
from memories.models import Anchor
from memories.services import AnchorSpec, remember
from tests.factories import make_token
from tests.mcp.talking import over_standard_input, text_of
from tests.memories.code.trees import RANKING, git, make_tree, register, write

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age")


@pytest.fixture
def tree(tmp_path, transactional_db):
    return make_tree(tmp_path / "shop")


def anchored(scope):
    spec = AnchorSpec("shop", "rank.py", "relevance")
    content = "Search results are ordered by relevance."
    remember(actor=actor_for_user(scope.owner), scope=scope, content=content, anchors=[spec], ring=False)


async def verdicts(client, folder, *texts):
    """Of the one memory, after each of *texts* was written into *folder*."""
    found = []
    for text in texts:
        write(folder, {"rank.py": text})
        answer = await client.call_tool("recall", {"query": "how are search results ordered"})
        assert not answer.is_error, text_of(answer)
        (row,) = answer.structured_content["results"]
        found.append((row["anchors"][0]["verdict"], row["factors"]["structural"]))
    return found


@pytest.mark.behaviour("H7", "H28")
def test_two_branches_are_each_judged_by_what_stands_there(database_url, scope, tree, tmp_path):
    register(scope, tree)
    anchored(scope)
    branch = tmp_path / "branch"
    git(tree, "worktree", "add", "-q", "-b", "branch", str(branch))
    stored = list(Anchor.objects.values())
    secret = make_token(scope.owner, [scope])[1]

    def told(folder, *texts):
        return over_standard_input(
            lambda client: verdicts(client, folder, *texts),
            "--repo", str(folder), DATABASE_URL=database_url, ZEROMEMORY_TOKEN=secret,
        )  # fmt: skip

    with ThreadPoolExecutor(2) as both:
        there = both.submit(told, branch, REWRITTEN, RANKING, REWRITTEN)
        here = both.submit(told, tree, RANKING, RANKING)
    assert there.result() == [("changed", 0.15), ("unchanged", 1.0), ("changed", 0.15)]
    assert here.result() == [("unchanged", 1.0)] * 2
    assert list(Anchor.objects.values()) == stored


@pytest.mark.behaviour("H20")
def test_an_agent_says_that_a_memory_still_holds(agent, agent_of, owner, scope, tree):
    register(scope, tree)
    anchored(scope)
    memory = Anchor.objects.get().memory
    write(tree, {"rank.py": REWRITTEN})
    reader = agent_of(owner, scope, can_write=False)
    assert reader.refused("reanchor", id=str(memory.pk)).startswith("forbidden")
    assert agent.refused("reanchor", id=str(memory.pk), anchors=[str(memory.pk)]).startswith("not_found (anchors)")
    told = agent.told("reanchor", id=str(memory.pk), reason="Only the formula is another.")
    assert [each["verdict"] for each in told["anchors"]] == ["unchanged"]
    former = Anchor.objects.exclude(retired_at=None).get()
    assert former.retired_reason == "Still holds: Only the formula is another."


def test_a_folder_that_is_nobodys_is_refused_at_the_start(scope, tree, tmp_path):
    with pytest.raises(CommandError, match="No repository is registered at"):
        call_command("mcp_stdio", user=scope.owner.username, repo=str(tree))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("mcp_stdio", user=scope.owner.username, repo=str(tmp_path / "nowhere"), repo_name="shop")
