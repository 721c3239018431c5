"""What items are asked and how much of it is answered, against going through every record."""

import random

import pytest
from judging import Desk, judgments, marks
from several_kinds import COUNTS, three_kinds

from store.kinds.instances import Instance, instance_of
from store.kinds.protocol import question_named, task_kinds
from store.queries.current import STATUSES
from store.queries.due import due_questions, kind_of
from store.queries.item import question_ids
from store.queries.progress import progress
from store.queries.queue import queue_ids, queue_rows
from store.queries.rows import QueueFilter, QueueSort
from store.queries.standing import change_of, open_among, skipped_in_order
from store.raters import ensure_questions

ITEMS = range(1, 7)
REASONS = ("one@home%", "a#b", "%40", "[x]", "a%25@[#]%", "", "é\n漢")


@pytest.mark.parametrize("model", REASONS)
@pytest.mark.parametrize("setting", REASONS)
@pytest.mark.parametrize("trial", [0, 7])
def test_a_name_is_taken_apart_into_what_it_was_made_of(model, setting, trial):
    instance = Instance("answer.accuracy", model, setting, trial)
    assert instance_of(instance.name) == instance
    assert question_named(instance.name).title == "accuracy"


@pytest.mark.parametrize(
    "name",
    ["answer.accuracy", "answer.accuracy@a[]", "answer.accuracy@a#0", "answer.accuracy@a#07", "answer.accuracy@%",
     "answer.accuracy@a[b]c", "@a", "answer.accuracy@%5b"],
)  # fmt: skip
def test_what_no_response_is_called_names_none(name):
    assert instance_of(name) is None


def test_only_what_is_asked_of_responses_has_such_names():
    assert question_named("pair.match@a") is None
    assert question_named("answer.length@a") is None
    assert question_named("answer.clarity@a").scale == question_named("answer.clarity").scale


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    with three_kinds(tmp_path_factory.mktemp("kinds")) as workspace:
        yield workspace


def asked(workspace):
    """The keys of the questions of each item; and of each further question that its kind can be asked."""
    due, others = {}, {}
    with workspace.reading() as connection:
        for item in ITEMS:
            kind = kind_of(connection, item)
            due[item] = set(question_ids(connection, due_questions(connection, kind, item)).values())
            base = question_ids(connection, [spec.name for spec in kind.questions])
            others[item] = set(base.values()) - due[item]
    return due, others


def test_what_is_due_is_asked_of_every_response(kinds):
    with kinds.reading() as connection:
        names = {item: due_questions(connection, kind_of(connection, item), item) for item in ITEMS}
    assert (names[1], names[6]) == (("pair.match",), tuple(f"answer.{count}" for count in COUNTS))
    assert names[2] == tuple(spec.name for spec in task_kinds()["completion"].questions)
    responses = [Instance("", "one@home%", "with [files]", 2), Instance("", "two#")]
    assert names[5] == tuple(f"answer.{count}{one.name}" for one in responses for count in COUNTS)
    assert {row.item_id: row.due for row in queue_rows(kinds, 0, ITEMS)} == {
        item: len(each) for item, each in names.items()
    }


