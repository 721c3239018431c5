"""`workbench sql`: a SELECT over the views of a workspace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.errors import WorkbenchError
from workbench.cli.items import MOST_FOR_PEOPLE, viewed_session
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

if TYPE_CHECKING:
    from store.sql_views.running import SqlResult


@command
def sql_command(
    workspace: Workspace,
    statement: Annotated[
        str | None,
        typer.Argument(help="The statement, or - to read it from standard input.", show_default=False),
    ] = None,
    *,
    list_views: Annotated[bool, typer.Option("--views", help="List the views and their columns.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Write all rows to a new file: .csv, .parquet, .json, .jsonl or .md; .svg, .pdf or .png "
            "draws two columns, a name and a number.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help=f"At most so many rows; all in other forms, else {MOST_FOR_PEOPLE}."),
    ] = None,
    seconds: Annotated[int, typer.Option(min=1, help="How many seconds the statement may take.")] = 30,
    rater: RaterName = None,
    study: OwnStudy = None,
    run: RunName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> Answer | None:
    """Run one SELECT over the views of a workspace; --views lists them.

    It reads nothing but what your session may see, and writes nothing.
    """
    from store.sql_views.running import SqlRun

    if list_views:
        return _views()
    if statement is None or sum((as_csv, as_json, output is not None)) > 1:
        raise WorkbenchError(
            "One output" if statement else "No statement",
            "--json, --csv and --output exclude each other." if statement else "There is nothing to run.",
            'For example: workbench sql WORKSPACE "SELECT status, count(*) FROM items GROUP BY status"',
        )
    try:
        text = sys.stdin.read() if statement == "-" else statement
    except UnicodeDecodeError as error:
        raise WorkbenchError(
            "SQL error", f"The statement is no UTF-8: {error}", "Save it as UTF-8."
        ) from error
    with reading_session(workspace, settings(config)) as (opened, loaded):
        with opened.reading() as connection:
            scope = viewed_session(connection, loaded, given_rater(rater), run, study).scope
        rows = limit or (None if as_json or as_csv or output else MOST_FOR_PEOPLE)
        found = SqlRun(opened, scope, text, rows=rows, seconds=seconds).result()
    if output is not None:
        from store.formatting import pluralize
        from store.sql_views.writing import write_rows
        from workbench.output import note

        write_rows(found.rows, output, text)
        note(f"{pluralize(found.rows.num_rows, 'row')} written to {output}")
    elif as_json:
        from store.sql_views.writing import plain_rows

        names = found.rows.column_names
        listed = [dict(zip(names, row, strict=True)) for row in plain_rows(found.rows)]
        return Answer({"columns": names, "rows": listed, "more": found.more})
    elif as_csv:
        from store.sql_views.writing import write_csv

        write_csv(found.rows, sys.stdout)
    else:
        _print_rows(found)
    return None


def _print_rows(found: SqlResult) -> None:
    from store.formatting import pluralize
    from store.sql_views.writing import plain_rows
    from workbench.output import note, print_table

    names = found.rows.column_names
    rows = [[_cell(value) for value in row] for row in plain_rows(found.rows)]
    texts = [name for place, name in enumerate(names) if any(isinstance(row[place], str) for row in rows)]
    print_table(names, rows, wide=texts)
    count = pluralize(found.rows.num_rows, "row")
    note(f"The first {count}; --limit N prints more." if found.more else f"{count}.")


def _cell(value: Any) -> Any:
    """Return a value as it stands in a table: lists and objects as JSON, texts in one line."""
    from store.sql_views.writing import as_text

    return value if isinstance(value, int | float) and not isinstance(value, bool) else as_text(value)


def _views() -> Answer:
    from dataclasses import asdict

    from store.sql_views.views import views

    listed, lines = [], []
    for view in views().values():
        listed.append(
            {"name": view.name, "about": view.about, "columns": [asdict(column) for column in view.columns]}
        )
        lines.append(f"{view.name}: {view.about}")
        width = max(len(column.name) for column in view.columns)
        lines += [*(f"  {column.name:<{width}}  {column.about}" for column in view.columns), ""]
    return Answer({"views": listed}, *lines)
