"""`workbench revise`: edits of an item's texts by command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.errors import JudgmentRefused, UnknownName
from workbench.cli.options import (
    Answer,
    ConfigFile,
    RaterName,
    Workspace,
    command,
    given_rater,
    session,
    settings,
)

if TYPE_CHECKING:
    from store.record.rater_ref import RaterRef
    from store.workspace.duckdb import Workspace as OpenWorkspace


@command
def revise_command(
    workspace: Workspace,
    item: Annotated[str, typer.Argument(help="The item: its id in the imported file, or its number.")],
    *,
    part: Annotated[str, typer.Option(help="Which text: question, reference.")],
    file: Annotated[
        Path, typer.Option(metavar="FILE", help="The whole new text, in UTF-8; - reads it from stdin.")
    ],
    rater: RaterName = None,
    config: ConfigFile = None,
) -> Answer:
    """Rewrite a text of an item: `workbench revise study.duckdb q-7 --part reference --file better.md`."""
    from store.policy.refusal import refuse, refuse_packet
    from store.policy.scope import Shows
    from store.queries.item import find_item
    from store.record.raters import ensure_rater, register_kinds
    from workbench.rater import rater_name
    from workbench.study_session import viewer

    loaded = settings(config)
    text = _text_of(file)
    with session(workspace, loaded) as opened:
        refuse_packet(opened, "Texts are revised by command")
        register_kinds(opened)
        with opened.reading() as connection:
            asking = viewer(connection, loaded, given_rater(rater))
            refuse(connection, asking, Shows.WHOLE, "Revising a text uses")
            number = find_item(connection, item)
        rated_by = ensure_rater(opened, rater_name(given_rater(rater), loaded) or "")
        facts = _revise(opened, number, part, text, rated_by)
    if facts["revision"] is None:
        return Answer(facts, f"{facts['item']}: the {facts['title']} is unchanged; nothing was recorded.")
    return Answer(facts, f"✎ {facts['item']}: {facts['title']} revised · rater {facts['rater']}")


def _text_of(file: Path) -> str:
    """Return what a file holds.

    Raises:
        JudgmentRefused: It cannot be read, or is no UTF-8.
    """
    name = "stdin" if str(file) == "-" else str(file)
    try:
        data = sys.stdin.buffer.read() if name == "stdin" else file.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JudgmentRefused(
            "No text", f"{name} is no UTF-8 (byte {error.start + 1}).", "Save it as UTF-8."
        ) from error
    except OSError as error:
        raise JudgmentRefused(
            "No text", f"{name} cannot be read: {error.strerror or error}.", "Name the file of the new text."
        ) from error


def _revise(opened: OpenWorkspace, number: int, part: str, text: str, rater: RaterRef) -> dict[str, Any]:
    """Record a text, unless it is the current one; return its JSON fields."""
    from store.kinds.spec import task_kinds
    from store.policy.scope import REVIEW
    from store.queries.item import item_texts
    from store.queries.questions import kind_name
    from store.queries.shown_ids import shown_name
    from store.record.actions import Action, Recorder, new_record
    from store.record.revisions import REVISION, refused_text, without_added_end
    from store.tables.record import Mark

    with opened.reading() as connection:
        item_kind, shown = kind_name(connection, number), shown_name(connection, number)
        texts = item_texts(connection, [number]).get(number, {})
    kind = task_kinds().get(item_kind)
    if kind is None or not kind.editing.columns:
        plural = kind.plural if kind else f"items of the kind {item_kind!r}"
        raise UnknownName("No such text", f"No text of {plural} can be revised.", "See docs/scripting.md.")
    names = {title: column for column, title in kind.editing.columns.items()}
    column = names.get(part, part)
    if column not in kind.editing.columns:
        known = " or ".join(kind.editing.columns)
        raise UnknownName("No such text", f"{part!r} cannot be revised.", f"Name it: --part {known}.")
    before = texts[column]
    text = without_added_end(text, before)
    if refused := refused_text(kind, column, text):
        raise JudgmentRefused("Not revised", refused, "Nothing was recorded.")
    written: Mark | None = None
    if text != before:
        record = new_record(
            Mark,
            opened.ids,
            item_id=number,
            rater_id=rater.id,
            phase=REVIEW,
            kind=REVISION + column,
            text=text,
        )
        stored = Recorder(opened, rater).submit(Action.of(record)).result()
        written = next(each for each in stored.records if isinstance(each, Mark))
    return {
        "revision": written.id if written else None,
        "item": shown,
        "number": number,
        "part": column,
        "title": kind.editing.columns[column],
        "text": text,
        "before": before,
        "rater": rater.name,
        "supersedes": written.supersedes if written else None,
        "created_at": written.created_at if written else None,
    }
