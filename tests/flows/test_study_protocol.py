"""A study from its making to its ground truth by commands alone: three packets, merged, and what they disagree about ruled.

The labels come back record by record; the file of labels, the report and the methods table say the same.
"""

import json

import pytest
from judging import judged_workspace
from sqlalchemy import select

from store.queries.current import first_values
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Assignment, Rater
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace

RATERS = ("ana", "ben", "chi")
# What each says of the pairs; they disagree about pairs 2 and 5.
SAYS = {
    "ana": {1: 1, 2: 1, 3: 0, 4: 0, 5: 1, 6: 1},
    "ben": {1: 1, 2: 0, 3: 0, 4: 0, 5: 0, 6: 1},
    "chi": {1: 1, 2: 0, 3: 0, 4: 0, 5: 0, 6: 1},
}
RULED = {2: 0, 5: 1}


@pytest.fixture(autouse=True)
def _coordinator(monkeypatch):
    monkeypatch.setenv("WORKBENCH_RATER", "lead")


def code_number(text):
    """The number of a pair, which its code ends with: a packet's ids tell nothing of it."""
    return int(text.rsplit("# ", 1)[1])


def test_three_packets_become_a_ground_truth(tmp_path, workbench):
    with judged_workspace(tmp_path, 6) as workspace:
        path = workspace.path
    (tmp_path / "guide.md").write_text("A pair matches when the code does what the query says.\n")
    done = workbench(
        *("study", "new", path, "rq2", "--raters", ",".join(RATERS), "--conditions", "blind,own-test"),
        *("--repeats", "1", "--seed", "3", "--guideline", tmp_path / "guide.md"),
    )
    assert done.code == 0, done.err
    frozen = workbench("study", "freeze", path, "rq2", "--json").json()
    assert frozen["manifest"]["assignments"] == 3 * (6 + 1)
    packets = {rater: tmp_path / f"{rater}.duckdb" for rater in RATERS}
    for rater, packet in packets.items():
        assert workbench("packet", "make", path, "rq2", rater, packet).code == 0
        judged = 0
        while True:
            left = workbench("items", packet, "--status", "open", "--json").json()
            assert left["rater"] == rater
            if not left["items"]:
                break
            for item in left["items"]:
                value = SAYS[rater][code_number(item["code"].strip())]
                said = ("--comment", f"{rater} says {value}", "--without-test")
                done = workbench("judge", packet, item["item"], value, *said)
                assert done.code == 0, done.err
                judged += 1
        assert judged == 7
        assert workbench("report", packet, "agreement").code == 2
    merged = workbench("packet", "merge", path, *packets.values(), "--json").json()
    assert [one["judgments"] for one in merged["packets"]] == [7, 7, 7]
    again = workbench("packet", "merge", path, *packets.values(), "--json").json()
    assert [one["judgments"] for one in again["packets"]] == [0, 0, 0]

    # Record by record: under the assignment of the study, in its phase, with what was on the screen.
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        judgment, assignment, rater = (table_of(model) for model in (JudgmentRow, Assignment, Rater))
        records = connection.execute(
            select(judgment, assignment.c.phase.label("assigned"), assignment.c.mode, rater.c.name)
            .join(assignment, assignment.c.id == judgment.c.assignment_id)
            .join(rater, rater.c.id == judgment.c.rater_id)
        ).all()
        assert len(records) == 21
        for record in records:
            assert record.value == SAYS[record.name][record.item_id]
            assert (record.phase, record.blind) == (record.assigned, True)
            assert record.comment == f"{record.name} says {record.value:g}"
        assert {record.mode for record in records} == {"blind", "own-test"}
        assert sum(record.phase == "repeat" for record in records) == 3
        labels = first_values()
        counted = connection.execute(select(labels.c.item_id, labels.c.value, labels.c.rater_id)).all()
        assert len(counted) == 18
        names = dict(connection.execute(select(table_of(Item).c.id, table_of(Item).c.external_id)).all())

    disputes = workbench("adjudicate", path, "--study", "rq2", "--json").json()
    assert {one["item"] for one in disputes["items"]} == {names[2], names[5]}
    assert not set(RATERS) & {label["rater"] for one in disputes["items"] for label in one["labels"]}
    refused = workbench("rule", path, names[5], RULED[5], "--study", "rq2", "--json")
    assert (refused.code, "comment" in refused.out) == (2, True)
    for item, value in RULED.items():
        done = workbench("rule", path, names[item], value, "--study", "rq2", "--comment", "as the guide says")
        assert done.code == 0, done.err
    assert workbench("adjudicate", path, "--study", "rq2", "--json").json()["without_ruling"] == 0

    closed = workbench("study", "close", path, "rq2", "--json").json()
    assert closed["state"] == "closed"
    report = workbench("report", path, "agreement", "--study", "rq2", "--json").json()
    assert (report["units"], report["judgments"], report["raters"]) == (6, 18, 3)
    assert report["percent"] == pytest.approx(100 * (4 + 2 / 3) / 6)
    assert {one["name"]: one["repeat"]["percent"] for one in report["by_rater"]} == dict.fromkeys(RATERS, 100)
    truth = workbench(
        "report", path, "accuracy", "--policy", "adjudicated", "--study", "rq2", "--json"
    ).json()
    accuracy = {one["rater"]: one["accuracy"] for one in truth["raters"] if one["rater"] in RATERS}
    wanted = {item: RULED.get(item, SAYS["ana"][item]) for item in SAYS["ana"]}
    assert accuracy == pytest.approx(
        {name: sum(own[item] == wanted[item] for item in own) / 6 for name, own in SAYS.items()}
    )
    exported = tmp_path / "labels.csv"
    done = workbench("export", path, exported, "--format", "labels", "--study", "rq2")
    assert done.code == 0, done.err
    text = exported.read_text(encoding="utf-8")
    assert "R1" in text
    assert not any(f",{name}," in text for name in RATERS)
    methods = workbench("study", "manifest", path, "rq2").out
    assert "own-test" in methods
    assert frozen["manifest"]["items_sha256"] in methods
    assert json.loads(workbench("study", "show", path, "rq2", "--json").out)["state"] == "closed"
