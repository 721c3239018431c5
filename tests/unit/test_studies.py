"""Studies: drafts, frozen assignments, sittings, sessions, and which of a rater's labels count."""

import json
import re
from dataclasses import replace
from threading import Barrier, Thread

import pytest
from judging import Desk, judged_workspace
from several_kinds import three_kinds
from sqlalchemy import select

from store.errors import JudgmentRefused, UnknownName, WorkbenchError
from store.kinds.spec import task_kinds
from store.policy.scope import Scope, Sitting
from store.policy.sealing import is_sealed
from store.queries.current import first_values, withdrawn_assignments
from store.queries.item import item_access
from store.queries.progress import progress
from store.queries.queue import queue_ids
from store.queries.studies import ChosenItem, find_study
from store.record.protocol import StudyProtocol, condition
from store.record.raters import find_rater, register_kinds
from store.studies.choosing import ItemChoice
from store.studies.plan import StudyPlan, save_plan
from store.studies.session import study_session
from store.studies.studies import close_study, freeze_study, new_study, study_guideline, withdraw
from store.tables.columns import table_of
from store.tables.people import Assignment, Question

RATERS = ("ana", "ben", "chi")


def made(workspace, items=8, raters=RATERS, gold=(), training=(), name="rq2", **protocol):
    chosen = [ChosenItem(number) for number in range(1, items + 1) if number not in {*gold, *training}]
    chosen += [ChosenItem(number, "gold", gold={"pair.match": 1.0}) for number in gold]
    chosen += [ChosenItem(number, "training") for number in training]
    return new_study(
        workspace, name, StudyProtocol(**{"kind": "pair", "seed": 1, **protocol}), chosen, raters
    )


def assignments(workspace, rater_id):
    table = table_of(Assignment)
    with workspace.reading() as connection:
        return connection.execute(
            select(table).where(table.c.rater_id == rater_id).order_by(table.c.position)
        ).all()


@pytest.fixture
def workspace(tmp_path):
    with judged_workspace(tmp_path, 10) as opened:
        yield opened


def judge(workspace, rater, scope, values):
    """Judge some items of a sitting; returns the desk."""
    desk = Desk(workspace, rater)
    for item, value in values.items():
        with workspace.reading() as connection:
            access = item_access(connection, scope, item)
        desk.judge(item, value, assignment_id=access.assignment_id, phase=access.phase)
    return desk


def test_a_draft_is_replaced_and_a_frozen_study_is_not(workspace):
    assert made(workspace, items=4).state == "draft"
    draft = made(workspace, items=6, conditions=("blind", "tests blind"))
    assert (draft.items, draft.protocol.conditions) == ({"item": 6}, ("blind", "blind tests"))
    frozen = freeze_study(workspace, "rq2")
    assert (frozen.state, frozen.manifest["assignments"], frozen.manifest["items"]["item"]) == ("open", 18, 6)
    assert len({one.pseudonym for one in frozen.members}) == 3
    for refused in (lambda: made(workspace), lambda: freeze_study(workspace, "rq2")):
        with pytest.raises(WorkbenchError, match="frozen"):
            refused()
    assert close_study(workspace, "rq2").state == "closed"
    with pytest.raises(WorkbenchError, match="closed"):
        close_study(workspace, "rq2")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("tests+blind", "blind tests"),
        ("blind", "blind"),
        ("revealed tests", "revealed tests"),
        ("own-test", "own-test"),
    ],
)
def test_conditions_have_one_form(text, canonical):
    assert condition(text) == canonical


@pytest.mark.parametrize("text", ["", "tests", "blind revealed", "own-test tests", "blond", "blind,tests"])
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(WorkbenchError, match="no condition"):
        condition(text)


@pytest.mark.parametrize(
    "protocol",
    [
        {"half_width": 0.1},
        {"looks": (10,)},
        {"half_width": 2.0, "looks": (10,)},
        {"overlap": 4},
        {"repeats": 9},
        {"reveal": "blind"},
        {"conditions": ("blind", "blind")},
        {"idle_minutes": float("nan")},
        {"fast_seconds": float("inf")},
        {"kind": "completion", "conditions": ("blind", "own-test")},
    ],
)
def test_an_impossible_protocol_is_refused_and_nothing_is_stored(workspace, protocol):
    with pytest.raises(WorkbenchError):
        made(workspace, **protocol)
    with workspace.reading() as connection, pytest.raises(UnknownName):
        find_study(connection, "rq2")


