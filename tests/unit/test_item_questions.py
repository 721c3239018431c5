"""What items are asked and how much of it is answered, against going through every record."""

import random
from typing import get_args

import pytest
from judging import Desk, judgments, marks
from scopes import scope
from several_kinds import COUNTS, three_kinds

from store.kinds.spec import NamedQuestion, task_kinds
from store.policy.scope import Scope, Visibility
from store.queries.item import question_ids
from store.queries.progress import open_among, progress, progress_delta, skipped_in_order
from store.queries.questions import item_questions, kind_of
from store.queries.queue import queue_ids, queue_rows
from store.queries.rows import QueueFilter, QueueSort, Status
from store.record.response_names import ResponseName, question_name, split_question
from store.tables.record import QuestionTarget

ITEMS = range(1, 7)
REASONS = ("one@home%", "a#b", "%40", "[x]", "a%25@[#]%", "", "é\n漢")


@pytest.mark.parametrize("model", REASONS)
@pytest.mark.parametrize("setting", REASONS)
@pytest.mark.parametrize("trial", [0, 7])
def test_a_readable_name_is_split_into_what_it_was_made_of(model, setting, trial):
    response = ResponseName(model, setting, trial)
    name = question_name("answer.accuracy", response)
    assert split_question(name) == ("answer.accuracy", response)
    assert NamedQuestion.parse(name).spec.title == "accuracy"


@pytest.mark.parametrize(
    "name",
    ["answer.accuracy", "answer.accuracy@a[]", "answer.accuracy@a#0", "answer.accuracy@a#07", "answer.accuracy@%",
     "answer.accuracy@a[b]c", "@a", "answer.accuracy@%5b", f"answer.accuracy@a#{10**19}"],
)  # fmt: skip
def test_another_spelling_names_no_response(name):
    assert split_question(name) == (name, None)


def test_only_what_is_asked_of_responses_has_such_names():
    assert NamedQuestion.parse("pair.match@a") is None
    assert NamedQuestion.parse("answer.length@a") is None
    assert NamedQuestion.parse("answer.clarity@a").spec == NamedQuestion.parse("answer.clarity").spec


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    with three_kinds(tmp_path_factory.mktemp("kinds")) as workspace:
        yield workspace


def asked(workspace):
    """The questions of each item, by their keys; and each further one that its kind can be asked."""
    due, others = {}, {}
    with workspace.reading() as connection:
        for item in ITEMS:
            kind = kind_of(connection, item)
            keys = question_ids(connection, [spec.name for spec in kind.questions])
            asked = item_questions(connection, kind, item)
            due[item] = {QuestionTarget(keys[spec.name], ref) for spec, ref, _ in asked}
            others[item] = {QuestionTarget(key) for key in keys.values()} - due[item]
    return due, others


def test_what_is_due_is_asked_of_every_response(kinds):
    with kinds.reading() as connection:
        due = {item: item_questions(connection, kind_of(connection, item), item) for item in ITEMS}
    names = {item: [question_name(spec.name, one) for spec, _, one in asked] for item, asked in due.items()}
    assert (names[1], names[6]) == (["pair.match"], [f"answer.{count}" for count in COUNTS])
    assert names[2] == [spec.name for spec in task_kinds()["completion"].questions]
    responses = [ResponseName("one@home%", "with [files]", 2), ResponseName("two#")]
    assert names[5] == [question_name(f"answer.{count}", one) for one in responses for count in COUNTS]
    assert {row.item_id: row.required for row in queue_rows(kinds, scope(0), ITEMS)} == {
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
        today, left = 0, progress(connection, Scope(desk.rater)).left
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
                change = progress_delta(connection, action)
            today, left = today + change.today, left + change.left
    given = {item: _given(kinds, rater, item, due[item]) for item in ITEMS}
    rows = queue_rows(kinds, scope(rater), ITEMS)
    assert {row.item_id: row.answered for row in rows} == given
    judged = {item for item in ITEMS if given[item] == len(due[item])}
    assert {row.item_id for row in rows if row.status == "judged"} == judged
    undecided = {row.item_id for row in rows if row.status == "cannot_decide"}
    with kinds.reading() as connection:
        state = progress(connection, Scope(desk.rater))
        assert open_among(connection, scope(rater), [*ITEMS]) == set(ITEMS) - judged - undecided
        put_off = skipped_in_order(connection, scope(rater))
    assert (state.judged, state.left) == (len(judged), len(ITEMS) - len(judged) - len(undecided))
    assert (today, left) == (state.today, state.left)
    assert sorted(put_off) == [row.item_id for row in rows if row.status == "skipped"]
    for status in get_args(Status):
        expected = [row.item_id for row in rows if row.status == status]
        assert sorted(queue_ids(kinds, scope(rater), QueueFilter(status=status)).tolist()) == expected
    by_status = queue_ids(kinds, scope(rater), sort=QueueSort("status")).tolist()
    assert by_status == sorted(ITEMS, key=lambda item: (rows[item - 1].status, item))
    # The label is that of the question that tells of the kind; questions of responses tell of none.
    with kinds.reading() as connection:
        keep = question_ids(connection, ["completion.keep"])["completion.keep"]
    assert [row.label for row in rows[3:]] == [None] * 3
    assert [row.label for row in rows[1:3]] == [
        _stands(kinds, rater, item, QuestionTarget(keep)) for item in (2, 3)
    ]


def _label(desk, item, question):
    action = desk.label(item, 1.0)
    record = action.records[0].model_copy(update=question._asdict())
    return type(action)(action.id, (record,))


def _stands(workspace, rater, item, question):
    """The value of the latest record of a question, None without one."""
    found = judgments(workspace, item_id=item, rater_id=rater, **question._asdict())
    return found[-1].value if found else None


def _given(workspace, rater, item, due):
    return sum(_stands(workspace, rater, item, question) is not None for question in due)


def test_who_cannot_decide_takes_every_answer_back_and_undo_brings_all_of_them(kinds):
    desk = Desk(kinds, "undecided")
    due, _ = asked(kinds)
    for question in sorted(due[2])[:2]:
        desk.submit(_label(desk, 2, question))
    before = queue_rows(kinds, scope(desk.rater.id), [2])[0]
    assert (before.answered, before.status) == (2, "open")
    desk.say(2, "cannot_decide", text="too long")
    assert queue_rows(kinds, scope(desk.rater.id), [2])[0].answered == 0
    assert len(marks(kinds, rater_id=desk.rater.id)) == 1
    desk.undo()
    assert queue_rows(kinds, scope(desk.rater.id), [2])[0] == before


def test_raters_are_told_with_the_items_that_they_began(kinds):
    desk = Desk(kinds, "beginner")
    due, _ = asked(kinds)
    desk.submit(_label(desk, 3, min(due[3])))
    with kinds.reading() as connection:
        state, blind = (
            progress(connection, Scope(desk.rater)),
            progress(connection, Scope(desk.rater, visibility=Visibility(True))),
        )
    assert (state.judged, state.today) == (0, 0)
    assert [one.labelled for one in state.raters if one.name == "beginner"] == [1]
    assert [one.labelled for one in blind.raters] == [1]
