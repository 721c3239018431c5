"""The demo without a screen: the whole pipeline over the sample, with real executions, and what it prints."""

import json
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import func, select

from store.measures.agreement import majority
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.runs import ExecutionRow, StepRow, VerdictRow
from store.workspace.duckdb import Workspace
from workbench import sample
from workbench.demo import demo_path
from workbench.sample import NOTICE, allowed_programs, scripted_model


def expected(folder):
    """What the sample's own files say of the counts, read without the program."""
    replies = [
        json.loads(line) for line in (folder / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    screened = {one["subject"]: one["reply"]["assessment"] for one in replies if one["role"] == "screener"}
    ruled = {
        one["subject"]: one["reply"]["label"]
        for one in replies
        if one["role"] == "arbiter" and "when" not in one
    }
    verdicts = {
        name: ruled[name] if said == "unclear" else int(said == "clear_match")
        for name, said in screened.items()
    }
    votes = {}
    for line in (folder / "labels.csv").read_text(encoding="utf-8").splitlines()[1:]:
        name, _, _, value, *_ = line.split(",")
        votes.setdefault(name, []).append(int(value))
    wanted = {name: majority(values) for name, values in votes.items()}
    agreed = sum(verdicts[name] == value for name, value in wanted.items() if value is not None)
    return Counter(screened.values()), Counter(verdicts.values()), agreed


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "demo.duckdb"


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    return tmp_path_factory.mktemp("snapshots")


@pytest.fixture(autouse=True)
def _settings(monkeypatch, snapshots):
    # For the one program that never ends; the others take a fraction of a second.
    monkeypatch.setenv("WORKBENCH_SANDBOX__WALL_SECONDS", "5")
    # Not the user's, where an earlier demo may have left what this one must install.
    monkeypatch.setenv("WORKBENCH_SANDBOX__SNAPSHOTS", str(snapshots))


def test_the_demo_counts_what_its_files_say(workbench, at, sample_folder):
    done = workbench("demo", "--headless", "--at", at, "--json")
    assert done.code == 0, done.err
    facts = done.json()
    screened, verdicts, agreed = expected(sample_folder)
    assert facts["items"] == facts["items_by_kind"]["pair"] == sum(screened.values()) >= 60
    lines = {
        name: (sample_folder / f"{name}.jsonl").read_text("utf-8")
        for name in ("completions", "questions", "comparisons")
    }
    counts = [text.count("\n") for text in lines.values()]
    # Five issues are collected, three of which become questions.
    counts[1] += facts["written"]["items"]
    written = {name: facts["written"][name] for name in ("items", "written", "unsuitable", "no_solution")}
    assert written == {"items": 5, "written": 3, "unsuitable": 1, "no_solution": 1}
    assert list(facts["items_by_kind"].items())[1:] == list(
        zip(("completion", "answer", "comparison"), counts, strict=True)
    )
    assert facts["clear_match"] == screened["clear_match"]
    assert facts["clear_nonmatch"] == screened["clear_nonmatch"]
    assert facts["unclear"] == facts["executed"] == screened["unclear"]
    assert facts["executable_rate"] == facts["executable"] / facts["executed"]
    assert 0 < facts["executable"] < facts["executed"]
    assert (facts["labelled"], facts["failed"]) == (facts["items"], 0)
    assert facts["labels"] == {str(value): count for value, count in verdicts.items()}
    against = facts["agreement_with_majority"]
    assert (against["n"], against["agreed"], against["ties"]) == (facts["items"], agreed, 0)
    assert against["share"] == agreed / facts["items"]
    assert against["raters"] == ["sample-ana", "sample-ben", "sample-chi"]
    assert facts["agreement_among_raters"]["units"] == facts["items"]
    assert facts["sandbox"] == "bubblewrap"
    assert facts["paths"] == {"corrected": 2, "repaired": 2, "screened": 53, "tested": 24, "untested": 4}
    assert (facts["executed"], facts["executable"]) == (32, 28)
    assert facts["notice"] == NOTICE
    judged = facts["judged"]
    assert (judged["labelled"], judged["consistent"], judged["inconsistent"]) == (12, 9, 3)
    # The same words as annotate's, for the same numbers.
    again = workbench("annotate", at, "--kind", "pair", "--model", scripted_model(), "--json").json()
    same = again.keys() - {"job", "run", "name", "state", "asked"}
    assert {name: again[name] for name in same} == {name: facts[name] for name in same}
    assert (again["run"], again["job"]["done"]) == (facts["run"], 0)


def test_what_it_printed_is_on_disk(at):
    execution, verdict, item = table_of(ExecutionRow), table_of(VerdictRow), table_of(Item)
    with Workspace.open(at) as workspace, workspace.reading() as connection:
        for_agents = select(func.count()).select_from(item).where(item.c.kind.in_(("pair", "comparison")))
        items = connection.execute(for_agents).scalar_one() + 5  # the issues
        ruled = connection.execute(select(func.count(verdict.c.item_id.distinct()))).scalar_one()
        programs = connection.execute(select(execution.c.program_digest, execution.c.exit_reason)).all()
    assert ruled == items
    assert {program for program, _ in programs} == allowed_programs()
    assert {"ok", "assertion", "error", "timeout"} <= {reason for _, reason in programs}


def test_every_path_of_the_algorithm_is_on_disk(at):
    """Path of the label, last roles, and whether each execution was executable, for a pair of each path."""
    wanted = {
        "empty-file/2": ("screened", ["screener"], []),
        "emails/2": ("tested", ["executor", "arbiter"], [True]),
        "days-between/3": ("repaired", ["repair", "executor", "arbiter"], [False, True]),
        "slug/2": ("repaired", ["repair", "bug_fixer", "repair", "executor", "arbiter"], [False, True]),
        "json-dates/4": ("corrected", ["test_correction", "executor", "arbiter"], [True, True]),
        "newest-file/2": ("corrected", ["test_correction", "executor", "arbiter"], [False, True]),
        "slug/5": ("untested", ["test_correction", "bug_fixer", "arbiter"], [False]),
        "json-dates/3": ("untested", ["executor", "arbiter"], [False]),
    }
    execution, verdict, item, step = map(table_of, (ExecutionRow, VerdictRow, Item, StepRow))
    with Workspace.open(at) as workspace, workspace.reading() as connection:
        for name, (path, roles, executable) in wanted.items():
            number = connection.execute(select(item.c.id).where(item.c.external_id == name)).scalar_one()
            steps = connection.execute(
                select(step.c.role, step.c.reply).where(step.c.item_id == number).order_by(step.c.id)
            ).all()
            runs = connection.execute(
                select(execution.c.executable, execution.c.packages)
                .where(execution.c.item_id == number)
                .order_by(execution.c.id)
            ).all()
            found = connection.execute(select(verdict.c.path).where(verdict.c.item_id == number)).scalar_one()
            assert (found, [row.role for row in steps][-len(roles) :]) == (path, roles), name
            assert [row.executable for row in runs] == executable, name
            if path == "repaired":
                last = [json.loads(row.reply) for row in steps if row.role == "repair"][-1]
                assert "Successfully installed" in last["output"], "it was really installed"
                assert "Looking in links: /opt/wheels" in last["output"]
                assert runs[-1].packages in ("sample_dates==1.0", "sample_transliteration==1.0")


def test_the_funnel_and_the_tables_of_answers_are_shown_offline(workbench, at):
    funnel = workbench("report", at, "collection").out
    for condition in ("points to another issue", "unsuitable", "no solution"):
        assert condition in funnel
    tables = workbench("report", at, "answers").out
    for title in ("Table III", "Table IV", "Table VI", "Figure 5", "Figure 6"):
        assert title in tables


def test_without_a_terminal_it_says_so_and_does_the_same_again(workbench, at):
    done = workbench("demo", "--at", at)
    assert done.code == 0
    assert done.says("No terminal")
    assert "nothing to do" in done.out
    assert NOTICE in done.out
    assert "77 of 85" in done.out
    assert "85 pairs, 12 completions, 14 repository questions and 12 comparisons" in done.out


def test_fresh_begins_anew(workbench, at):
    workbench("judge", at, "empty-file/1", "1", "--rater", "dana")
    assert workbench("report", at, "--rater", "dana", "--json").json()["judged"] == 1
    facts = workbench("demo", "--headless", "--fresh", "--at", at, "--json").json()
    assert facts["labelled"] == facts["items"]
    assert workbench("report", at, "--rater", "dana").code == 2
    assert not at.with_name(at.name + ".journal.jsonl").exists()


def test_without_bubblewrap_the_shipped_programs_run_as_plain_processes(workbench, in_folder, monkeypatch):
    monkeypatch.setenv("WORKBENCH_SANDBOX__BWRAP", str(in_folder / "none"))
    done = workbench("demo", "--headless", "--at", in_folder, "--json")
    facts = done.json()
    assert facts["sandbox"] == "process"
    assert facts["paths"] == {"corrected": 2, "screened": 53, "tested": 24, "untested": 6}
    assert (facts["executable"], facts["labels"]) == (26, {"0": 46, "1": 39})
    assert done.says("Plain processes install nothing")
    assert (facts["executed"], facts["failed"], facts["labelled"]) == (facts["unclear"], 0, facts["items"])


def test_a_workspace_of_something_else_is_left_alone(workbench, in_folder):
    (in_folder / "pairs.csv").write_text("id,query,code\nq1,add,x + 1\n", encoding="utf-8")
    workbench("import", "study.duckdb", "pairs.csv")
    before = (in_folder / "study.duckdb").read_bytes()
    for more in [(), ("--fresh",)]:
        done = workbench("demo", "--headless", "--at", "study.duckdb", *more, "--json")
        assert done.code == 2
        assert done.json()["error"]["title"] == "Not the demo"
    assert (in_folder / "study.duckdb").read_bytes() == before


def test_its_place_is_in_the_users_data_or_where_it_is_told(tmp_path):
    assert demo_path(None).name == "demo.duckdb"
    assert demo_path(None).parent.name == "demo"
    assert demo_path(tmp_path) == tmp_path / "demo.duckdb"
    assert demo_path(Path("x.duckdb")) == Path("x.duckdb")


def test_the_sample_is_found_in_the_checkout(sample_folder):
    assert sample.sample_folder() == sample_folder


def test_the_agents_progress_is_over_the_kind_that_they_worked_on(workbench, at):
    assert workbench("demo", "--headless", "--at", at, "--json").code == 0
    # The sample's completions and answers, on which no run has worked, do not lower it.
    assert "97 of 97 (100.0 %)" in workbench("report", at, "progress").out
