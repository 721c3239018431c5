"""Table VI as a researcher runs it: one command, a report of every configuration, and their traces elsewhere."""

import json

import pytest
from loopback_index import package_index_here
from loopback_models import LoopbackModels

SAMPLE = ("--sample-pairs", "6", "--seed", "4")  # leaves "spare" out
SIX = ["single", "ps-fa", "ps-tpg-fa", "ps-tpg-te-fa", "ps-tpg-sim-fa", "paper"]
CODES = {
    "plain": "def double(x):\n    return 2 * x\n",
    "works": "def twice(x):\n    return x + x\n",
    "wrong": "def plus(x):\n    return x + 2\n",
    "slip": "def root_of(x):\n    return math.sqrt(4 * x * x)\n",
    "lacks": "import workbench_greeting\n\n\ndef greet(x):\n    return workbench_greeting.WORD and 2 * x\n",
    "own": "from utils import scale\n\n\ndef scaled(x):\n    return scale(x, 2)\n",
    "spare": "def third(x):\n    return x / 3\n",
}
NAMES = {name: code.split("def ")[1].split("(")[0] for name, code in CODES.items()}


def subject(seen):
    """The pair of a request, by its function."""
    text = seen.body["messages"][-1]["content"]
    return next(name for name, function in NAMES.items() if f"def {function}(" in text)


def program(name):
    function = NAMES[name]
    return f"from candidate import {function}\n\n\ndef test_four():\n    assert {function}(4) == 8\n"


def screened(seen):
    sure = subject(seen) == "plain"
    return {"assessment": "clear_match" if sure else "unclear", "justification": "read"}


def ruled(seen):
    return {"reason": "as far as can be seen", "label": int(subject(seen) not in ("wrong", "spare", "own"))}


@pytest.fixture
def service():
    """A model that answers each role by the pair it is asked about."""
    prediction = {"executable": True, "environment_error": "", "tests": []}
    replies = {
        "AnnotatorReply": ruled,
        "ScreenerReply": screened,
        "TestWriterReply": lambda seen: {"interpretation": "twice", "test_program": program(subject(seen))},
        "TestCorrectionReply": lambda seen: {
            "explanation": "A name was missing.",
            "test_program": f"# %% scaffold\nimport math\n# %% tests\n{program(subject(seen))}",
        },
        "BugFixerReply": {"explanation": "Nothing can be installed.", "commands": []},
        "SimulatedExecutorReply": prediction,
        "ArbiterReply": ruled,
    }
    with LoopbackModels(replies=replies) as server:
        yield server


