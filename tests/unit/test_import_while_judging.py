"""An import beside somebody who is judging: what stands, what undo brings back, and the process that reads the files."""

import json
import operator
import os
import select
import shutil
import signal
import subprocess
import sys
from functools import partial

import pytest
from judging import Desk, judgments, only_label
from scopes import scope

from store.child import yielded_by_child
from store.errors import ImportFailed, UnknownName
from store.export.exporting import export
from store.formats.protocol import find_format
from store.ingest import importing
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
    monkeypatch.setattr(importing, "yielded_by_child", None)
    import_files(workspace, [path])
    assert waits == ["key"] * 2


# -- the process that reads large files ---------------------------------------------------------------------


@pytest.fixture
def children(monkeypatch):
    """The processes that are started; all files are large."""
    started = []

    class Noted(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    monkeypatch.setattr(importing, "_CHILD_BYTES", 0)
    return started


def mixed_files(folder):
    """Files of three forms: one record has no code, one is no JSON, one has a field of its own, one a long cell."""
    lines = [{"id": f"m{n}", "query": f"q{n}", "code": f"d{n}", "rank": n} for n in range(1, 2_001)]
    del lines[7]["code"]
    lines[8]["note"] = "kept"
    texts = [json.dumps(line) for line in lines]
    texts[9] = "{broken"
    (folder / "lines.jsonl").write_text("\n".join(texts))
    (folder / "table.csv").write_text(f"id,query,code\nt1,q,{'c' * 200_000}\nt2,q\n")
    mtbench = {
        "question_id": 1,
        "model_a": "one",
        "model_b": "two",
        "winner": "model_a",
        "judge": "expert_1",
        "turn": 1,
    }
    said = [{"role": "user", "content": "How?"}, {"role": "assistant", "content": "So."}]
    other = [said[0], {"role": "assistant", "content": "Thus."}]
    (folder / "votes.json").write_text(
        json.dumps(
            [{**mtbench, "conversation_a": said, "conversation_b": other}, {**mtbench, "winner": "who"}]
        )
    )
    return [folder / name for name in ("lines.jsonl", "table.csv", "votes.json")]


def test_a_process_of_its_own_reads_the_same(tmp_path, monkeypatch, children):
    paths = mixed_files(tmp_path)

    def imported(size):
        monkeypatch.setattr(importing, "_CHILD_BYTES", size)
        rejects, stages = tmp_path / "rejects.jsonl", []
        with Workspace.create(tmp_path / f"{size}.duckdb") as made:
            report = import_files(made, paths, rejects=rejects, progress=stages.append).to_dict()
            with made.native() as cursor:
                rows = cursor.execute(
                    "SELECT i.id, external_id, extra, kind, query_id, code_id, rank FROM item i "
                    "LEFT JOIN pair ON item_id = i.id ORDER BY i.id"
                ).fetchall()
        text = rejects.read_text()
        rejects.unlink()
        return report, rows, text, stages

    here, there = imported(1 << 30), imported(0)
    assert len(children) == 1
    assert there == here
    report, rows, text, _ = there
    assert [(one["records"], one["rejected"]) for one in report["files"]] == [(2_000, 2), (2, 1), (2, 1)]
    assert len(rows) == 2_001 - 2 + 1
    assert [json.loads(line)["line"] for line in text.splitlines()[:3]] == [8, 10, 3]


def test_an_import_that_is_stopped_ends_the_process(workspace, tmp_path, children):
    class Stopped(Exception):
        pass

    def stop(progress):
        if progress.done and progress.stage.startswith("checking"):
            assert children[0].poll() is None
            raise Stopped

    with pytest.raises(Stopped):
        import_files(workspace, mixed_files(tmp_path)[:1], progress=stop)
    assert [child.returncode for child in children] == [-signal.SIGKILL]


def test_a_process_that_is_killed_ends_the_import(workspace, tmp_path, children):
    def kill(progress):
        if progress.stage.startswith("checking"):
            children[0].kill()
            children[0].wait()

    # What it sent before is in the pipe, all of a small file: so one that it waits to send.
    (tmp_path / "large.jsonl").write_text(json.dumps({"id": "m", "query": "q", "code": "d" * (4 << 20)}))
    with pytest.raises(ImportFailed, match=r"ended too early \(exit status -9\)\. Nothing was imported"):
        import_files(workspace, [tmp_path / "large.jsonl"], progress=kill)
    with workspace.native() as cursor:
        assert cursor.execute("SELECT count(*) FROM item").fetchall() == [(4,)]


@pytest.mark.parametrize(
    ("work", "error", "said"),
    [
        (partial(map, find_format, ["none"]), UnknownName, "No format is called 'none'"),
        (partial(map, os.stat, ["/nowhere/at/all"]), FileNotFoundError, "/nowhere/at/all"),
        (partial(map, int, ["x"]), RuntimeError, "ValueError: invalid literal"),
    ],
)
def test_errors_of_the_process_are_raised_here(work, error, said):
    with yielded_by_child(work) as yielded, pytest.raises(error, match=said):
        list(yielded)


def test_the_process_waits_for_others_and_may_print():
    work = partial(map, operator.call, [partial(os.nice, 0), partial(print, "printed")])
    with yielded_by_child(work) as yielded:
        assert list(yielded) == [min(os.nice(0) + 10, 19), None]


def test_the_process_ends_with_the_one_that_started_it():
    program = (
        "import operator, os, time\n"
        "from functools import partial\n"
        "from store.child import yielded_by_child\n"
        "work = partial(map, operator.call, [os.getpid, partial(time.sleep, 3600)])\n"
        "with yielded_by_child(work) as yielded:\n"
        "    for each in yielded:\n"
        "        print(each, flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    child = os.pidfd_open(int(parent.stdout.readline()))
    try:
        parent.kill()
        parent.communicate()
        assert select.select([child], [], [], 60)[0]
    finally:
        os.close(child)
