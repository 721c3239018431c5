"""Disputes and rulings: what raters disagree about, in which order, and what a ruling does and leaves alone."""

import json
import shutil

import pytest
from judging import EVIDENCE, Desk, judged_workspace, judgments
from several_kinds import three_kinds
from small_workspace import labelled_by_agents
from sqlalchemy import select

from screens.items.reader import ItemReader
from store.analysis.accuracy import accuracy_report
from store.analysis.labels import question_labels
from store.errors import HiddenData, JudgmentRefused, UnknownName, WorkbenchError
from store.export.exporting import export
from store.ingest.importing import import_files
from store.kinds.spec import question_named
from store.queries.item import load_own
from store.queries.studies import ChosenItem, find_study
from store.record.protocol import StudyProtocol
from store.record.raters import ensure_rater, question_number
from store.studies.adjudication import open_adjudication, rule
from store.studies.dashboard import Done, dashboard
from store.studies.disputes import disagreement, find_dispute, goes_against
from store.studies.methods import methods_table
from store.studies.session import study_session
from store.studies.studies import close_study, freeze_study, new_study, withdraw
from store.tables.columns import table_of
from store.tables.people import Assignment
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path
from store.workspace.recovery import recover

MATCH, SCORE = (question_named(name).scale for name in ("pair.match", "answer.accuracy"))
DROP = question_named("completion.keep").scale
VALUES = {"ana": (1, 1, 0, 1, 1, 0), "ben": (1, 0, 0, 1, 1, 0), "chi": (1, 0, 0, 0, 1, 0)}
"""Three raters' labels of six pairs: they disagree about the second and the fourth."""


def study_of(workspace, kind="pair", items=(1, 2, 3, 4, 5, 6), raters=tuple(VALUES), **fields):
    """A frozen study."""
    new_study(workspace, "rq2", StudyProtocol(kind, **fields), [ChosenItem(item) for item in items], raters)
    return freeze_study(workspace, "rq2")


def judge_in(workspace, study, name, item, value, *, phase="label", question="pair.match", **fields):
    """Label an item under a rater's assignment; `response_ref_id` names the response."""
    desk, assignment = Desk(workspace, name), table_of(Assignment)
    with workspace.reading() as connection:
        assigned = connection.execute(
            select(assignment.c.id).where(
                assignment.c.study_id == study.id,
                assignment.c.rater_id == desk.rater.id,
                assignment.c.item_id == item,
                assignment.c.phase == phase,
            )
        ).scalar_one()
        desk.question = question_number(connection, question)
    return desk.judge(item, float(value), assignment_id=assigned, phase=phase, **{"blind": True, **fields})


def labelled_study(workspace, **fields):
    """A study in which three raters have labelled six pairs."""
    study = study_of(workspace, **fields)
    for name, values in VALUES.items():
        for item, value in enumerate(values, start=1):
            judge_in(workspace, study, name, item, value, elapsed_ms=4000)
    return study


def test_how_far_apart_labels_are_and_what_goes_against_them():
    assert [disagreement(MATCH, one) for one in ([0, 1], [0, 0, 1], [0, 0, 0, 1])] == [
        1,
        pytest.approx(2 / 3),
        0.5,
    ]
    assert disagreement(SCORE, [2, 3, 8]) == pytest.approx(6 / 9)
    assert [goes_against(MATCH, [0, 0, 1], value) for value in (0, 1)] == [False, True]
    assert [goes_against(MATCH, [0, 1], value) for value in (0, 1)] == [False, False]
    assert [goes_against(DROP, [1, 2, 2], value) for value in (1, 2, 3)] == [True, False, True]
    # Of scores: one that nobody gave, or with more than half of the raters above or below it.
    assert [goes_against(SCORE, [2, 7, 8], value) for value in (2, 5, 7, 8)] == [True, True, False, True]
    assert [goes_against(SCORE, [2, 8], value) for value in (2, 8)] == [False, False]


