"""Recording: what supersedes what, what follows from what, undo and redo without limit, and never twice."""

import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judging import (
    EVIDENCE,
    Desk,
    as_json,
    journal_ids,
    journaled,
    judged_workspace,
    judgments,
    marks,
    only_label,
)
from scopes import scope

from store.errors import JudgmentRefused
from store.queries.item import OwnLabel, load_own
from store.record.actions import Action
from store.record.supersession import key_of
from store.tables.record import Judgment, Mark
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path


@pytest.fixture
def workspace(tmp_path):
    with judged_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def desk(workspace):
    return Desk(workspace)


def own(desk, item=1):
    with desk.workspace.reading() as connection:
        return load_own(connection, scope(desk.rater.id), item)


def label_of(desk, item=1):
    label = only_label(own(desk, item))
    return None if label is None else label.value


def chains(workspace):
    """Every key's records in order; fails when one does not supersede the one before it."""
    kept: dict[tuple[Any, ...], list[Judgment | Mark]] = {}
    for record in [*judgments(workspace), *marks(workspace)]:
        before = kept.setdefault(key_of(record), [])
        assert record.supersedes == (before[-1].id if before else None)
        before.append(record)
    return kept


# -- what is stored ---------------------------------------------------------------------------------------


def test_a_judgment_is_in_the_workspace_and_in_the_journal_when_its_future_is_done(workspace, desk):
    action = desk.judge(1, 1.0, reason="names", comment="fine", elapsed_ms=1200, active_ms=900, blind=True)
    (stored,) = judgments(workspace)
    assert (stored,) == action.records
    assert (stored.value, stored.reason, stored.comment, stored.elapsed_ms, stored.blind) == (
        1.0,
        "names",
        "fine",
        1200,
        True,
    )
    assert stored.created_at.utcoffset() is not None
    assert journaled(workspace) == [as_json(stored)]


def test_the_journal_names_what_it_is_about(workspace, desk):
    desk.judge(2)
    desk.say(2, "flag")
    from store.workspace.journal import read_journal

    first, second = (line.record for line in read_journal(journal_path(workspace.path)))
    assert {name: first[name] for name in ("type", "rater", "kind", "item", "question")} == {
        "type": "judgment", "rater": "dana", "kind": "pair", "item": "pair/2", "question": "pair.match",
    }  # fmt: skip
    assert (second["type"], second["record"]["kind"], "question" in second) == ("mark", "flag", False)
    assert first["content"] == second["content"] != ""


def test_a_progress_delta_mind_supersedes_and_deletes_nothing(workspace, desk):
    for value in (1.0, 0.0, 0.0, 1.0):
        desk.judge(1, value)
    (chain,) = chains(workspace).values()
    assert [record.value for record in chain] == [1.0, 0.0, 0.0, 1.0]
    assert label_of(desk) == 1.0


def test_raters_items_and_phases_supersede_only_their_own(workspace, desk):
    other = Desk(workspace, "eli")
    desk.judge(1, 1.0)
    other.judge(1, 0.0)
    desk.judge(2, 0.0)
    desk.judge(1, 0.0, phase="revealed")
    assigned = workspace.ids.next()
    desk.judge(1, 0.0, assignment_id=assigned)
    assert all(judgment.supersedes is None for judgment in judgments(workspace))
    desk.judge(1, 1.0, assignment_id=assigned)
    assert len(chains(workspace)) == 5
    assert (label_of(desk), label_of(other), label_of(desk, 2)) == (1.0, 0.0, 0.0)


def test_writing_the_same_action_again_adds_nothing(workspace, desk):
    desk.say(1, "skip")
    action = desk.label(1)
    first, second = desk.submit(action), desk.submit(action)
    assert len(judgments(workspace)) == 1
    assert second.records[0] == first.records[0]
    desk.undo()
    desk.submit(action)
    assert label_of(desk) is None
    assert len(journal_ids(workspace)) == len(set(journal_ids(workspace)))


def test_two_records_of_one_key_in_one_action_form_a_chain(workspace, desk):
    first, second = desk.label(1, 1.0), desk.label(1, 0.0)
    both = Action(first.id, (*first.records, second.records[0].model_copy(update={"action": first.id})))
    desk.submit(both)
    (chain,) = chains(workspace).values()
    assert [record.value for record in chain] == [1.0, 0.0]
    desk.undo()
    assert label_of(desk) is None
    desk.redo()
    assert label_of(desk) == 0.0


