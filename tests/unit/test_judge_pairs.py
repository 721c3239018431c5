"""Models judge comparisons in both orders: what they are asked, what is kept of it, and what it is in reports."""

import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter

import duckdb
import pytest
from loopback_models import LoopbackModels, Refusal, Slow
from made_once import built_once
from small_workspace import rows

from store.kinds.comparison import AS_LISTED, SWAPPED
from store.tables.responses import ResponseRef
from store.tables.runs import StepRow, VerdictRow
from store.workspace.duckdb import Workspace

SETS = ("zebra-set", "heron-set")
"""Names of sets that no request may hold."""

BLOCK = re.compile(r"----- begin (\w+) \w+ -----\n(.*?)\n----- end \1", re.S)


LEVELS = ("much better", "better", "equal", "worse", "much worse")


def opposite(level):
    """What the other candidate is."""
    return LEVELS[-1 - LEVELS.index(level)]


def places(seen):
    """What stands in the places of a request."""
    return dict(BLOCK.findall(seen.text))


@built_once
def comparisons(workbench, in_folder):
    """Six comparisons, each of a good and a bad code; the first has a reference answer."""
    lines = [
        {
            "id": f"c{number}",
            "prompt": f"query {number}",
            "first": f"good_{number}()",
            "second": f"bad_{number}()",
            "first_name": SETS[0],
            "second_name": SETS[1],
            "about": "codes",
            **({"reference": "the_reference()"} if number == 1 else {}),
        }
        for number in range(1, 7)
    ]
    (in_folder / "c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert workbench("import", "w.duckdb", "c.jsonl", "--format", "comparisons").code == 0
    return in_folder / "w.duckdb"


@pytest.fixture
def served(monkeypatch):
    """A service whose judge finds the good code better, unless a test says otherwise."""
    with LoopbackModels() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        yield server


def judge(level_of_good):
    """A script: the level of the good code by the number of the comparison and whether it is A."""

    def script(seen, _number):
        said = places(seen)
        is_a = said["candidate_a"].startswith("good")
        level = level_of_good(int(said["prompt"].split()[1]), is_a)
        if level not in LEVELS:
            return level
        return {"reason": f"good is {level}", "verdict": level if is_a else opposite(level)}

    return script


COMMAND = ("--model", "openai:judge-1", "--concurrency", "1", "--json")


def test_accuracy_before_and_after_a_verdict_is_of_the_same_order_as_the_true_labels(
    workbench, comparisons, served
):
    served.script = judge(lambda number, is_a: "better" if number % 2 else "worse")
    assert workbench("judge-pairs", comparisons, *COMMAND).code == 0
    with open("gold.csv", "w") as file:
        file.write("item,kind,rater,value,of\n")
        file.writelines(f"c{number},comparison,gold,1,{SETS[0]}\n" for number in range(1, 7))
    assert workbench("import", comparisons, "gold.csv").code == 0
    with Workspace.open(comparisons) as workspace, workspace.native() as cursor:
        assert cursor.execute("SELECT DISTINCT file_order FROM comparison").fetchall() != [("as-listed",)]
        cursor.execute("INSERT INTO rater VALUES (99, 'human', 'dana', '', now())")
        # Dana finds the good code better, and follows the judge once its verdict is shown.
        for value, shown in (("if(first LIKE 'good%', 1, -1)", "NULL"), ("v.value", "v.id")):
            cursor.execute(
                "INSERT INTO judgment BY NAME SELECT uuidv7() AS id, uuidv7() AS action, c.item_id, v.question_id, "
                f"99 AS rater_id, 'review' AS phase, {value} AS value, 'independent' AS origin, {shown} AS shown_verdict, "
                "false AS blind, '' AS reason, '' AS comment, '[]' AS evidence, now() AS created_at "
                "FROM comparison c JOIN verdict v ON v.item_id = c.item_id AND v.response_ref_id IS NULL"
            )
    asked = (
        "--question",
        "comparison.preference",
        "--policy",
        "gold",
        "--raters",
        "dana",
        "--bootstrap",
        "0",
    )
    (row,) = workbench("report", comparisons, "accuracy", *asked, "--json").json()["raters"]
    found = row["anchoring"]
    assert (found["n"], found["differed"], found["switched_to_wrong"], found["switched_to_right"]) == (
        6,
        3,
        3,
        0,
    )
    assert (found["blind_accuracy"], found["revealed_accuracy"]) == (1.0, 0.5)


def test_labels_of_a_judge_are_exported_without_those_of_one_order_and_imported(
    workbench, comparisons, served
):
    served.script = judge(lambda number, is_a: "better" if number % 2 else "much worse")
    run = workbench("judge-pairs", comparisons, *COMMAND).json()["run"]
    done = workbench("export", comparisons, "run.csv", "--format", "labels", "--run", run)
    assert "6 labels" in done.out
    assert workbench("import", "elsewhere.duckdb", "c.jsonl", "run.csv").code == 0
    with duckdb.connect("elsewhere.duckdb") as connection:
        found = connection.execute(
            "SELECT CASE WHEN value > 0 THEN c.first_name ELSE c.second_name END, abs(value) "
            "FROM judgment JOIN comparison c USING (item_id) ORDER BY item_id"
        ).fetchall()
    assert found == [(SETS[0], 1), (SETS[1], 2)] * 3


def test_both_orders_are_asked_and_combined_to_one_verdict(workbench, comparisons, served):
    levels = {
        1: ("much better", "better"),  # the milder one
        2: ("worse", "much worse"),
        3: ("equal", "equal"),
        4: ("better", "worse"),  # whatever is A
        5: ("much better", "equal"),
        6: ("better", "better"),
    }
    served.script = judge(lambda number, is_a: levels[number][0 if is_a else 1])
    done = workbench("judge-pairs", comparisons, *COMMAND)
    assert done.code == 0, done.out + done.err
    found = done.json()
    assert (found["labelled"], found["consistent"], found["inconsistent"]) == (6, 4, 2)
    assert sum(found["labels"].values()) == 6

    asked = Counter()
    for seen in served.requests:
        said = places(seen)
        number = said["prompt"].split()[1]
        codes = said["candidate_a"], said["candidate_b"]
        assert sorted(codes) == [f"bad_{number}()", f"good_{number}()"]
        assert (said["reference"], said["about"]) == ("the_reference()" if number == "1" else "none", "codes")
        assert not any(name in json.dumps(seen.body) for name in SETS)
        asked[codes] += 1
    assert (len(asked), set(asked.values())) == (12, {1})

    with Workspace.open(comparisons) as workspace:
        refs = {row["id"]: row["model"] for row in rows(workspace, ResponseRef)}
        assert Counter(refs.values()) == {AS_LISTED: 6, SWAPPED: 6}
        with workspace.reading() as connection:
            texts = connection.exec_driver_sql("SELECT item_id, first FROM comparison").fetchall()
        sign = {item: 1 if first.startswith("good") else -1 for item, first in texts}
        number_of = {item: int(re.findall(r"\d", first)[0]) for item, first in texts}
        of_good = {
            (number_of[row["item_id"]], refs.get(row["response_ref_id"], "")): (
                sign[row["item_id"]] * row["value"],
                row["path"],
            )
            for row in rows(workspace, VerdictRow)
        }
        steps = rows(workspace, StepRow)
    assert {number: of_good[number, ""] for number in levels} == {
        1: (1, "consistent"),
        2: (-1, "consistent"),
        3: (0, "consistent"),
        4: (0, "inconsistent"),
        5: (0, "inconsistent"),
        6: (1, "consistent"),
    }
    value = {"much better": 2, "better": 1, "equal": 0, "worse": -1, "much worse": -2}
    for number, both in levels.items():
        listed_first = next(sign[item] for item, n in number_of.items() if n == number)
        as_listed, swapped = both if listed_first > 0 else both[::-1]
        assert of_good[number, AS_LISTED][0] == value[as_listed]
        assert of_good[number, SWAPPED][0] == value[swapped]
    kept = Counter((step["role"], json.loads(step["reply"])["reason"][:7]) for step in steps)
    assert kept == {("judge", "good is"): 6, ("judge_swapped", "good is"): 6}

    # The run is a rater of the report, with its verdicts in both orders.
    report = workbench("report", comparisons, "preference", "--json").json()
    (position,) = report["position"]
    assert (position["group"], position["both_orders"]) == ("judges", 6)
    assert sum(map(sum, position["matrix"])) == 6
    assert position["consistency"] == pytest.approx(4 / 6)
    # Comparison 4 has a winner on the left in both orders; 5 in one, and none in the other.
    assert (position["judgments"], position["share_left"]) == (9, pytest.approx(6 / 9))
    (rate,) = report["win_rate"]["pairs"]
    assert rate["first"] == "heron-set"
    assert (rate["sign_test"]["wins"], rate["sign_test"]["losses"], rate["sign_test"]["ties"]) == (1, 2, 3)
    (run,) = workbench("report", comparisons, "pipeline", "--json").json()["runs"]
    assert run["both_orders"] == position["matrix"]
    assert "same in both orders" in workbench("report", comparisons, "pipeline").out
    assert "both-orders/openai:judge-1" in workbench("report", comparisons, "preference").out


def test_a_run_that_was_killed_goes_on_where_it_was(workbench, comparisons, served):
    command = [sys.executable, "-m", "workbench", "judge-pairs", str(comparisons), *COMMAND]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    ) as process:
        reached = threading.Event()

        def script(seen, number):
            if number < 4:
                return {"reason": "so", "verdict": "equal"}
            reached.set()
            return Slow(60)

        served.script = script
        assert reached.wait(60), process.communicate()
        process.kill()
    served.script = lambda *_: {"reason": "so", "verdict": "equal"}
    done = workbench("judge-pairs", comparisons, *COMMAND).json()
    assert (done["labelled"], done["consistent"]) == (6, 6)
    asked = Counter((places(seen)["candidate_a"], places(seen)["candidate_b"]) for seen in served.requests)
    # The one that had no reply was asked again, and no other.
    assert (len(asked), sorted(asked.values())[-2:], sum(asked.values())) == (12, [1, 2], 13)


