"""Reports of a study: by condition, of each rater, without those who withdrew; what is exported of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from judging import Desk, judged_workspace
from review_bench import Ran, bench, write_expert_run
from several_kinds import three_kinds
from small_workspace import rows
from sqlalchemy import update
from study_app import assigned as study_assigned
from study_app import open_study
from study_bench import STUDY, frozen_study

from store.analysis.accuracy import accuracy_report
from store.analysis.agreement import agreement
from store.analysis.rater_quality import raters_report
from store.measures.rater_quality import Decision, ListPart, Score, rater_quality
from store.policy.scope import GOLD, LABEL, REPEAT, TRAIN
from store.queries.studies import ChosenItem
from store.record.actions import Action, Recorder
from store.record.ids import now
from store.record.protocol import StudyProtocol
from store.record.raters import ensure_rater, question_number
from store.studies.choosing import read_answers
from store.studies.dashboard import GoldScore, dashboard
from store.studies.studies import freeze_study, new_study, withdraw
from store.tables.columns import table_of
from store.tables.people import Assignment
from store.tables.record import Judgment, Mark
from store.tables.responses import ResponseRef
from store.tables.runs import ExecutionRow
from store.workspace.duckdb import Workspace

RATERS = ("dana", "eli", "fay")
GOLD_ITEM, TRAINING_ITEM = 7, 8


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of six pairs, each judged by all: eli errs on own tests, and fay's last label is at odds."""
    folder = tmp_path_factory.mktemp("study")
    with bench(folder) as workspace:
        conditions = dict.fromkeys((1, 2, 3), "own-test") | dict.fromkeys((4, 5, 6), "blind")
        frozen_study(
            workspace, RATERS, conditions, {GOLD_ITEM: 1.0}, {TRAINING_ITEM: 0.0}, repeats=1, fast_seconds=2.0
        )
        for rater in RATERS:
            judge(workspace, rater)
        key = write_expert_run(workspace, 1, "dana", "def test_own():\n    pass\n", Ran())
        own = next(
            one for one in assigned(workspace, "dana") if one["item_id"] == 1 and one["phase"] == LABEL
        )
        made = table_of(ExecutionRow)
        moved = update(made).where(made.c.id == key).values(assignment_id=own["id"], editing_ms=30_000)
        workspace.lane.submit(lambda connection: connection.execute(moved)).result()
        return workspace.path


def assigned(workspace: Workspace, rater: str) -> list[dict[str, Any]]:
    """The assignments of a rater in their order."""
    number = ensure_rater(workspace, rater).id
    found = [one for one in rows(workspace, Assignment) if one["rater_id"] == number]
    return sorted(found, key=lambda one: one["position"])


def judge(workspace: Workspace, rater: str) -> None:
    """Judge all of a rater's list: 1 for odd items, each in as many seconds as its number."""
    recorder, question = (
        Recorder(workspace, ensure_rater(workspace, rater)),
        1,
    )
    for one in assigned(workspace, rater):
        item, value = one["item_id"], float(one["item_id"] % 2)
        if (rater == "eli" and one["mode"] == "own-test") or (rater == "fay" and one["phase"] == REPEAT):
            value = 1 - value
        action = workspace.ids.next()
        common = {"id": action, "action": action, "item_id": item, "rater_id": one["rater_id"]}
        common |= {"assignment_id": one["id"], "phase": one["phase"], "created_at": now()}
        active = 1000 * item
        label = Judgment(
            **common, question_id=question, value=value, blind=True, elapsed_ms=active + 600, active_ms=active
        )
        recorder.submit(Action(action, (label,))).result()
    if rater == "dana":
        action = workspace.ids.next()
        one = next(one for one in assigned(workspace, rater) if one["phase"] == LABEL)
        common |= {"id": action, "action": action, "item_id": one["item_id"]}
        common |= {"assignment_id": one["id"], "phase": LABEL}
        recorder.submit(Action(action, (Mark(**common, kind="skip"),))).result()