# -- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2.0, -1.0, 0.5, float("nan"), float("inf")])
def test_a_value_off_the_scale_is_stored_nowhere(workspace, desk, value):
    with pytest.raises(JudgmentRefused):
        desk.judge(1, value)
    assert (judgments(workspace), journaled(workspace)) == ([], [])


def test_an_item_or_a_question_that_is_not_there_is_refused(workspace, desk):
    with pytest.raises(JudgmentRefused, match="no item 99"):
        desk.judge(99)
    with pytest.raises(JudgmentRefused, match="no item 99"):
        desk.say(99, "flag")
    with pytest.raises(JudgmentRefused, match="no question 55"):
        desk.submit(Action(*_with_question(desk.label(1), 55)))
    assert (judgments(workspace), marks(workspace), journaled(workspace)) == ([], [], [])


def _with_question(action, number):
    return action.id, (action.records[0].model_copy(update={"question_id": number}),)


def test_what_the_database_refuses_is_not_in_the_journal(workspace, desk):
    with pytest.raises(Exception, match="CHECK"):
        desk.say(1, "no such kind")
    with pytest.raises(Exception, match="CHECK"):
        desk.judge(1, origin="no such origin")
    assert (judgments(workspace), marks(workspace), journaled(workspace)) == ([], [], [])
    desk.judge(1)
    assert label_of(desk) == 1.0


def test_an_action_with_one_bad_record_stores_none(workspace, desk):
    good, bad = desk.label(1), desk.label(1, 7.0)
    with pytest.raises(JudgmentRefused):
        desk.submit(Action(good.id, (*good.records, bad.records[0].model_copy(update={"action": good.id}))))
    assert (judgments(workspace), journaled(workspace)) == ([], [])


def test_another_raters_records_are_a_mistake_of_the_program(workspace, desk):
    with pytest.raises(ValueError, match="another rater"):
        desk.recorder.submit(Desk(workspace, "eli").label(1))


def test_records_of_several_items_in_one_action_are_a_mistake_of_the_program(desk):
    first, second = desk.label(1), desk.label(2)
    with pytest.raises(ValueError, match="several items"):
        desk.recorder.submit(Action(first.id, (*first.records, *second.records)))


def test_without_a_journal_nothing_is_stored_and_later_it_is(workspace, desk):
    path = journal_path(workspace.path)
    path.mkdir()
    action = desk.label(1)
    with pytest.raises(OSError, match=str(path)):
        desk.submit(action)
    assert judgments(workspace) == []
    assert desk.undo() is None
    path.rmdir()
    assert desk.submit(action).records[0].id == action.records[0].id
    assert label_of(desk) == 1.0
    assert [record.id for record in judgments(workspace)] == journal_ids(workspace)


def test_a_failed_undo_can_be_done_again(workspace, desk):
    desk.judge(1, 1.0)
    desk.judge(1, 0.0)
    path = journal_path(workspace.path)
    path.rename(path.with_suffix(".away"))
    path.mkdir()
    for _ in range(2):
        with pytest.raises(OSError, match="journal"):
            desk.recorder.undo().result(60)
    path.rmdir()
    assert label_of(desk) == 0.0
    desk.undo()
    assert label_of(desk) == 1.0
    assert len(judgments(workspace)) == 3


# -- what follows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["skip", "cannot_decide"])
def test_judging_ends_skip_and_cannot_decide(workspace, desk, kind):
    desk.say(1, kind, text="no idea")
    desk.say(1, "flag")
    action = desk.judge(1)
    assert [type(record).__name__ for record in action.records] == ["Judgment", "Mark"]
    assert {record.action for record in action.records} == {action.id}
    state = own(desk)
    assert (state.skipped, state.cannot_decide, state.flagged) == (False, None, True)
    desk.undo()
    state = own(desk)
    assert (state.skipped, state.cannot_decide) == ((True, None) if kind == "skip" else (False, "no idea"))
    assert state.labels == {}
    chains(workspace)


def test_cannot_decide_withdraws_the_judgment_and_undo_brings_it_back(workspace, desk):
    given_before = desk.judge(1, 0.0, reason="names", comment="hm", evidence=EVIDENCE).records[0]
    desk.say(1, "cannot_decide", text="lacks context")
    withdrawn = judgments(workspace)[-1]
    assert (withdrawn.value, withdrawn.origin, withdrawn.reason, withdrawn.comment, withdrawn.evidence) == (
        None, "withdraw", "", "", "[]",
    )  # fmt: skip
    assert (label_of(desk), own(desk).cannot_decide) == (None, "lacks context")
    desk.undo()
    assert (label_of(desk), own(desk).cannot_decide) == (0.0, None)
    back = judgments(workspace)[-1]
    same = ("value", "reason", "comment", "evidence", "item_id", "question_id", "shown_verdict")
    assert [getattr(back, name) for name in same] == [getattr(given_before, name) for name in same]
    assert (back.origin, back.restores) == ("undo", given_before.id)
    desk.redo()
    assert (label_of(desk), own(desk).cannot_decide) == (None, "lacks context")
    chains(workspace)