def test_a_study_is_ruled_on_record_by_record(tmp_path, workbench):
    with judged_workspace(tmp_path, 6) as workspace:
        labelled_by_agents(workspace, [(item, 1.0, "tested") for item in range(1, 7)])
        labelled_study(workspace)
        eve = ensure_rater(workspace, "eve")
        before = judgments(workspace)
        found, disputes = open_adjudication(workspace, eve, "rq2")
        assert [(one.item_id, one.values) for one in disputes] == [(2, [1, 0, 0]), (4, [1, 1, 0])]
        first = disputes[0]
        assert [(one.rater, one.name, one.seconds, one.blind) for one in first.labels] == [
            ("R1", "ana", 4.0, True),
            ("R2", "ben", 4.0, True),
            ("R3", "chi", 4.0, True),
        ]
        assert first.hidden
        assert not first.agents
        assert found.warnings == ("rq2 is open: its raters may still add and change labels.",)
        with pytest.raises(JudgmentRefused, match="2 × 0 no match, 1 × 1 match"):
            rule(workspace, found, first, 1.0)
        made = rule(workspace, found, first, 1.0, "ben lost the remainder")
        assert (made.origin, made.phase, made.blind, made.shown_verdict) == (
            "ruling",
            "adjudicate",
            True,
            None,
        )
        rule(workspace, found, disputes[1], 1.0)
        # No label changed, and a ruling has a key of its own.
        assert judgments(workspace)[: len(before)] == before
        again, disputes = open_adjudication(workspace, eve, "rq2")
        assert [(one.item_id, [ruling.value for ruling in one.rulings]) for one in disputes] == [
            (2, [1]),
            (4, [1]),
        ]
        with workspace.reading() as connection:
            own = [load_own(connection, again.scope(revealed=False), item) for item in (1, 2, 4)]
            assert [[label.value for label in one.labels.values()] for one in own] == [[], [1.0], [1.0]]
            truth = accuracy_report(connection, "pair.match", "adjudicated", study="rq2")
            ruled = question_labels(connection, "pair.match", study="rq2", people_only=True, rulings=True)
            elsewhere = question_labels(connection, "pair.match", people_only=True)
        assert dict(zip(ruled.units.tolist(), ruled.raters[0].values.tolist(), strict=True)) == {
            2: 1.0,
            4: 1.0,
        }
        assert [one.name for one in elsewhere.raters] == ["ana", "ben", "chi"]
        assert (truth.truth.units, truth.truth.undecided, truth.truth.rulings) == (6, 0, 2)
        # Items 1, 2, 4, 5 are matches, 3 and 6 are none: the agents are right on four.
        right = {one.name: (one.figures.n, one.figures.accuracy) for one in truth.raters}
        assert right["cosqa-plus:scripted"] == (6, pytest.approx(4 / 6))
        path = workspace.path
    report = ("report", path, "accuracy", "--policy", "adjudicated", "--study", "rq2")
    assert workbench(*report, "--json").json()["truth"]["rulings"] == 2
    assert "rulings" in workbench(*report).out
    # The full record carries them.
    full = tmp_path / "full.jsonl"
    assert workbench("export", path, full, "--format", "jsonl").code == 0
    rows = [json.loads(line) for line in full.read_text(encoding="utf-8").splitlines()]
    assert [(row["item"], row["value"], row["comment"]) for row in rows if row["origin"] == "ruling"] == [
        ("pair/2", 1, "ben lost the remainder"),
        ("pair/4", 1, ""),
    ]


