"""The agents' turns in words: what was executed, what a repair did and left, and what failed."""

import pytest

from screens.items.steps import describe_steps
from store.queries.agent_case import StepView

COUNTS = {"passed": 0, "failed": 0, "errors": 0, "not_discriminating": 0, "flaky": 0}
SNAPSHOT = "1d708bebd9a3" + "0" * 52


def told(role, reply, error=""):
    outcome = "failed" if error and role != "repair" else "ok"
    step = StepView(role, 0, outcome, reply, error, "bubblewrap", 0, 0, None, 1.5, from_cache=False)
    return [line.strip() for line in describe_steps((step,)).split("\n")[2:]]


def test_an_execution_is_told_in_two_or_three_lines():
    missing = {"execution": "x", "exit_reason": "error", "executable": False, **COUNTS}
    missing |= {
        "environment_error": "ModuleNotFoundError: No module named 'yaml'",
        "errors": 4,
        "snapshot": "",
    }
    assert told("executor", missing) == [
        "ended: error · 0 of 4 passed · ! 4 errors",
        "! not executable: ModuleNotFoundError: No module named 'yaml'",
    ]
    repaired = {
        "exit_reason": "assertion",
        "executable": True,
        **COUNTS,
        "passed": 2,
        "failed": 1,
        "flaky": 1,
        "not_discriminating": 1,
    }
    repaired |= {"snapshot": SNAPSHOT}
    assert told("executor", repaired) == [
        "ended: assertion · ✓ 2 of 3 passed · ✗ 1 failed · ~ 1 does not discriminate · 1 flaky",
        "in the snapshot 1d708bebd9a3",
    ]
    in_part = {**repaired, "exit_reason": "error", "passed": 2, "failed": 0, "errors": 1, "snapshot": ""}
    in_part |= {
        "flaky": 0,
        "not_discriminating": 0,
        "environment_error": "NameError: name 'np' is not defined",
    }
    assert told("executor", in_part) == [
        "ended: error · ✓ 2 of 3 passed · ! 1 error",
        "a test without a result: NameError: name 'np' is not defined",
    ]
    assert told("executor", {}, "Needs a sandbox: none") == ["! failed: Needs a sandbox: none"]


@pytest.mark.parametrize(
    ("reply", "error", "lines"),
    [
        (
            {
                "repair": "install",
                "packages": ["PyYAML"],
                "output": "$ pip install PyYAML\nDone",
                "snapshot": SNAPSHOT,
            },
            "",
            [
                "install: PyYAML",
                "│ $ pip install PyYAML",
                "│ Done",
                "done; it left the snapshot 1d708bebd9a3",
            ],
        ),
        (
            {"repair": "commands", "commands": ["a", "b"], "output": "$ a\nno", "snapshot": ""},
            "exit status 1: no",
            ["│ $ a", "│ no", "! failed: exit status 1: no"],
        ),
        (
            {"repair": "commands", "commands": ["a", "b"], "output": "(made before)", "snapshot": SNAPSHOT},
            "",
            ["$ a", "$ b", "│ (made before)", "done; it left the snapshot 1d708bebd9a3"],
        ),
    ],
)
def test_a_repair_is_told_with_what_it_wrote_and_what_it_left(reply, error, lines):
    assert told("repair", reply, error) == lines


def test_a_bug_fixer_s_commands_stand_in_a_line_each():
    assert told("bug_fixer", {"explanation": "why", "commands": ["a", "b\nc"]}) == [
        "explanation: why",
        "$ a",
        "$ b",
        "$ c",
    ]
    assert told("bug_fixer", {"explanation": "why", "commands": []})[-1] == "no command would help"


def turn(role, tokens, money, seconds=1.25, *, kept=False):
    return StepView(role, 0, "ok", {}, "", "m", tokens, tokens // 10, money, seconds, from_cache=kept)


@pytest.mark.parametrize(
    ("steps", "lines"),
    [
        (
            [turn("screener", 400, 0.0001), turn("executor", 0, None, 3.0), turn("arbiter", 1_600, 0.0005)],
            ["All 3 turns · 2,000 tokens in, 200 out · 5.50 s · $0.0006"],
        ),
        (
            [*(turn("bug_fixer", 0, 0.0, 0.0, kept=True) for _ in range(2)), turn("arbiter", 100, None)],
            [
                "All 3 turns · 100 tokens in, 10 out · 1.25 s · $0.00 and unknown costs",
                "From the cache, at no cost: 2 × Bug fixer",
            ],
        ),
        (
            [turn("screener", 0, 0.0, 0.0, kept=True), turn("arbiter", 0, 0.0, 0.0, kept=True)],
            ["All 2 turns · 0.00 s · $0.00", "From the cache, at no cost: Screener, Arbiter"],
        ),
        (
            [turn("screener", 9, None), turn("executor", 0, None)],
            ["All 2 turns · 9 tokens in, 0 out · 2.50 s · cost not known"],
        ),
        ([turn("annotator", 9, 0.1)], []),
    ],
)
def test_what_all_turns_cost_stands_first(steps, lines):
    first, _, _ = describe_steps(tuple(steps)).partition("1. ")
    assert first == ("\n".join([*lines, "", ""]) if lines else "")


def test_a_correction_shows_what_it_changed_in_the_test_writers_program():
    def step(role, program):
        reply = {"explanation": "math was missing.", "test_program": program}
        return StepView(role, 0, "ok", reply, "", "openai:m", 0, 0, None, 1.5, from_cache=False)

    before = "# %% scaffold\nimport re\n# %% tests\nassert f(1)\n"
    after = before.replace("import re", "import math")
    shown = describe_steps((step("test_writer", before), step("test_correction", after))).split("\n")
    at = next(number for number, line in enumerate(shown) if "Correction by the test writer" in line)
    assert [line.strip() for line in shown[at + 2 :]] == [
        "explanation: math was missing.",
        "test program: 5 lines, in the Test pane",
        "│ - import re",
        "│ + import math",
    ]
    assert "nothing was changed" in describe_steps(
        (step("test_writer", after), step("test_correction", after))
    )
