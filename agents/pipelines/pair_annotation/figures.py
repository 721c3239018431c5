"""The figures of a run of Algorithm 1, for reports and for the Jobs screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agents.pipelines.pair_annotation.configurations import CONFIGURATIONS
from agents.pipelines.pair_annotation.reasons import INVALID, PYTHON_2, Reason, reason_of
from agents.pipelines.pair_annotation.run_steps import PairSeconds, pair_counts, pair_figures
from agents.pipelines.spec import FunnelLine, PipelineFigures
from store.analysis.pair_runs import PairCounts
from store.formatting import pluralize
from store.json_fields import fields_of, json_fields

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.queries.run_figures import RunFigures
    from store.tables.runs import Run

_MENDED = ("repaired", "corrected")
"""The paths of labels that rest on an execution after a repair or a correction."""

_EXECUTING = {each.pipeline for each in CONFIGURATIONS if each.executes}


def read_counts(connection: Connection, run: Run, figures: RunFigures) -> PipelineFigures:
    """Read the quick figures of a run; see `agents.pipelines.spec.AgentsPart`."""
    counts = pair_counts(connection, run.id)
    return counts_of(counts, figures, executes=run.name.partition("/")[0] in _EXECUTING)


def counts_of(counts: PairCounts, figures: RunFigures, *, executes: bool) -> PipelineFigures:
    """Return the numbers, facts and funnel of a run."""
    screened = [
        ("clear match", f"{counts.clear_match:,}"),
        ("clear non-match", f"{counts.clear_nonmatch:,}"),
        ("unclear", f"{counts.unclear:,}"),
    ]
    tested = [("executed", f"{counts.executed:,}"), ("executable", _of(counts.executable, counts.executed))]
    tested += [(path, f"{figures.paths[path]:,}") for path in _MENDED if path in figures.paths]
    return PipelineFigures(
        fields_of(
            counts,
            *("clear_match", "clear_nonmatch", "unclear", "unclear_share"),
            *("executed", "executable", "executable_rate"),
        ),
        (*(screened if counts.screened else ()), *(tested if executes or counts.executed else ())),
        funnel=tuple(_funnel(counts, figures)),
    )


def _funnel(counts: PairCounts, figures: RunFigures) -> list[FunnelLine]:
    """Return the way of a run's pairs through Algorithm 1 (CoSQA+, section IV.C).

    A run whose agents execute nothing has the way that its pairs took instead: simulated, or read.
    """
    unexecuted = [(path, figures.paths[path]) for path in ("simulated", "read") if path in figures.paths]
    if unexecuted and not counts.screened:
        return [FunnelLine(path, count) for path, count in unexecuted]
    lines = [
        FunnelLine("screened", counts.screened),
        FunnelLine("clear match", counts.clear_match, 1),
        FunnelLine("clear non-match", counts.clear_nonmatch, 1),
        FunnelLine("unclear", counts.unclear, 1),
    ]
    if unexecuted:
        return lines + [FunnelLine(path, count, 2) for path, count in unexecuted]
    silent = counts.executed - counts.executable
    ruled = max(0, figures.labelled - counts.clear_match - counts.clear_nonmatch)
    lines += [
        FunnelLine("executed", counts.executed, 2, f"{silent:,} without a result" if silent else ""),
        *(FunnelLine(path, figures.paths[path], 3) for path in _MENDED if path in figures.paths),
        FunnelLine("ruled", ruled, 3),
    ]
    return lines + ([FunnelLine("need sandbox", figures.needs_sandbox, 2)] if figures.needs_sandbox else [])


def read_report(connection: Connection, run: Run, figures: RunFigures) -> PipelineFigures:
    """Read all figures of a run; see `agents.pipelines.spec.AgentsPart`."""
    counts = pair_counts(connection, run.id)
    details = pair_figures(connection, run.id)
    repairs, table, cases = details.repairs, details.table_two, details.mean_test_cases
    ends = [
        (repairs.installed, "by installation"),
        (repairs.by_model, "by the model's commands"),
        (repairs.corrected, "by the test writer"),
        (repairs.given_up, "given up"),
        (repairs.unfinished, "unfinished"),
    ]
    assessments = [
        (counts.clear_match, "clear match"),
        (counts.clear_nonmatch, "clear non-match"),
        (counts.unclear, f"unclear ({_percent(counts.unclear_share)})"),
    ]
    reasons = not_executable(details.not_executable)
    kinds = Counter[str]()
    for reason, count in reasons.items():
        kinds[reason.kind] += count
    valid = counts.executed - kinds[PYTHON_2] - kinds[INVALID]
    silent = counts.executed - counts.executable
    length = table.code_mean_length
    mean = "" if length is None else f", {length:,.1f} characters on average"
    programs = pluralize(details.counted_programs, "program")
    screened = (counts.clear_match, counts.clear_nonmatch, counts.unclear) if counts.screened else (None,) * 3
    return PipelineFigures(
        {
            **counts_of(counts, figures, executes=False).numbers,
            "screened": counts.screened,
            "counted_programs": details.counted_programs,
            "mean_test_cases": cases,
            "valid_code": valid,
            "valid_executable_rate": counts.executable / valid if valid else None,
            "not_executable": [
                {"reason": reason.kind, "detail": reason.detail, "count": count}
                for reason, count in reasons.items()
            ],
            "repairs": {**asdict(repairs), "unfinished": repairs.unfinished},
            "seconds_by_stage": {name: json_fields(seconds) for name, seconds in details.seconds.items()},
            "table_2": {
                **asdict(table),
                "mean_test_cases": cases,
                "executable_rate": counts.executable_rate,
            },
        },
        (
            ("screened", parts(counts.screened, assessments) if counts.screened else None),
            ("different codes", f"{table.codes:,}{mean}"),
            ("executable", _of(counts.executable, counts.executed) if counts.executed else None),
            ("of Python 3", _of(counts.executable, valid) if valid < counts.executed else None),
            (
                "not executable",
                parts(silent, [(count, kind) for kind, count in kinds.most_common()]) if silent else None,
            ),
            ("test cases", None if cases is None else f"{cases:.2f} on average, of {programs}"),
            ("to repair", parts(repairs.programs, ends) if repairs.programs else None),
        ),
        columns={
            **dict(zip(("match", "not", "unclear"), screened, strict=True)),
            "exec.": _percent(counts.executable_rate),
            "tests": None if cases is None else f"{cases:.2f}",
        },
        table=(
            ("pairs", "stage", "turns", "of pairs", "seconds a pair"),
            [(name, *row) for name, seconds in details.seconds.items() for row in _stages(seconds)],
        ),
    )


def not_executable(found: Sequence[tuple[str, str, str, int]]) -> dict[Reason, int]:
    """Count last executions that were not executable by their reason, the most frequent first.

    Args:
        found: As in `run_steps.PairFigures`.
    """
    reasons = Counter[Reason]()
    for exit_reason, error, code, count in found:
        reasons[reason_of(exit_reason, error, code)] += count
    return dict(sorted(reasons.items(), key=lambda each: (-each[1], each[0])))


def _stages(seconds: PairSeconds) -> list[tuple[Any, ...]]:
    if not seconds.pairs:
        return []
    steps = sum(stage.steps for stage in seconds.stages.values())
    return [("all", steps, seconds.pairs, f"{seconds.mean:.2f}")] + [
        (role, stage.steps, stage.pairs, f"{stage.total / stage.pairs:.2f}")
        for role, stage in seconds.stages.items()
    ]


def parts(whole: int, counts: Sequence[tuple[int, str]]) -> str:
    """Return a count with those of its parts that are not 0."""
    named = ", ".join(f"{count:,} {name}" for count, name in counts if count)
    return f"{whole:,}" + (f": {named}" if named else "")


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}" + (f" ({_percent(part / whole)})" if whole else "")


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"