def test_skipping_a_judged_item_keeps_the_label(desk):
    desk.judge(1)
    desk.say(1, "skip")
    assert (label_of(desk), own(desk).skipped) == (1.0, True)


def test_another_raters_marks_stay(workspace, desk):
    other = Desk(workspace, "eli")
    other.say(1, "skip")
    desk.judge(1)
    assert own(other).skipped


def test_a_reason_given_after_the_label_is_undone_with_it(workspace, desk):
    desk.judge(1, 1.0)
    action = desk.judge(1, 0.0)
    desk.judge(2, 1.0)
    fresh = {"id": workspace.ids.next(), "reason": "w"}
    desk.submit(Action(action.id, (action.records[0].model_copy(update=fresh),)))
    assert only_label(own(desk)) == OwnLabel(0.0, "w")
    assert desk.undo().item_id == 2  # the later key press first
    assert desk.undo().item_id == 1
    assert only_label(own(desk)) == OwnLabel(1.0)
    desk.redo()
    assert only_label(own(desk)) == OwnLabel(0.0, "w")
    chains(workspace)


# -- what comes late: a write that failed is tried again after others -------------------------------------


def test_a_judgment_that_comes_late_does_not_stand_over_a_later_one(workspace, desk):
    desk.judge(1, 1.0)
    late, later = desk.label(1, 0.0), desk.label(1, 1.0)
    desk.submit(later)
    stored = desk.submit(late).records[0]
    assert label_of(desk) == 1.0
    assert stored.supersedes == judgments(workspace)[0].id
    desk.undo()
    assert (
        label_of(desk) == 0.0
    )  # back to what the rater said before the later one, though it was stored after
    desk.undo()
    assert label_of(desk) == 1.0
    desk.undo()
    assert label_of(desk) is None


def test_a_judgment_that_comes_late_does_not_end_a_later_cannot_decide(workspace, desk):
    late = desk.label(1, 1.0)
    desk.say(1, "cannot_decide", text="after all")
    desk.submit(late)
    assert (label_of(desk), own(desk).cannot_decide) == (None, "after all")
    desk.undo()
    assert (label_of(desk), own(desk).cannot_decide) == (1.0, None)
    desk.undo()
    assert (label_of(desk), own(desk).cannot_decide) == (None, None)


@pytest.mark.parametrize("kind", ["cannot_decide", "skip"])
def test_a_mark_that_comes_late_does_not_undo_a_later_judgment(desk, kind):
    late = desk.mark(1, kind, text="x")
    desk.judge(1, 1.0)
    desk.submit(late)
    assert (label_of(desk), own(desk).cannot_decide, own(desk).skipped) == (1.0, None, False)


class Held:
    """Holds the lane until it is let go."""

    def __init__(self, workspace):
        self._begun, self.go = threading.Event(), threading.Event()
        workspace.lane.submit(self._hold, urgent=True)
        assert self._begun.wait(60)

    def _hold(self, _):
        self._begun.set()
        assert self.go.wait(60)


def test_keys_pressed_faster_than_they_are_saved_stand_in_their_order(workspace, desk):
    held = Held(workspace)
    desk.recorder.submit(desk.label(1, 1.0))
    desk.recorder.undo()
    desk.recorder.submit(desk.label(1, 0.0))
    desk.recorder.submit(desk.label(2, 1.0))
    desk.recorder.undo()
    desk.recorder.redo()
    desk.recorder.undo()
    desk.recorder.submit(desk.label(2, 0.0))
    for kind in ("skip", "cannot_decide"):
        for item in (3, 4):
            desk.recorder.submit(desk.mark(item, kind))
            desk.recorder.submit(desk.label(item, 1.0))
    desk.recorder.submit(desk.mark(3, "skip"))
    desk.recorder.submit(desk.mark(4, "cannot_decide", text="after all"))
    held.go.set()
    assert workspace.lane.drain(60)
    assert [label_of(desk, item) for item in (1, 2, 3, 4)] == [0.0, 0.0, 1.0, None]
    assert (own(desk, 3).skipped, own(desk, 4).cannot_decide) == (True, "after all")
    chains(workspace)