def test_a_budget_ends_it_between_two_orders_and_more_of_it_goes_on(workbench, comparisons, served):
    served.script = judge(lambda *_: "better")
    ended = workbench("judge-pairs", comparisons, *COMMAND, "--budget-requests", 3)
    assert (ended.code, ended.json()["labelled"], len(served.requests)) == (3, 1, 3)
    assert ended.json()["budget_reached"]["budget"] == "requests"
    estimate = workbench("judge-pairs", comparisons, *COMMAND, "--estimate").json()
    assert (estimate["pairs"], estimate["configuration"]) == (5, "both-orders")
    assert {role["role"]: role["questions"] for role in estimate["roles"]} == {"judge": 4, "judge_swapped": 5}
    (first,) = workbench("items", comparisons, "--limit", 1, "--json").json()["items"]
    file = comparisons.with_name("items.txt")
    file.write_text(f"{first['item']}\nc3\n")
    some = workbench("annotate", comparisons, *COMMAND, "--kind", "comparison", "--items", file).json()
    assert (some["labelled"], some["run"]) == (2, ended.json()["run"])
    done = workbench("annotate", comparisons, *COMMAND, "--agents", "both-orders").json()
    assert (done["labelled"], len(served.requests)) == (6, 12)
    refused = workbench("annotate", comparisons, *COMMAND, "--kind", "comparison", "--agents", "single")
    assert "both-orders" in refused.json()["error"]["hint"]