@pytest.mark.parametrize("seed", range(2))
def test_counts_are_those_of_the_records_and_follow_every_action(kinds, seed):
    """Anything is done in any order; also what is not due is answered, as before responses came."""
    draw = random.Random(seed)
    desk = Desk(kinds, f"rater {seed}")
    other = Desk(kinds, f"other {seed}")
    due, others = asked(kinds)
    rater = desk.rater.id
    with kinds.reading() as connection:
        today, left = 0, progress(connection, desk.rater).left
    for _ in range(60):
        item = draw.choice(ITEMS)
        what = draw.choice(["judge"] * 8 + ["undo", "redo", "cannot_decide", "skip", "flag", "other"])
        if what == "judge":
            question = draw.choice([*due[item], *due[item], *others[item]])
            action = desk.submit(_label(desk, item, question))
        elif what == "other":
            other.submit(_label(other, item, draw.choice([*due[item]])))
            continue
        elif what in ("undo", "redo"):
            action = getattr(desk, what)()
        else:
            action = desk.say(item, what, active=draw.random() < 0.7)
        if action is not None:
            with kinds.reading() as connection:
                change = change_of(connection, action)
            today, left = today + change.today, left + change.left
    given = {item: _given(kinds, rater, item, due[item]) for item in ITEMS}
    rows = queue_rows(kinds, rater, ITEMS)
    assert {row.item_id: row.given for row in rows} == given
    judged = {item for item in ITEMS if given[item] == len(due[item])}
    assert {row.item_id for row in rows if row.status == "judged"} == judged
    undecided = {row.item_id for row in rows if row.status == "cannot_decide"}
    with kinds.reading() as connection:
        state = progress(connection, desk.rater)
        assert open_among(connection, rater, [*ITEMS]) == set(ITEMS) - judged - undecided
        put_off = skipped_in_order(connection, rater)
    assert (state.judged, state.left) == (len(judged), len(ITEMS) - len(judged) - len(undecided))
    assert (today, left) == (state.today, state.left)
    assert sorted(put_off) == [row.item_id for row in rows if row.status == "skipped"]
    for status in STATUSES:
        expected = [row.item_id for row in rows if row.status == status]
        assert queue_ids(kinds, rater, QueueFilter(status=status)).tolist() == expected
    by_status = queue_ids(kinds, rater, sort=QueueSort("status")).tolist()
    assert by_status == sorted(ITEMS, key=lambda item: (rows[item - 1].status, item))
    # The label is that of the question that tells of the kind; questions of responses tell of none.
    with kinds.reading() as connection:
        keep = question_ids(connection, ["completion.keep"])["completion.keep"]
    assert [row.label for row in rows[3:]] == [None] * 3
    assert [row.label for row in rows[1:3]] == [_stands(kinds, rater, item, keep) for item in (2, 3)]


def _label(desk, item, question):
    action = desk.label(item, 1.0)
    record = action.records[0].model_copy(update={"question_id": question})
    return type(action)(action.id, (record,))


def _stands(workspace, rater, item, question):
    """The value of the latest record of a question, None without one."""
    found = judgments(workspace, item_id=item, rater_id=rater, question_id=question)
    return found[-1].value if found else None


def _given(workspace, rater, item, due):
    return sum(_stands(workspace, rater, item, question) is not None for question in due)


def test_who_cannot_decide_takes_every_answer_back_and_undo_brings_all_of_them(kinds):
    desk = Desk(kinds, "undecided")
    due, _ = asked(kinds)
    for question in sorted(due[2])[:2]:
        desk.submit(_label(desk, 2, question))
    before = queue_rows(kinds, desk.rater.id, [2])[0]
    assert (before.given, before.status) == (2, "open")
    desk.say(2, "cannot_decide", text="too long")
    assert (queue_rows(kinds, desk.rater.id, [2])[0].given, len(marks(kinds, rater_id=desk.rater.id))) == (
        0,
        1,
    )
    desk.undo()
    assert queue_rows(kinds, desk.rater.id, [2])[0] == before


def test_raters_are_told_with_the_items_that_they_began(kinds):
    desk = Desk(kinds, "beginner")
    due, _ = asked(kinds)
    desk.submit(_label(desk, 3, min(due[3])))
    with kinds.reading() as connection:
        state, blind = progress(connection, desk.rater), progress(connection, desk.rater, blind=True)
    assert (state.judged, state.today) == (0, 0)
    assert [one.labelled for one in state.raters if one.name == "beginner"] == [1]
    assert [one.labelled for one in blind.raters] == [1]


def test_a_question_gets_its_key_once(kinds):
    kind, name = task_kinds()["answer"], Instance("answer.clarity", "new").name
    first = ensure_questions(kinds, kind, [name, "answer.clarity"])
    assert ensure_questions(kinds, kind, [name]) == {name: first[name]}
    assert len(set(first.values())) == 2