def test_rulings_beside_the_agents_are_marked_and_left_out(tmp_path, workbench):
    with judged_workspace(tmp_path, 6) as workspace:
        labelled_by_agents(workspace, [(item, 1.0, "tested") for item in range(1, 7)])
        labelled_study(workspace)
        path = workspace.path
    at = (path, "--study", "rq2", "--rater", "eve")
    hidden = workbench("adjudicate", *at, "--json")
    assert "cosqa-plus" not in hidden.out
    assert [one["agents"] for one in hidden.json()["items"]] == [None, None]
    assert not any(name in hidden.out for name in VALUES)
    listed = workbench("adjudicate", *at)
    assert "R1 1 R2 0 R3 0" in listed.out
    assert "2 disputes of rq2, 2 without a ruling." in listed.out
    made = workbench("rule", path, "pair/4", "match", *at[1:], "--json").json()
    assert (made["value"], made["blind"]) == (1, True)
    refused = workbench("rule", path, "pair/2", "1", *at[1:])
    assert refused.code == 2
    assert refused.says("1 match goes against the raters: 2 × 0 no match, 1 × 1 match.")
    shown = workbench("adjudicate", *at, "--agents", "--json").json()
    assert [(one["number"], [label["value"] for label in one["agents"]]) for one in shown["items"]] == [
        (2, [1]),
        (4, [1]),
    ]
    assert (
        workbench("rule", path, "pair/2", "1", *at[1:], "--comment", "as the agents say", "--json").json()[
            "blind"
        ]
        is False
    )
    truth = workbench(
        "report", path, "accuracy", "--policy", "adjudicated", "--study", "rq2", "--json"
    ).json()["truth"]
    # What was ruled before the agents were seen counts.
    assert (truth["rulings"], truth["rulings_revealed"], truth["undecided"]) == (1, 1, 1)
    seen = workbench(
        "report", path, "accuracy", "--policy", "adjudicated", "--study", "rq2", "--with-revealed", "--json"
    )
    assert seen.json()["truth"]["rulings"] == 2
    assert workbench("rule", path, "pair/1", "1", *at[1:]).says("Raters do not disagree about this item.")


def test_who_may_not_adjudicate_and_who_is_warned(tmp_path):
    with judged_workspace(tmp_path, 6) as workspace:
        labelled_study(workspace)
        ana = ensure_rater(workspace, "ana")
        with pytest.raises(HiddenData):
            open_adjudication(workspace, ana, "rq2")
        with pytest.raises(HiddenData):
            open_adjudication(workspace, ana)
        withdraw(workspace, "rq2", "chi")
        _, disputes = open_adjudication(workspace, ensure_rater(workspace, "eve"), "rq2")
        assert [(one.item_id, one.values) for one in disputes] == [(2, [1, 0])]
        close_study(workspace, "rq2")
        found, disputes = open_adjudication(workspace, ana, "rq2")
        assert found.warnings == ("ana was a rater of rq2, and rules on their own labels too.",)
        rule(workspace, found, disputes[0], 0.0)
        with workspace.reading() as connection:
            report = accuracy_report(connection, "pair.match", "adjudicated", study="rq2")
        # Ana's label stands, and her ruling decides, though she met the item first as a rater.
        assert report.truth.rulings == 1
        assert len(judgments(workspace, rater_id=ana.id, phase="label", item_id=2)) == 1
        new_study(workspace, "draft", StudyProtocol("pair"), [ChosenItem(1)], ["ana", "ben"])
        with pytest.raises(WorkbenchError, match="draft"):
            open_adjudication(workspace, ana, "draft")


