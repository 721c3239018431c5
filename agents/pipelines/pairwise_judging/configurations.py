"""The one configuration of judging models, as data."""

from __future__ import annotations

from agents.pipelines.spec import Configuration
from store.kinds.comparison import BETTER, MUCH_BETTER, MUCH_WORSE, SAME, WORSE

JUDGE = "judge"
JUDGE_SWAPPED = "judge_swapped"

CONSISTENT, INCONSISTENT = "consistent", "inconsistent"
"""The paths of verdicts: both orders have the same winner, or none; or they differ."""

LEVELS = {
    "much better": MUCH_BETTER,
    "better": BETTER,
    "equal": SAME,
    "worse": WORSE,
    "much worse": MUCH_WORSE,
}
"""The values of what a judge says of candidate A, from the view of candidate A."""

CONFIGURATIONS = (
    Configuration(
        "both-orders",
        "both-orders",
        "A judge says in five levels which of two candidates is better, asked once in each order.",
        {JUDGE: "judge", JUDGE_SWAPPED: "judge"},
        asks_as={JUDGE_SWAPPED: JUDGE},
    ),
)
