"""The dashboard of a study: progress, gold, looks, the stopping rule; and who may see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from judging import judged_workspace
from study_app import assigned, give, open_study

from store.errors import HiddenData
from store.record.raters import ensure_rater
from store.studies.choosing import ItemChoice
from store.studies.dashboard import dashboard, list_dashboards, look
from store.studies.plan import StudyPlan, preview_plan, save_plan
from store.studies.protocol import StudyProtocol
from store.studies.studies import ChosenItem, close_study, freeze_study, new_study, withdraw
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
    with judged_workspace(tmp_path, 8) as workspace:
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
        assert planned.alpha == 1
        assert planned.half_width is not None
        # Everybody agreed; and the next look is not due before its number.
        assert found.is_met
        assert found.due is None


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
        assert not found.is_measured


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
    told = json.loads(workbench("study", "status", path, "rq2", "--look", "--json").out)
    assert [one["planned"] for one in told["looks"]] == [False]
    assert workbench("study", "status", path, "rq2", "--rater", "ana").code == 2
