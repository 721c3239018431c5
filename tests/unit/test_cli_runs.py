"""Whose verdict commands show: the newest of the fullest runs, or the one that is named, never a mixture."""

import csv
import io
import json

import pytest
from made_once import built_once
from small_workspace import labelled_by_agents

from store.formats.protocol import formats
from store.workspace.duckdb import Workspace

FULL, SINGLE, NEWER = "full-agents/m/aa11", "single/m/bb22", "full-agents/n/cc33"
PAIRS = [
    {"id": f"q/{number}", "query": f"add {number}", "code": f"def add(a):\n    return a + {number}\n"}
    for number in (1, 2, 3)
]


@built_once
def study(workbench, in_folder):
    """Three pairs: two runs say otherwise of the first, only the less full one labels the second."""
    (in_folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in PAIRS))
    assert workbench("import", "study.duckdb", "pairs.jsonl").code == 0
    path = in_folder / "study.duckdb"
    with Workspace.open(path) as workspace:
        labelled_by_agents(workspace, [(1, 1.0, "tested")], name=FULL, fullness=6)
        labelled_by_agents(workspace, [(1, 0.0, "read"), (2, 0.0, "read")], name=SINGLE, fullness=1)
    return path


def labels(told):
    return [row["agent_label"] for row in told.json()["items"]]


def test_without_a_choice_the_fullest_run_is_shown_and_the_others_are_not_mixed_in(workbench, study):
    told = workbench("items", study, "--json")
    assert labels(told) == [1.0, None, None]
    assert told.json()["runs"] == {"pair": FULL}
    assert f"agents' run {FULL}" in workbench("items", study).out
    with Workspace.open(study) as workspace:
        labelled_by_agents(workspace, [(3, 1.0, "tested")], name=NEWER, fullness=6)
    # Of two runs of the fullest configuration the newer one counts, and it alone.
    told = workbench("items", study, "--json")
    assert labels(told) == [None, None, 1.0]
    assert told.json()["runs"] == {"pair": NEWER}


@pytest.mark.parametrize("name", [SINGLE, "single", "bb22"])
def test_a_run_is_chosen_by_its_name_or_by_how_that_begins_or_ends(workbench, study, name):
    told = workbench("items", study, "--run", name, "--json")
    assert labels(told) == [0.0, 0.0, None]
    assert told.json()["runs"] == {"pair": SINGLE}


def test_reports_are_about_the_run_that_is_shown(workbench, study):
    assert workbench("judge", study, "q/1", "0", "--rater", "dana").code == 0
    for options, counted in (((), (FULL, 1, 1, 0)), (("--run", "single"), (SINGLE, 2, 1, 1))):
        told = workbench("report", study, "progress", "--rater", "dana", "--json", *options).json()
        found = told["runs"]["pair"], told["agent_labelled"], told["compared"], told["agreed"]
        assert found == counted
    both = workbench("report", study, "agreement", "--json").json()
    assert {rater["name"] for rater in both["by_rater"]} == {"dana", FULL, SINGLE}
    one = workbench("report", study, "agreement", "--run", "single", "--json").json()
    assert {rater["name"] for rater in one["by_rater"]} == {"dana", SINGLE}


COMMANDS = (
    ("items",), ("report", "progress"), ("report", "agreement"), ("report", "pipeline"),
    ("judge", "q/1", "1", "--rater", "dana"), ("export", "out.csv", "--format", "csv"),
)  # fmt: skip


@pytest.mark.parametrize("name", ["nobody", "", "/m/"])
def test_a_run_that_is_not_there_is_refused_with_those_that_are(workbench, study, name):
    for command, *rest in COMMANDS:
        told = workbench(command, study, *rest, "--run", name, "--json")
        assert told.code == 2
        error = told.json()["error"]
        assert error["title"] == "Unknown run"
        assert FULL in error["hint"]
    assert not (study.parent / "out.csv").exists()
    told = workbench("export", study, "out.csv", "--format", "csv", "--run", SINGLE, "--rater", "dana")
    assert (told.code, "Give one of them" in told.err) == (2, True)


# -- exports ----------------------------------------------------------------------------------------------


TELL_RUNS = {"argilla", "csv", "hugging-face", "label-studio", "parquet", "prodigy", "xlsx"}
"""Formats in which people's labels and a model's have places of their own."""


def with_rater():
    return sorted(
        name
        for name, form in formats().items()
        if form.write is not None and "rater" in form.choices and not form.of_run and name not in TELL_RUNS
    )


