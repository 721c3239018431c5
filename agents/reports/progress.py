"""The report on progress: items judged and left, and the agents' labels."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agents.pipelines.registry import kinds_with_agents
from store.formatting import cost, part_of
from store.kinds.counting import counted_kinds, unknown_kinds_note
from store.kinds.spec import task_kinds
from store.policy.scope import EVERYTHING, Shows
from store.queries.home import Activity, activity
from store.queries.progress import Progress, progress
from store.queries.runs import shown_by_kind
from store.reports.options import Options
from store.reports.spec import ReportSpec
from store.reports.value import Report, Row, Table, counted, facts, filled

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class ProgressFound:
    """The progress of a workspace, as it was read.

    Attributes:
        progress: The progress of a rater, and of the agents.
        lately: What the rater judged in the last days.
        runs: The name of the agents' run whose labels are shown, by kind.
    """

    progress: Progress
    lately: Activity
    runs: dict[str, str]


def read_progress(connection: Connection, options: Options) -> ProgressFound:
    """Read how far the work of the session is."""
    scope = EVERYTHING if options.scope is None else options.scope
    found, lately = progress(connection, scope), activity(connection, scope)
    shown = shown_by_kind(connection, scope) if scope.may(Shows.LISTS) else {}
    return ProgressFound(found, lately, {kind: each.name for kind, each in shown.items()})


def progress_fields(read: ProgressFound, options: Options) -> dict[str, Any]:
    """Return the report as JSON-able fields."""
    told = {"blind": options.blind, "runs": read.runs, **read.progress.to_dict()}
    return {**told, "activity": asdict(read.lately)}


def progress_of(read: ProgressFound, options: Options) -> Report:
    """Return how far the work is, in all and by kind, and who has labelled how much."""
    found = read.progress
    for_agents = found.only(kinds_with_agents())
    if for_agents.agent_labelled:
        # Of other kinds the runs that are named have not labelled anything.
        for_agents = found.only([one.kind for one in for_agents.kinds if one.agent_labelled])
    labelled = None
    if for_agents.agent_labelled is not None and for_agents.total:
        labelled = part_of(for_agents.agent_labelled, for_agents.total)
    agreed = None
    if found.compared and found.agreed is not None:
        agreed = part_of(found.agreed, found.compared)
    told = facts(
        [
            ("items", counted_kinds(found.items)),
            ("sources", ", ".join(found.sources)),
            ("rater", found.rater or "nobody"),
            ("judged", part_of(found.judged, found.total)),
            ("today", found.today),
            ("cannot decide", found.cannot_decide),
            ("skipped", found.skipped),
            ("flagged", found.flagged),
            ("left", found.left),
            ("agents' labels", labelled),
            ("of the run", ", ".join(read.runs.values()) or None),
            ("agreement with them", agreed),
            ("responses scored by judges", found.scored or None),
            ("tokens of all runs", found.tokens),
            ("cost", cost(found.money, found.unpriced)),
        ]
    )
    known = task_kinds()
    kinds = Table(
        ("kind", "items", "judged", "left"),
        tuple(
            Row(
                (
                    known[one.kind].plural if one.kind in known else one.kind,
                    *map(counted, (one.items, one.judged, one.left)),
                ),
                one.judged / one.items if one.items else None,
            )
            for one in found.kinds
            if len(found.kinds) > 1
        ),
        "By kind",
        drawn="share of items judged",
    )
    raters = Table(
        ("rater", "kind", "labels"),
        tuple(Row((one.name, one.kind, counted(one.labelled))) for one in found.raters),
        "Raters with labels",
        names=2,
        notes=("labels: of studies' gold and training items too.",) if found.raters else (),
    )
    unknown = unknown_kinds_note(found.items)
    return Report(
        caption=(unknown,) if unknown else (),
        command=("progress", *options.arguments()),
        tables=filled(told, kinds, raters),
    )


PROGRESS = ReportSpec(
    "progress",
    "Progress",
    "items judged and left, and by whom",
    read_progress,
    progress_of,
    progress_fields,
    options=("rater", "run"),
    own=True,
    of_paper=False,
)
"""The report on progress."""
