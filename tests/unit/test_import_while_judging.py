"""An import of judgments of somebody who is judging: what stands, and what undo brings back."""

import json
import shutil

import pytest
from judging import Desk, judgments, only_label
from scopes import scope

from store.export.exporting import export
from store.ingest.importing import import_files
from store.queries.item import load_own
from store.record.raters import register_kinds
from store.workspace.duckdb import Workspace
from store.workspace.lane import WriteLane


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"p{n}", "query": "q", "code": f"c{n}"}) + "\n" for n in range(1, 5))
    )
    with Workspace.create(tmp_path / "w.duckdb") as opened:
        register_kinds(opened)
        import_files(opened, [path])
        yield opened


def label_of(desk, item=1):
    with desk.workspace.reading() as connection:
        label = only_label(load_own(connection, scope(desk.rater.id), item))
        return None if label is None else label.value


def judged_elsewhere(workspace, tmp_path, work):
    """What a copy of the workspace exports after some work in it; the copy is made now."""
    with workspace.native() as cursor:
        cursor.execute("CHECKPOINT")
    copy = tmp_path / "copy.duckdb"
    shutil.copy(workspace.path, copy)
    with Workspace.open(copy) as other:
        work(Desk(other))
        export(other, tmp_path / "elsewhere.jsonl", "jsonl")
    return tmp_path / "elsewhere.jsonl"


def test_undo_goes_through_what_was_judged_here_and_in_a_copy_in_the_order_of_time(workspace, tmp_path):
    desk = Desk(workspace)
    desk.judge(1, 1.0)
    ours = []

    def elsewhere(other):
        other.judge(1, 0.0, comment="elsewhere")
        # Here, in the meantime, the same rater changes their mind, and changes it again.
        ours.append(desk.judge(1, 1.0, comment="here"))
        other.judge(2, 1.0)
        other.judge(3, 1.0)
        other.undo()

    path = judged_elsewhere(workspace, tmp_path, elsewhere)
    import_files(workspace, [path])
    assert (label_of(desk, 1), label_of(desk, 2), label_of(desk, 3)) == (1.0, 1.0, None)
    assert desk.judge(1, 0.0).records[0].supersedes == ours[0].records[0].id
    undone = [desk.undo() for _ in range(5)]
    assert [each and (each.item_id, each.records[0].value) for each in undone] == [
        (1, 1.0),
        (2, None),
        (1, 0.0),
        (1, 1.0),
        (1, None),
    ]
    assert undone[2].records[0].comment == "elsewhere"
    assert desk.undo() is None
    for _ in range(5):
        desk.redo()
    assert (label_of(desk, 1), label_of(desk, 2), label_of(desk, 3)) == (0.0, 1.0, None)
    import_files(workspace, [path])
    assert (label_of(desk, 1), label_of(desk, 2)) == (0.0, 1.0)


@pytest.mark.parametrize("stage", ["comparing with the workspace", "publishing"])
def test_what_is_judged_while_labels_of_the_same_rater_arrive_stands_over_them(workspace, tmp_path, stage):
    desk = Desk(workspace)
    (tmp_path / "labels.csv").write_text("item,rater,value\np1,dana,1\np2,dana,1\n")
    pressed = []

    def press(told):
        if told.stage == stage and not pressed:
            pressed.append(desk.judge(1, 1.0))
            pressed.append(desk.judge(1, 0.0 if stage == "publishing" else 1.0))

    import_files(workspace, [tmp_path / "labels.csv"], progress=press)
    assert len(pressed) == 2
    assert label_of(desk, 2) == 1.0
    if stage != "publishing":
        assert [each.origin for each in judgments(workspace, item_id=1)] == ["independent"] * 2
        return
    assert [each.origin for each in judgments(workspace, item_id=1)] == [
        "import",
        "independent",
        "independent",
    ]
    assert label_of(desk, 1) == 0.0
    desk.undo()
    assert desk.undo().records[0].restores == judgments(workspace, item_id=1)[0].id
    assert label_of(desk, 1) == 1.0


def test_keys_are_given_way_while_records_are_read(workspace, tmp_path, monkeypatch):
    path = tmp_path / "more.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"m{n}", "query": "q", "code": f"d{n}"}) + "\n" for n in range(120))
    )
    waits = []
    monkeypatch.setattr(WriteLane, "wait_for_keys", lambda lane: waits.append("key"))
    import_files(workspace, [path])
    assert waits == ["key"] * 2