def test_conditions_are_compared(path: Path, workbench: Any) -> None:
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        found = agreement(connection, "pair.match", study=STUDY)
        blind, own = found.by_condition
        assert (blind.condition, blind.raters, blind.labels, blind.shared) == ("blind", 3, 9, 3)
        assert (blind.alpha, blind.percent, blind.median_seconds) == (1.0, 100.0, 5.0)
        assert (own.condition, own.labels, own.percent) == ("own-test", 9, pytest.approx(100 / 3))
        assert (own.own_tests, own.mean_editing_seconds, own.mean_seconds) == (1, 30.0, 2.0)
        assert own.accuracy is None
        right = accuracy_report(connection, "pair.match", "dana", study=STUDY).by_condition
        assert [(one.accuracy, one.true_labels) for one in right] == [(1.0, 6), (0.5, 6)]
        assert agreement(connection, "pair.match").by_condition == ()
    text = workbench("report", path, "accuracy", "--study", STUDY, "--policy", "dana").out
    assert "own-test" in text
    assert "50.0 %" in text
    assert "own-test: 1 label beside an own test, edited for 30.0 s on average." in text


def test_each_rater_has_a_row(path: Path, workbench: Any) -> None:
    found = json.loads(workbench("report", path, "raters", "--study", STUDY, "--json").out)
    dana, eli, fay = found["raters"]
    assert (dana["rater"], dana["pseudonym"], dana["items"], dana["assigned"]) == ("dana", "R1", 6, 6)
    assert (dana["gold"], dana["gold_items"]) == ({"right": 1, "labelled": 1, "accuracy": 1.0}, 1)
    assert dana["training"]["accuracy"] == 1.0
    assert (dana["repeated"], dana["repeat_percent"], fay["repeat_percent"]) == (1, 100.0, 0.0)
    assert (dana["skipped"], eli["skipped"], dana["cannot_decide"]) == (0, 0, 0)
    assert dana["idle_seconds"] == pytest.approx(8 * 0.6)
    assert dana["too_fast"] in (1, 2)
    assert [part["items"] for part in dana["drift"]] == [2, 2, 2]
    shares = sum(part["percent"] * part["items"] for part in eli["drift"]) / 6
    assert shares == pytest.approx(50.0)
    text = workbench("report", path, "raters", "--study", STUDY).out
    assert "gold right" in text
    assert "Too fast: under 2 s." in text
    refused = workbench("report", path, "raters", "--rater", "dana", "--study", STUDY)
    assert (refused.code, "Sealed session" in refused.err) == (2, True)
    assert "Name it: --study NAME" in workbench("report", path, "raters").err


def test_an_item_is_skipped_or_undecidable_or_neither(tmp_path: Path) -> None:
    with judged_workspace(tmp_path, 3) as workspace:
        open_study(workspace)
        desk = Desk(workspace, "ana")
        first, second, third = study_assigned(workspace)
        for one, kind in ((first, "skip"), (first, "cannot_decide"), (second, "skip"), (third, "skip")):
            desk.say(one.item_id, kind, assignment_id=one.id, phase=one.phase)
        # Put off again after it was judged: it is judged.
        desk.judge(third.item_id, assignment_id=third.id, phase=third.phase)
        desk.say(third.item_id, "skip", assignment_id=third.id, phase=third.phase)
        with workspace.reading() as connection:
            ana = raters_report(connection, "rq2").raters[0]
    assert (ana.cannot_decide, ana.skipped, ana.quality.items) == (1, 1, 1)


