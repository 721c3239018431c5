"""`workbench items`: the items of a workspace with their labels."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.errors import UnknownName, WorkbenchError
from store.policy.scope import Shows
from workbench.cli.options import (
    Answer,
    AsJson,
    ConfigFile,
    OwnStudy,
    RaterName,
    RunName,
    Workspace,
    command,
    given_rater,
    reading_session,
    settings,
)
from workbench.cli.sampling import SampleChoice, SamplePairs, Seed, Stratify, print_strata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from store.queries.executions import ExecutionView
    from store.queries.expert_runs import ExpertRunView
    from store.queries.rows import QueueRow
    from store.record.rater_ref import RaterRef
    from workbench.config import Config
    from workbench.study_session import Session


MOST_FOR_PEOPLE = 500
"""Lines of a list that somebody may want to read; the true count is printed below it."""


class Status(StrEnum):
    """How far a rater is with an item."""

    judged = "judged"
    open = "open"
    skipped = "skipped"
    cannot_decide = "cannot_decide"


def reader(connection: Connection, given: str | None, configured: str | None) -> RaterRef:
    """Return the rater whose view is asked for; one who has judged nothing yet need not be stored.

    Raises:
        UnknownName: The rater was named on the command line and is not in the workspace.
    """
    from store.policy.sealing import packet_of
    from store.record.raters import find_rater
    from workbench.study_session import known_rater

    if (packet := packet_of(connection)) is not None:
        return find_rater(connection, packet.check_rater(given))
    return known_rater(connection, configured) if given is None else find_rater(connection, given)


def viewed_session(
    connection: Connection, loaded: Config, given: str | None, run: str | None, study: str | None = None
) -> Session:
    """Return the session of a command that shows a rater's view.

    Args:
        connection: A reading connection.
        loaded: The configuration.
        given: The rater's name on the command line; None for none.
        run: What names the run of the agents whose labels are shown; None for the default one.
        study: Which of the rater's open studies; None for the first one in which something is left to do.

    Raises:
        HiddenData: The session is sealed or blind, and another rater or a run was named.
        UnknownName: No run is called so, the study is not open for the rater, or the rater was named and is
            not in the workspace.
    """
    from store.policy.refusal import refuse
    from store.record.raters import find_rater
    from workbench.study_session import configured_viewer, open_session

    refuse(None, configured_viewer(loaded), Shows.RATER, given)
    session = open_session(connection, loaded, given, run, study)
    if given is not None and not session.scope.rater_id:
        find_rater(connection, given)
    return session


@command
def items_command(
    workspace: Workspace,
    *,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only items of this kind, such as pair or completion.")
    ] = None,
    status: Annotated[Status | None, typer.Option(help="Only items of this status.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most so many items; all of them with --json, else 500.")
    ] = None,
    text: Annotated[str, typer.Option(help="Only items that contain this text.")] = "",
    view: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The items of this saved view, in its order; see workbench views."),
    ] = None,
    sample_pairs: SamplePairs = None,
    stratify: Stratify = None,
    seed: Seed = None,
    rater: RaterName = None,
    study: OwnStudy = None,
    run: RunName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> Answer:
    """List the items of a workspace with a rater's labels and the agents'."""
    from store.kinds.pair import PAIR
    from store.queries.executions import executions_of_verdicts
    from store.queries.expert_runs import expert_runs
    from store.queries.item import item_texts
    from store.queries.queue import queue_ids, queue_rows
    from store.queries.responses import judges_scores
    from store.queries.rows import QueueFilter, QueueSort
    from store.queries.runs import shown_by_kind
    from store.queries.saved_views import find_view, refuse_hidden_view
    from store.queries.sent_back import notes_for
    from workbench.study_session import configured_viewer

    wanted = QueueFilter(
        kind=None if kind is None else find_kind(kind), status=status.value if status else None, text=text
    )
    sort = QueueSort()
    if view is not None and wanted != QueueFilter():
        raise WorkbenchError(
            "View or filter", "A view says which items are listed.", "Leave --kind, --status and --text out."
        )
    choice = SampleChoice(sample_pairs, seed, stratify)
    with reading_session(workspace, settings(config)) as (opened, loaded):
        asking = configured_viewer(loaded)
        choice.check(asking)
        blind = not asking.may(Shows.AGENTS)
        with opened.reading() as connection:
            session = viewed_session(connection, loaded, given_rater(rater), run, study)
            scope = session.scope
            if session.study is not None:
                choice.refuse_in_sitting()
            shown = shown_by_kind(connection, scope) if scope.may(Shows.LISTS) else {}
            if view is not None:
                found_view = find_view(connection, scope, view)
                refuse_hidden_view(scope, found_view.query)
                wanted, sort = found_view.query.wanted, found_view.query.sort
        rater_of = scope.rater.name if scope.rater else ""
        ids = [int(number) for number in queue_ids(opened, scope, wanted, sort)]
        sample = choice.take(opened, wanted.kind or PAIR.name, scope.run)
        if sample is not None:
            taken = frozenset(sample.item_ids)
            ids = [number for number in ids if number in taken]
        rows: list[QueueRow] = []
        texts: dict[int, dict[str, Any]] = {}
        executions: dict[int, ExecutionView] = {}
        by_experts: dict[int, tuple[ExpertRunView, ...]] = {}
        scores: dict[int, list[dict[str, Any]]] = {}
        notes: dict[int, str] = {}
        listed = ids[: limit or (None if as_json else MOST_FOR_PEOPLE)]
        for start in range(0, len(listed), 1000):
            page = listed[start : start + 1000]
            rows += (found := queue_rows(opened, scope, page))
            if as_json:
                # A condition can show a label without the tests that it rests on.
                revealed = [] if session.study else [row.item_id for row in found if not row.blind]
                with opened.reading() as connection:
                    texts |= item_texts(connection, page, scope)
                    executions |= executions_of_verdicts(connection, scope, revealed)
                    by_experts |= expert_runs(connection, revealed, scope.rater_id)
                    scores |= judges_scores(connection, scope, revealed)
                    notes |= notes_for(connection, scope)
    fields = {
        "rater": rater_of,
        "study": None if session.study is None else session.study.study.name,
        "view": view,
        "filter": wanted.sentence(),
        "blind": blind,
        "runs": {kind: run.name for kind, run in shown.items()},
        "total": len(ids),
        "strata": None if sample is None else sample.strata_as_json(),
        "items": [
            {
                **_row_facts(row, sealed=session.study is not None),
                "execution": _execution_facts(executions.get(row.item_id)),
                "expert_runs": [_run_facts(run) for run in by_experts.get(row.item_id, ())],
                "scores": scores.get(row.item_id, []),
                **({"asked_again": notes[row.item_id]} if row.item_id in notes else {}),
                **texts.get(row.item_id, {}),
            }
            for row in rows
        ],
    }
    parts = [f"{len(rows):,} of {len(ids):,}", wanted.sentence(), f"rater {rater_of or 'nobody'}"]
    parts += [f"agents' run {run.name}" for run in shown.values()]
    parts += [session.where] if session.where else []
    return Answer(fields, partial(print_strata, sample), partial(_print, rows), " · ".join(parts))


def _print(rows: Sequence[QueueRow]) -> None:
    from store.queries.rows import phrase_of
    from workbench.output import print_table

    print_table(
        ("item", "kind", "status", "label", "agents", "by", "title", "detail"),
        [
            (
                row.external_id,
                row.kind,
                row.status.replace("_", " ") + (" ⚑" if row.flagged else ""),
                _label(row),
                None if row.agent_label is None else word_of(row.kind, row.agent_label),
                phrase_of("path", row.agent_path),
                row.title.replace("\n", "⏎"),
                row.detail,
            )
            for row in rows
        ],
        wide=("title",),
    )


def find_kind(name: str) -> str:
    """Return the name of a kind, given by its name or by what its items are called.

    Raises:
        UnknownName: There is no such kind.
    """
    from store.kinds.spec import task_kinds

    for known in task_kinds().values():
        if name in (known.name, known.singular, known.plural):
            return known.name
    raise UnknownName("Unknown kind", f"No kind is called {name!r}.", f"Kinds: {', '.join(task_kinds())}.")


def _label(row: QueueRow) -> str | None:
    """Return the value that represents an item; before it is judged, how many of its answers are there."""
    if row.label is not None and row.answered >= row.required:
        return word_of(row.kind, row.label)
    return f"{row.answered} of {row.required}" if row.answered else None


def word_of(kind: str, value: float) -> str:
    """Return a label as lists of the command line show it: a number where its kind has no words for them."""
    from store.kinds.spec import task_kinds

    found = task_kinds().get(kind)
    return (found.queue.label_words.get(value) if found is not None else None) or f"{value:g}"


def _execution_facts(execution: ExecutionView | None) -> dict[str, Any] | None:
    """Return the execution that the agents' label rests on, in the words of `sandbox run --json`."""
    if execution is None:
        return None
    facts = asdict(execution)
    return {
        "id": facts.pop("id"),
        **asdict(execution.counts),
        "tests": facts.pop("outcomes"),
        "started_at": facts.pop("created_at"),
        **facts,
    }


def _run_facts(run: ExpertRunView) -> dict[str, Any]:
    return {"rater": run.rater, "edited": run.edited, **(_execution_facts(run.execution) or {})}


def _row_facts(row: QueueRow, *, sealed: bool) -> dict[str, Any]:
    from store.kinds.spec import task_kinds

    kind = task_kinds().get(row.kind)
    # Numbers follow the order of import, which can tell whose texts a comparison has.
    hides = sealed and kind is not None and bool(kind.record.hidden)
    return {
        "item": row.external_id,
        "number": None if hides else row.item_id,
        "kind": row.kind,
        "title": row.title,
        "detail": row.detail,
        "rank": row.rank,
        "similarity": row.similarity,
        "status": row.status,
        "answered": row.answered,
        "required": row.required,
        "label": row.label,
        "agent_label": row.agent_label,
        "agent_path": row.agent_path,
        "flagged": row.flagged,
        "commented": row.commented,
    }
