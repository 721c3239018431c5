"""What a run of the agents came to: the figures of `workbench report pipeline`, with their grounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class RepairTries:
    """How many repairs of one kind were made, and how many of them worked."""

    made: int = 0
    worked: int = 0


@dataclass(frozen=True, slots=True)
class Repairs:
    """What became of the programs that the bug fixer took up (CoSQA+, section IV.C).

    Attributes:
        programs: Pairs whose program was repaired, or left to the model to repair.
        installed: Those executable in the end after nothing but direct installations.
        by_model: Those executable in the end after commands of the model.
        given_up: Those that were ruled on although their program never became executable.
        installations: Every direct installation.
        commands: Every set of commands of the model.
    """

    programs: int
    installed: int
    by_model: int
    given_up: int
    installations: RepairTries
    commands: RepairTries

    @property
    def unfinished(self) -> int:
        """Those that are neither executable nor ruled on."""
        return self.programs - self.installed - self.by_model - self.given_up


@dataclass(frozen=True, slots=True)
class StageSeconds:
    """One role's turns on the pairs of a class: how many, on how many pairs, and their seconds in all."""

    steps: int
    pairs: int
    total: float

    def to_dict(self) -> dict[str, Any]:
        """Return it with the mean of the pairs that the role worked on."""
        return asdict(self) | {"mean": _share(self.total, self.pairs)}


@dataclass(frozen=True, slots=True)
class PairSeconds:
    """How long the agents' turns on the pairs of a class took.

    Attributes:
        pairs: How many pairs.
        total: Seconds of all turns on them.
        median: Of a pair's seconds.
        longest: Of a pair's seconds.
        stages: By role, in the order in which the roles come.
    """

    pairs: int = 0
    total: float = 0.0
    median: float | None = None
    longest: float | None = None
    stages: Mapping[str, StageSeconds] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        """Seconds of a pair, on average; None without pairs."""
        return _share(self.total, self.pairs)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return {
            "pairs": self.pairs,
            "total": self.total,
            "mean": self.mean,
            "median": self.median,
            "longest": self.longest,
            "stages": {role: stage.to_dict() for role, stage in self.stages.items()},
        }


@dataclass(frozen=True, slots=True)
class TableTwo:
    """What CoSQA+ says of its data in Table II, of the pairs that a run has labelled.

    Attributes:
        pairs: Pairs with a verdict of the run.
        codes: Different codes among them.
        code_mean_length: Characters of a code, on average, each code counted once; None without codes.
    """

    pairs: int
    codes: int
    code_mean_length: float | None


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The figures of one run, which is one configuration over some pairs.

    Attributes:
        run: The run's name.
        id: Its key.
        state: How it stands.
        model: The model's name.
        configuration: What tells it from other runs.
        total: How many pairs it is to cover.
        started_at: When it began.
        ended_at: When it ended last; None while it is at work, or where it was killed.
        pairs: Pairs that an agent of the run has worked on. Each is labelled, failed, waiting or unfinished.
        labelled: Those with a verdict.
        labels: Verdicts by value.
        paths: Verdicts by how they came about.
        failed: Pairs without a verdict whose last step failed.
        failed_by_reason: The same by the title of what went wrong, the most frequent first.
        needs_sandbox: Pairs without a verdict that wait for a sandbox.
        unfinished: Pairs without a verdict whose last step did not fail.
        clear_match: Pairs that the screener found a clear match; likewise the next two.
        clear_nonmatch: See `clear_match`.
        unclear: See `clear_match`.
        executed: Pairs whose test program was run.
        executable: Those of them whose last execution did its work.
        counted_programs: Those of these whose tests have names, so that they can be counted.
        mean_test_cases: Tests of such a program, on average; None without one.
        repairs: What the bug fixer did.
        steps: Turns taken, failed ones included.
        requests: Requests sent to models.
        tokens_in: Input tokens; as the next two, over all steps.
        tokens_out: Output tokens.
        tokens_cached: Input tokens that the service had in its cache.
        cost: Dollars of all steps with a price; None where a model was asked and no step has one.
        cost_per_pair: Dollars of a pair all of whose steps have a price, on average; None without one, and
            where `cost` is None.
        unpriced_steps: Steps that asked a model at no known price.
        unpriced_pairs: Pairs with such a step, which `cost_per_pair` leaves out.
        from_cache: Steps that a reply from the workspace answered: at no cost, and in no time.
        cost_from_cache: Dollars that these replies cost when they came; None where that is not known of all.
        seconds: Of clear, unclear and unscreened pairs.
        table_two: The figures of Table II that are about the data.
    """

    run: str
    id: UUID
    state: str
    model: str
    configuration: Mapping[str, Any]
    total: int
    started_at: datetime
    ended_at: datetime | None
    pairs: int
    labelled: int
    labels: Mapping[float, int]
    paths: Mapping[str, int]
    failed: int
    failed_by_reason: Mapping[str, int]
    needs_sandbox: int
    unfinished: int
    clear_match: int
    clear_nonmatch: int
    unclear: int
    executed: int
    executable: int
    counted_programs: int
    mean_test_cases: float | None
    repairs: Repairs
    steps: int
    requests: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost: float | None
    cost_per_pair: float | None
    unpriced_steps: int
    unpriced_pairs: int
    from_cache: int
    cost_from_cache: float | None
    seconds: Mapping[str, PairSeconds]
    table_two: TableTwo

    @property
    def screened(self) -> int:
        """Pairs that the screener assessed."""
        return self.clear_match + self.clear_nonmatch + self.unclear

    @property
    def unclear_share(self) -> float | None:
        """The share of the screened pairs that were unclear; None when none was screened."""
        return _share(self.unclear, self.screened)

    @property
    def executable_rate(self) -> float | None:
        """The share of the executed programs that did their work ("Exec. rate"); None when none was run."""
        return _share(self.executable, self.executed)

    def to_dict(self, *, blind: bool = False) -> dict[str, Any]:
        """Return the figures as JSON-able fields.

        Args:
            blind: Leave out labels and assessments, and what tells of them: a run may have one item only.
        """
        told = asdict(self)
        if blind:
            return {name: told[name] for name in BLIND_FIGURES}
        del told["table_two"], told["seconds"]
        return {
            **told,
            "labels": {f"{value:g}": count for value, count in self.labels.items()},
            "screened": self.screened,
            "unclear_share": self.unclear_share,
            "executable_rate": self.executable_rate,
            "repairs": {**told["repairs"], "unfinished": self.repairs.unfinished},
            "seconds_by_stage": {name: seconds.to_dict() for name, seconds in self.seconds.items()},
            "table_2": {
                **asdict(self.table_two),
                "mean_test_cases": self.mean_test_cases,
                "executable_rate": self.executable_rate,
            },
        }


BLIND_FIGURES = (
    *("run", "id", "state", "model", "configuration", "total", "started_at", "ended_at", "pairs"),
    *("labelled", "failed", "failed_by_reason", "needs_sandbox", "unfinished", "requests"),
    *(
        "tokens_in",
        "tokens_out",
        "tokens_cached",
        "cost",
        "cost_per_pair",
        "unpriced_pairs",
        "cost_from_cache",
    ),
)
"""The figures that a blind review shows: progress, failures and cost."""


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
