"""`workbench report pipeline`: what the agents' runs came to, a row for each configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from store.formatting import counted, dollars

if TYPE_CHECKING:
    from store.pipeline_report import PairSeconds, RunFigures
    from store.workspace.duckdb import Workspace


def report_pipeline(path: Path, run: str | None, *, blind: bool, as_json: bool) -> None:
    """Print the figures of every run, or of one.

    Whoever opens a workspace is alone in it, so a run that a killed program left at work is told as stopped.

    Args:
        path: The workspace file.
        run: The run's name, or how it begins or ends, as long as that names one.
        blind: Leave out labels and assessments, and what tells of them.
        as_json: Whether JSON is printed.

    Raises:
        UnknownName: No run, or more than one, is called so.
    """
    from agents.jobs.run_record import settle_interrupted
    from store.pipeline_figures import figures_of
    from store.queries.runs import all_runs, named_run
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json, say

    with Workspace.open(path) as opened:
        settle_interrupted(opened).result()
        with opened.reading() as connection:
            runs = [one for one in all_runs(connection) if one.kind == "pair"]
        chosen = runs if run is None else [named_run(runs, run)]
        found = figures_of(opened, chosen)
        parts = _parts_of(opened, found, blind=blind) if as_json else []
    if as_json:
        runs_told = [one.to_dict(blind=blind) | own for one, own in zip(found, parts, strict=True)]
        print_json({"report": "pipeline", "blind": blind, "runs": runs_told})
    elif found and blind:
        _print_blind(path.name, found)
    elif found:
        _print_runs(path.name, found)
    else:
        say(
            f"{path.name}: no agent has worked here yet.",
            f"Let them: workbench annotate {path} --model PROVIDER:NAME",
        )


def _parts_of(opened: Workspace, found: Sequence[RunFigures], *, blind: bool) -> list[dict[str, Any]]:
    """Return what the Jobs screen shows of each run beside its figures: its roles, and its failures."""
    from store.queries.run_failures import failure_causes
    from store.queries.run_stages import stage_counts
    from store.record.ids import now

    with opened.reading() as connection:
        parts = []
        for one in found:
            stages = stage_counts(connection, one.id, now())
            roles = {} if blind else {"roles": [stage.to_dict() for stage in stages]}
            failures = [cause.to_dict() for cause in failure_causes(connection, one.id)]
            parts.append({**roles, "failures": failures})
        return parts


def _print_runs(name: str, found: Sequence[RunFigures]) -> None:
    from workbench.output import print_table, say

    say(name)
    print_table(
        ("", "run", "pairs", "match", "not", "unclear", "exec.", "tests", "$/pair"),
        [
            (
                place,
                one.run,
                one.pairs,
                *((one.clear_match, one.clear_nonmatch, one.unclear) if one.screened else (None, None, None)),
                _percent(one.executable_rate),
                None if one.mean_test_cases is None else f"{one.mean_test_cases:.2f}",
                _dollars(one.cost_per_pair),
            )
            for place, one in enumerate(found, start=1)
        ],
        wide=("run",),
    )
    for place, one in enumerate(found, start=1):
        say("")
        _print_run(place, one)


def _print_blind(name: str, found: Sequence[RunFigures]) -> None:
    """Print progress, failures and cost of runs, and nothing that tells of labels."""
    from workbench.output import print_facts, say

    say(name, "You review blind: labels and assessments are not shown.")
    for place, one in enumerate(found, start=1):
        say("")
        hidden = ("labels", "screened", "different codes")
        facts = [fact for fact in [*_outcome(one), *_account(one)] if fact[0] not in hidden]
        print_facts(f"{place}  {one.run}: {one.state}", facts)


def _print_run(place: int, one: RunFigures) -> None:
    from workbench.output import print_facts, print_table

    print_facts(f"{place}  {one.run}: {one.state}", [*_outcome(one), *_testing(one), *_account(one)])
    rows = [(name, *row) for name, told in one.seconds.items() if told.pairs for row in _stages(told)]
    if rows:
        print_table(("pairs", "stage", "turns", "of pairs", "seconds a pair"), rows)


def _outcome(one: RunFigures) -> list[tuple[str, str | None]]:
    ends = [
        (one.labelled, "labelled"),
        (one.failed, "failed"),
        (one.needs_sandbox, "wait for a sandbox"),
        (one.unfinished, "unfinished"),
    ]
    assessments = [
        (one.clear_match, "clear match"),
        (one.clear_nonmatch, "clear non-match"),
        (one.unclear, f"unclear ({_percent(one.unclear_share)})"),
    ]
    length = one.table_two.code_mean_length
    mean = "" if length is None else f", {length:,.1f} characters on average"
    return [
        ("pairs", _parts(one.pairs, ends)),
        ("labels", ", ".join(f"{count:,} × {value:g}" for value, count in one.labels.items())),
        ("failed", ", ".join(f"{count:,} {why}" for why, count in one.failed_by_reason.items())),
        ("screened", _parts(one.screened, assessments) if one.screened else None),
        ("different codes", f"{one.table_two.codes:,}{mean}"),
    ]


def _testing(one: RunFigures) -> list[tuple[str, str | None]]:
    from workbench.output import share

    repairs, tests = one.repairs, one.mean_test_cases
    ends = [
        (repairs.installed, "by installation"),
        (repairs.by_model, "by the model's commands"),
        (repairs.given_up, "given up"),
        (repairs.unfinished, "unfinished"),
    ]
    programs = counted(one.counted_programs, "program")
    return [
        ("executable", share(one.executable, one.executed) if one.executed else None),
        ("test cases", None if tests is None else f"{tests:.2f} on average, of {programs}"),
        ("to repair", _parts(repairs.programs, ends) if repairs.programs else None),
    ]


def _account(one: RunFigures) -> list[tuple[str, str | None]]:
    from workbench.output import tokens

    return [
        ("tokens", tokens(one.tokens_in, one.tokens_cached, one.tokens_out, one.unpriced_steps)),
        ("requests", f"{one.requests:,} in {counted(one.steps, 'step')}"),
        ("cost", _cost(one)),
        ("from the cache", _from_cache(one)),
        ("cost a pair", _dollars(one.cost_per_pair)),
    ]


def _parts(whole: int, parts: Sequence[tuple[int, str]]) -> str:
    """Return a count, and those of its parts that are not 0."""
    told = ", ".join(f"{count:,} {what}" for count, what in parts if count)
    return f"{whole:,}" + (f": {told}" if told else "")


def _stages(told: PairSeconds) -> list[tuple[Any, ...]]:
    all_of_it = [("all", sum(stage.steps for stage in told.stages.values()), told.pairs, f"{told.mean:.2f}")]
    return all_of_it + [
        (role, stage.steps, stage.pairs, f"{stage.total / stage.pairs:.2f}")
        for role, stage in told.stages.items()
    ]


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f} %"


def _dollars(value: float | None) -> str:
    return "unknown" if value is None else dollars(value)


def _from_cache(one: RunFigures) -> str | None:
    if not one.from_cache:
        return None
    cost = "nobody knows how much" if one.cost_from_cache is None else dollars(one.cost_from_cache)
    return f"{counted(one.from_cache, 'step')}, which cost {cost} when they were paid for"


def _cost(one: RunFigures) -> str:
    if one.cost is None:
        return "unknown"
    without = counted(one.unpriced_steps, "step")
    return dollars(one.cost) + (f", and {without} at no known price" if one.unpriced_steps else "")
