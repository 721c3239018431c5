"""Code search: a query over a repository, what each stream found, and the code of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from agents.code_search.streams import STREAMS, RankBy, Stream
from agents.jobs.events import ENDED, JobEnded, JobEvent, JobPaused, JobResumed
from screens.commands import Command, bindings
from screens.jobs.job_line import JobLine
from screens.navigator import LoadedText
from screens.notices import error_sentences
from screens.rankings.row_list import RowList
from screens.searching.results import ResultList, place_of, stream_words
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.line_input import LineInput
from screens.widgets.text.sanitize import one_line
from screens.widgets.text.view import TextPane
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.errors import WorkbenchError
from store.formatting import dollars, pluralize

if TYPE_CHECKING:
    from agents.code_search.findings import Findings
    from agents.code_search.searching import SearchResult
    from agents.code_search.work import SearchRequest
    from agents.jobs.runner import Job
    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.ingest.report import ImportReport
    from store.tables.runs import WorkRow


class SearchScreen(WorkbenchScreen):
    """Searches a repository behind the screen, and shows what was found until now.

    Args:
        query: The query to begin with; empty for the latest search.
        repository: The repository to begin with; empty for that of the latest search.

    Attributes:
        findings: What was found; None for no search yet.
        request: What was asked for that.
        job: The search at work, or the latest of this session; None for none.
        streams: The streams that are on.
    """

    SCOPE = "search"
    CSS_PATH = "searching.tcss"
    BINDINGS = bindings("search")
    AUTO_FOCUS = "#query"

    def __init__(
        self, context: ScreenContext, navigator: Navigator, query: str = "", repository: str = ""
    ) -> None:
        super().__init__(context, navigator)
        self.findings: Findings | None = None
        self.request: SearchRequest | None = None
        self.job: Job | None = None
        self.streams: list[Stream] = list(STREAMS)
        self._rank: RankBy = "cosine"
        self._history: tuple[WorkRow, ...] = ()
        self._begin_with = (query, repository)
        self._said = ""
        self._model = ""
        self._filing = False
        self._taken: Mapping[str, Any] = {}
        self._example = ("", "")
        self._draft = ("", "")

    def compose(self) -> ComposeResult:
        """Lay out the query beside the repository, the streams, and the results beside their code."""
        query, repository = self._begin_with
        yield TopLine("search")
        with Horizontal(id="asked"):
            yield LineInput(query, id="query", placeholder="what the code does")
            yield Static("in")
            yield LineInput(repository, id="repository", placeholder="folder, archive or git URL")
        yield Static(id="streams")
        yield Static(id="facts")
        with Horizontal(id="found"):
            yield ResultList()
            yield TextPane(id="code")
        yield Static(id="paragraph")
        yield Static(id="notes")
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the earlier searches, and follow the one at work."""
        settings = self.context.settings
        self._code.begin_code(wrap=settings.wrap, numbers=False)
        self.context.jobs.events.subscribe(self, self._job_event)
        self._show_result()
        self._lay_out()
        in_thread(self, self._read, self._read_done, self._failed, group="searches")

    # -- earlier searches -------------------------------------------------------------------------------

    def _read(self) -> tuple[WorkRow, ...]:
        from agents.code_search.work import KIND
        from store.queries.works import listed_works

        self._model = self.context.jobs.settings.model
        self._example = self.context.program.example_search()
        with self.context.workspace.reading() as connection:
            return listed_works(connection, KIND)

    def _read_done(self, found: tuple[WorkRow, ...]) -> None:
        from agents.code_search.work import KIND

        first, self._history = not self._history, found
        at_work = self.context.jobs.of_kind(KIND)
        if self.job is None and at_work and not self._begin_with[0]:
            self._follow(at_work[-1])
        elif first and found and self.findings is None:
            self._show_row(found[0].id, only_place=bool(self._query.value))
        elif first and not found and not self._query.value and not self._repository.value:
            self._query.value, self._repository.value = self._example
            # What is typed now takes its place.
            self._query.select_all()
        self._lay_out()

    def _show_row(self, key: UUID, *, only_place: bool = False, chosen: bool = False) -> None:
        """Show an earlier search, or only take its repository; one that was chosen gets the focus."""

        def load() -> WorkRow | None:
            from store.queries.works import work_row

            with self.context.workspace.reading() as connection:
                return work_row(connection, key)

        in_thread(self, load, partial(self._row_read, only_place, chosen), self._failed, group="search")

    def _row_read(self, only_place: bool, chosen: bool, row: WorkRow | None) -> None:
        if row is None or (self.job is not None and self.job.state not in ENDED):
            return
        try:
            request, found = _kept_search(row)
        except WorkbenchError as error:
            self._failed(error)
            return
        if not self._repository.value:
            self._repository.value = request.repository
        if only_place or (self._query.has_focus and self._query.value and not chosen):
            return
        self.job, self.request, self.findings = None, request, found
        self._query.value, self._repository.value = request.query, request.repository
        self._rank = request.options.rank
        self._said = {"failed": f"! {row.said}", "stopped": "Stopped."}.get(row.state, "")
        if chosen:
            self._list.focus()
        else:
            # What is typed now takes its place.
            self._query.select_all()
        self._show_found(sort=True)

    def action_history(self) -> None:
        """Choose an earlier search."""
        from screens.searching.history import HistoryScreen

        def chosen(key: UUID | None) -> None:
            if key is not None:
                self._show_row(key, chosen=True)

        def show(found: tuple[WorkRow, ...]) -> None:
            self._history = found
            if found:
                self.app.push_screen(HistoryScreen(self.context.settings, found), chosen)

        in_thread(self, self._read, show, self._failed, group="searches")

    # -- searching --------------------------------------------------------------------------------------

    @property
    def _query(self) -> LineInput:
        return self.query_one("#query", LineInput)

    @property
    def _repository(self) -> LineInput:
        return self.query_one("#repository", LineInput)

    @property
    def _list(self) -> ResultList:
        return self.query_one(ResultList)

    @property
    def _code(self) -> TextPane:
        return self.query_one("#code", TextPane)

    @property
    def at_work(self) -> Job | None:
        """The search at work; None where none is."""
        return self.job if self.job is not None and self.job.state not in ENDED else None

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self._query.value.strip():
            self._query.focus()
        elif not self._repository.value.strip():
            self._repository.focus()
        else:
            self._search("")

    def _search(self, paragraph: str) -> None:
        """Begin a search of what is filled in, after the one at work was stopped."""
        from agents.code_search.multi_stream import SearchOptions
        from agents.code_search.work import CodeSearch, SearchRequest, absolute

        if not self.streams:
            self._say("No stream is on: 1 to 4 switch them on.")
            return
        try:
            repository = absolute(self._repository.value.strip())
        except WorkbenchError as error:
            self._say(_error(error))
            return
        services = self.context.jobs.settings
        # Without a model there is one stream, that of the query.
        request = SearchRequest(
            repository,
            self._query.value.strip(),
            services.model,
            options=SearchOptions(
                tuple(one for one in STREAMS if one in self.streams) if services.model else ("query",),
                rank=self._rank if services.model else "cosine",
            ),
            paragraph=paragraph if services.model else "",
        )
        if self.at_work is not None and request == self.request:
            self._say("This is being searched.")
            return
        if self.at_work is not None:
            self.at_work.stop(0.0)
        job = self.context.jobs.start(CodeSearch(request, services))
        if job is not None:
            self._list.forget()
            self._follow(job)

    def _follow(self, job: Job) -> None:
        """Show what a search of this session finds."""
        from agents.code_search.work import CodeSearch

        assert isinstance(job.job, CodeSearch)
        self.job, self.findings, self._said = job, None, ""
        self.request = job.job.request
        self._query.value, self._repository.value = self.request.query, self.request.repository
        self._take()

    def _job_event(self, event: JobEvent) -> None:
        if self.job is None or event.job != self.job.number:
            return
        if isinstance(event, JobEnded):
            # Notices said the same, if the screen was in sight.
            self._said = "Stopped." if event.state == "stopped" else _error(event.error)
        elif isinstance(event, JobPaused):
            why = "" if event.reason is None else f" {event.reason.message}"
            self._said = f"Paused.{why} {self.key_of('app.jobs')} goes on with it."
        elif isinstance(event, JobResumed):
            self._said = ""
        self._take()

    def _take(self) -> None:
        """Show what the search has found until now."""
        from agents.code_search.findings import Findings

        kept = {} if self.job is None else self.job.kept
        # Most events report progress alone.
        if kept and kept is not self._taken:
            self._taken = kept
            # An earlier part of the work may be of another version.
            with suppress(WorkbenchError):
                self.findings = Findings.of_dict(kept)
        self._show_found()

    def _failed(self, error: WorkbenchError) -> None:
        self._filing = False
        self._say(_error(error))

    def show_notice(self, text: str, *, alarm: bool = False) -> None:
        """Show a notice of the app, where a toast would cover the code."""
        self._say(f"! {text}" if alarm else text)

    def _say(self, text: str) -> None:
        self._said = text
        self._lay_out()

    # -- layout -----------------------------------------------------------------------------------------

    def _show_found(self, *, sort: bool = False) -> None:
        ranked = [] if self.findings is None else self.findings.by_streams(self.streams)
        self._list.show_results(ranked, sort=sort)
        self._show_result()
        self._lay_out()

    def _show_result(self) -> None:
        """Show the code of the result at the cursor."""
        one = self._list.current
        if one is None:
            self._code.load("", title="", empty=self._why_nothing())
        else:
            unit = one.unit
            title = f"{unit.path}:{unit.line}-{unit.end_line}"
            too_long = "Too long to be kept here; Enter shows it in its file."
            self._code.load(unit.text, language=unit.language, title=title, empty=too_long)

    def _why_nothing(self) -> str:
        if self.at_work is not None:
            return "Searching …"
        if self._said.startswith("!"):
            return ""
        if self.findings is None:
            return "Type what the code does, and the repository; Enter searches."
        return (
            "Nothing was found by the streams that are on." if self.findings.results else "Nothing was found."
        )

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    def _lay_out(self) -> None:
        cells = max(self.app.size.width - 2, 1)
        found = self.findings
        self._list.border_title = "Found" if found is None else f"Found {len(self._list.ranked):,}"
        lines = [self._said] if self._said else []
        lines += [] if found is None else found.notes
        if not self._list.in_order:
            lines.insert(0, f"More was found: {self.key_of('order')} puts it in the order of the ranks.")
        self.set_class(self._said.startswith("!"), "-wrong")
        for where, text in (
            ("#streams", Content(one_line(self._streams_line(), cells))),
            ("#facts", Content(one_line(" · ".join(self._facts()), cells))),
            ("#paragraph", self._paragraph(cells)),
            ("#notes", Content("\n".join(one_line(line, 2 * cells) for line in lines))),
        ):
            self.query_one(where, Static).update(text)
        self.refresh_bindings()

    @property
    def _has_streams(self) -> bool:
        return bool(self._model) or (self.findings is not None and bool(self.findings.model))

    def _streams_line(self) -> str:
        if self._has_streams:
            return f"{stream_words(self.streams)}  rank: {self._rank}"
        return "No model is set (agents.model): the query itself is compared."

    def _facts(self) -> list[str]:
        found = self.findings
        if found is None or not found.units:
            return ["reading the repository …" if self.at_work is not None else "no search yet"]
        facts = [found.place, pluralize(found.units, "function or class", "functions and classes")]
        facts += [found.compared.replace("+", " and ")] if found.compared else []
        if found.model:
            facts += [pluralize(found.requests, "request")] if found.requests else []
            facts += [dollars(found.cost)] if found.requests and found.cost is not None else []
        return [*facts, f"{found.seconds:.1f} s", *([found.model] if found.model else [])]

    def _paragraph(self, cells: int) -> Content:
        found = self.findings
        if found is None or found.augmented is None:
            return Content("")
        read = len({one.place for one in found.augmented.sources})
        sources = f" ({pluralize(read, 'source')})" if read else ""
        # Words that break leave room at the end of a line.
        text = one_line(found.augmented.paragraph, max(2 * cells - len(sources) - 16, 1))
        return Content.assemble(("▸ ", "$text-accent"), text, (sources, "$foreground-muted"))

    # -- keys -------------------------------------------------------------------------------------------

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect."""
        verb = command.id.partition(".")[2]
        found = self.findings
        if not self._list.has_focus:
            # Letters are written into the lines.
            return verb in ("open", "next", "previous", "down", "back")
        if verb in ("open", "file", "file_all"):
            return self._list.current is not None
        if verb in ("edit", "about"):
            return found is not None and found.augmented is not None
        if verb == "stop":
            return self.at_work is not None
        if verb == "order":
            return not self._list.in_order
        if verb.startswith("stream_"):
            return self._has_streams
        if verb == "history":
            return bool(self._history) or self.job is not None
        return verb != "rank" or bool(self._model)

    def label_now(self, command: Command) -> str:
        """Name Enter after what it does: in the lines it searches."""
        searches = command.id == "search.open" and not self._list.has_focus
        return "search" if searches else command.label

    def on_descendant_focus(self) -> None:
        """Show the keys of what has the focus."""
        self.refresh_bindings()

    def action_move(self, rows: int) -> None:
        """Go to another result; from the lines above into the list."""
        if not self._list.has_focus:
            self._list.focus()
        else:
            self._list.move(rows)
        self._show_result()

    def action_page(self, pages: int) -> None:
        """Go a page up or down in the list."""
        self._list.page(pages)
        self._show_result()

    def action_jump(self, to: int) -> None:
        """Go to the first or the last result."""
        self._list.jump(to)
        self._show_result()

    def action_query(self) -> None:
        """Go to the query."""
        self._query.focus()

    def action_stream(self, number: int) -> None:
        """Switch a stream on or off, in what is shown and in the next search."""
        stream = STREAMS[number - 1]
        if not self._has_streams:
            return
        if stream in self.streams:
            self.streams.remove(stream)
        else:
            self.streams.append(stream)
            found = self.findings
            if found is not None and found.model and stream not in found.searched and self.at_work is None:
                self._said = f"{stream} was not searched: Enter in the query searches again."
        self._show_found(sort=True)

    def action_rank(self) -> None:
        """Have the next search ranked by the model, or by cosine."""
        self._rank = "cosine" if self._rank == "model" else "model"
        self._say(f"The next search ranks by {'the model' if self._rank == 'model' else 'cosine'}.")

    def action_order(self) -> None:
        """Put the results in the order of their ranks."""
        self._show_found(sort=True)

    def action_stop(self) -> None:
        """Stop the search."""
        if self.at_work is not None:
            self.at_work.stop(0.0)

    def action_edit(self) -> None:
        """Edit the paragraph, and search with it."""
        from screens.searching.paragraph import ParagraphEditor

        found = self.findings
        if found is None or found.augmented is None:
            return
        paragraph = found.augmented.paragraph

        def keep(text: str) -> None:
            self._draft = (paragraph, text)

        def edited(text: str | None) -> None:
            if text:
                self._search(text)

        draft = self._draft[1] if self._draft[0] == paragraph else ""
        editor = ParagraphEditor(self.context, found.query, paragraph, draft or paragraph, keep)
        self.app.push_screen(editor, edited)

    def action_about(self) -> None:
        """Show the paragraph, what was read for it, and the code that was written."""
        found = self.findings
        if found is None or found.augmented is None:
            return
        sources = [f"- {one.place} (looked up: {one.asked})" for one in found.augmented.sources]
        parts = [f"# {found.query}", found.augmented.paragraph]
        parts += ["## Read for it", "\n".join(sources)] if sources else ["Nothing was read for it."]
        parts += ["## Code that was written, and is not run", f"```\n{found.code}\n```"] if found.code else []
        text = LoadedText("\n\n".join(parts), "markdown", "about the query")
        self.navigator.open_text("about the query", "about the query", lambda: text)

    def action_open(self) -> None:
        """Show the function or class in its file."""
        one, request = self._list.current, self.request
        if one is not None and request is not None:
            title = f"{one.unit.path} · {one.unit.name}"
            self.navigator.open_text(
                "file of the repository", title, partial(_in_file, request.repository, one)
            )

    @on(RowList.Clicked)
    def _clicked(self, message: RowList.Clicked) -> None:
        self._list.put_cursor(message.row)
        self._list.focus()
        self._show_result()

    # -- filing -----------------------------------------------------------------------------------------

    def action_file(self) -> None:
        """File the query with the result at the cursor as a pair to label."""
        if self._list.current is not None:
            self._file([self._list.current])

    def action_file_all(self) -> None:
        """File the query with every result that is shown."""
        self._file(list(self._list.ranked))

    def _file(self, chosen: list[SearchResult]) -> None:
        found = self.findings
        if found is None or not chosen or self._filing:
            return
        if self.at_work is not None:
            # Ranks are those of the whole search.
            self._say("The search is still at work: results are filed once it has ended.")
            return
        self._filing = True
        places = {place_of(one) for one in chosen}
        ranks = [rank for rank, one in enumerate(found.results, start=1) if place_of(one) in places]

        def file() -> ImportReport:
            from agents.code_search.filing import file_pairs

            return file_pairs(self.context.workspace, found, ranks)

        in_thread(self, file, partial(self._filed, chosen), self._failed, group="filing")

    def _filed(self, chosen: list[SearchResult], report: ImportReport) -> None:
        from agents.code_search.filing import not_run

        self._filing = False
        self._list.filed |= {place_of(one) for one in chosen}
        self._list.refresh()
        said = f"{pluralize(report.items_added, 'pair')} filed"
        said += f", {report.items_known:,} already there" if report.items_known else ""
        self._say(" ".join((f"{said}: in the queue.", not_run(chosen))).strip())


def _kept_search(row: WorkRow) -> tuple[SearchRequest, Findings | None]:
    """Return what was asked for, and what was found; None for nothing yet.

    Raises:
        WorkbenchError: Another version kept it.
    """
    from agents.code_search.findings import Findings, not_shown
    from agents.code_search.work import SearchRequest
    from store.tables.runs import described, kept

    try:
        request, found = SearchRequest.of(described(row)), kept(row)
    except ValueError as error:
        raise not_shown() from error
    return request, Findings.of_dict(found) if found else None


def _error(error: WorkbenchError | None) -> str:
    """Return an error as a line; nothing for none."""
    return "" if error is None else f"! {error.title}: {error_sentences(error)}"


def _in_file(repository: str, one: SearchResult) -> LoadedText:
    """Load the file of a result, with the cursor on the result; the result alone where it cannot be read."""
    from agents.repositories.git import is_git_url, split_reference
    from agents.repositories.reading import read_one_file
    from agents.repositories.units import units_of

    unit = one.unit
    title = f"{unit.path}:{unit.line} · {unit.name}"
    alone = LoadedText(unit.text, unit.language, f"{title} · the result alone", None)
    if is_git_url(repository):
        # To show one file, a commit is not fetched again.
        return alone
    place, reference = split_reference(repository)
    read = read_one_file(place, unit.path, reference)
    if not read.files:
        return alone
    text = read.files[0].text
    same = [now for now in units_of(unit.path, text) if (now.name, now.text) == (unit.name, unit.text)]
    if not same:
        return LoadedText(text, unit.language, f"{title} · changed since the search", None)
    now = min(same, key=lambda each: abs(each.line - unit.line))
    return LoadedText(text, unit.language, title, range(now.line, now.end_line + 1))