def test_no_item_comes_twice_in_a_sitting_and_phases_keep_their_order(workspace):
    made(workspace, items=10, gold=(9,), training=(10,), repeats=3, reveal="revealed")
    study = freeze_study(workspace, "rq2")
    for member in study.members:
        own = assignments(workspace, member.rater.id)
        assert [row.position for row in own] == list(range(1, len(own) + 1))
        assert [row.sitting for row in own] == sorted(row.sitting for row in own)
        by_sitting = {}
        for row in own:
            by_sitting.setdefault(row.sitting, []).append(row)
        for rows in by_sitting.values():
            assert len({row.item_id for row in rows}) == len(rows)
        phases = [{row.phase for row in rows} for rows in by_sitting.values()]
        assert phases[0] == {"train"}
        assert phases[-1] == {"reveal"}
        assert {row.phase for row in own} == {"train", "label", "gold", "repeat", "reveal"}
        assert sum(row.phase == "repeat" for row in own) == 3
        first = {row.item_id: row for row in own if row.phase == "label"}
        again = [row for row in own if row.phase == "repeat"]
        assert all(row.position > first[row.item_id].position for row in again)
        assert all(row.sitting > first[row.item_id].sitting for row in again)


def test_a_session_goes_through_the_sittings_and_sees_their_items_only(workspace):
    made(workspace, items=6, repeats=2)
    study = freeze_study(workspace, "rq2")
    ana = study.member("ana").rater
    own = assignments(workspace, ana.id)
    with workspace.reading() as connection:
        session = study_session(connection, ana)
        assert is_sealed(connection, ana)
        assert not is_sealed(connection, None)
        assert progress(connection, session.scope).total == sum(row.sitting == 1 for row in own)
    assert (session.sitting, session.done, session.total) == (1, 0, 8)
    for sitting in range(1, session.sittings + 1):
        scope = Scope(ana, Sitting(study.id, sitting))
        expected = [row.item_id for row in own if row.sitting == sitting]
        assert queue_ids(workspace, scope).tolist() == expected
        judge(workspace, "ana", scope, dict.fromkeys(expected, 1.0))
        with workspace.reading() as connection:
            session = study_session(connection, ana)
        assert session.finished == (sitting == session.sittings)
        assert session.sitting == min(sitting + 1, session.sittings)
    with workspace.reading() as connection, pytest.raises(UnknownName, match="no rater"):
        study_session(connection, Desk(workspace, "eve").rater, "rq2")
    close_study(workspace, "rq2")
    with workspace.reading() as connection:
        assert study_session(connection, ana) is None
        assert not is_sealed(connection, ana)


def test_the_first_presentation_counts_and_neither_repeat_nor_reveal_nor_gold(workspace, workbench):
    made(workspace, items=6, gold=(6,), repeats=2, reveal="revealed")
    study = freeze_study(workspace, "rq2")
    # Each gives 1 at first, and 0 whenever an item comes again.
    for name in RATERS:
        rater = study.member(name).rater
        own = assignments(workspace, rater.id)
        for sitting in sorted({row.sitting for row in own}):
            rows = [row for row in own if row.sitting == sitting]
            values = {row.item_id: float(row.phase in ("label", "gold")) for row in rows}
            judge(workspace, name, Scope(rater, Sitting(study.id, sitting)), values)
    labels = first_values()
    with workspace.reading() as connection:
        rows = connection.execute(select(labels.c.item_id, labels.c.value, labels.c.phase)).all()
    assert {(row.value, row.phase) for row in rows} == {(1.0, "label")}
    assert sorted({row.item_id for row in rows}) == [1, 2, 3, 4, 5]
    assert len(rows) == 15
    workspace.close()
    found = workbench("report", workspace.path, "agreement", "--study", "rq2", "--json").json()
    assert (found["units"], found["percent"], found["judgments"]) == (5, 100, 15)
    assert {one["name"]: one["repeat"]["percent"] for one in found["by_rater"]} == dict.fromkeys(RATERS, 0)


def test_a_rater_withdraws_and_is_no_more_sealed(workspace):
    made(workspace)
    study = freeze_study(workspace, "rq2")
    found = withdraw(workspace, "rq2", "ben")
    assert [one.rater.name for one in found.members if one.withdrawn_at] == ["ben"]
    ben = study.member("R2").rater
    with workspace.reading() as connection:
        gone = set(connection.execute(withdrawn_assignments()).scalars())
        assert not is_sealed(connection, ben)
    assert gone == {row.id for row in assignments(workspace, ben.id)}