@pytest.mark.parametrize("name", with_rater())
def test_every_format_holds_a_runs_labels_as_a_persons(workbench, study, in_folder, name):
    """The same labels by a person and by a run give the same file but for the name, and the phase of a person's."""
    for number in (1, 2):
        done = workbench("judge", study, f"q/{number}", "0", "--rater", "dana", "--comment", "as it reads")
        assert done.code == 0
    task = {"prompt": "till.", "groundtruth": "open()", "metadata": {"task_id": "project_cc_python/1"}}
    (in_folder / "task.jsonl").write_text(json.dumps(task) + "\n")
    (in_folder / "asked.jsonl").write_text(json.dumps({"question": "Where is it opened?"}) + "\n")
    assert workbench("import", study, "task.jsonl", "asked.jsonl").code == 0
    written = {}
    for rater, options in (
        ("dana", ("--rater", "dana")),
        (SINGLE, ("--rater", "bb22")),
        ("", ("--run", SINGLE)),
    ):
        place = in_folder / f"out-{len(written)}"
        told = workbench("export", study, place, "--format", name, *options, "--json")
        assert told.code == 0, told.err
        assert told.json()["rater"] == (rater or SINGLE)
        files = sorted(file for file in place.rglob("*") if file.is_file()) if place.is_dir() else [place]
        written[rater] = [told.json()["records"], *(read(file) for file in files)]
    assert written[""] == written[SINGLE]
    if name == "labels":
        # When and how a person judged stands after the comment; a run's labels have nothing of it.
        written = {rater: [count, _up_to_the_comment(text)] for rater, (count, text) in written.items()}
    as_dana = [part.replace(SINGLE, "dana") if isinstance(part, str) else part for part in written[SINGLE]]
    of_dana = [
        part.replace(",review,", ',"",') if isinstance(part, str) else part for part in written["dana"]
    ]
    assert as_dana == of_dana


def _up_to_the_comment(text):
    rows = csv.reader(io.StringIO(text))
    return "\n".join(",".join(row[:7]) for row in rows)


def read(file):
    if file.read_bytes()[:4] == b"PAR1":
        import duckdb

        return str(duckdb.read_parquet(str(file)).fetchall())
    return file.read_text()


def test_labels_of_a_run_come_in_again_with_the_reasons_that_the_agents_gave(workbench, study, in_folder):
    assert workbench("export", study, "run.csv", "--format", "labels", "--rater", "single").code == 0
    assert "as it reads" in (in_folder / "run.csv").read_text()
    assert workbench("import", "other.duckdb", "pairs.jsonl", "run.csv").code == 0
    told = workbench("items", "other.duckdb", "--rater", SINGLE, "--json").json()
    assert [row["label"] for row in told["items"]] == [0.0, 0.0, None]


def test_an_unknown_rater_is_refused_with_raters_and_runs(workbench, study):
    told = workbench("export", study, "out.csv", "--format", "csv", "--rater", "nobody", "--json")
    assert told.code == 2
    error = told.json()["error"]
    assert error["title"] == "Unknown rater"
    assert "No run is called 'nobody'" in error["message"]
    assert FULL in error["hint"]


# -- blind ------------------------------------------------------------------------------------------------


@pytest.fixture
def blind(monkeypatch):
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    monkeypatch.setenv("WORKBENCH_RATER", "lee")


@pytest.mark.parametrize("name", [SINGLE, "single", "nobody"])
def test_blind_a_run_is_refused_whether_it_is_there_or_not(workbench, study, blind, name):
    """The refusal is the same for every name, so that it tells nothing of the runs."""
    for command, *rest in (*COMMANDS[:3], ("judge", "q/1", "1"), ("open",)):
        told = workbench(command, study, *rest, "--run", name)
        assert told.code == 2
        assert "Blind review" in told.err
        assert not any(each in told.err + told.out for each in (SINGLE, FULL, "Runs here"))
    assert workbench("items", study, "--json").json()["items"][0]["status"] == "open"


def test_a_session_that_is_blind_by_its_command_line_refuses_a_run(workbench, study):
    told = workbench("open", study, "--blind", "--run", FULL)
    assert told.code == 2
    assert "Blind review" in told.err
    assert "leave --blind out" in told.err


def test_blind_nothing_printed_names_a_run_with_labels(workbench, study, blind):
    for command in (
        ("items", "--json"),
        ("items",),
        ("report", "progress"),
        ("report", "progress", "--json"),
    ):
        told = workbench(command[0], study, *command[1:])
        assert told.code == 0
        assert not any(each in told.out + told.err for each in (SINGLE, FULL))
    assert workbench("items", study, "--json").json()["runs"] == {}


def test_blind_an_export_of_a_run_says_whose_labels_it_holds(workbench, study, blind):
    told = workbench("export", study, "out.csv", "--format", "csv", "--rater", "single", "--json")
    assert told.code == 0
    assert told.json()["reveals"] == f"the labels of {SINGLE}"