def test_undo_of_a_ruling_and_adjudicators_who_differ(tmp_path):
    with judged_workspace(tmp_path, 4) as workspace:
        for name, values in (("ann", (1, 0)), ("bob", (0, 0))):
            desk = Desk(workspace, name)
            desk.submit(desk.mark(1, "comment", text=f"{name} says so"))
            for item, value in enumerate(values, start=1):
                desk.judge(item, float(value), evidence=EVIDENCE)
        eve, fay = Desk(workspace, "eve"), Desk(workspace, "fay")
        found, (dispute,) = open_adjudication(workspace, eve.rater)
        assert [(one.rater, one.comment, one.citations[0].place) for one in dispute.labels] == [
            ("A", "ann says so", "code 2"),
            ("B", "bob says so", "code 2"),
        ]

        def rulings():
            return [(one.adjudicator, one.value) for one in found.read(workspace)[0].rulings]

        rule(workspace, found, dispute, 1.0)
        rule(workspace, found, dispute, 0.0)
        eve.recorder.undo(rulings=True).result(60)
        assert rulings() == [("eve", 1)]
        eve.recorder.undo(rulings=True).result(60)
        assert rulings() == []
        eve.recorder.redo(rulings=True).result(60)
        assert rulings() == [("eve", 1)]
        assert eve.undo() is None
        other, _ = open_adjudication(workspace, fay.rater)
        rule(workspace, other, dispute, 0.0)
        with workspace.reading() as connection:
            report = accuracy_report(connection, "pair.match", "adjudicated")
        assert (report.truth.units, report.truth.undecided, report.truth.rulings) == (1, 1, 0)
        assert report.truth.warnings == (
            "Adjudicators ruled differently on 1 unit; these rulings do not count.",
        )


def test_completions_and_scores_are_disputed_question_by_question(tmp_path, workbench):
    with three_kinds(tmp_path) as workspace:
        ids = {}
        with workspace.reading() as connection:
            ids = {name: question_number(connection, name) for name in (
                "completion.keep", "completion.predictable", "answer.accuracy", "answer.clarity"
            )}  # fmt: skip
        cursor = workspace.native()
        refs = [
            row[0]
            for row in cursor.execute("SELECT id FROM response_ref WHERE item_id = 5 ORDER BY id").fetchall()
        ]
        cursor.close()
        given = {
            "ana": {("completion.keep", 2, None): 1, ("completion.predictable", 2, None): 1, ("answer.accuracy", 5, refs[0]): 2,
                    ("answer.accuracy", 5, refs[1]): 7, ("answer.clarity", 5, refs[0]): 5},
            "ben": {("completion.keep", 2, None): 3, ("completion.predictable", 2, None): 1, ("answer.accuracy", 5, refs[0]): 9,
                    ("answer.accuracy", 5, refs[1]): 8, ("answer.clarity", 5, refs[0]): 5},
            "chi": {("completion.keep", 2, None): 3, ("answer.accuracy", 5, refs[0]): 8},
        }  # fmt: skip
        for name, values in given.items():
            desk = Desk(workspace, name)
            for (question, item, ref), value in values.items():
                desk.question = ids[question]
                desk.judge(item, float(value), response_ref_id=ref)
        eve = ensure_rater(workspace, "eve")
        found, disputes = open_adjudication(workspace, eve)
        assert [(one.kind, one.spec.title, one.target.response_ref_id, one.values) for one in disputes] == [
            ("answer", "accuracy", refs[0], [2, 9, 8]),
            ("completion", "keep", None, [1, 3, 3]),
            ("answer", "accuracy", refs[1], [7, 8]),
        ]
        # Models stay hidden: a response has the letter that the adjudicator's screens give it.
        assert sorted(one.response for one in disputes if one.kind == "answer") == ["A", "B"]
        _, scored = open_adjudication(workspace, eve, question="answer.accuracy")
        assert [one.kind for one in scored] == ["answer", "answer"]
        with pytest.raises(UnknownName, match="several"):
            find_dispute(disputes, 5, "accuracy", None)
        spread = find_dispute(disputes, 5, "accuracy", disputes[0].response)
        with pytest.raises(JudgmentRefused, match="goes against"):
            rule(workspace, found, spread, 2.0)
        assert rule(workspace, found, spread, 8.0).response_ref_id == refs[0]
        assert rule(workspace, found, disputes[1], 1.0, "it can be predicted").value == 1
        assert [bool(one.rulings) for one in found.read(workspace)] == [False, True, True]
        with workspace.reading() as connection:
            report = accuracy_report(connection, "answer.accuracy", "adjudicated")
        assert (report.truth.units, report.truth.undecided, report.truth.rulings) == (1, 1, 1)
        path, full, other = workspace.path, tmp_path / "full.jsonl", tmp_path / "other.duckdb"
        found.reveal(workspace, [5])
        shown = [one for one in found.read(workspace) if one.item_id == 5]
        assert {one.agents[0].value for one in shown if one.agents} == {3.0}
        assert not any(one.hidden for one in shown)
    # The full record brings rulings back elsewhere.
    assert workbench("export", path, full, "--format", "jsonl").code == 0
    assert workbench("import", other, full).code == 0
    listed = workbench("adjudicate", other, "--json").json()
    assert [[one["value"] for one in each["rulings"]] for each in listed["items"]] == [[], [8], [1]]


