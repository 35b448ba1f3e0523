"""Memories whose code changed reach the inbox, and leave it by themselves once the code is back."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories import services
from memories.errors import Conflict
from memories.models import Anchor, AuditEntry, CodeLook, Memory
from reflections import code_reading, hygiene
from reflections.inbox.correcting import correct
from reflections.models import Dispute, HygieneConfig
from reflections.services import disputes
from reflections.services.code_changes import close_back
from tests.factories import make_memory, make_scope
from tests.memories.code.trees import RANKING, commit, git, make_tree, register, write
from tests.reflections.anchored import about, asked, functions, in_force, look, module
from tests.reflections.factories import person
from tests.reflections.stepping import fresh, run_step

pytestmark = pytest.mark.django_db

REWRITTEN = RANKING.replace("match / (1 + age)", "match - age")
RELEVANCE = RANKING.split("\n\n\n")[1] + "\n"


@pytest.fixture
def tree(tmp_path, scope):
    made = make_tree(tmp_path / "shop")
    register(scope, made)
    return made


@pytest.fixture
def note(tree, scope):
    return about(scope, "rank.py", "relevance", content="Ordered by relevance.")


def rewritten(tree):
    write(tree, {"rank.py": REWRITTEN})


def settle(owner, resolution, **given):
    (row,) = asked()
    return disputes.resolve(actor=person(owner), dispute=row, version=row.version, resolution=resolution, **given)


# When a person is asked ----------------------------------------------------------------------


@pytest.mark.behaviour("X3")
@pytest.mark.behaviour("F52")
def test_one_item_says_which_symbol_changed_at_which_commit_and_how(scope, tree, note):
    assert (look(scope).done, asked()) == (0, [])
    rewritten(tree)
    revision = commit(tree, "Subtract the age")
    step = look(scope)
    (row,) = asked()
    assert (step.state, step.found, step.done, step.failed) == ("done", 1, 1, 0)
    assert (row.subject, row.other, row.scanner, row.model) == (note, None, "code changes", "")
    assert row.rationale.startswith("relevance in rank.py has changed since ")
    assert f"It differs at commit {revision[:7]}" in row.rationale
    assert row.rationale.endswith(": Subtract the age")
    assert "-     return match / (1 + age)\n+     return match - age" in row.evidence
    assert AuditEntry.objects.get(action="open_dispute", object_id=str(row.pk)).actor == "code changes"


@pytest.mark.behaviour("X3", "X7")
def test_looking_twice_asks_once(scope, tree, note):
    rewritten(tree)
    look(scope)
    before = list(Dispute.objects.values()), list(Memory.objects.values()), list(Anchor.objects.values())
    step = look(scope)
    assert (step.found, step.done, step.skipped) == (1, 0, 1)
    assert (list(Dispute.objects.values()), list(Memory.objects.values()), list(Anchor.objects.values())) == before


@pytest.mark.behaviour("X3", "X6")
def test_a_pinned_memory_is_asked_about_too_and_nothing_is_done_to_it(owner, scope, tree, note):
    services.pin(actor=person(owner), memory=note)
    before = Memory.objects.values().get(pk=note.pk)
    rewritten(tree)
    look(scope)
    assert [row.subject for row in asked()] == [note]
    assert Memory.objects.values().get(pk=note.pk) == before


@pytest.mark.behaviour("H17")
def test_several_places_of_one_memory_are_one_item(owner, scope, tree):
    specs = [services.AnchorSpec("shop", "rank.py", name) for name in ("relevance", "newest_first")]
    services.remember(actor=person(owner), scope=scope, content="Both.", anchors=specs, ring=False)
    write(tree, {"rank.py": "x = 1\n"})
    look(scope)
    (row,) = asked()
    assert "relevance in rank.py is gone" in row.rationale
    assert "newest_first in rank.py is gone" in row.rationale


@pytest.mark.parametrize("symbol", ["relevance", ""])
def test_what_is_gone_is_asked_about(scope, tree, symbol):
    about(scope, "rank.py", symbol)
    (tree / "rank.py").unlink()
    look(scope)
    assert "is gone" in asked()[0].rationale


@pytest.mark.behaviour("F53", "H15")
@pytest.mark.parametrize("loss", ["away", "unregistered", "unparsed"])
def test_what_cannot_be_looked_at_is_neither_asked_about_nor_closed(scope, tree, note, loss, tmp_path):
    rewritten(tree)
    look(scope)
    other = about(scope, "rank.py", "newest_first")
    if loss == "away":
        tree.rename(tmp_path / "away")
    if loss == "unregistered":
        scope.repositories.all().delete()
    if loss == "unparsed":
        write(tree, {"rank.py": "def other(x):\n    return (x + 1\n\n\ndef more(y):\n    return y\n"})
    step = look(scope)
    assert [row.subject for row in asked()] == [note]
    assert (step.done, step.failed) == (0, 2)
    assert "The code of 2 texts could not be checked." in step.note
    assert fresh(other).state == "live"


def test_what_moved_or_got_another_name_or_may_be_in_two_places_is_not_asked_about(scope, tree, note):
    for text in (
        {"rank.py": RANKING.replace(RELEVANCE, ""), "by.py": RELEVANCE},
        {"also.py": RELEVANCE},
    ):
        write(tree, text)
        assert look(scope).found == 0


def test_retired_memories_and_other_scopes_are_left_alone(owner, scope, tree, note):
    elsewhere = make_scope(owner, slug="work")
    scope.repositories.get().scopes.add(elsewhere)
    about(elsewhere, "rank.py", "relevance")
    services.forget(actor=person(owner), memory=note)
    rewritten(tree)
    assert (look(scope).found, asked()) == (0, [])


def test_a_memory_without_code_costs_nothing(scope):
    make_memory(scope=scope)
    step = look(scope)
    assert (step.found, step.note, CodeLook.objects.count()) == (0, "", 0)


def test_it_is_part_of_the_quick_cycle_before_rules_are_proposed():
    steps = list(hygiene.STEPS)
    assert hygiene.STEPS["code_changes"].in_quick
    assert steps.index("stale_sweep") < steps.index("code_changes") < steps.index("rule_candidates")


def test_a_survey_counts_and_writes_nothing(scope, tree, note):
    rewritten(tree)
    assert hygiene.STEPS["code_changes"].survey(scope) == "would read the code of 1 memory"
    assert (asked(), CodeLook.objects.count()) == ([], 0)


def test_what_there_is_no_time_for_is_counted_and_left_for_another_run(scope, tree, note, monkeypatch):
    rewritten(tree)
    monkeypatch.setattr(code_reading.Reading.__init__, "__kwdefaults__", {"repository": "", "seconds": -1.0})
    step = look(scope)
    assert asked() == []
    assert "The code of 1 text was not reached" in step.note
    assert CodeLook.objects.get().verdicts == {"unread": 1}


# The code comes back -------------------------------------------------------------------------


@pytest.mark.behaviour("X3", "H7")
def test_a_revert_closes_the_item_with_a_note_and_nobody_is_named(scope, tree, note):
    for _ in range(3):
        rewritten(tree)
        look(scope)
        write(tree, {"rank.py": RANKING})
        step = look(scope)
        assert (step.found, step.done, asked()) == (1, 1, [])
    rows = asked("dismissed")
    assert len(rows) == 3
    assert {(row.resolution, row.decided_by, row.decided_actor) for row in rows} == {("passed", None, "code changes")}
    assert rows[0].reason.startswith("The code is back: relevance in rank.py says what it said on ")
    assert AuditEntry.objects.filter(action="settle_dispute", user=None, reason=rows[0].reason).count() == 3


def test_a_snoozed_item_closes_too_and_an_item_of_something_else_stays(owner, scope, tree, note):
    disputes.open_single(memory=note, type="outdated", scanner="x")
    rewritten(tree)
    look(scope)
    disputes.snooze(actor=person(owner), dispute=asked()[0], version=1)
    write(tree, {"rank.py": RANKING})
    look(scope)
    assert len(asked("dismissed")) == 1
    assert Dispute.objects.get(type="outdated").status == "pending"


def test_code_that_came_back_elsewhere_closes_it_and_code_that_may_be_in_two_places_does_not(scope, tree, note):
    rewritten(tree)
    look(scope)
    write(tree, {"rank.py": RANKING.replace(RELEVANCE, ""), "by.py": RELEVANCE, "also.py": RELEVANCE})
    look(scope)
    assert len(asked()) == 1
    (tree / "also.py").unlink()
    look(scope)
    assert asked() == []


def test_what_was_closed_by_itself_can_be_reopened_and_closes_again(owner, scope, tree, note):
    rewritten(tree)
    look(scope)
    write(tree, {"rank.py": RANKING})
    look(scope)
    (row,) = asked("dismissed")
    disputes.undo(actor=person(owner), dispute=row, version=row.version)
    assert len(asked()) == 1
    look(scope)
    assert asked() == []


def test_whoever_looks_may_close_it_at_once_if_the_code_is_back(owner, scope, tree, note):
    rewritten(tree)
    look(scope)
    (row,) = asked()
    assert close_back(actor=person(owner), dispute=row, version=1) is None
    write(tree, {"rank.py": RANKING})
    closed = close_back(actor=person(owner), dispute=row, version=1)
    assert (closed.resolution, closed.decided_by) == ("passed", owner)
    with pytest.raises(Conflict):
        close_back(actor=person(owner), dispute=row, version=1)


def test_an_item_of_a_memory_that_was_anchored_anew_on_its_page_says_so(owner, scope, tree, note):
    rewritten(tree)
    look(scope)
    services.reanchor(actor=person(owner), memory=note)
    look(scope)
    assert asked("dismissed")[0].reason.startswith("It was anchored anew since: ")


# What a person says --------------------------------------------------------------------------


@pytest.mark.behaviour("X3", "H20")
def test_still_holds_takes_the_code_as_it_is_and_is_not_asked_again_until_it_changes(owner, scope, tree, note):
    rewritten(tree)
    look(scope)
    row = settle(owner, "uphold", reason="Looked.")
    assert (row.status, row.resolution, row.decided_by) == ("dismissed", "upheld", owner)
    former = Anchor.objects.get(memory=note, retired_at__isnull=False)
    assert (former.retired_actor, former.retired_reason) == ("owner", "Still holds: Looked.")
    assert (look(scope).found, asked()) == (0, [])
    write(tree, {"rank.py": REWRITTEN.replace("match - age", "match * age")})
    look(scope)
    assert len(asked()) == 1


def test_what_holds_without_the_code_that_is_gone_gives_up_its_anchor(owner, scope, tree, note):
    write(tree, {"rank.py": "x = 1\n"})
    look(scope)
    settle(owner, "uphold")
    assert in_force(note) == []
    assert (look(scope).found, asked()) == (0, [])


@pytest.mark.parametrize("text", [REWRITTEN, "x = 1\n"])
def test_undoing_it_puts_the_anchor_back_and_asks_again(owner, scope, tree, note, text):
    (before,) = Anchor.objects.values()
    write(tree, {"rank.py": text})
    look(scope)
    row = settle(owner, "uphold")
    disputes.undo(actor=person(owner), dispute=row, version=row.version)
    assert [Anchor.objects.values().get(pk=anchor.pk) for anchor in in_force(note)] == [before]
    assert asked()[0].reanchored == {}
    assert AuditEntry.objects.filter(action="put_anchors_back", object_id=str(note.pk)).exists()
    assert look(scope).skipped == 1


def test_it_cannot_be_undone_once_somebody_anchored_it_anew(owner, scope, tree, note):
    rewritten(tree)
    look(scope)
    row = settle(owner, "uphold")
    write(tree, {"rank.py": REWRITTEN.replace("match - age", "match * age")})
    services.reanchor(actor=person(owner), memory=note)
    with pytest.raises(Conflict, match="changed at the same moment or since"):
        disputes.undo(actor=person(owner), dispute=row, version=row.version)
    assert len(in_force(note)) == 1


def test_nobody_can_say_that_it_holds_for_code_that_cannot_be_read(owner, scope, tree, note, tmp_path):
    rewritten(tree)
    look(scope)
    tree.rename(tmp_path / "away")
    with pytest.raises(Conflict, match="cannot be read at the moment"):
        settle(owner, "uphold")
    assert len(asked()) == 1


def test_a_rewritten_memory_is_about_the_code_as_it_is_and_undoing_that_brings_both_back(owner, scope, tree, note):
    rewritten(tree)
    look(scope)
    (row,) = asked()
    new = correct(actor=person(owner), dispute=row, version=1, text="Ordered by difference.", seen=1)
    assert [anchor.code for anchor in in_force(new)] == [in_force(note)[0].code]
    assert (look(scope).found, asked()) == (0, [])
    row.refresh_from_db()
    disputes.undo(actor=person(owner), dispute=row, version=row.version)
    assert (fresh(note).state, fresh(new).state) == ("live", "invalidated")
    assert "1 + age" in in_force(note)[0].code


def test_a_retired_memory_is_not_asked_about_and_undoing_that_waits_again(owner, scope, tree, note):
    rewritten(tree)
    look(scope)
    row = settle(owner, "retire")
    assert (fresh(note).state, look(scope).found) == ("invalidated", 0)
    disputes.undo(actor=person(owner), dispute=row, version=row.version)
    assert (fresh(note).state, len(asked())) == ("live", 1)


def test_an_edit_elsewhere_leaves_it_open_about_the_wording_that_stands(owner, scope, tree, note):
    rewritten(tree)
    look(scope)
    new = services.edit(actor=person(owner), memory=note, expected_version=1, content="Ordered by relevance, mostly.")
    run_step("stale_sweep", scope)
    look(scope)
    assert [row.subject for row in asked()] == [new]


# More at once than a person can look at --------------------------------------------------------


@pytest.mark.behaviour("F53")
@pytest.mark.parametrize(("changed", "items", "held"), [(2, 2, 0), (3, 0, 3), (10, 0, 10)])
def test_above_a_fifth_at_once_nobody_is_asked_before_a_person_says_so(scope, tmp_path, changed, items, held):
    tree = make_tree(tmp_path / "shop")
    functions(scope, tree, 10)
    write(tree, module(10, changed=changed))
    step = look(scope)
    assert (len(asked()), step.done, step.skipped) == (items, items, held)
    row = CodeLook.objects.get()
    assert (row.repository, row.memories, row.stale, row.held) == ("shop", 10, changed, held)
    assert ("nobody was asked" in step.note) == bool(held)
    assert Memory.objects.live().count() == 10


@pytest.mark.behaviour("F53")
def test_what_could_not_be_checked_is_no_part_of_the_share(scope, tmp_path):
    tree = make_tree(tmp_path / "shop")
    functions(scope, tree, 10)
    write(tree, {"away.py": "x = 1\n"})
    for number in range(20):
        about(scope, "away.py", content=f"{number}.")
    (tree / "away.py").unlink()
    (tree / "away.py").mkdir()
    write(tree, module(10, changed=3))
    look(scope)
    assert (asked(), CodeLook.objects.get().held) == ([], 3)


def test_one_changed_memory_is_asked_about_however_few_there_are(scope, tree, note):
    rewritten(tree)
    look(scope)
    assert len(asked()) == 1


def test_what_waits_already_is_no_part_of_what_comes_at_once(scope, tmp_path):
    tree = make_tree(tmp_path / "shop")
    functions(scope, tree, 10)
    for changed in (2, 4, 5):
        write(tree, module(10, changed=changed))
        look(scope)
        assert len(asked()) == changed


def test_from_which_share_on_is_configuration(scope, tmp_path):
    HygieneConfig.objects.update_or_create(id=1, defaults={"code_share": 0.5})
    tree = make_tree(tmp_path / "shop")
    functions(scope, tree, 4)
    write(tree, module(4, changed=2))
    look(scope)
    assert len(asked()) == 2


def test_a_repository_with_too_much_does_not_hold_up_another(scope, tmp_path):
    functions(scope, make_tree(tmp_path / "shop"), 4)
    other = make_tree(tmp_path / "tide")
    register(scope, other, "tide")
    memory = about(scope, "rank.py", "relevance", repository="tide")
    write(tmp_path / "shop", module(4, changed=4))
    rewritten(other)
    look(scope)
    assert [row.subject for row in asked()] == [memory]


def test_the_report_of_a_run_over_several_scopes_tells_of_each(owner, scope, tmp_path):
    work = make_scope(owner, slug="work")
    for one in (scope, work):
        folder = tmp_path / one.slug
        tree = make_tree(folder)
        write(tree, module(4))
        register(one, tree, one.slug)
        for number in range(4):
            about(one, "all.py", f"f{number}", repository=one.slug)
        write(tree, module(4, changed=4))
    note = look(scope, work).note
    assert "memories of home anchored in home" in note
    assert "memories of work anchored in work" in note


# An older checkout -----------------------------------------------------------------------------


@pytest.mark.behaviour("F52")
def test_an_older_checkout_is_named_as_such_and_the_reason_stays_with_the_item(scope, tree):
    old = commit(tree, "The old way")
    rewritten(tree)
    commit(tree, "The new way")
    about(scope, "rank.py", "relevance")
    git(tree, "checkout", "-q", old)
    look(scope)
    (row,) = asked()
    assert f"The checkout is older than the memory's anchor. It differs at commit {old[:7]}" in row.rationale
    Dispute.objects.update(opened_at=timezone.now() - timedelta(days=1))
    git(tree, "checkout", "-q", "main")
    look(scope)
    assert asked("dismissed")[0].rationale == row.rationale
