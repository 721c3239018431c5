"""`workbench report pipeline`: the figures of the agents' runs, a row for each configuration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from store.formatting import dollars, pluralize

if TYPE_CHECKING:
    from agents.pipelines.spec import PipelineFigures
    from store.queries.run_figures import RunFigures
    from store.tables.runs import Run
    from store.workspace.duckdb import Workspace


@dataclass(frozen=True, slots=True)
class _RunReport:
    """A run with its figures, and with the roles and failures that the Jobs screen shows of it."""

    run: Run
    figures: RunFigures
    pipeline: PipelineFigures
    roles: list[dict[str, Any]]
    failures: list[dict[str, Any]]

    def to_dict(self, *, blind: bool) -> dict[str, Any]:
        """Return the report as values that JSON knows.

        Args:
            blind: Leave out labels and assessments, and figures that disclose them: a run may have one item
                only.
        """
        run, figures = self.run, self.figures
        hidden = {
            "labels": {f"{value:g}": count for value, count in figures.labels.items()},
            "paths": figures.paths,
            **self.pipeline.numbers,
            "steps": figures.steps,
            "unpriced_steps": figures.unpriced,
            "from_cache": figures.from_cache,
            "roles": self.roles,
        }
        return {
            "run": run.name,
            "id": run.id,
            "state": run.state,
            "model": run.model,
            "configuration": json.loads(run.configuration),
            "total": run.total,
            "started_at": run.started_at,
            "ended_at": run.ended_at,
            "pairs": figures.items,
            "labelled": figures.labelled,
            "failed": figures.failed,
            "failed_by_reason": figures.reasons,
            "needs_sandbox": figures.needs_sandbox,
            "unfinished": figures.unfinished,
            "requests": figures.requests,
            "tokens_in": figures.tokens_in,
            "tokens_out": figures.tokens_out,
            "tokens_cached": figures.tokens_cached,
            "cost": figures.money,
            "cost_per_pair": figures.money_per_item,
            "unpriced_pairs": figures.unpriced_items,
            "cost_from_cache": figures.money_from_cache,
            **({} if blind else hidden),
            "failures": self.failures,
        }


def report_pipeline(path: Path, run: str | None, *, blind: bool, as_json: bool) -> None:
    """Print the figures of every run, or of one.

    Whoever opens a workspace is alone in it, so a run that a killed program left at work counts as stopped.

    Args:
        path: The workspace file.
        run: The run's name, or how it begins or ends, as long as that names one.
        blind: Leave out labels and assessments, and figures that disclose them.
        as_json: Whether JSON is printed.

    Raises:
        UnknownName: No run, or more than one, is called so.
    """
    from agents.jobs.run_record import stop_interrupted_runs
    from store.queries.runs import all_runs, named_run
    from store.workspace.duckdb import Workspace
    from workbench.output import print_json, say

    with Workspace.open(path) as opened:
        stop_interrupted_runs(opened).result()
        with opened.reading() as connection:
            runs = all_runs(connection)
        found = read_reports(opened, runs if run is None else [named_run(runs, run)])
    if as_json:
        print_json(
            {"report": "pipeline", "blind": blind, "runs": [one.to_dict(blind=blind) for one in found]}
        )
    elif found and blind:
        _print_blind(path.name, found)
    elif found:
        _print_runs(path.name, found)
    else:
        say(
            f"{path.name}: no agent has worked here yet.",
            f"Let them: workbench annotate {path} --model PROVIDER:NAME",
        )


def read_reports(workspace: Workspace, runs: Sequence[Run]) -> list[_RunReport]:
    """Read the figures of some runs, in the order given."""
    from agents.pipelines.registry import pipeline_report
    from store.queries.run_figures import role_figures, run_figures
    from store.queries.run_items import failure_causes
    from store.record.ids import now

    found = []
    for run in runs:
        with workspace.reading() as connection:
            figures = run_figures(connection, run.id)
            # Of a run that has ended the report is the same whenever it is made.
            until = run.ended_at or now()
            roles = [role.to_dict() for role in role_figures(connection, run.id, until)]
            failures = [cause.to_dict() for cause in failure_causes(connection, run.id)]
        found.append(_RunReport(run, figures, pipeline_report(workspace, run, figures), roles, failures))
    return found


def _print_runs(name: str, found: Sequence[_RunReport]) -> None:
    from workbench.output import print_table, say

    say(name)
    titles = tuple(dict.fromkeys(title for one in found for title in one.pipeline.columns))
    print_table(
        ("", "run", "pairs", *titles, "$/pair"),
        [
            (
                place,
                one.run.name,
                one.figures.items,
                *(one.pipeline.columns.get(title) for title in titles),
                _dollars(one.figures.money_per_item),
            )
            for place, one in enumerate(found, start=1)
        ],
        wide=("run",),
    )
    for place, one in enumerate(found, start=1):
        say("")
        _print_run(place, one)


def _print_blind(name: str, found: Sequence[_RunReport]) -> None:
    """Print progress, failures and cost of runs, and nothing that discloses labels."""
    from workbench.output import print_facts, say

    say(name, "You review blind: labels and assessments are not shown.")
    for place, one in enumerate(found, start=1):
        say("")
        facts = [fact for fact in [*_outcome(one.figures), *_account(one.figures)] if fact[0] != "labels"]
        print_facts(f"{place}  {one.run.name}: {one.run.state}", facts)


def _print_run(place: int, one: _RunReport) -> None:
    from workbench.output import print_facts, print_table

    facts = [*_outcome(one.figures), *one.pipeline.facts, *_account(one.figures)]
    print_facts(f"{place}  {one.run.name}: {one.run.state}", facts)
    titles, rows = one.pipeline.table
    if rows:
        print_table(titles, rows)


def _outcome(one: RunFigures) -> list[tuple[str, str | None]]:
    ends = [
        (one.labelled, "labelled"),
        (one.failed, "failed"),
        (one.needs_sandbox, "wait for a sandbox"),
        (one.unfinished, "unfinished"),
    ]
    named = ", ".join(f"{count:,} {name}" for count, name in ends if count)
    return [
        ("pairs", f"{one.items:,}" + (f": {named}" if named else "")),
        ("labels", ", ".join(f"{count:,} × {value:g}" for value, count in one.labels.items())),
        ("failed", ", ".join(f"{count:,} {why}" for why, count in one.reasons.items())),
    ]


def _account(one: RunFigures) -> list[tuple[str, str | None]]:
    from workbench.output import tokens

    return [
        ("tokens", tokens(one.tokens_in, one.tokens_cached, one.tokens_out, one.unpriced)),
        ("requests", f"{one.requests:,} in {pluralize(one.steps, 'step')}"),
        ("cost", _cost(one)),
        ("from the cache", _from_cache(one)),
        ("cost a pair", _dollars(one.money_per_item)),
    ]


def _dollars(value: float | None) -> str:
    return "unknown" if value is None else dollars(value)


def _from_cache(one: RunFigures) -> str | None:
    if not one.from_cache:
        return None
    steps = pluralize(one.from_cache, "step")
    if one.money_from_cache is None:
        return f"{steps}; what these cost when they were paid for is unknown"
    return f"{steps}, which cost {dollars(one.money_from_cache)} when they were paid for"


def _cost(one: RunFigures) -> str:
    if one.money is None:
        return "unknown"
    without = pluralize(one.unpriced, "step")
    return dollars(one.money) + (f", and {without} at no known price" if one.unpriced else "")
