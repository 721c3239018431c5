"""The plan of a study, from numbers that are given and from what a workspace holds."""

import json

import pytest
from made_once import built_once
from small_workspace import labelled_by_agents

from store.measures.planning import AccuracyDesign, AgreementDesign, expected_half_width, mcnemar_sample_size
from store.workspace.duckdb import Workspace

QUICK = ("--per-query", "20", "--correlation", "0.1")
"""With so many items a few hundred queries are enough, which are simulated quickly."""
GIVEN = ("--alpha", "0.6", "--rater-count", "3", "--prevalence", "0.3", "--accuracy", "0.8", *QUICK)


@built_once
def study(workbench, in_folder):
    """Six pairs of three queries."""
    lines = [
        json.dumps({"id": f"q{query}/{code}", "query": f"query {query}", "code": f"def f{code}(): {query}"})
        for query in range(3)
        for code in range(2)
    ]
    (in_folder / "pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    path = in_folder / "study.duckdb"
    assert workbench("import", path, "pairs.jsonl").code == 0
    return path


@pytest.fixture
def judged(workbench, study):
    """The same, with labels of two people who disagree on one pair of five."""
    for rater, values in (("dana", (1, 0, 0, 1, 0)), ("eli", (1, 0, 0, 0, 0))):
        for number, value in enumerate(values, start=1):
            done = workbench("judge", study, f"{number}", f"{value}", "--rater", rater)
            assert done.code == 0, done.err
    return study


def plan(workbench, path, *options):
    told = workbench("report", path, "plan", *options, "--json")
    assert told.code == 0, told.err
    return told.json()


def test_given_numbers_are_planned_with(workbench, study):
    found = plan(workbench, study, *GIVEN, "--half-width", "0.2")
    assert (found["question"], found["cluster"], found["queries"], found["items"]) == (
        *("pair.match", "query"),
        *(3, 6),
    )
    assert {each["source"] for each in found["inputs"].values()} == {"given"}
    designs = {"alpha": AgreementDesign(0.6, 3, 0.3, 20, 0.1), "accuracy": AccuracyDesign(0.8, 20, 0.1)}
    for name, design in designs.items():
        needed = found[name]["needed"]
        assert [each["half_width"] for each in needed] == [0.2, 0.1, 0.05, 0.03]
        assert [each["items"] for each in needed] == [20 * each["queries"] for each in needed]
        # Of fewer than 30 queries the report would warn that the interval is too narrow.
        assert needed[0]["queries"] == 30
        for each in needed[2:]:
            assert expected_half_width(design, each["queries"]) <= each["half_width"]
            assert expected_half_width(design, round(0.9 * each["queries"])) > each["half_width"]
        expected = {each["queries"]: each["half_width"] for each in found[name]["expected"]}
        assert expected[100] == expected_half_width(design, 100)
        assert max(expected) >= needed[-1]["queries"]
        assert found[name]["half_width_here"] == expected[3]
    assert found["mcnemar"] is None


def test_mcnemar_is_planned_exactly(workbench, study):
    shares = ("--p10", "0.1104", "--p01", "0.0704")
    found = plan(workbench, study, *GIVEN, "--items", "400", *shares)["mcnemar"]
    assert round(found["power"], 4) == 0.4255
    assert found["items_needed"] == mcnemar_sample_size(0.8, 0.1104, 0.0704)
    assert (found["significance"], found["wanted_power"]) == (0.05, 0.8)
    told = workbench("report", study, "plan", *GIVEN, "--items", "400", *shares).out
    assert "0.4255" in told
    assert "The test needs one item of each query" in told
    # Without a number, those of the workspace: one of each query.
    other = plan(workbench, study, *GIVEN, *shares, "--power", "0.5", "--significance", "0.1")["mcnemar"]
    assert (other["items"]["value"], other["items"]["source"]) == (3, "workspace")
    assert other["items_needed"] == mcnemar_sample_size(0.5, 0.1104, 0.0704, 0.1)
    assert "no difference" in plan(workbench, study, *GIVEN, "--p10", "0.1", "--p01", "0.1")["mcnemar"]["why"]


def test_numbers_come_from_peoples_labels(workbench, judged):
    with Workspace.open(judged) as workspace:
        labelled_by_agents(workspace, [(1, 1.0, "screened"), (2, 1.0, "screened")])
    inputs = plan(workbench, judged)["inputs"]
    # Krippendorff: 10 values, 3 of them 1; observed 1 / 5, expected 2 * 3 * 7 / (10 * 9).
    assert inputs["alpha"]["value"] == pytest.approx(1 - (1 / 5) / (42 / 90))
    assert inputs["alpha"]["detail"] == "of dana, eli over 5 pairs"
    assert inputs["rater_count"]["value"] == 2
    assert inputs["prevalence"]["value"] == pytest.approx(0.3)
    assert inputs["per_query"]["value"] == 2
    assert {inputs[name]["source"] for name in ("alpha", "rater_count", "prevalence", "per_query")} == {
        "workspace"
    }
    assert {inputs[name]["source"] for name in ("accuracy", "correlation")} == {"default"}
    told = workbench("report", judged, "plan", *QUICK).out
    assert "0.571 (from the workspace: of dana, eli over 5 pairs)" in told
    assert "0.8 (default)" in told
    assert "here" in told
    named = plan(workbench, judged, *QUICK, "--raters", "dana,cosqa-plus:scripted")["inputs"]
    # Labels 1 and 0 against 1 and 1: observed 1 / 2, expected 2 * 1 * 3 / (4 * 3).
    assert named["alpha"]["source"] == "default"
    assert named["alpha"]["detail"] == "that of dana, cosqa-plus:scripted over 2 pairs is 0.000"
    assert named["prevalence"]["detail"] == "7 labels of 2 raters"


def test_agents_labels_tell_the_prevalence_where_people_have_none(workbench, study):
    with Workspace.open(study) as workspace:
        labelled_by_agents(workspace, [(1, 1.0, "screened"), (2, 0.0, "screened"), (3, 0.0, "tested")])
    inputs = plan(workbench, study, *QUICK)["inputs"]
    assert inputs["prevalence"]["value"] == pytest.approx(1 / 3)
    assert (inputs["alpha"]["source"], inputs["rater_count"]["source"]) == ("default", "default")


def test_a_blind_review_tells_nothing_of_labels(workbench, judged, monkeypatch):
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    monkeypatch.setenv("WORKBENCH_RATER", "dana")
    for options in ((), ("--alpha", "0.6"), ("--prevalence", "0.3")):
        told = workbench("report", judged, "plan", *options)
        assert told.code == 2
        assert "Blind review" in told.err
    found = plan(workbench, judged, *QUICK, "--alpha", "0.6", "--prevalence", "0.3")
    assert found["inputs"]["rater_count"] == {"value": 3, "source": "default", "detail": ""}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--alpha", "1"), "--alpha is 1; it has to be above 0 and below 1"),
        (("--prevalence", "nan"), "--prevalence is nan"),
        (("--half-width", "5"), "5 % is 0.05"),
        (("--half-width", "0.0001"), "from 0.001"),
        (("--correlation", "1"), "from 0 to below 1"),
        (("--p10", "0.1"), "--p01"),
        (("--p10", "0.7", "--p01", "0.6"), "at most 1"),
        (("--p10", "0", "--p01", "0"), "above 0"),
        (("--question", "pair.nothing"), "pair.nothing"),
        (
            ("--study", "one"),
            "--study belongs to the reports agreement, confusion, accuracy, labels, time, raters and preference, "
            "not to plan.",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(workbench, study, options, words):
    told = workbench("report", study, "plan", *options)
    assert told.code == 2
    assert words in " ".join(told.err.replace("│", " ").split())


def test_a_rare_answer_needs_queries_that_have_it(workbench, study):
    found = plan(workbench, study, *GIVEN, "--prevalence", "0.001", "--half-width", "0.4")["alpha"]
    # 10 / (0.001 * 20 items a query).
    assert found["needed"][0]["queries"] == 500
    assert all((each["half_width"] is None) == (each["queries"] < 500) for each in found["expected"])
    never = plan(workbench, study, *GIVEN, "--prevalence", "0.00001")["alpha"]
    assert {each["queries"] for each in never["needed"]} == {None}
    assert "rarer answer" in never["needed"][0]["why"]


def test_its_options_are_its_own(workbench, study):
    told = workbench("report", study, "agreement", "--half-width", "0.1")
    assert told.code == 2
    assert "--half-width belongs to the report plan" in told.err


def test_items_without_groups_and_questions_with_more_answers(workbench, in_folder, repository):
    path = in_folder / "study.duckdb"
    assert workbench("import", path, repository / "sample_data" / "questions.jsonl").code == 0
    found = plan(workbench, path, "--question", "answer.accuracy")
    assert found["alpha"] is None
    assert set(found["inputs"]) == {"accuracy"}
    assert [each["items"] for each in found["accuracy"]["needed"]] == [
        each["queries"] for each in found["accuracy"]["needed"]
    ]
    told = workbench("report", path, "plan", "--question", "answer.accuracy").out
    assert "answer.accuracy has more" in told
    refused = workbench("report", path, "plan", "--question", "answer.accuracy", "--per-query", "3")
    assert refused.code == 2
    assert "Leave --per-query out" in refused.err
