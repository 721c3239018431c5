"""The choices of the export form: raters, runs, policies, splits, views and studies of a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from screens.widgets.text.sanitize import one_line
from store.errors import ExportFailed
from store.export.exporting import ExportReport, ViewItems, export
from store.export.own_file import read_kept
from store.export.summary import reveals
from store.formats.protocol import Format, formats
from store.measures.truth import POLICIES
from store.policy.refusal import refuse
from store.policy.scope import Shows
from store.queries.rows import ViewQuery
from store.queries.runs import all_runs
from store.queries.saved_views import find_view, list_views, view_ids
from store.queries.studies import list_studies
from store.record.raters import label_givers
from store.splits.splits import list_splits

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from screens.context import ScreenContext
    from store.events import ReportProgress
    from store.policy.scope import Scope

NAME_CELLS = 48
SHOWN_RUNS = 30
"""The newest runs that are offered."""

LIST = "list"
"""The sort of items that are those of the queue from which the form was opened."""


class Whose(NamedTuple):
    """Whose labels: `sort` is rater, run or policy, or empty for all."""

    sort: str = ""
    name: str = ""


class Items(NamedTuple):
    """Which items: `sort` is view, or LIST, or empty for all."""

    sort: str = ""
    name: str = ""


EVERYBODY, EVERY_ITEM = Whose(), Items()


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The choices that a workspace offers, each with its words.

    Attributes:
        whose: Raters, runs and policies.
        splits: The names of the splits with the parts of each.
        tables: The names of the imported tables that can be given back.
    """

    whose: tuple[tuple[str, Whose], ...]
    splits: Mapping[str, tuple[str, ...]]
    views: tuple[str, ...]
    studies: tuple[str, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """An export as the form is filled in; see `store.export.exporting.export`."""

    form: Format
    destination: Path
    whose: Whose = EVERYBODY
    question: str | None = None
    split: str | None = None
    part: str | None = None
    items: Items = EVERY_ITEM
    study: str | None = None
    pseudonyms: bool = False
    without_replies: bool = False
    table: str | None = None
    comments: bool = False
    names: bool = False
    overwrite: bool = False


def writable_formats() -> dict[str, Format]:
    """Return the formats that can be written, by name."""
    return {name: form for name, form in sorted(formats().items()) if form.write is not None}


def read_options(connection: Connection, scope: Scope) -> ExportOptions:
    """Read what an export can be of.

    Raises:
        HiddenData: The session is sealed.
    """
    refuse(connection, scope, Shows.WHOLE, "An export contains")
    whose = [(one_line(name, NAME_CELLS), Whose("rater", name)) for name in label_givers(connection)]
    whose += [(f"policy: {policy}", Whose("policy", policy)) for policy in POLICIES]
    whose += [
        (f"◆ run {one_line(run.name, NAME_CELLS)}", Whose("run", str(run.id)))
        for run in all_runs(connection)[:SHOWN_RUNS]
    ]
    return ExportOptions(
        tuple(whose),
        {split.name: tuple(part.part for part in split.report.parts) for split in list_splits(connection)},
        tuple(dict.fromkeys(view.name for view in list_views(connection, scope))),
        tuple(study.name for study in list_studies(connection)),
        tuple(read_kept(connection)),
    )


def run_export(
    context: ScreenContext,
    plan: ExportPlan,
    listed: ViewQuery | None,
    progress: ReportProgress | None = None,
    *,
    dry_run: bool = False,
) -> ExportReport:
    """Write what a plan says, or count it.

    Args:
        listed: The queue from which the form was opened; None for none.
        dry_run: Whether it is only counted.

    Raises:
        HiddenData: The session is sealed, or a view rests on labels that it does not show.
        ExportFailed: It cannot be written.
        UnknownName: What it is of is not there any more.
    """
    with context.workspace.reading() as connection:
        refuse(connection, context.scope, Shows.WHOLE, "An export contains")
        query, named = listed, ""
        if plan.items.sort != LIST:
            named = plan.items.name
            query = find_view(connection, context.scope, named).query if named else None
    if plan.form.needs_rater and not plan.whose.sort and plan.split is None:
        raise ExportFailed(
            "Whose labels?", f"{plan.form.name} holds one label of each item.", "Choose whose in “Labels of”."
        )
    view = None
    if query is not None:
        view = ViewItems(named, view_ids(context.workspace, context.scope, query).tolist())
    own = context.rater.name if context.rater else None
    return export(
        context.workspace,
        plan.destination,
        plan.form.name,
        rater=plan.whose.name if plan.whose.sort in ("rater", "run") else None,
        policy=plan.whose.name if plan.whose.sort == "policy" else None,
        question=plan.question,
        split=plan.split,
        part=plan.part,
        view=view,
        study=plan.study,
        pseudonyms=plan.pseudonyms,
        without_replies=plan.without_replies,
        file=plan.table,
        comments=plan.comments,
        names=plan.names,
        blind=not context.scope.may(Shows.OTHERS)
        and reveals(plan.form.name, plan.whose.name or plan.split, own) is not None,
        progress=progress,
        overwrite=plan.overwrite or dry_run,
        dry_run=dry_run,
    )