def test_what_raters_said_after_the_reveal_is_told_beside_their_label(tmp_path):
    with judged_workspace(tmp_path, 2) as workspace:
        study = study_of(workspace, items=(1, 2), raters=("ana", "ben"), reveal="revealed")
        judge_in(workspace, study, "ana", 1, 1)
        judge_in(workspace, study, "ben", 1, 0)
        judge_in(workspace, study, "ben", 1, 1, phase="reveal", blind=False)
        _, (dispute,) = open_adjudication(workspace, ensure_rater(workspace, "eve"), "rq2")
        assert [(one.rater, one.value, one.later) for one in dispute.labels] == [
            ("R1", 1, None),
            ("R2", 0, 1),
        ]


def test_what_is_sent_back_is_judged_again_and_counts_in_no_measure(tmp_path, workbench):
    with judged_workspace(tmp_path, 6) as workspace:
        study_of(workspace)
        path = workspace.path
    shutil.copy(path, tmp_path / "frozen.duckdb")
    with Workspace.open(path) as workspace:
        with workspace.reading() as connection:
            study = find_study(connection, "rq2")
        for name, values in VALUES.items():
            for item, value in enumerate(values, start=1):
                judge_in(workspace, study, name, item, value)
        before = disputed(workspace)

    note = "What does line 2 do?"
    send = ("adjudicate", path, "--study", "rq2", "--rater", "eve", "--send-back")
    done = workbench(*send, "pair/2", "--note", note, "--json").json()
    assert done["raters"] == ["R1", "R2", "R3"]
    for refused, why in (("pair/2", "Sent back already"), ("pair/1", "Not sent back")):
        assert workbench(*send, refused, "--json").json()["error"]["title"] == why

    # A rater meets the item in a sitting of its own, as at first, with the note and nothing else.
    listed = workbench("items", path, "--rater", "ana", "--json").json()["items"]
    assert [(one["item"], one["status"], one["label"], one["asked_again"]) for one in listed] == [
        ("pair/2", "open", None, note)
    ]
    said = workbench("judge", path, "pair/2", "0", "--rater", "ana", "--comment", "it adds")
    assert said.code == 0
    # Another one has a packet of it, once.
    packed = tmp_path / "ben.duckdb"
    assert workbench("packet", "make", path, "rq2", "ben", packed).code == 0
    with Workspace.open(packed) as packet, packet.reading() as connection:
        ben = study_session(connection, ensure_rater(packet, "ben"))
        view = ItemReader(packet, ben.scope).read(1)
    assert view.case[0].text.startswith(note)
    assert [one["asked_again"] for one in workbench("items", packed, "--json").json()["items"]] == [note]
    assert workbench("packet", "make", path, "rq2", "ben", tmp_path / "more.duckdb").code == 2
    assert workbench("judge", packed, "1", "match").code == 0
    assert workbench("packet", "merge", path, packed).code == 0

    (dispute,) = (
        one
        for one in workbench("adjudicate", path, "--study", "rq2", "--rater", "eve", "--json").json()["items"]
        if one["item"] == "pair/2"
    )
    assert dispute["sent_back"] == note
    assert [(one["value"], one["again"], one["again_comment"]) for one in dispute["labels"]] == [
        (1, 0, "it adds"), (0, 1, ""), (0, None, "")
    ]  # fmt: skip
    with Workspace.open(path) as workspace:
        assert disputed(workspace) == before
        with workspace.reading() as connection:
            seen = dashboard(connection, "rq2", None)
            table = methods_table(connection, find_study(connection, "rq2"))
        assert (seen.left, seen.is_met, seen.raters[0].parts["again"]) == (1, True, Done(1, 1))
        assert "| Sent back by an adjudicator | 1 item, judged again" in table
        again = judgments(workspace, phase="discuss")
        close_study(workspace, "rq2")
    assert workbench(*send, "pair/4", "--json").json()["error"]["title"] == "Not sent back"
    with Workspace.open(tmp_path / "frozen.duckdb") as restored:
        assert recover(restored, journal_path(path)).rejected == ()
        assert judgments(restored, phase="discuss") == again
        with restored.reading() as connection:
            found = select(table_of(Assignment)).where(table_of(Assignment).c.phase == "discuss")
            assert [(row.item_id, row.sitting) for row in connection.execute(found)] == [(2, 2), (2, 2)]


