"""The configurations of Table VI of CoSQA+: which agents take part in labelling a pair, as data.

What a configuration lacks is taken away and nothing else is changed: a screener asks in the same words
whatever comes after it, so that its replies serve all of them. The arbiter gets the findings and
nothing more (Algorithm 1, line 16: query, code, test program, result), by a prompt for each case.
"""

from __future__ import annotations

from agents.pipelines.spec import Configuration

ANNOTATOR = "annotator"
SCREENER = "screener"
TEST_WRITER = "test_writer"
EXECUTOR = "executor"
TEST_CORRECTION = "test_correction"
SIMULATOR = "simulated_executor"
BUG_FIXER = "bug_fixer"
REPAIR = "repair"  # as in `store.queries.expert_runs`
ARBITER = "arbiter"

_SCREENED = {SCREENER: "screener"}
_WRITTEN = {**_SCREENED, TEST_WRITER: "test_writer"}

CONFIGURATIONS = (
    Configuration(
        "single",
        "single",
        "One model, asked once: it reads query and code, and says match or no match.",
        {ANNOTATOR: "annotator"},
    ),
    Configuration(
        "ps-fa",
        "ps-fa",
        "A screener labels what is clear; the arbiter reads the rest and rules. No test is written.",
        {**_SCREENED, ARBITER: "arbiter_reading"},
    ),
    Configuration(
        "ps-tpg-fa",
        "ps-tpg-fa",
        "As ps-fa, with a test program for what is unclear. It is not run: the arbiter only reads it.",
        {**_WRITTEN, ARBITER: "arbiter_unrun"},
    ),
    Configuration(
        "ps-tpg-te-fa",
        "ps-tpg-te-fa",
        "As ps-tpg-fa, and the test program is executed once, in a sandbox; nothing is repaired.",
        {**_WRITTEN, ARBITER: "arbiter"},
        executes=True,
    ),
    Configuration(
        "ps-tpg-sim-fa",
        "ps-tpg-sim-fa",
        "As ps-tpg-fa, and a model predicts what the test program would do. Nothing is executed.",
        {**_WRITTEN, SIMULATOR: "simulated_executor", ARBITER: "arbiter_simulated"},
    ),
    Configuration(
        "paper",
        "ps-tpg-te-bf-fa",
        "All agents of the paper: what is unclear is tested in a sandbox, and a bug fixer repairs what it "
        "lacks there.",
        {**_WRITTEN, BUG_FIXER: "bug_fixer", ARBITER: "arbiter"},
        executes=True,
        repairer=BUG_FIXER,
    ),
    Configuration(
        "full",
        "ps-tpg-te-bf-tc-fa",
        "As paper, and the test writer may once correct a name, an import or a syntax error of its own.",
        {**_WRITTEN, BUG_FIXER: "bug_fixer", TEST_CORRECTION: "test_correction", ARBITER: "arbiter"},
        executes=True,
        repairer=BUG_FIXER,
        asks_as={TEST_CORRECTION: TEST_WRITER},
    ),
)
"""In the order of Table VI, and then our own; the fullest last."""
