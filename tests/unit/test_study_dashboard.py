"""The dashboard of a study: progress, gold, looks, the stopping rule; and who may see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from judging import Desk, judged_workspace
from several_kinds import three_kinds
from study_app import assigned, give, open_study

from store.errors import HiddenData
from store.kinds.spec import task_kinds
from store.queries.questions import item_questions
from store.queries.studies import ChosenItem
from store.record.protocol import StudyProtocol
from store.record.raters import ensure_rater, question_number, register_kinds
from store.studies.choosing import ItemChoice, choose_items
from store.studies.dashboard import dashboard, list_dashboards, look
from store.studies.dashboard_text import plan_words
from store.studies.plan import PlanPreview, StudyPlan, preview_plan, save_plan
from store.studies.studies import close_study, freeze_study, new_study, withdraw
from store.workspace.duckdb import Workspace


def seen(workspace: Workspace, name: str = "rq2") -> Any:
    with workspace.reading() as connection:
        return dashboard(connection, name, ensure_rater(workspace, "dana"))


def test_progress_by_condition_with_gold_pace_and_fast_labels(tmp_path: Path) -> None:
    with judged_workspace(tmp_path, 8) as workspace:
        protocol = StudyProtocol(kind="pair", conditions=("blind", "revealed"), repeats=1, seed=3)
        items = [ChosenItem(number) for number in range(1, 7)]
        items += [
            ChosenItem(7, "gold", gold={"pair.match": 1.0}),
            ChosenItem(8, "training", gold={"pair.match": 0.0}),
        ]
        new_study(workspace, "rq2", protocol, items, ["ana", "ben"])
        assert seen(workspace).study.state == "draft"
        assert seen(workspace).due is None
        freeze_study(workspace, "rq2")
        ana = assigned(workspace, "ana")
        for place, one in enumerate(ana):
            # One in under two seconds; all of an hour's work.
            give(workspace, "ana", one, 1.0, milliseconds=1_000 if place == 1 else 60_000)
        for one in assigned(workspace, "ben")[:3]:
            give(workspace, "ben", one, 0.0, milliseconds=60_000)
        first, second = seen(workspace).raters
        assert first.whole.done == first.whole.total == 9  # 6 items, a repeat, gold and training
        assert sum(one.total for name, one in first.parts.items() if name != "training") == 8
        assert set(first.parts) == {"training", "blind", "revealed"}
        assert (first.gold.right, first.gold.given) == (1, 1)
        assert (first.training.right, first.training.given) == (0, 1)
        # The first one is training, of which no time counts.
        assert (first.decisions, first.too_fast, first.left) == (8, 1, 0)
        assert first.per_hour == pytest.approx(9 / (481 / 3600))
        assert first.ends_at is None
        assert second.ends_at is not None
        assert (second.whole.done, second.left) == (3, 6)
        assert seen(workspace).left == 6
        withdraw(workspace, "rq2", "ben")
        assert seen(workspace).left == 0
        assert seen(workspace).is_met


def test_looks_are_logged_and_only_planned_ones_stop(tmp_path: Path) -> None:
    with judged_workspace(tmp_path, 16) as workspace:
        open_study(workspace, half_width=0.9, looks=(8, 16))
        own = {name: assigned(workspace, name) for name in ("ana", "ben")}
        for name, values in own.items():
            for one in values[:3]:
                give(workspace, name, one, float(one.item_id % 2))
        dana = ensure_rater(workspace, "dana")
        found = look(workspace, "rq2", dana)
        (unplanned,) = found.looks
        assert (unplanned.judgments, unplanned.planned, found.due, found.is_met) == (6, False, None, False)
        for name, values in own.items():
            for one in values[3:6]:
                give(workspace, name, one, float(one.item_id % 2))
        assert seen(workspace).due == 8
        found = look(workspace, "rq2", dana)
        planned = found.looks[-1]
        assert (planned.judgments, planned.planned) == (12, True)
        assert planned.items == len(
            {one.item_id for one in own["ana"][:6]} & {one.item_id for one in own["ben"][:6]}
        )
        # Too few items for an interval which could be narrow enough; and the next look is not due before its number.
        assert (planned.half_width, found.is_met, found.due) == (None, False, None)
        for name, values in own.items():
            for one in values[6:]:
                differs = name == "ben" and one is values[-1]
                give(workspace, name, one, float((one.item_id + differs) % 2))
        assert seen(workspace).due == 16
        found = look(workspace, "rq2", dana)
        assert found.looks[-1].half_width is not None
        assert 0 < found.looks[-1].half_width < 0.9
        assert (found.is_met, found.due) == (True, None)


def test_a_study_of_fixed_size_has_its_planned_look_at_the_end(tmp_path: Path) -> None:
    with judged_workspace(tmp_path, 4) as workspace:
        open_study(workspace)
        for name in ("ana", "ben"):
            for one in assigned(workspace, name):
                assert seen(workspace).due is None
                assert not seen(workspace).is_met
                give(workspace, name, one, 1.0)
        assert seen(workspace).due == 8
        assert seen(workspace).is_met
        found = look(workspace, "rq2", ensure_rater(workspace, "dana"))
        assert found.looks[0].planned
        assert found.due is None


def test_only_who_is_no_rater_of_an_open_study_sees_it(tmp_path: Path) -> None:
    with judged_workspace(tmp_path, 4) as workspace:
        open_study(workspace)
        ana = ensure_rater(workspace, "ana")
        with workspace.reading() as connection:
            with pytest.raises(HiddenData):
                dashboard(connection, "rq2", ana)
            with pytest.raises(HiddenData):
                list_dashboards(connection, ana)
        with pytest.raises(HiddenData):
            look(workspace, "rq2", ana)
        close_study(workspace, "rq2")
        assert look(workspace, "rq2", ana).looks


def test_a_plan_in_numbers_is_what_a_freeze_makes(tmp_path: Path) -> None:
    with judged_workspace(tmp_path, 10) as workspace:
        protocol = StudyProtocol(kind="pair", overlap=2, repeats=1, reveal="revealed", seed=5)
        plan = StudyPlan("rq2", ("ana", "ben", "chi"), ItemChoice("pair", sample=9, seed=5), protocol)
        with workspace.reading() as connection:
            found = preview_plan(connection, plan)
        save_plan(workspace, plan)
        study = freeze_study(workspace, "rq2")
        lengths = [len(assigned(workspace, name)) for name in plan.raters]
        sittings = [max(one.sitting for one in assigned(workspace, name)) for name in plan.raters]
        assert (found.items, found.assignments) == (9, (min(lengths), max(lengths)))
        assert found.sittings == max(sittings) == 3
        balance = study.manifest["balance"]
        assert found.shared == (balance["least_shared"], balance["most_shared"])
        assert found.hours == pytest.approx(max(lengths) * 60 / 3600)
        assert [(one.condition, one.is_measured) for one in found.paces] == [
            ("blind", False),
            ("revealed", False),
        ]


def test_the_hours_of_a_plan_rest_on_the_questions_of_its_items(tmp_path: Path) -> None:
    with three_kinds(tmp_path) as workspace:
        register_kinds(workspace)

        def previewed(kind: str) -> PlanPreview:
            plan = StudyPlan("rq2", ("ana",), ItemChoice(kind), StudyProtocol(kind=kind))
            with workspace.reading() as connection:
                return preview_plan(connection, plan)

        found, kind = previewed("answer"), task_kinds()["answer"]
        with workspace.reading() as connection:
            items, _ = choose_items(connection, ItemChoice("answer"))
            asked = sum(len(item_questions(connection, kind, one.item_id)) for one in items)
        assert (len(items), found.hours) == (3, pytest.approx(asked * 60 / 3600))
        # Ten raters of two completions: the first question takes 40 s, the two others 10 s each.
        names = [one.name for one in task_kinds()["completion"].questions]
        with workspace.reading() as connection:
            tasks, _ = choose_items(connection, ItemChoice("completion"))
            keys = [question_number(connection, name) for name in names]
        for rater in range(10):
            desk = Desk(workspace, f"r{rater}")
            for one in tasks:
                for key, seconds in zip(keys, (40, 10, 10), strict=True):
                    desk.question = key
                    desk.judge(one.item_id, active_ms=seconds * 1000)
                # A reason stores its label once more.
                desk.judge(one.item_id, active_ms=10_000, reason="x")
        found = previewed("completion")
        (pace,) = found.paces
        assert (pace.seconds, pace.is_measured) == (20, True)
        assert found.hours == pytest.approx(2 * 3 * 20 / 3600)
        assert plan_words(found)[-1].endswith("at 20 s a question, the median of 20 here")


def test_the_hours_of_a_plan_rest_on_the_pace_under_each_condition(
    tmp_path: Path, workbench: Callable[..., Any]
) -> None:
    with judged_workspace(tmp_path, 24) as workspace:
        conditions = ("blind", "revealed tests", "own-test")
        protocol = StudyProtocol(kind="pair", conditions=conditions, reveal="revealed", seed=5)
        items = [ChosenItem(number) for number in range(1, 24)]
        items.append(ChosenItem(24, "training", gold={"pair.match": 1.0}))
        new_study(workspace, "rq2", protocol, items, ["ana", "ben"])
        freeze_study(workspace, "rq2")
        # Under `blind` as many seconds as the number of the item, under `own-test` 100 times as many; in
        # practice and when all is revealed others, which are no times of the conditions.
        for name in ("ana", "ben"):
            for one in assigned(workspace, name):
                seconds = {"blind": one.item_id, "own-test": 100 * one.item_id}.get(one.mode)
                if one.phase == "train":
                    seconds = 9_999
                if one.phase == "reveal":
                    seconds = 4
                if seconds is not None:
                    give(workspace, name, one, 1.0, milliseconds=1000 * seconds)
        # One label is given again, with the time of the first in its own, and undone.
        desk = Desk(workspace, "ana")
        again = next(
            one for one in assigned(workspace, "ana") if one.mode == "blind" and one.phase == "label"
        )
        give(workspace, "ana", again, 0.0, milliseconds=1000 * 5_000)
        desk.recorder.undo().result()
        # Outside a study the screen is the condition: six items without a claim.
        for item in range(1, 7):
            desk.judge(item, active_ms=500, phase="review")
        close_study(workspace, "rq2")
        plan = StudyPlan("next", ("chi",), ItemChoice("pair"), protocol)
        with workspace.reading() as connection:
            found = preview_plan(connection, plan)
            raw = connection.exec_driver_sql(
                "SELECT j.item_id, j.rater_id, a.mode, j.phase, j.active_ms FROM judgment j "
                "LEFT JOIN assignment a ON a.id = j.assignment_id "
                "WHERE j.value IS NOT NULL AND j.origin NOT IN ('undo', 'redo')"
            ).fetchall()
        by_hand = {}
        for condition, phases in (("blind", ("label",)), ("own-test", ("label",)), ("revealed", ("reveal",))):
            longest: dict[tuple[int, int, str], float] = {}
            for item, rater, mode, phase, active in raw:
                unassigned = condition == "blind" and phase == "review"
                if unassigned or (mode == condition and phase in phases):
                    key = item, rater, phase
                    longest[key] = max(active / 1000, longest.get(key, 0))
            by_hand[condition] = median(longest.values()), len(longest)
        blind, tests, own, revealed = found.paces
        assert (blind.seconds, blind.timed) == by_hand["blind"]
        assert (revealed.seconds, revealed.timed, revealed.again) == (*by_hand["revealed"], True)
        assert revealed.seconds == 4
        # Of own tests there are too few times, and none at all with the tests of the agents.
        assert by_hand["own-test"][1] == own.timed < 20
        assert (own.seconds, own.is_measured) == (240, False)
        assert (tests.seconds, tests.timed, tests.is_measured) == (90, 0, False)
        seconds = {"blind": blind.seconds, "revealed tests": 90, "own-test": 240}
        rows = found.raters[0].balance.by_condition
        expected = sum(seconds[name] * number for name, number in rows.items()) + 24 * 4
        assert found.hours == pytest.approx(expected / 3600)
        save_plan(workspace, plan)
        path = workspace.path
    shown = workbench("study", "show", path, "next").out
    assert "  own tests: 4 min an item, 16 of the 20 times needed known yet" in shown
    assert "  revealed+tests: 90 s an item, no times known yet" in shown
    assert f"  blind: {blind.seconds:.0f} s an item, the median of {blind.timed} here" in shown
    assert f"  revealed at the end: 4 s an item, the median of {revealed.timed} here" in shown
    told = workbench("study", "show", path, "next", "--json").json()["plan"]["paces"]
    assert [one["question_seconds"] for one in told] == [blind.seconds, 90, 240, 4]


def test_the_command_prints_what_the_screen_shows(tmp_path: Path, workbench: Callable[..., Any]) -> None:
    with judged_workspace(tmp_path, 4) as workspace:
        open_study(workspace)
        for one in assigned(workspace, "ana"):
            give(workspace, "ana", one, 1.0)
        path, expected = workspace.path, seen(workspace).to_dict()
    told = json.loads(workbench("study", "status", path, "rq2", "--json").out)
    assert told["left"] == expected["left"] == 4
    assert [one["done"] for one in told["raters"]] == [4, 0]
    printed = workbench("study", "status", path, "rq2").out
    assert "It stops when all is judged: 4 assignments left." in printed
    assert "--look" in printed.splitlines()[-1]
    told = json.loads(workbench("study", "status", path, "rq2", "--look", "--json").out)
    assert [one["planned"] for one in told["looks"]] == [False]
    # Whoever has just looked is not told to look.
    assert "--look" not in workbench("study", "status", path, "rq2", "--look").out
    assert workbench("study", "new", path, "draft", "--raters", "ana").code == 0
    draft = workbench("study", "status", path, "draft", "--look")
    assert (draft.code, "nothing to look at before it is frozen" in draft.err) == (2, True)
    assert workbench("study", "status", path, "rq2", "--rater", "ana").code == 2
