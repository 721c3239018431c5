"""Confusion of two raters, labels counted, time for each item: against what plain Python counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median, quantiles

import numpy
import pytest
from judging import Desk, judged_workspace
from several_kinds import three_kinds
from small_workspace import labelled_by_agents
from split_bench import labelled_pairs

from screens.reports.drawing import draw, plain
from store.analysis.confusion import MOST_LABELS, confusion
from store.analysis.label_counts import label_counts
from store.analysis.labels import QuestionLabels, question_labels
from store.analysis.times import PAUSE, ItemTime, by_place, histogram, in_sessions, times_report
from store.errors import UnknownName, WorkbenchError
from store.reports.value import Cell, Place, Report, Row, Table, figures, moved
from store.workspace.duckdb import Workspace

START = datetime(2024, 3, 4, 9, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    with labelled_pairs(folder) as workspace:
        labelled_by_agents(workspace, [(item, float(item % 3 > 0), "tested") for item in range(1, 20)])
    return folder / "pairs.duckdb"


def values(labels: QuestionLabels, rater: str) -> dict[int, float]:
    """The labels of a rater by item."""
    (one,) = [one for one in labels.raters if one.name == rater]
    given = zip(labels.item_ids.tolist(), one.values.tolist(), strict=True)
    return {item: value for item, value in given if value == value}


def test_a_confusion_counts_what_two_raters_said_of_the_same_items(pairs: Path) -> None:
    with Workspace.open(pairs) as workspace, workspace.reading() as connection:
        found = confusion(connection, "pair.match")
        labels = question_labels(connection, "pair.match")
        # People and agents are compared before two people.
        assert found.raters == ("ana", "cosqa-plus:scripted")
        first, second = (values(labels, name) for name in found.raters)
        both = [item for item in first if item in second]
        counted = Counter((first[item], second[item]) for item in both)
        for y, row in enumerate(found.values):
            for x, column in enumerate(found.values):
                assert found.counts[y, x] == counted[row, column]
                assert found.items(row, column) == [
                    item for item in both if (first[item], second[item]) == (row, column)
                ]
        assert found.items(None, None) == both
        assert found.items(1.0, None) == [item for item in both if first[item] == 1]
        assert found.pair.figures.units == len(both) == 19
        named = confusion(connection, "pair.match", raters=["ben", "chi"])
        assert named.raters == ("ben", "chi")
        with pytest.raises(WorkbenchError, match="Two raters"):
            confusion(connection, "pair.match", raters=["ana"])


def test_means_of_scores_are_rounded_where_there_are_very_many(
    pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workspace.open(pairs) as workspace, workspace.reading() as connection:
        labels = question_labels(connection, "pair.match")
        first = numpy.arange(24) / 6
        given = (first, 4 - first, *(one.values for one in labels.raters[2:]))
        raters = [replace(one, values=values) for one, values in zip(labels.raters, given, strict=True)]
        means = replace(labels, raters=tuple(raters))
        monkeypatch.setattr("store.analysis.confusion.question_labels", lambda *_, **__: means)
        found = confusion(connection, "pair.match", raters=["ana", "ben"])
    assert found.rounded
    assert len(found.values) <= MOST_LABELS
    counted = Counter((round(n / 6), round(4 - n / 6)) for n in range(24))
    assert {
        (row, column): int(found.counts[y, x])
        for y, row in enumerate(found.values)
        for x, column in enumerate(found.values)
        if found.counts[y, x]
    } == counted


def test_labels_are_counted_by_rater_with_those_that_nobody_gave(pairs: Path) -> None:
    with Workspace.open(pairs) as workspace, workspace.reading() as connection:
        found = label_counts(connection, "pair.match")
        labels = question_labels(connection, "pair.match")
        assert [one.name for one in found.raters] == ["ana", "ben", "chi", "cosqa-plus:scripted"]
        for one in found.raters:
            given = values(labels, one.name)
            assert {value: found.count(one, value) for value in found.values} == Counter(given.values())
            assert found.items(one, 1.0) == [item for item, value in given.items() if value == 1]
        only = label_counts(connection, "pair.match", raters=["chi"])
        assert [one.name for one in only.raters] == ["chi"]
        own = label_counts(connection, "pair.match", own="ben")
        assert [one.name for one in own.raters] == ["ben"]
        assert label_counts(connection, "pair.match", own="nobody").raters == ()


def test_scores_of_responses_are_counted_one_by_one(tmp_path: Path) -> None:
    with three_kinds(tmp_path) as workspace, workspace.reading() as connection:
        found = label_counts(connection, "answer.accuracy")
    assert [(one.name, one.kind, found.count(one, 3.0)) for one in found.raters] == [("judge", "judge", 1)]
    assert found.values == tuple(float(value) for value in range(1, 11))


def test_times_are_those_of_activity_and_begin_a_session_after_a_pause(tmp_path: Path) -> None:
    with judged_workspace(tmp_path, 10) as workspace:
        for item in range(1, 9):
            pause = PAUSE if item > 5 else timedelta()
            at = START + item * timedelta(minutes=1) + pause
            spent = {"active_ms": item * 1_000, "elapsed_ms": 90_000}
            action = Desk(workspace, "ana").label(item, 1.0, **spent)
            record = action.records[0].model_copy(update={"created_at": at})
            Desk(workspace, "ana").submit(type(action)(action.id, (record,)))
        Desk(workspace, "ben").judge(1, 1.0, elapsed_ms=40_000)
        Desk(workspace, "ben").judge(2, 1.0)
        with workspace.reading() as connection:
            found = times_report(connection, "pair")
            ana = times_report(connection, "pair", raters=["ana"])
            own = times_report(connection, "pair", own="ben")
            nobody = times_report(connection, "pair", own="chi")
            with pytest.raises(UnknownName, match="zoe"):
                times_report(connection, "pair", raters=["zoe"])
            with pytest.raises(UnknownName, match="nothing"):
                times_report(connection, "nothing")
    assert found.raters == ("ana", "ben")
    # What ben took for the second item is not known.
    assert sorted(one.seconds for one in found.times) == [1, 2, 3, 4, 5, 6, 7, 8, 40]
    assert found.median == median([1, 2, 3, 4, 5, 6, 7, 8, 40])
    assert (ana.sessions, own.sessions) == (2, 1)
    assert [(one.low, one.high, one.n) for one in ana.by_place] == [(1, 5, 8)]
    assert [(one.span(), one.n) for one in ana.histogram] == [("under 2", 1), ("2 to 5", 3), ("5 to 10", 4)]
    assert ana.histogram[1].items == (2, 3, 4)
    assert ([one.seconds for one in own.times], nobody.times, nobody.median) == ([40], (), None)


def test_bins_hold_each_time_once() -> None:
    seconds = [0.5, 2, 4.99, 5, 61, 599, 600, 10_000]
    times = [
        ItemTime("ana", item, value, START + item * timedelta(minutes=1), blind=False, revealed=False)
        for item, value in enumerate(seconds)
    ]
    found = histogram(times)
    assert sum(one.n for one in found) == len(seconds)
    for one in found:
        high = float("inf") if one.high is None else one.high
        inside = [value for value in seconds if one.low <= value < high]
        assert one.items == tuple(seconds.index(value) for value in inside)
        assert one.median == (median(inside) if inside else None)
        if len(inside) > 1:
            assert (one.quarter, one.three_quarters) == tuple(quantiles(inside, n=4, method="inclusive")[::2])
    places, sessions = in_sessions(times)
    assert (places, sessions) == ([1, 2, 3, 4, 5, 6, 7, 8], 1)
    assert [(one.span(places=True), one.n) for one in by_place(times, places)] == [
        ("1 to 5", 5),
        ("6 to 10", 3),
    ]
    assert histogram([]) == by_place([], []) == ()


def test_the_commands_print_them(workbench, pairs: Path) -> None:
    found = workbench("report", pairs, "confusion", "--raters", "ana,chi", "--json").json()
    assert (found["report"], found["raters"], found["values"]) == ("confusion", ["ana", "chi"], [0, 1])
    assert sum(map(sum, found["counts"])) == found["units"] == 24
    assert found["ci_low"] < found["cohen"] < found["ci_high"]
    plain = workbench("report", pairs, "confusion", "--raters", "ana,chi").out
    assert [line.split()[-1] for line in plain.splitlines() if line.startswith(("0 no", "1 match", "all"))]
    found = workbench("report", pairs, "labels", "--raters", "ana", "--json").json()
    (ana,) = found["raters"]
    assert (ana["rater"], ana["labelled"], sum(ana["counts"])) == ("ana", 24, 24)
    assert "ana · 24 labels" in workbench("report", pairs, "labels").out
    found = workbench("report", pairs, "time", "--kind", "pair", "--json").json()
    assert (found["report"], found["n"], found["histogram"]) == ("time", 0, [])
    assert "No times yet" in workbench("report", pairs, "time").out
    told = workbench("report", pairs, "labels", "--kind", "pair")
    assert (told.code, told.says("--kind belongs to the report time")) == (2, True)


def test_a_blind_review_counts_its_own_labels_alone(workbench, pairs: Path, monkeypatch) -> None:
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    monkeypatch.setenv("WORKBENCH_RATER", "ben")
    found = workbench("report", pairs, "labels", "--json").json()
    assert [one["rater"] for one in found["raters"]] == ["ben"]
    for refused in (("confusion",), ("labels", "--raters", "ana"), ("time", "--raters", "ana,ben")):
        told = workbench("report", pairs, *refused)
        assert (told.code, told.says("a blind review hides")) == (2, True), refused
    assert workbench("report", pairs, "time", "--raters", "ben").code == 0


def test_the_cursor_goes_from_figure_to_figure() -> None:
    one = Cell("1", lambda _: [1], "one")
    page = Report(
        ("n 3",),
        ("labels",),
        (
            Table(("name", "n", "m"), (Row(("a long name of a run", one, one), 0.5), Row(("b", "2", one)))),
            Table(("name", "n"), (Row(("c", one), (0.1, 0.5, 0.9)),)),
        ),
    )
    places = figures(page)
    assert places == [Place(0, 0, 1), Place(0, 0, 2), Place(0, 1, 2), Place(1, 0, 1)]
    assert [moved(places, 0, *step) for step in ((1, 0), (0, 1), (-1, 0), (9, 0), (0, -1))] == [2, 1, 0, 3, 0]
    lines = [plain(line) for line in draw(page, 60, places[1]).lines]
    assert next(line for line in lines if "[1]" in line).startswith("a long name of a run")
    assert any("├" in line and "●" in line for line in lines)
    # What is narrow leaves out what is drawn, and shortens names.
    narrow = [plain(line) for line in draw(page, 24, places[1]).lines]
    assert max(map(len, narrow)) <= 24
    assert not any("█" in line for line in narrow)