def test_replies_that_are_no_verdicts_fail_their_item_alone(workbench, comparisons, served):
    wrong = {
        1: "I prefer the first one.",
        2: {"reason": "both are fine", "verdict": "slightly better"},
        3: Refusal(),
        4: {"verdict": "better"},
    }

    asked = Counter()

    def level(number, _is_a):
        asked[number] += 1
        # The second order fails, and what is asked then once more.
        return wrong[number] if number in wrong and asked[number] > 1 else "better"

    served.script = judge(level)
    done = workbench("judge-pairs", comparisons, *COMMAND)
    found = done.json()
    assert (done.code, found["labelled"], found["failed"]) == (1, 2, 4)
    assert found["causes"] == {"malformed": 3, "refused": 1}
    (run,) = workbench("report", comparisons, "pipeline", "--json").json()["runs"]
    words = json.dumps(run["failures"])
    assert words.count("judge_swapped") == 4
    assert "Input should be 'much better', 'better', 'equal', 'worse' or 'much worse'" in words
    assert "there is no JSON object in the reply" in words
    assert "declined twice" in words
    with Workspace.open(comparisons) as workspace:
        assert len(rows(workspace, VerdictRow)) == 6
    wrong.clear()
    before = len(served.requests)
    again = workbench("judge-pairs", comparisons, *COMMAND, "--retry-failed").json()
    assert (again["labelled"], again["failed"], len(served.requests) - before) == (6, 0, 4)


