"""Lines of a file that name code, and anchors that travel as rows."""

import io
import json

import pytest

from memories.access import actor_for_user
from memories.anchors import looked_at
from memories.models import Anchor, Memory
from memories.services import AnchorSpec, remember
from memories.transfer.exporting import export_to
from memories.transfer.importing import import_from
from memories.transfer.jsonl import Jsonl
from tests.memories.code.trees import make_tree, register

pytestmark = pytest.mark.django_db


@pytest.fixture
def tree(tmp_path, scope):
    made = make_tree(tmp_path / "shop")
    register(scope, made)
    return made


def imported(scope, *lines, **asked):
    file = io.BytesIO("\n".join(json.dumps(line) for line in lines).encode())
    return import_from(Jsonl(), file, actor=actor_for_user(scope.owner), scope=scope.slug, **asked)


def line(**anchor):
    return {"content": "Ordered by relevance.", "anchors": [{"repository": "shop", "path": "rank.py"} | anchor]}


def test_a_line_is_anchored_to_the_code_that_stands_here_and_only_once(scope, tree):
    assert imported(scope, line(symbol="relevance")).notes == {}
    memory = Memory.objects.get()
    assert [now.verdict for now in looked_at([memory.pk])[memory.pk]] == ["unchanged"]
    assert imported(scope, line(symbol="relevance")).written == 0
    assert Anchor.objects.count() == 1


@pytest.mark.parametrize("anchor", [{"symbol": "nothing"}, {"path": "../out.py"}, {"repository": "elsewhere"}])
def test_code_that_is_not_here_costs_the_anchor_and_is_counted(scope, tree, anchor):
    report = imported(scope, line(**anchor))
    assert report.written == 1
    assert report.notes == {"anchors whose code could not be read here": 1}
    assert not Anchor.objects.exists()


def test_what_no_anchor_is_like_is_refused_with_its_place(scope, tree):
    with pytest.raises(Exception, match=r"anchors\[1\]\.file"):
        imported(scope, {"content": "A.", "anchors": [{"repository": "shop", "path": "rank.py", "file": "x"}]})
    assert not Memory.objects.exists()


@pytest.mark.behaviour("F10")
def test_an_anchor_travels_as_it_was_set(scope, tree):
    actor = actor_for_user(scope.owner)
    spec = AnchorSpec("shop", "rank.py", "relevance")
    remember(actor=actor, scope=scope, content="Ordered by relevance.", anchors=[spec], ring=False)
    before = list(Anchor.objects.values())
    file = b"".join(export_to(Jsonl(), [scope]))
    Anchor.objects.all().delete()
    Memory.objects.all().delete()
    import_from(Jsonl(), io.BytesIO(file), actor=actor, scope=None, trusted=True)
    assert list(Anchor.objects.values()) == before