def test_a_frozen_study_keeps_its_guide_and_questions_get_their_new_text(workspace, monkeypatch):
    made(workspace)
    study = freeze_study(workspace, "rq2")
    made(workspace, name="draft")
    pair = task_kinds()["pair"]
    newer = replace(
        pair,
        guideline="Other words.",
        guideline_version="later",
        questions=(replace(pair.questions[0], text="Match?"),),
    )
    monkeypatch.setitem(task_kinds(), "pair", newer)
    register_kinds(workspace)
    with workspace.reading() as connection:
        kept = study_guideline(connection, study.id)
        draft = study_guideline(connection, find_study(connection, "draft").id)
        table = table_of(Question)
        text = connection.execute(select(table.c.text).where(table.c.name == "pair.match")).scalar()
    assert (kept.version, kept.text) == (pair.guideline_version, pair.guideline)
    assert (draft.version, draft.text, text) == ("later", "Other words.", "Match?")


def test_commands_make_show_freeze_and_close_a_study(tmp_path, workbench):
    with judged_workspace(tmp_path, 9) as workspace:
        path = workspace.path
        with workspace.reading() as connection:
            from store.tables.imported import Item

            names = connection.execute(select(table_of(Item).c.external_id)).scalars().all()
    (tmp_path / "gold.csv").write_text(f"{names[0]},match\n{names[1]},pair.match,0\n")
    (tmp_path / "guide.md").write_text("Judge what it does.\n")
    new = ("study", "new", path, "rq2", "--raters", "ana,ben,chi", "--overlap", "2", "--conditions")
    options = ("blind,blind+tests", "--gold", tmp_path / "gold.csv", "--guideline", tmp_path / "guide.md")
    made_ = workbench(*new, *options, "--seed", "5", "--rater", "lead", "--json").json()
    assert (made_["state"], made_["items"]) == ("draft", {"gold": 2, "item": 7})
    assert made_["protocol"]["coordinators"] == ["lead"]
    assert made_["protocol"]["sample"] == "all 9 pairs; 2 of them for gold or training"
    draft = workbench(*new, *options, "--seed", "5", "--rater", "lead")
    assert "The earlier draft of rq2 is replaced" in draft.err
    assert workbench("study", "close", path, "rq2", "--json").json()["error"]["message"] == "rq2 is a draft."
    frozen = workbench("study", "freeze", path, "rq2", "--rater", "lead", "--json").json()
    assert frozen["manifest"]["balance"]["by_raters"] == {"2": 7}
    assert "blind+tests" in workbench("study", "show", path, "rq2", "--rater", "lead").out
    refused = workbench("study", "show", path, "rq2", "--rater", "ana")
    assert (refused.code, "Sealed session" in refused.err) == (2, True)
    own = workbench("study", "list", path, "--rater", "ana", "--json").json()
    assert own == {"studies": [{"study": "rq2", "state": "open"}]}
    assert workbench("study", "list", path, "--rater", "ana").out.split() == ["study", "state", "rq2", "open"]
    assert workbench("study", "close", path, "rq2", "--rater", "ana").code == 2
    assert workbench("study", "close", path, "rq2", "--rater", "lead", "--json").json()["state"] == "closed"
    for line in (f"{names[0]},perhaps\n", "item,value\n"):
        (tmp_path / "bad.csv").write_text(line)
        bad = workbench(*new, "blind", "--gold", tmp_path / "bad.csv", "--json")
        assert (bad.code, "bad.csv:1" in json.loads(bad.out)["error"]["message"]) == (2, True)
    # A sample is taken of what gold leaves.
    sample = (
        "study",
        "new",
        path,
        "draft",
        *new[4:],
        "blind",
        "--gold",
        tmp_path / "gold.csv",
        "--sample-pairs",
    )
    told = workbench(*sample, 7, "--json").json()
    assert told["items"] == {"gold": 2, "item": 7}
    assert told["protocol"]["sample"] == "random sample of 7 of 7 not used for gold or training, seed 0"
    assert "there are 7 others" in workbench(*sample, 8).err
    # What is asked of each rater is shown of a draft, too.
    shown = workbench("study", "show", path, "draft")
    assert re.search(r"^ben +R2 +5 +5 +0 +7 +1 +0\.1", shown.out, re.MULTILINE)
    assert "about 0.1 hours for a rater, at 60 s an item, no times known yet" in shown.out
    plan = workbench("study", "show", path, "draft", "--json").json()["plan"]
    assert sum(one["assignments"] for one in plan["raters"]) == 7 * 2 + 2 * 3
    # A draft can be deleted, and nothing else.
    assert workbench("study", "delete", path, "draft", "--json").json() == {"study": "draft", "deleted": True}
    assert workbench("study", "show", path, "draft").code == 2
    kept = workbench("study", "delete", path, "rq2")
    assert (kept.code, "only a draft is deleted" in kept.err) == (2, True)
    # Names without commas are one name or several.
    unclear = workbench("study", "new", path, "x", "--raters", "ana ben chi")
    assert (unclear.code, "several people: ana,ben,chi" in unclear.err) == (2, True)
    one = workbench("study", "new", path, "x", "--raters", "Ana Lee,", "--json").json()
    assert [each["rater"] for each in one["raters"]] == ["Ana Lee"]
    spaced = workbench("study", "new", path, "my study", "--raters", "ana,ben")
    assert "study freeze" in spaced.out
    assert "'my study'" in spaced.out


