"""The report on the pipeline: the figures of the agents' runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.pipelines.registry import pipeline_report
from store.formatting import dollars, pluralize, tokens
from store.json_fields import fields_of, json_fields
from store.queries.run_figures import RunFigures, role_figures, run_figures
from store.queries.run_items import failure_causes
from store.queries.runs import all_runs, named_run
from store.record.ids import now
from store.reports.options import Options
from store.reports.spec import ReportSpec
from store.reports.value import Cell, Report, Row, Table, counted, facts, filled

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agents.pipelines.spec import PipelineFigures
    from store.tables.runs import Run


@dataclass(frozen=True, slots=True)
class RunReport:
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
            **fields_of(run, "total", "started_at", "ended_at"),
            "pairs": figures.items,
            "labelled": figures.labelled,
            "failed": figures.failed,
            "failed_by_reason": figures.reasons,
            **fields_of(figures, "needs_sandbox", "unfinished", "requests"),
            **fields_of(figures, "tokens_in", "tokens_out", "tokens_cached"),
            "cost": figures.money,
            "cost_per_pair": figures.money_per_item,
            "unpriced_pairs": figures.unpriced_items,
            "cost_from_cache": figures.money_from_cache,
            **({} if blind else hidden),
            "failures": self.failures,
        }


def read_pipeline(connection: Connection, options: Options) -> list[RunReport]:
    """Read the figures of every run, or of the one that is named.

    Raises:
        UnknownName: No run, or more than one, is called so.
    """
    runs = all_runs(connection)
    return read_reports(connection, runs if options.run is None else [named_run(runs, options.run)])


def read_reports(connection: Connection, runs: Sequence[Run]) -> list[RunReport]:
    """Read the figures of some runs, in the order given."""
    found = []
    for run in runs:
        figures = run_figures(connection, run.id)
        # Of a run that has ended the report is the same whenever it is made.
        until = run.ended_at or now()
        roles = [json_fields(role) for role in role_figures(connection, run.id, until)]
        failures = [json_fields(cause) for cause in failure_causes(connection, run.id)]
        found.append(RunReport(run, figures, pipeline_report(connection, run, figures), roles, failures))
    return found


def pipeline_fields(found: Sequence[RunReport], options: Options) -> dict[str, Any]:
    """Return the report as JSON-able fields."""
    return {"blind": options.blind, "runs": [one.to_dict(blind=options.blind) for one in found]}


def pipeline_of(found: Sequence[RunReport], options: Options) -> Report:
    """Return the runs as a table, and the figures of each; in a blind review nothing that tells of labels."""
    command = ("pipeline", *options.arguments())
    if not found:
        why = "No agent has worked here yet. Let them:\nworkbench annotate WORKSPACE --model PROVIDER:NAME"
        return Report((), command, empty=why)
    caption, tables = [], []
    if options.blind:
        caption.append("You review blind: labels and assessments are not shown.")
    else:
        tables.append(_runs(found))
    for place, one in enumerate(found, start=1):
        title = f"{place} {one.run.name}: {one.run.state}"
        if options.blind:
            tables.append(facts(_shown_blind(one.figures), title))
            continue
        tables.append(facts([*_outcome(one.figures), *one.pipeline.facts, *_account(one.figures)], title))
        columns, rows = one.pipeline.table
        further = f"{place} {one.run.name}: in detail"
        tables.append(Table(columns, tuple(Row(tuple(map(_cell, row))) for row in rows), further))
    return Report(tuple(caption), command, filled(*tables))


def _runs(found: Sequence[RunReport]) -> Table:
    titles = tuple(dict.fromkeys(title for one in found for title in one.pipeline.columns))
    return Table(
        ("", "run", "items", *titles, "$/item"),
        tuple(
            Row(
                (
                    *(f"{place}", one.run.name, counted(one.figures.items)),
                    *(_cell(one.pipeline.columns.get(title)) for title in titles),
                    Cell(_dollars(one.figures.money_per_item), one.figures.money_per_item),
                )
            )
            for place, one in enumerate(found, start=1)
        ),
        names=2,
    )


def _cell(value: Any) -> Cell | str:
    if isinstance(value, int):
        return counted(value)
    return "" if value is None else str(value)


def _outcome(one: RunFigures) -> list[tuple[str, str | None]]:
    ends = [
        (one.labelled, "labelled"),
        (one.failed, "failed"),
        (one.needs_sandbox, "wait for a sandbox"),
        (one.unfinished, "unfinished"),
    ]
    named = ", ".join(f"{count:,} {name}" for count, name in ends if count)
    return [
        ("items", f"{one.items:,}" + (f": {named}" if named else "")),
        ("labels", ", ".join(f"{count:,} × {value:g}" for value, count in one.labels.items())),
        ("failed", ", ".join(f"{count:,} {why}" for why, count in one.reasons.items())),
    ]


def _shown_blind(one: RunFigures) -> list[tuple[str, str | None]]:
    """Return what tells of no label: a run may have one item, whose steps do."""
    return [
        *(fact for fact in _outcome(one) if fact[0] != "labels"),
        ("tokens", tokens(one.tokens_in, one.tokens_cached, one.tokens_out, 0)),
        ("requests", f"{one.requests:,}"),
        ("cost", _dollars(one.money)),
        ("cost an item", _dollars(one.money_per_item)),
    ]


def _account(one: RunFigures) -> list[tuple[str, str | None]]:
    return [
        ("tokens", tokens(one.tokens_in, one.tokens_cached, one.tokens_out, one.unpriced)),
        ("requests", f"{one.requests:,} in {pluralize(one.steps, 'step')}"),
        ("cost", _cost(one)),
        ("from the cache", _from_cache(one)),
        ("cost an item", _dollars(one.money_per_item)),
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


PIPELINE = ReportSpec(
    "pipeline",
    "Runs of the agents",
    "paths, tests, tokens, cost, seconds",
    read_pipeline,
    pipeline_of,
    pipeline_fields,
    options=("run",),
    own=True,
)
"""The report on the agents' runs."""