def test_what_comes_late_and_is_overtaken_changes_no_mark(desk):
    late = desk.label(1, 1.0)
    desk.judge(1, 0.0)
    desk.say(1, "cannot_decide", text="x")
    desk.submit(late)
    assert (label_of(desk), own(desk).cannot_decide) == (None, "x")


def test_a_cannot_decide_that_comes_late_and_was_taken_back_withdraws_nothing(desk):
    desk.judge(1, 1.0)
    late = desk.mark(1, "cannot_decide", text="x")
    desk.say(1, "cannot_decide", active=False)
    desk.submit(late)
    assert (label_of(desk), own(desk).cannot_decide) == (1.0, None)


# -- undo and redo ----------------------------------------------------------------------------------------


def test_with_nothing_to_undo_or_redo_nothing_is_recorded(workspace, desk):
    assert (desk.undo(), desk.redo()) == (None, None)
    desk.judge(1)
    assert desk.redo() is None
    desk.undo()
    assert desk.undo() is None
    assert len(judgments(workspace)) == 2


def test_undo_and_redo_tell_the_item_and_what_they_took_back(desk):
    action = desk.judge(3, 1.0)
    undone = desk.undo()
    (record,) = undone.records
    assert (undone.item_id, record.value, record.origin, record.target_action) == (3, None, "undo", action.id)
    (record,) = desk.redo().records
    assert (record.value, record.origin, record.restores) == (1.0, "redo", action.records[0].id)


def test_a_new_action_ends_redo(desk):
    desk.judge(1)
    desk.judge(2)
    desk.undo()
    desk.judge(3)
    assert desk.redo() is None
    assert [label_of(desk, item) for item in (1, 2, 3)] == [1.0, None, 1.0]


def test_each_rater_undoes_only_their_own(workspace, desk):
    other = Desk(workspace, "eli")
    desk.judge(1)
    other.judge(1, 0.0)
    assert desk.undo().item_id == 1
    assert (label_of(desk), label_of(other)) == (None, 0.0)
    other.judge(2)
    assert label_of(desk) is None
    desk.redo()
    assert label_of(desk) == 1.0


def test_rulings_are_undone_apart_from_labels(workspace, desk):
    ruling = {"origin": "ruling", "phase": "adjudicate"}
    desk.judge(1, 1.0)
    desk.judge(2, 0.0, **ruling)
    desk.judge(2, 1.0, **ruling)
    assert (desk.undo().item_id, label_of(desk)) == (1, None)
    assert desk.undo() is None
    for back in (0.0, None):
        taken = desk.recorder.undo(rulings=True).result(60)
        assert [(one.value, one.origin, one.phase) for one in taken.records] == [(back, "undo", "adjudicate")]
    assert desk.recorder.undo(rulings=True).result(60) is None
    assert [desk.recorder.redo(rulings=True).result(60).records[0].value for _ in range(2)] == [0.0, 1.0]
    desk.redo()
    assert label_of(desk) == 1.0


def test_imported_labels_are_not_undone(workspace, desk):
    desk.judge(1, 1.0, origin="import")
    assert desk.undo() is None
    desk.judge(1, 0.0)
    desk.undo()
    assert label_of(desk) == 1.0


def test_undo_of_a_record_whose_predecessor_is_not_here_leaves_nothing(workspace, desk):
    """A file of current labels can bring records that supersede others which it does not hold."""
    desk.judge(1, 1.0)
    with workspace.native() as cursor:
        cursor.execute("UPDATE judgment SET supersedes = uuid()")
    desk.undo()
    assert label_of(desk) is None


def test_what_stood_before_may_stand_again_though_it_is_off_the_scale_today(workspace, desk):
    desk.judge(1, 1.0)
    desk.judge(1, 0.0)
    with workspace.native() as cursor:
        cursor.execute("UPDATE judgment SET value = 3 WHERE value = 1")
    desk.undo()
    assert label_of(desk) == 3.0


def test_hundreds_of_actions_are_undone_and_redone_across_a_restart(tmp_path):
    with judged_workspace(tmp_path) as workspace:
        desk = Desk(workspace)
        for number in range(60):
            desk.judge(1 + number % 4, float(number % 3 == 0))
        before = [label_of(desk, item) for item in (1, 2, 3, 4)]
        path = workspace.path
    with Workspace.open(path) as again:
        desk = Desk(again)
        while desk.undo() is not None:
            pass
        assert [label_of(desk, item) for item in (1, 2, 3, 4)] == [None] * 4
    with Workspace.open(path) as again:
        desk = Desk(again)
        redone = 0
        while desk.redo() is not None:
            redone += 1
        assert redone == 60
        assert [label_of(desk, item) for item in (1, 2, 3, 4)] == before
        chains(again)