def test_a_name_comes_before_the_pseudonym_of_another(workspace):
    made(workspace, raters=("R2", "R1", "chi"))
    gone = [one for one in withdraw(workspace, "rq2", "R1").members if one.withdrawn_at]
    assert [(one.rater.name, one.pseudonym) for one in gone] == [("R1", "R2")]
    assert withdraw(workspace, "rq2", "R3").member("chi").withdrawn_at


@pytest.mark.parametrize("rater", ["\x1b[31mred", "  ", "a" * 300])
def test_the_names_of_raters_are_those_under_which_one_can_judge(workspace, rater):
    with pytest.raises(JudgmentRefused):
        made(workspace, raters=("ana", rater))


def test_of_freezes_at_once_one_is_carried_out(workspace):
    made(workspace, items=4)
    start, results = Barrier(3), []

    def freeze():
        start.wait()
        try:
            results.append(freeze_study(workspace, "rq2").state)
        except WorkbenchError as refused:
            results.append(refused.title)

    threads = [Thread(target=freeze) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["Frozen already", "Frozen already", "open"]
    with workspace.reading() as connection:
        assert len(connection.execute(select(table_of(Assignment))).all()) == 12


def test_after_a_withdrawal_nothing_is_hidden_from_the_rater(workspace):
    made(workspace)
    freeze_study(workspace, "rq2")
    withdraw(workspace, "rq2", "ana")
    with workspace.reading() as connection:
        ana, ben = (item_access(connection, Scope(find_rater(connection, one)), 1) for one in ("ana", "ben"))
    assert (ana.blind, ana.tests, ben.blind) == (False, "agents", True)


def plan(*, names=None, **given):
    protocol = StudyProtocol("pair", questions=given.pop("questions", ()))
    return StudyPlan("rq2", ("ana", "ben"), ItemChoice("pair", names=names), protocol, **given)


def test_a_study_is_about_items_and_questions_of_its_kind(tmp_path):
    with three_kinds(tmp_path) as workspace:
        register_kinds(workspace)
        (tmp_path / "items.csv").write_text("q1\n")
        for wrong in (
            plan(names=["p1", "q1"]),
            plan(training=tmp_path / "items.csv"),
            plan(questions=("match", "accuracy")),
        ):
            with pytest.raises(WorkbenchError, match=r"of the kind answer|[Nn]o question"):
                save_plan(workspace, wrong)
        assert save_plan(workspace, plan(questions=("match",))).protocol.questions == ("pair.match",)


@pytest.mark.parametrize(
    "text", ["pair/1,1\rpair/2,0\r", "pair/1,1\npair/1,0\n", "x" * 140_000 + ",1\n", "pair/1,nan\n", "\0,1\n"]
)
def test_a_file_of_answers_that_cannot_be_right_is_refused_in_few_words(workspace, tmp_path, text):
    (tmp_path / "gold.csv").write_text(text, newline="")
    with pytest.raises(WorkbenchError) as refused:
        save_plan(workspace, plan(gold=tmp_path / "gold.csv"))
    assert len(str(refused.value)) < 500