@pytest.fixture
def study(workbench, in_folder, monkeypatch, service):
    """A workspace of seven pairs with an expert's labels, and a configuration that leads to the service."""
    pairs = [{"id": name, "query": "double a number", "code": code} for name, code in CODES.items()]
    (in_folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    labels = [
        {"item": name, "rater": "expert", "value": int(name not in ("wrong", "spare"))} for name in CODES
    ]
    (in_folder / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    (in_folder / "study.toml").write_text(
        f'[models]\nopenai_base_url = "{service.openai_url}"\nopenai_api_key = "{service.key}"\n'
        f'[agents]\nsandbox = "bubblewrap"\n[sandbox]\nsnapshots = "{in_folder / "snapshots"}"\n'
    )
    monkeypatch.setenv("WORKBENCH_CONFIG", str(in_folder / "study.toml"))
    assert workbench("import", "study.duckdb", "pairs.jsonl").code == 0
    assert workbench("import", "study.duckdb", "labels.jsonl").code == 0
    with package_index_here(monkeypatch):
        yield in_folder / "study.duckdb"


def test_configurations_over_one_sample_are_compared_and_their_traces_read_elsewhere(
    workbench, study, in_folder, service
):
    # One command, over one sample of the pairs.
    names = ["full", *SIX]
    asked = [part for name in names for part in ("--agents", name)]
    command = ("annotate", study, "--model", "openai:m", *asked, *SAMPLE, "--json")
    jobs = workbench(*command).json()["runs"]
    assert [job["configuration"] for job in jobs] == names
    assert {(job["state"], job["items"], job["labelled"], job["failed"]) for job in jobs} == {
        ("done", 6, 6, 0)
    }
    requests = len(service.requests)

    # The sample is the same for all: the pairs that are listed with the same options.
    listed = workbench("items", study, *SAMPLE, "--json").json()
    sample = {item["item"] for item in listed["items"]}
    assert listed["runs"]["pair"].startswith("ps-tpg-te-bf-tc-fa/")

    # A row for each configuration: what was executed, repaired, corrected.
    figures = {run["id"]: run for run in workbench("report", study, "pipeline", "--json").json()["runs"]}
    paths = {job["configuration"]: figures[job["run"]]["paths"] for job in jobs}
    unclear = len(sample - {"plain"})
    assert paths == {
        "single": {"read": 6},
        "ps-fa": {"screened": 6 - unclear, "read": unclear},
        "ps-tpg-fa": {"screened": 6 - unclear, "read": unclear},
        "ps-tpg-te-fa": {"screened": 6 - unclear, "tested": 2, "untested": unclear - 2},
        "ps-tpg-sim-fa": {"screened": 6 - unclear, "simulated": unclear},
        "paper": {"screened": 6 - unclear, "tested": 2, "untested": unclear - 3, "repaired": 1},
        "full": {
            "screened": 6 - unclear,
            **{"tested": 2, "untested": unclear - 4, "repaired": 1, "corrected": 1},
        },
    }
    executable = {job["configuration"]: figures[job["run"]]["executable"] for job in jobs}
    assert executable["full"] == executable["paper"] + 1 == executable["ps-tpg-te-fa"] + 2

    # Table VI: each configuration's accuracy against the expert, and its executable rate.
    against = ("report", study, "accuracy", "--policy", "expert", "--json")
    table = {row["rater"]: row for row in workbench(*against).json()["raters"]}
    pairs = workbench("report", study, "agreement", "--rater", "expert", "--json").json()["by_pair"]
    agreed = {name: pair["percent"] for pair in pairs for name in pair["raters"]}
    for job in jobs:
        run = figures[job["run"]]
        row = table[run["run"]]
        assert (row["n"], row["coverage"]) == (6, 1)
        assert row["accuracy"] == pytest.approx(agreed[run["run"]] / 100)
        rate = run["executable"] / run["executed"] if run["executed"] else None
        assert row["executable_rate"] == rate
    name_of = {job["configuration"]: figures[job["run"]]["run"] for job in jobs}
    rates = [table[name_of[name]]["executable_rate"] for name in ("full", "paper", "ps-tpg-te-fa")]
    assert rates == sorted(set(rates), reverse=True)
    both = f"{name_of['full']},{name_of['single']}"
    (test,) = workbench(*against, "--compare", both).json()["comparisons"]
    assert (test["n"], test["test"], test["adjusted"]) == (6, "sign-flip", test["p_value"])

    # Strata are those of the run that is named, or else of the one that is shown.
    strata = {
        run: workbench("items", study, *SAMPLE, "--stratify", "path", *run, "--json").json()["strata"]
        for run in ((), ("--run", "single"))
    }
    assert {one["stratum"] for one in strata[("--run", "single")]} == {"read", "none"}
    assert {one["stratum"] for one in strata[()]} == {*paths["full"], "none"}

    # Each run's traces, in a file of its own; without a name those of the run that is shown.
    shown = workbench("export", study, "shown.jsonl", "--format", "traces", "--json").json()
    assert shown["rater"] == listed["runs"]["pair"]
    files = []
    for run in figures.values():
        name = run["run"]
        files.append(f"{name.replace('/', '_')}.jsonl")
        done = workbench("export", study, files[-1], "--format", "traces", "--run", name, "--json").json()
        assert (done["records"], done["rater"]) == (6, name)
        traces = [json.loads(line) for line in (in_folder / files[-1]).read_text().splitlines()]
        assert {trace["item"] for trace in traces} == sample
        assert sum(step["tokens_in"] for trace in traces for step in trace["steps"]) == run["tokens_in"]

    # In another workspace they are the same runs, with the same figures and the same agreement.
    elsewhere = in_folder / "elsewhere.duckdb"
    assert workbench("import", elsewhere, *files).code == 0
    assert (
        workbench("export", study, "expert.csv", "--format", "labels", "--rater", "expert", *SAMPLE).code == 0
    )
    assert workbench("import", elsewhere, "expert.csv").code == 0
    same = {run["id"]: run for run in workbench("report", elsewhere, "pipeline", "--json").json()["runs"]}
    assert same == figures
    here, there = (
        workbench("report", path, "agreement", "--rater", "expert", "--json").json()["by_pair"]
        for path in (study, elsewhere)
    )
    assert [(pair["units"], pair["dropped_units"]) for pair in here] == [(6, 1)] * 7
    assert [{**pair, "dropped_units": 1} for pair in there] == here

    # They go on there without asking anything twice.
    again = workbench("annotate", elsewhere, *command[2:]).json()["runs"]
    assert [job["labelled"] for job in again] == [6] * 7
    assert len(service.requests) == requests