def test_figures_of_a_rater() -> None:
    def given(value: float) -> dict[str, float]:
        return {"q": value, "other": 5.0}

    decisions = [
        Decision(TRAIN, 1, 9, given(1.0), 0.5, 0.5),
        *(Decision(LABEL, place, place, given(1.0), float(place), place + 1.0) for place in range(2, 5)),
        Decision(GOLD, 5, 8, given(0.0), 1.0, 1.0),
        Decision(REPEAT, 6, 2, given(0.0), None, None),
    ]
    others, right = {(2, "q"): [1.0, 0.0], (3, "q"): [0.0]}, {(8, "q"): 1.0, (9, "q"): 1.0}
    found = rater_quality(decisions, "q", others, right, 2.0)
    assert (found.items, found.median_seconds, found.mean_seconds, found.idle_seconds) == (3, 2.5, 2.5, 3.0)
    assert (found.too_fast, found.gold, found.training) == (1, Score(0, 1, 0.0), Score(1, 1, 1.0))
    assert (found.repeated, found.repeat_percent) == (1, 0.0)
    assert found.drift == (ListPart(1, 2.0, 50.0), ListPart(1, 3.0, 0.0), ListPart(1, 4.0, None))
    nothing = rater_quality([], "q", {}, {}, 2.0)
    assert (nothing.items, nothing.median_seconds, nothing.gold.accuracy) == (0, None, None)


def test_questions_on_responses_are_compared_response_by_response(tmp_path: Path) -> None:
    with three_kinds(tmp_path) as workspace:
        (tmp_path / "gold.csv").write_text("q2,accuracy,7\nq2,accuracy@two%23,3\n")
        with workspace.reading() as connection:
            gold = read_answers(connection, "answer", tmp_path / "gold.csv", "gold")
            protocol = StudyProtocol("answer", ("answer.accuracy",), repeats=1)
            new_study(workspace, STUDY, protocol, [ChosenItem(4), *gold], ("dana", "eli"))
            question = question_number(connection, "answer.accuracy")
        freeze_study(workspace, STUDY)
        refs: dict[int, list[int]] = {}
        for ref in rows(workspace, ResponseRef):
            refs.setdefault(ref["item_id"], []).append(ref["id"])
        for rater in ("dana", "eli"):
            desk = Desk(workspace, rater)
            desk.question = question
            for one in assigned(workspace, rater):
                for place, ref in enumerate(refs[one["item_id"]]):
                    # The second answer of the gold item is wrong; eli's repeat differs.
                    value = 7.0 - place - (rater == "eli" and one["phase"] == REPEAT)
                    under = {"assignment_id": one["id"], "phase": one["phase"]}
                    desk.judge(one["item_id"], value, response_ref_id=ref, active_ms=500, **under)
        with workspace.reading() as connection:
            dana, eli = raters_report(connection, STUDY).raters
            seen = dashboard(connection, STUDY, None).raters[0]
    assert (dana.quality.gold, seen.gold) == (Score(1, 2, 0.5), GoldScore(1, 2))
    assert [(one.quality.repeated, one.quality.repeat_percent) for one in (dana, eli)] == [(1, 100), (1, 0)]
    assert [part.percent for part in dana.quality.drift if part.items] == [100]
    assert (seen.too_fast, seen.decisions) == (dana.quality.too_fast, 3) == (3, 3)


