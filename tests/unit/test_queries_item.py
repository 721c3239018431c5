"""One item as a review shows it, blind and revealed, and how items are found by name."""

import json
import re

import pytest
from judging import Desk, judged_workspace, judgments
from recorded import RATERS, recorded_workspace
from scopes import scope
from small_workspace import GOOD, pairs_workspace
from sqlalchemy import event, insert

from screens.items.pair import load
from screens.items.reader import ItemReader
from store.errors import UnknownName
from store.kinds.pair import PAIR
from store.policy.scope import RunRef, Scope
from store.queries.agent_case import OtherVerdict, load_case
from store.queries.item import OwnLabel, find_item, load_history, load_item, load_own
from store.record.actions import Action
from store.record.ids import now
from store.tables.columns import table_of
from store.tables.record import QuestionTarget
from store.tables.runs import Execution, ExecutionRow, Run, Step, StepRow, TestOutcomeRow, Verdict, VerdictRow

REPLY = {"assessment": "unclear", "justification": "it depends"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    recorded = recorded_workspace(tmp_path_factory.mktemp("item"), seed=3)
    yield recorded
    recorded.workspace.close()


@pytest.fixture
def workspace(tmp_path):
    with judged_workspace(tmp_path) as opened:
        yield opened


class AgentsWork:
    """Puts what agents do into a workspace, a run at a time."""

    def __init__(self, workspace):
        self.workspace = workspace

    def _insert(self, table, **values):
        self.workspace.lane.submit(lambda c: c.execute(insert(table_of(table)).values(**values))).result(60)

    def run(self, model="m", fullness=0):
        run = Run(
            id=self.workspace.ids.next(), kind="pair", name=f"annotation/{model}", configuration=model, model=model,
            rater_id=1, state="running", total=1, started_at=now(), fullness=fullness,
        )  # fmt: skip
        self._insert(Run, **run.model_dump())
        return run.id

    def step(self, run, item, role, reply="", outcome="ok", attempt=0):
        step = Step(
            id=self.workspace.ids.next(), run_id=run, item_id=item, role=role, attempt=attempt, outcome=outcome,
            reply=reply if isinstance(reply, str) else json.dumps(reply), created_at=now(),
        )  # fmt: skip
        self._insert(StepRow, **step.model_dump())
        return step.id

    def execution(self, step, item, program="test", tests=("passed", "failed")):
        made = Execution(
            id=self.workspace.ids.next(), item_id=item, step_id=step, program=program, program_digest="d",
            sandbox="process", environment="python", exit_reason="assertion", executable=True, stdout="out",
            created_at=now(),
        )  # fmt: skip
        self._insert(ExecutionRow, **made.model_dump())
        for position, outcome in reversed(list(enumerate(tests))):
            row = TestOutcomeRow(
                execution_id=made.id, position=position, name=f"test_{position}", outcome=outcome
            )
            self._insert(TestOutcomeRow, **row.model_dump())
        return made.id

    def verdict(self, run, item, value=1.0, path="tested", execution=None):
        made = Verdict(
            id=self.workspace.ids.next(), run_id=run, item_id=item, value=value, path=path, reason="the tests say so",
            execution_id=execution, question_id=1, created_at=now(),
        )  # fmt: skip
        self._insert(VerdictRow, **made.model_dump())
        return made.id


def case_of(workspace, item=1, run=None):
    with workspace.reading() as connection:
        return load_case(connection, Scope(run=run), item)


# -- finding an item --------------------------------------------------------------------------------------


def find(workspace, name):
    with workspace.reading() as connection:
        return find_item(connection, name)


def test_an_item_is_found_by_its_name_or_its_number(workspace):
    assert (find(workspace, "pair/3"), find(workspace, "3")) == (3, 3)


@pytest.mark.parametrize(
    "name",
    ["", "pair/99", "99", "0", "-1", "1.0", "1e0", "9" * 18, "9" * 40, "²", "' OR 1=1 --", "pair/%", "\0"],
)
def test_a_name_that_nothing_has_is_said(workspace, name):
    with pytest.raises(UnknownName) as refused:
        find(workspace, name)
    assert refused.value.hint


def test_a_name_goes_before_a_number(tmp_path):
    with pairs_workspace(
        tmp_path, [("2", "q", GOOD), ("x", "q", GOOD + "#"), ("y", "q", GOOD + "##")]
    ) as workspace:
        assert find(workspace, "2") == 1
        assert find(workspace, "3") == 3


def test_a_name_of_several_items_is_refused(tmp_path):
    with (
        pairs_workspace(tmp_path, [("same", "q", GOOD), ("same", "q", GOOD + "#")]) as workspace,
        pytest.raises(UnknownName, match="Several"),
    ):
        find(workspace, "same")


# -- the pair ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rater", RATERS)
def test_a_pair_shows_its_texts_and_what_stands(made, rater):
    with made.workspace.reading() as connection:
        for item in made.items:
            pair = load_item(connection, scope(made.raters[rater]), PAIR, item)
            case = load_case(connection, scope(made.raters[rater]), item)
            label, verdict, marks = made.label(rater, item), made.verdict(item), made.marked(rater, item)
            assert (pair.item_id, pair.external_id, pair.kind) == (item, f"pair/{item}", "pair")
            fields = pair.fields
            assert (fields["query"], pair.group_size) == (f"double a number {(item + 1) // 2}", 2)
            assert fields["code"].endswith(f"# {item}\n")
            assert (fields["language"], fields["rank"], pair.source) == ("python", item, "test")
            assert set(pair.similarities) == ({"a", "b"} if item in made.similarity else set())
            given = {number: one.value for number, one in pair.own.labels.items()}
            assert given == ({} if label is None else {label.target: label.value})
            assert pair.question_ids == {"pair.match": made.judgments[0].question_id}
            assert pair.own.skipped == ("skip" in marks)
            assert pair.own.flagged == ("flag" in marks)
            assert pair.own.comment == (marks["comment"].text if "comment" in marks else "")
            expected = marks["cannot_decide"].text if "cannot_decide" in marks else None
            assert pair.own.cannot_decide == expected
            assert (case.verdict and case.verdict.id) == (verdict and verdict.id)
            history = [one for one in [*made.judgments, *made.marks] if one.item_id == item]
            assert [seen.id for seen in pair.history] == sorted(one.id for one in history)


@pytest.mark.parametrize("rater", RATERS)
def test_a_blind_pair_holds_only_the_raters_own(made, rater):
    number = made.raters[rater]
    other_texts = {mark.text for mark in made.marks if mark.rater_id != number}
    with made.workspace.reading() as connection:
        for item in made.items:
            pair = load_item(connection, scope(number, blind=True), PAIR, item)
            assert {seen.rater for seen in pair.history} <= {rater}
            mine = [
                one for one in [*made.judgments, *made.marks] if (one.item_id, one.rater_id) == (item, number)
            ]
            assert [seen.id for seen in pair.history] == sorted(one.id for one in mine)
            assert not other_texts & {seen.text for seen in pair.history}


def test_blind_the_database_returns_nothing_of_the_agents_and_of_others(made):
    """What is fetched is looked at, not what is shown of it."""
    fetched, number = [], made.raters["dana"]
    others = [one for one in made.marks if one.rater_id != number and one.text]
    item = max(made.items, key=lambda item: sum(one.item_id == item for one in others))

    def hear(_connection, cursor, statement, parameters, *_):
        rerun = made.workspace.native()
        fetched.append((statement, rerun.execute(statement, parameters).fetchall()))
        rerun.close()

    event.listen(made.workspace.engine, "before_cursor_execute", hear)
    try:
        with made.workspace.reading() as connection:
            load(connection, scope(number, blind=True), item)
    finally:
        event.remove(made.workspace.engine, "before_cursor_execute", hear)
    assert len(fetched) > 4
    assert not any(
        re.search(r"(FROM|JOIN) (verdict|step|run|execution)\b", statement) for statement, _ in fetched
    )
    values = {str(value) for _, rows in fetched for row in rows for value in row}
    assert str(number) in values
    hidden = [one for one in [*made.judgments, *others] if one.rater_id != number and one.item_id == item]
    assert hidden
    assert not values & {str(one.id) for one in hidden}
    assert not values & {one.text for one in others}
    assert not values & {verdict.reason for verdict in made.verdicts}


def test_a_pair_that_is_not_there_is_said(workspace):
    with workspace.reading() as connection, pytest.raises(UnknownName, match="no item 99"):
        load_item(connection, scope(1), PAIR, 99)


# -- the agents' case -------------------------------------------------------------------------------------


def test_without_agents_the_case_is_empty(workspace):
    case = case_of(workspace)
    assert (case.verdict, case.steps, case.execution) == (None, (), None)
    assert case.reply_of("screener") == {}


def test_a_case_is_of_one_run_and_names_the_labels_of_others(workspace):
    agents = AgentsWork(workspace)
    full, single = agents.run("full", fullness=6), agents.run("single", fullness=1)
    for run in (full, single):
        agents.step(run, 1, "screener", REPLY)
        agents.step(run, 2, "screener", REPLY)
    shown = agents.verdict(full, 1, 1.0, "screened")
    other = agents.verdict(single, 1, 0.0, "read")
    case = case_of(workspace)
    assert (case.verdict.id, case.verdict.value, case.verdict.path) == (shown, 1.0, "screened")
    assert (case.verdict.model, case.verdict.run_name) == ("full", "annotation/full")
    assert [(step.role, step.reply) for step in case.steps] == [("screener", REPLY)]
    assert case.run == RunRef(full, "annotation/full")
    assert case.others == (OtherVerdict(RunRef(single, "annotation/single"), 0.0, "read"),)
    chosen = case_of(workspace, run=RunRef(single, "annotation/single"))
    assert (chosen.verdict.id, [one.run.id for one in chosen.others]) == (other, [full])


def test_an_item_that_the_shown_run_has_not_labelled_has_no_label_of_agents(workspace):
    agents = AgentsWork(workspace)
    full, single = agents.run("full", fullness=6), agents.run("single", fullness=1)
    agents.verdict(full, 2)
    agents.step(single, 1, "annotator", REPLY)
    agents.verdict(single, 1, 0.0, "read")
    case = case_of(workspace)
    assert (case.verdict, case.steps, case.execution) == (None, (), None)
    assert [(one.run.id, one.value, one.path) for one in case.others] == [(single, 0.0, "read")]


def test_before_a_verdict_the_steps_of_the_newest_fullest_run_are_shown(workspace):
    agents = AgentsWork(workspace)
    first, second = agents.run("one"), agents.run("two")
    agents.step(first, 1, "screener", REPLY)
    agents.step(second, 1, "screener", outcome="failed", reply="{not json")
    agents.step(second, 1, "screener", {"assessment": "clear_match"}, attempt=1)
    case = case_of(workspace)
    assert case.verdict is None
    assert [(step.outcome, step.attempt, dict(step.reply)) for step in case.steps] == [
        ("failed", 0, {}),
        ("ok", 1, {"assessment": "clear_match"}),
    ]
    assert case.reply_of("screener") == {"assessment": "clear_match"}


def test_the_shown_run_is_looked_for_once_until_another_one_has_worked(workspace):
    agents, looked = AgentsWork(workspace), []

    def look(connection, cursor, statement, *_):
        looked.extend(["looked"] if "WITH shown_run" in statement else [])

    def labels():
        return [reader.read(item).claim.summary[2:9] for item in (1, 2)]

    single, full = agents.run("single"), agents.run("full", fullness=6)
    for item in (1, 2):
        agents.verdict(single, item, 1.0, "read")
    reader = ItemReader(workspace, scope(1))
    event.listen(workspace.engine, "before_cursor_execute", look)
    assert (labels(), looked) == (["1 match"] * 2, ["looked"])
    for item in (1, 2):
        reader.forget(item, single)
    assert (labels(), looked) == (["1 match"] * 2, ["looked"])
    for item in (1, 2):
        agents.verdict(full, item, 0.0)
        reader.forget(item, full)
    assert (labels(), looked) == (["0 no ma"] * 2, ["looked"] * 2)


@pytest.mark.parametrize("reply", ["", "[1]", "null", "3", '"x"', "{broken", "nul\0"])
def test_a_reply_that_is_no_object_is_shown_as_none(workspace, reply):
    agents = AgentsWork(workspace)
    agents.step(agents.run(), 1, "screener", reply)
    assert case_of(workspace).steps[0].reply == {}


def test_the_execution_shown_is_the_one_that_the_verdict_rests_on(workspace):
    agents = AgentsWork(workspace)
    run = agents.run()
    step = agents.step(run, 1, "executor")
    rested_on = agents.execution(step, 1, "first program")
    agents.execution(step, 1, "second program", tests=())
    other = agents.step(run, 2, "executor")
    agents.execution(other, 2, "another item's")
    assert case_of(workspace).execution.program == "second program"
    agents.verdict(run, 1, execution=rested_on)
    execution = case_of(workspace).execution
    assert (execution.id, execution.program, execution.stdout) == (rested_on, "first program", "out")
    assert [(test.name, test.outcome) for test in execution.outcomes] == [
        ("test_0", "passed"),
        ("test_1", "failed"),
    ]


# -- one's own state and the history ----------------------------------------------------------------------


def test_ones_own_state_is_of_its_phase_and_outside_assignments(workspace):
    desk = Desk(workspace)
    desk.judge(1, 1.0, reason="names")
    desk.judge(1, 0.0, phase="revealed", reason="w")
    desk.judge(1, 0.0, assignment_id=workspace.ids.next(), reason="x")
    with workspace.reading() as connection:
        review, revealed = (
            load_own(connection, scope(desk.rater.id, phase=phase), 1) for phase in ("review", "revealed")
        )
    asked = QuestionTarget(desk.question)
    assert review.labels == {asked: OwnLabel(1.0, "names")}
    assert revealed.labels == {asked: OwnLabel(0.0, "w")}


def test_the_history_tells_what_was_done_in_its_order(workspace):
    desk, other = Desk(workspace), Desk(workspace, "eli")
    desk.judge(1, 1.0, comment="first", elapsed_ms=900, blind=True)
    other.say(1, "comment", text="[red]look")
    desk.say(1, "flag")
    desk.say(1, "flag", active=False)
    desk.undo()
    desk.judge(2)
    with workspace.reading() as connection:
        seen = load_history(connection, 1)
        mine = load_history(connection, 1, scope(desk.rater.id, blind=True))
    assert [(one.rater, one.what, one.value, one.origin, one.text) for one in seen] == [
        ("dana", "pair.match", 1.0, "independent", "first"),
        ("eli", "comment", None, "independent", "[red]look"),
        ("dana", "flag", None, "independent", ""),
        ("dana", "no flag", None, "independent", ""),
        ("dana", "flag", None, "undo", ""),
    ]
    assert (seen[0].elapsed_ms, seen[0].blind, seen[0].rater_kind) == (900, True, "human")
    assert mine == tuple(one for one in seen if one.rater == "dana")


def test_an_undone_label_leaves_no_reason(workspace):
    desk = Desk(workspace)
    action = desk.judge(1, 1.0)
    fresh = {"id": workspace.ids.next(), "reason": "w"}
    desk.submit(Action(action.id, (action.records[0].model_copy(update=fresh),)))
    desk.undo()
    with workspace.reading() as connection:
        own = load_own(connection, scope(desk.rater.id), 1)
    assert own.labels == {}
    assert len(judgments(workspace)) == 3