def disputed(workspace):
    """What raters disagree about, and their first labels."""
    found, disputes = open_adjudication(workspace, ensure_rater(workspace, "eve"), "rq2")
    assert found.study is not None
    return [(one.external_id, one.values) for one in disputes]


def test_rulings_come_back_from_the_journal_and_the_full_record_in_their_study(tmp_path):
    pairs = [{"id": f"pair/{place}", "query": "double", "code": f"x = {place}\n"} for place in range(1, 7)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    with Workspace.create(tmp_path / "study.duckdb") as workspace:
        import_files(workspace, [tmp_path / "pairs.jsonl"])
        study_of(workspace)
        path = workspace.path
    shutil.copy(path, tmp_path / "frozen.duckdb")
    with Workspace.open(path) as workspace:
        with workspace.reading() as connection:
            study = find_study(connection, "rq2")
        for name, values in VALUES.items():
            for item, value in enumerate(values, start=1):
                judge_in(workspace, study, name, item, value)
        eve = Desk(workspace, "eve")
        found, disputes = open_adjudication(workspace, eve.rater, "rq2")
        found.reveal(workspace, [disputes[0].item_id])
        for dispute in disputes:
            rule(workspace, found, dispute, 1.0, "it does what is asked")
        eve.recorder.undo(rulings=True).result(60)
        shown = found.revealed_items(workspace)
        for form in ("jsonl", "csv", "parquet"):
            export(workspace, tmp_path / f"record.{form}", "judgments")
    for form in ("", "jsonl", "csv", "parquet"):
        came_back(tmp_path, path, form, shown)


def came_back(folder, path, form, shown):
    """Rulings are in a copy of the frozen study as they were, and so is every column of the full record."""
    shutil.copy(folder / "frozen.duckdb", folder / f"copy{form}.duckdb")
    with Workspace.open(folder / f"copy{form}.duckdb") as restored:
        if form:
            assert import_files(restored, [folder / f"record.{form}"]).items_added == 0
            assert not import_files(restored, [folder / f"record.{form}"]).adds
        else:
            assert recover(restored, journal_path(path)).rejected == ()
        export(restored, folder / "again.jsonl", "jsonl", overwrite=True)
        assert (folder / "again.jsonl").read_text() == (folder / "record.jsonl").read_text()
        eve = Desk(restored, "eve")
        found, disputes = open_adjudication(restored, eve.rater, "rq2")
        assert sorted([ruling.value for ruling in one.rulings] for one in disputes) == [[], [1.0]]
        assert found.revealed_items(restored) == shown
        with restored.reading() as connection:
            report = accuracy_report(connection, "pair.match", "adjudicated", study="rq2")
        assert report.truth.rulings == 1
