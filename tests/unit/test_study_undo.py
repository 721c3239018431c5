"""Undo and redo keep to the sitting of a study, and outside studies to what was done there."""

from __future__ import annotations

from pathlib import Path

from judging import Desk, judged_workspace
from study_app import assigned, give, open_study

from store.policy.scope import Sitting


def test_each_sitting_and_what_is_outside_is_undone_apart(tmp_path: Path) -> None:
    with judged_workspace(tmp_path, 4) as workspace:
        desk = Desk(workspace, "ana")
        desk.judge(1, 1.0)
        study = open_study(workspace, reveal="revealed")
        first, second = (
            next(one for one in assigned(workspace) if one.sitting == number) for number in (1, 2)
        )
        give(workspace, "ana", first, 1.0)
        give(workspace, "ana", second, 0.0)

        # The latest of all is another sitting's; of each only its own is taken back.
        of_first, of_second = Sitting(study.id, 1), Sitting(study.id, 2)
        undone = desk.recorder.undo(sitting=of_first).result(60)
        assert undone is not None
        assert [(one.assignment_id, one.phase) for one in undone.records] == [(first.id, "label")]
        assert desk.recorder.undo(sitting=of_first).result(60) is None
        undone = desk.undo()
        assert [one.assignment_id for one in undone.records] == [None]
        assert desk.undo() is None
        assert desk.recorder.redo(sitting=of_second).result(60) is None
        redone = desk.recorder.redo(sitting=of_first).result(60)
        assert redone is not None
        assert [(one.assignment_id, one.value) for one in redone.records] == [(first.id, 1.0)]  # type: ignore[union-attr]
        undone = desk.recorder.undo(sitting=of_second).result(60)
        assert undone is not None
        assert [one.assignment_id for one in undone.records] == [second.id]