def test_a_withdrawn_rater_counts_in_no_measure(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(path.read_bytes())
    with Workspace.open(copy) as workspace:
        withdraw(workspace, STUDY, "eli")
        with workspace.reading() as connection:
            report = agreement(connection, "pair.match")
            assert report.compared == ("dana", "fay")
            assert report.figures.alpha["nominal"] == 1.0
            assert raters_report(connection, STUDY).withdrawn == 1


def exported(workbench: Any, path: Path, target: Path, *options: str) -> list[dict[str, Any]]:
    """What an export writes, and no error."""
    done = workbench("export", path, target, "--overwrite", *options)
    assert done.code == 0, done.err
    return [json.loads(line) for line in target.read_text().splitlines()]


def test_an_export_of_a_study_has_pseudonyms_and_leaves_out_who_withdrew(
    path: Path, tmp_path: Path, workbench: Any
) -> None:
    copy, out = tmp_path / "copy.duckdb", tmp_path / "out.jsonl"
    copy.write_bytes(path.read_bytes())
    labels = exported(workbench, copy, out, "--format", "labels", "--study", STUDY)
    assert [one["rater"] for one in labels if one["item"] == "clear-match"] == ["R1", "R2", "R3"]
    assert {(one["study"], one["phase"], one["presentation"]) for one in labels} == {(STUDY, LABEL, 1)}
    assert {one["condition"] for one in labels} == {"blind", "own-test"}
    other = tmp_path / "other.duckdb"
    other.write_bytes(path.read_bytes())
    assert "6 judgments of 'R1'" in workbench("import", other, out).out
    named = exported(workbench, copy, out, "--format", "labels", "--study", STUDY, "--names")
    assert [(one["rater"], one["pseudonym"]) for one in named[:3]] == [
        ("dana", "R1"),
        ("eli", "R2"),
        ("fay", "R3"),
    ]
    record = exported(workbench, copy, out, "--format", "jsonl", "--study", STUDY)
    assert not set(RATERS) & {one["rater"] for one in record}
    assert {one["presentation"] for one in record if one["phase"] == REPEAT} == {2}
    assert "--study" in workbench("export", copy, out, "--format", "labels", "--names", "--overwrite").err

    with Workspace.open(copy) as workspace:
        withdraw(workspace, STUDY, "eli")
    assert {one["rater"] for one in exported(workbench, copy, out, "--format", "labels")} == {"dana", "fay"}
    less = exported(workbench, copy, out, "--format", "jsonl")
    assert len(record) - len(less) == sum(one["rater"] == "R2" for one in record)
    said = workbench("export", copy, out, "--format", "jsonl", "--overwrite").out
    assert f"Left out: {len(record) - len(less)} records of raters who withdrew." in said
    assert len(exported(workbench, copy, out, "--format", "jsonl", "--with-withdrawn")) == len(record)
    refused = workbench("export", copy, out, "--format", "labels", "--with-withdrawn", "--overwrite")
    assert "does not hold the full record" in refused.err


def test_the_first_presentation_counts_where_the_record_of_a_study_is_imported(
    tmp_path: Path, workbench: Any
) -> None:
    path, record, pairs = tmp_path / "pairs.duckdb", tmp_path / "record.jsonl", tmp_path / "pairs.jsonl"
    lines = [json.dumps({"id": f"p{place}", "query": "double", "code": f"# {place}"}) for place in (1, 2)]
    pairs.write_text("\n".join(lines))
    assert workbench("import", path, pairs).code == 0
    with Workspace.open(path) as workspace:
        desk = Desk(workspace, "ana")
        desk.judge(1, 1.0)
        open_study(workspace)
        one = next(one for one in study_assigned(workspace) if one.item_id == 1)
        desk.judge(1, 0.0, assignment_id=one.id, phase=one.phase)
    exported(workbench, path, record, "--format", "jsonl")
    elsewhere = tmp_path / "elsewhere.duckdb"
    assert workbench("import", elsewhere, record).code == 0
    for place in (path, elsewhere):
        with Workspace.open(place) as workspace, workspace.reading() as connection:
            (ana,) = agreement(connection, "pair.match").labels.raters
            assert list(ana.values) == [1.0]


def test_the_methods_of_a_study_are_a_table(path: Path, tmp_path: Path, workbench: Any) -> None:
    out = tmp_path / "methods.md"
    assert workbench("study", "manifest", path, STUDY, out).code == 0
    table = dict(line.strip("| ").split(" | ", 1) for line in out.read_text().splitlines()[2:])
    assert table["Items"] == "6 pairs"
    assert table["Raters of each item"] == "3; two raters share 6 items"
    assert table["Repeats"].startswith("1 item of each rater, unannounced")
    assert (table["Gold items"], table["Training"]) == ("1, mixed in", "1 item before the others")
    assert (table["Stopping rule"], table["Looks"]) == ("when all items are judged", "none")
    assert len(table["SHA-256 of items"]) == 66
    assert not set(RATERS) & set(out.read_text().split())
    assert "exists" in workbench("study", "manifest", path, STUDY, out).err
    assert out.read_text().strip() == workbench("study", "manifest", path, STUDY).out.strip()