def test_the_items_of_a_study_alone_are_judged_beside_its_raters(workbench, comparisons, served):
    served.script = judge(lambda *_: "better")
    file = comparisons.with_name("items.txt")
    file.write_text("c2\nc5\n")
    made = workbench(
        *("study", "new", comparisons, "rq", "--kind", "comparison", "--raters", "ana,ben", "--items", file)
    )
    assert made.code == 0, made.err
    done = workbench("judge-pairs", comparisons, *COMMAND, "--study", "rq").json()
    assert (done["labelled"], done["asked"]["study"], len(served.requests)) == (2, "rq", 4)
    assert workbench("judge-pairs", comparisons, *COMMAND, "--study", "no").code == 2
    both = workbench("judge-pairs", comparisons, *COMMAND, "--study", "rq", "--sample-pairs", 2)
    assert "exclude each other" in both.json()["error"]["message"]


def test_a_judges_traces_hold_both_orders_and_come_back(workbench, comparisons, served, in_folder):
    served.script = judge(lambda number, is_a: "better" if is_a or number > 2 else "equal")
    assert workbench("judge-pairs", comparisons, *COMMAND).code == 0
    done = workbench("export", comparisons, "run.jsonl", "--format", "traces", "--json")
    assert done.code == 0, done.err
    traces = [json.loads(line) for line in (in_folder / "run.jsonl").read_text().splitlines()]
    assert [[step["role"] for step in trace["steps"]] for trace in traces] == [["judge", "judge_swapped"]] * 6
    name = "comparison.preference"
    asked = [[verdict["question"] for verdict in trace["verdicts"]] for trace in traces]
    assert asked == [[name, f"{name}@as-listed", f"{name}@swapped"]] * 6
    # The label of a trace is that of both orders.
    assert Counter((trace["path"], abs(trace["label"])) for trace in traces) == {
        ("consistent", 1.0): 4,
        ("inconsistent", 0.0): 2,
    }
    imported = workbench("import", "other.duckdb", "run.jsonl", "--json")
    assert imported.code == 0, imported.err
    workbench("export", "other.duckdb", "again.jsonl", "--format", "traces")
    assert (in_folder / "again.jsonl").read_text() == (in_folder / "run.jsonl").read_text()
    here, there = (
        workbench("report", path, "preference", "--json").json() for path in (comparisons, "other.duckdb")
    )
    assert {**there, "workspace": ""} == {**here, "workspace": ""}
    assert "Nothing of it is new" in workbench("import", comparisons, "run.jsonl").out
    # Two verdicts on one order are not taken.
    traces[0]["verdicts"][1]["question"] = f"{name}@swapped"
    (in_folder / "bad.jsonl").write_text(json.dumps(traces[0]))
    bad = workbench("import", "fresh.duckdb", "bad.jsonl", "--json")
    assert "two verdicts on one question" in bad.json()["error"]["message"]