# -- any sequence equals a simple model -------------------------------------------------------------------

ITEMS = st.integers(1, 3)
STEPS = st.one_of(
    st.tuples(st.just("judge"), ITEMS, st.sampled_from([0.0, 1.0])),
    st.tuples(
        st.just("mark"), ITEMS, st.sampled_from(["cannot_decide", "skip", "flag", "comment"]), st.booleans()
    ),
    st.tuples(st.just("reason"), st.sampled_from(["w", "x"])),
    st.tuples(st.just("again")),
    st.tuples(st.just("undo")),
    st.tuples(st.just("undo")),
    st.tuples(st.just("redo")),
    st.tuples(st.just("reopen")),
)


class Model:
    """What a rater sees of each item, and whole pictures of it to go back to."""

    def __init__(self):
        self.items = {item: {"label": None, "reason": ""} for item in (1, 2, 3)}
        self.done: list[tuple[int, dict, dict]] = []
        self.undone: list[tuple[int, dict, dict]] = []

    def act(self, item, **changes):
        before = self.items[item]
        after = {**before, **changes}
        self.items[item] = {name: value for name, value in after.items() if value is not False}
        self.done.append((item, before, self.items[item]))
        self.undone.clear()

    def judge(self, item, value):
        self.act(item, label=value, reason="", cannot_decide=False, skip=False)

    def mark(self, item, kind, active):
        withdrawn = {"label": None, "reason": ""} if kind == "cannot_decide" and active else {}
        self.act(item, **{kind: active}, **withdrawn)

    def reason(self, code):
        item, before, after = self.done[-1]
        self.items[item] = {**after, "reason": code}
        self.done[-1] = (item, before, self.items[item])
        self.undone.clear()

    def undo(self):
        if self.done:
            self.undone.append(self.done.pop())
            self.items[self.undone[-1][0]] = self.undone[-1][1]

    def redo(self):
        if self.undone:
            self.done.append(self.undone.pop())
            self.items[self.done[-1][0]] = self.done[-1][2]


def seen(desk, item):
    state = own(desk, item)
    flags = {"skip": state.skipped, "flag": state.flagged, "cannot_decide": state.cannot_decide == "text"}
    flags["comment"] = state.comment == "text"
    on = {name: True for name, active in flags.items() if active}
    label = only_label(state)
    return {"label": label and label.value, "reason": label.reason if label else "", **on}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One workspace for all examples, each of which has a rater of its own."""
    holder = {"workspace": judged_workspace(tmp_path_factory.mktemp("model")), "examples": 0}
    yield holder
    holder["workspace"].close()


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(STEPS, min_size=5, max_size=25))
def test_any_sequence_of_keys_and_restarts_equals_a_simple_model(shared, steps):
    shared["examples"] += 1
    name = f"rater {shared['examples']}"
    desk, model, last, recorded = Desk(shared["workspace"], name), Model(), None, set()
    for step, *given_values in steps:
        if step == "judge":
            last = desk.judge(*given_values)
            model.judge(*given_values)
        elif step == "mark":
            item, kind, active = given_values
            desk.say(item, kind, active=active, text="text" if active else "")
            last = None
            model.mark(item, kind, active)
        elif step == "reason" and last is not None:
            fresh = {"id": shared["workspace"].ids.next(), "reason": given_values[0]}
            desk.submit(Action(last.id, (last.records[0].model_copy(update=fresh),)))
            model.reason(given_values[0])
        elif step == "again" and last is not None:
            desk.submit(last)
        elif step in ("undo", "redo"):
            last = None
            action = getattr(desk, step)()
            stack = model.done if step == "undo" else model.undone
            assert (None if action is None else action.item_id) == (stack[-1][0] if stack else None)
            getattr(model, step)()
        elif step == "reopen":
            path = shared["workspace"].path
            shared["workspace"].close()
            shared["workspace"] = Workspace.open(path)
            desk = Desk(shared["workspace"], name)
        assert {item: seen(desk, item) for item in (1, 2, 3)} == model.items
    workspace = shared["workspace"]
    chains(workspace)
    recorded = [record.id for record in [*judgments(workspace), *marks(workspace)]]
    assert sorted(journal_ids(workspace)) == sorted(recorded)
