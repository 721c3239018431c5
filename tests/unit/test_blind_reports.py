"""What a command of a blind review prints of the labels of others: nothing."""

import json
import re

import pytest
from made_once import built_once
from small_workspace import labelled_by_agents, script

from store.workspace.duckdb import Workspace

WORDS = (
    "clear_match",
    "clear_nonmatch",
    "unclear",
    "screener",
    "arbiter",
    "labels",
    "executed",
    "executable",
)
"""What would tell of the one label of a run over one item, or of the way to it."""


PAIR = {"id": "q/1", "query": "add two numbers", "code": "def add(a, b):\n    return a + b\n"}


@built_once
def study(workbench, in_folder):
    (in_folder / "pairs.jsonl").write_text(json.dumps(PAIR) + "\n", encoding="utf-8")
    assert workbench("import", "study.duckdb", "pairs.jsonl").code == 0
    path = in_folder / "study.duckdb"
    for rater in ("dana", "lee"):
        assert workbench("judge", path, "q/1", "match", "--rater", rater).code == 0
    with Workspace.open(path) as workspace:
        labelled_by_agents(workspace, [(1, 0.0, "tested")])
    return path


@pytest.fixture
def blind(monkeypatch):
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    monkeypatch.setenv("WORKBENCH_RATER", "lee")


def test_the_figures_of_a_run_over_one_item_do_not_tell_its_label(workbench, study, blind):
    told = workbench("report", study, "pipeline", "--json")
    (run,) = told.json()["runs"]
    assert (run["labelled"], run["failed"], run["requests"]) == (1, 0, 1)
    assert not any(word in told.out for word in WORDS)
    plain = workbench("report", study, "pipeline")
    assert "You review blind" in plain.out
    assert not any(word in plain.out for word in ("match", "unclear", "screened", "executed"))


def test_without_it_the_figures_tell_all(workbench, study):
    told = workbench("report", study, "pipeline", "--json")
    assert all(word in told.out for word in WORDS if word not in ("labels", "arbiter"))


def test_the_end_of_a_job_does_not_tell_the_label(workbench, study, blind, in_folder):
    model = script(in_folder, [("q/1", "clear_match", 0.0)]).model
    for options in (["--json"], []):
        told = workbench("annotate", study, "--model", model, *options)
        assert not any(word in told.out for word in ("match", "unclear", "1 × 1", "screened")), told.out


def test_an_estimate_and_the_stored_replies_do_not_tell_how_items_were_assessed(
    workbench, study, blind, in_folder
):
    model = script(in_folder, [("q/1", "clear_match", 0.0)]).model
    workbench("annotate", study, "--model", model)
    words = (*WORDS, "Screener", "test_writer", "roles", "based on", "Based on")
    for options in (["--json"], []):
        told = workbench("annotate", study, "--model", model, "--estimate", *options)
        assert told.code == 0
        assert not any(word in told.out for word in words), told.out
        told = workbench("replies", study, *options)
        assert told.code == 0
        assert not any(word in told.out for word in words), told.out
    assert "the replies are not listed" in told.out


@pytest.mark.parametrize("command", [("items",), ("report",), ("report", "progress")])
def test_another_raters_labels_are_refused(workbench, study, blind, command):
    name, *rest = command
    told = workbench(name, study, *rest, "--rater", "dana")
    assert told.code == 2
    assert "Blind review" in told.err
    assert "screens.blind = false" in told.err
    assert workbench(name, study, *rest, "--rater", "lee").code == 0
    assert workbench(name, study, *rest).code == 0


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ((), "the labels of every rater"),
        (("--rater", "dana"), "the labels of dana"),
        (("--rater", "lee"), None),
    ],
)
def test_an_export_says_what_it_reveals(workbench, study, blind, in_folder, options, held):
    assert workbench("judge", study, "q/1", "0").code == 0
    told = workbench("export", study, "out.jsonl", "--format", "jsonl", *options)
    assert told.code == 0
    assert ("You review blind, and this export holds" in told.out) == bool(held)
    assert ("what it holds is not counted" in told.out) == bool(held)
    assert (re.search(r"\d (judgment|current label)", told.out) is None) == bool(held)
    # How many labels it would hold is not said without writing it: a policy's number tells how they agree.
    dry = workbench("export", study, "dry", "--format", "jsonl", *options, "--dry-run")
    assert (dry.code != 0) == bool(held)
    assert ("Not counted: it holds" in dry.err) == bool(held)
    assert held is None or f"holds {held}:" in told.out
    again = workbench("export", study, "out.jsonl", "--format", "jsonl", *options, "--overwrite", "--json")
    assert again.json()["reveals"] == held
    assert (again.json()["records"] is None) == bool(held)


def test_a_seeing_export_reveals_nothing_new(workbench, study):
    told = workbench("export", study, "out.jsonl", "--format", "jsonl", "--json")
    assert told.json()["reveals"] is None
