"""Models judge comparisons in both orders: what they are asked, what is kept of it, and what it is in reports."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress

import pytest
from loopback_models import LoopbackModels, Refusal, Slow
from small_workspace import rows

from store.kinds.comparison import AS_LISTED, SWAPPED
from store.tables.responses import ResponseRef
from store.tables.runs import StepRow, VerdictRow
from store.workspace.duckdb import Workspace

SETS = ("zebra-set", "heron-set")
"""Names of sets that no request may hold."""

BLOCK = re.compile(r"----- begin (\w+) \w+ -----\n(.*?)\n----- end \1", re.S)


def opposite(level):
    """The other candidate's level."""
    return {"better": "worse", "worse": "better"}.get(
        level, f"much {opposite(level[5:])}" if "much" in level else level
    )


def places(seen):
    """What stands in the places of a request."""
    return dict(BLOCK.findall(seen.text))


@pytest.fixture
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
        if not isinstance(level, str) or level.startswith("{"):
            return level
        return {"reason": f"good is {level}", "verdict": level if is_a else opposite(level)}

    return script


COMMAND = ("--model", "openai:judge-1", "--concurrency", "1", "--json")


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
    # A left winner of 12 verdicts: comparison 4 has two, each of 1, 2, 5 and 6 one.
    (rate,) = report["win_rate"]["pairs"]
    assert rate["first"] == "heron-set"
    assert (rate["sign_test"]["wins"], rate["sign_test"]["losses"], rate["sign_test"]["ties"]) == (1, 2, 3)
    (run,) = workbench("report", comparisons, "pipeline", "--json").json()["runs"]
    assert run["both_orders"] == position["matrix"]
    assert "same in both orders" in workbench("report", comparisons, "pipeline").out
    assert "both-orders/openai:judge-1" in workbench("report", comparisons, "preference").out
