"""The one configuration of judging models, as data."""

from __future__ import annotations

from agents.pipelines.spec import Configuration

JUDGE = "judge"
JUDGE_SWAPPED = "judge_swapped"

CONSISTENT, INCONSISTENT = "consistent", "inconsistent"
"""The paths of verdicts: both orders have the same winner, or none; or they differ."""

CONFIGURATIONS = (
    Configuration(
        "both-orders",
        "both-orders",
        "A judge says in five levels which of two candidates is better, asked once in each order.",
        {JUDGE: "judge", JUDGE_SWAPPED: "judge"},
        asks_as={JUDGE_SWAPPED: JUDGE},
    ),
)
