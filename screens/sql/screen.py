"""SQL over the views of the workspace: a prompt, and the rows that it selects."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import DataTable, Input, Static

from screens.commands import Command, bindings
from screens.form import typed_path
from screens.jobs.job_line import JobLine
from screens.sql.completion import common_start, completions, last_word
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.line_input import LineInput
from screens.widgets.text.sanitize import one_line, visible
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.record.session import load_session, save_session, session_key

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.sql_views.running import SqlResult, SqlRun
    from store.sql_views.views import View

SHOWN_ROWS = 1_000
"""Rows of a result that the table shows; an export writes all."""
CELL_CELLS = 60
"""Cells of a value in the table; the line below shows the whole of the one under the cursor."""
WHOLE_CELLS = 2_000
"""Cells of that line at most."""
HISTORY = 100
"""Statements that are kept."""
NAMES = 12
"""Names that are offered at once."""


class SqlScreen(WorkbenchScreen):
    """Runs SELECTs over what the session may see.

    Attributes:
        result: The result that is shown; None for none yet.
        running: The statement that runs; None for none.
        views: The views by name; empty before they are read.
    """

    SCOPE = "sql"
    CSS_PATH = "sql.tcss"
    BINDINGS = bindings("sql")
    AUTO_FOCUS = "#statement"

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        self.result: SqlResult | None = None
        self.running: SqlRun | None = None
        self.views: dict[str, View] = {}
        self._columns: dict[str, tuple[str, ...]] = {}
        self._history: list[str] = []
        # The place in the history, counted from its end; 0 is what is being typed.
        self._back = 0
        self._typed = ""
        self._ran = ""

    def compose(self) -> ComposeResult:
        """Lay out the prompt over the rows, and the keys."""
        yield TopLine("sql")
        example = "SELECT status, count(*) FROM items GROUP BY status"
        yield LineInput(id="statement", placeholder=example, select_on_focus=False)
        yield Static(id="names")
        with VerticalScroll(id="about", can_focus=False):
            yield Static(id="words")
        yield DataTable(id="rows", zebra_stripes=True, cursor_type="cell")
        yield Static(id="cell")
        yield Static(id="state")
        yield LineInput(
            id="file",
            placeholder="file to write: .csv .parquet .json .jsonl .md; a chart: .svg .pdf .png",
        )
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the views and the history."""
        self._lay_out()
        in_thread(self, self._read, self._read_done, self._failed, group="views")

    def on_unmount(self) -> None:
        """Stop what still runs."""
        if self.running is not None:
            self.running.stop()

    # -- views and history ----------------------------------------------------------------------------

    @property
    def _history_key(self) -> str:
        return session_key("sql", self.context.scope)

    def _read(self) -> tuple[dict[str, View], list[Any]]:
        from store.sql_views.views import views

        rater = self.context.rater
        kept = {} if rater is None else load_session(self.context.workspace, rater.id, self._history_key)
        history = kept.get("history")
        return views(), history if isinstance(history, list) else []

    def _read_done(self, found: tuple[dict[str, View], list[Any]]) -> None:
        self.views, history = found
        self._columns = {name: tuple(one.name for one in view.columns) for name, view in self.views.items()}
        self._history = [one for one in history if isinstance(one, str)] + self._history
        self._lay_out()

    def _keep(self, statement: str) -> None:
        """Put a statement at the end of the history."""
        others = [one for one in self._history if one != statement]
        self._history = [*others[-HISTORY + 1 :], statement]
        self._back = 0
        if self.context.rater is not None:
            value = {"history": self._history}
            save_session(self.context.workspace, self.context.rater.id, self._history_key, value)

    def action_history(self, steps: int) -> None:
        """Go back or forth in the statements that were run."""
        if self._back == 0:
            self._typed = self._prompt.value
        self._back = min(max(self._back + steps, 0), len(self._history))
        self._prompt.value = self._history[-self._back] if self._back else self._typed
        self._prompt.cursor_position = len(self._prompt.value)

    # -- completion -----------------------------------------------------------------------------------

    @property
    def _prompt(self) -> LineInput:
        return self.query_one("#statement", LineInput)

    def _candidates(self) -> list[str]:
        prompt = self._prompt
        at = prompt.cursor_position
        return completions(prompt.value[:at], prompt.value[at:], self._columns)

    @on(Input.Changed, "#statement")
    def _typing(self) -> None:
        found = self._candidates()
        more = " …" if len(found) > NAMES else ""
        self.query_one("#names", Static).update(Content(" · ".join(found[:NAMES]) + more))

    def action_complete(self) -> None:
        """Complete the name before the cursor; without one, or once it ran, go to the rows, and back."""
        prompt = self._prompt
        if self.focused is not prompt:
            prompt.focus()
            return
        found = self._candidates()
        if prompt.value.strip() == self._ran or not found:
            if self.result is not None and self.result.rows.num_rows:
                self.query_one(DataTable).focus()
            return
        at = prompt.cursor_position
        word = last_word(prompt.value[:at])
        new = common_start(found, word)
        if len(found) == 1 and not new.endswith(("(", ")")):
            new += " "
        prompt.replace(new, at - len(word), at)

    # -- running --------------------------------------------------------------------------------------

    def action_run(self) -> None:
        """Run the statement; in the line for a file write the rows."""
        file = self.query_one("#file", LineInput)
        if self.focused is file:
            self._export(file.value.strip())
            return
        statement = self._prompt.value.strip()
        if not statement or self.running is not None:
            return
        self._keep(statement)
        self._start(statement, SHOWN_ROWS, self._show)

    def _start(self, statement: str, rows: int | None, done: Any) -> None:
        from store.sql_views.running import SqlRun

        run = SqlRun(self.context.workspace, self.context.scope, statement, rows=rows)
        self.running = run
        self.query_one("#names", Static).update("")
        self._say(f"Running … {self.key_of('back')} stops it.")
        in_thread(self, run.result, partial(self._ended, done), self._failed, group="sql", exclusive=False)
        self.refresh_bindings()

    def _ended(self, done: Any, found: SqlResult) -> None:
        self.running = None
        done(found)
        self.refresh_bindings()

    def _show(self, found: SqlResult) -> None:
        from store.sql_views.writing import as_text, plain_rows

        self.result, self._ran = found, self._history[-1]
        table = self.query_one(DataTable)
        table.clear(columns=True)
        for name in found.rows.column_names:
            table.add_column(Text(one_line(name, CELL_CELLS)))
        for row in plain_rows(found.rows):
            table.add_row(*(_cell(value, as_text(value)) for value in row))
        count = pluralize(found.rows.num_rows, "row")
        more = f"The first {count}; {self.key_of('export')} writes all" if found.more else count
        self._say(f"{more} · {found.seconds:.1f} s")
        self._lay_out()

    def _failed(self, error: WorkbenchError) -> None:
        from store.sql_views.checking import VIEWS_HINT

        self.running = None
        hint = "" if error.hint == VIEWS_HINT else f" {error.hint}"
        self._say(f"! {error.title}: {error.message}{hint}", wrong=True)
        self.refresh_bindings()

    # -- the rows -------------------------------------------------------------------------------------

    @on(DataTable.CellHighlighted)
    def _cell_chosen(self, event: DataTable.CellHighlighted) -> None:
        from store.sql_views.writing import as_text, plain_rows

        row, column = event.coordinate
        shown = ""
        if self.result is not None and row < self.result.rows.num_rows:
            name = self.result.rows.column_names[column]
            ((value,),) = plain_rows(self.result.rows.select([column]).slice(row, 1))
            shown = f"{name}: {as_text(value)}"
        self.query_one("#cell", Static).update(Content(one_line(shown, WHOLE_CELLS)))

    def action_page(self, pages: int) -> None:
        """Go up or down in the rows by a page, from wherever one is."""
        table = self.query_one(DataTable)
        if not table.display:
            about = self.query_one("#about", VerticalScroll)
            about.scroll_relative(y=pages * about.size.height, animate=False)
        elif pages < 0:
            table.action_page_up()
        else:
            table.action_page_down()

    # -- export ---------------------------------------------------------------------------------------

    def action_export(self) -> None:
        """Ask for the file to write the rows to."""
        if self.result is None or self.running is not None:
            self.context.notices.show("Nothing to export", "Run a statement first.")
            return
        file = self.query_one("#file", LineInput)
        file.display = True
        file.focus()
        self._say("Type the name of a new file, and press Enter.")

    def _export(self, name: str) -> None:
        result = self.result
        if not name or result is None or self.running is not None:
            return
        path = typed_path(name)
        if result.more:
            self._start(self._ran, None, partial(self._write, path))
        else:
            self._write(path, result)

    def _write(self, path: Path, result: SqlResult) -> None:
        from store.sql_views.writing import write_rows

        def write() -> str:
            write_rows(result.rows, path, self._ran)
            return f"{pluralize(result.rows.num_rows, 'row')} written to {path}"

        in_thread(self, write, self._written, self._failed, group="write", exclusive=False)

    def _written(self, said: str) -> None:
        self._close_file()
        self._say(said)

    def _close_file(self) -> None:
        file = self.query_one("#file", LineInput)
        file.value, file.display = "", False
        self._prompt.focus()

    # -- layout ---------------------------------------------------------------------------------------

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect."""
        if command.id == "sql.run":
            return self.running is None
        if command.id == "sql.export":
            return self.result is not None and self.running is None
        return bool(self._history) if command.id == "sql.older" else True

    def label_now(self, command: Command) -> str:
        """Say that Escape stops what runs."""
        return "stop" if command.id == "sql.back" and self.running is not None else command.label

    def _say(self, text: str, *, wrong: bool = False) -> None:
        self.set_class(wrong, "-wrong")
        lines = (visible(line).text for line in text.split("\n"))
        self.query_one("#state", Static).update(Content("\n".join(lines)))

    def _lay_out(self) -> None:
        shows = self.result is not None
        self.query_one("#about").display = not shows
        self.query_one(DataTable).display = shows
        self.query_one("#cell").display = shows
        if not shows:
            self.query_one("#words", Static).update(Content("\n").join(self._words()))
        self.refresh_bindings()

    def _words(self) -> list[Content]:
        if not self.views:
            return [Content("Reading …")]
        names = max(map(len, self.views)) + 2
        room = max(self.app.size.width - names - 6, 20)
        complete = self.key_of("complete")
        lines = [
            Content(f"SELECT from these views. {complete} completes names; DESCRIBE VIEW lists columns."),
            Content(""),
        ]
        for name, view in self.views.items():
            about = f"\n{' ' * names}".join(wrap(view.about, room))
            lines.append(Content.assemble((f"{name:<{names}}", "bold"), about))
        return lines

    def on_resize(self) -> None:
        """Fit the words to the width."""
        self._lay_out()

    def action_close_line(self) -> None:
        """Do what Escape does."""
        self.action_back()

    def end_what_is_open(self) -> bool:
        """Stop the statement that runs."""
        if self.running is None:
            return False
        self.running.stop()
        return True

    def action_back(self) -> None:
        """Stop what runs, close the line for a file, go from the rows to the prompt, or go back."""
        if self.end_what_is_open():
            return
        if self.query_one("#file").display:
            self._close_file()
            self._say("Nothing was written.")
        elif self.focused is not self._prompt:
            self._prompt.focus()
        else:
            self.dismiss()


def _cell(value: Any, text: str) -> Text:
    """Return a value as it stands in the table; numbers at the right."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Text(one_line(text, CELL_CELLS), justify="right" if number else "left")
