"""The dialog before a candidate search starts: the models, and how many codes of each query."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Select, Static

from agents.retrieval.candidate_request import MOST_CODES, CandidateRequest, model_names
from agents.retrieval.candidates import check_corpus
from agents.retrieval.encoders import EMBEDDED, has_embedded
from agents.retrieval.methods import METHODS
from screens.commands import bindings
from screens.form import Fields, Problem, choice, line
from screens.help import hint
from screens.threads import in_thread
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.policy.scope import Shows

if TYPE_CHECKING:
    from agents.jobs.runner import Job
    from screens.context import ScreenContext

COMBINATIONS = (
    ("mean: the mean of the models' cosines", "mean"),
    ("z: the mean of z-scores, so that no model dominates", "z"),
)


class CandidatesScreen(ModalScreen["CandidateRequest | None"]):
    """Asks what is searched; dismissed with that once it is checked, None when nothing is to start.

    Attributes:
        corpus: How many queries and codes there are; None before they are counted.
    """

    CSS_PATH = "candidates.tcss"
    BINDINGS = bindings("candidates")
    AUTO_FOCUS = "#models"

    def __init__(self, context: ScreenContext) -> None:
        super().__init__()
        self.context = context
        self.fields = Fields(self)
        self.corpus: tuple[int, int] | None = None
        self._is_checking = False

    def compose(self) -> ComposeResult:
        """Lay out the fields, what will happen, what is wrong, and the keys."""
        with Vertical(classes="modal") as box:
            box.border_title = "Find candidate pairs"
            yield line(
                "Models", "models", "minilm,codebert; bm25", value=EMBEDDED if has_embedded() else "bm25"
            )
            yield line("Codes of each query", "top", f"1 to {MOST_CODES:,}", value="20")
            yield choice("Combined by", "combine", COMBINATIONS, "mean")
            yield Static(id="plan")
            yield Problem(id="wrong")
            yield Static(classes="keys")

    @property
    def _problem(self) -> Problem:
        return self.query_one(Problem)

    def on_mount(self) -> None:
        """Count the queries and codes."""
        settings = self.context.settings
        keys = hint(settings, ("candidates.next", "next field"), ("candidates.leave", "cancel"))
        self.query_one(".keys", Static).update(Content(f"Enter start · {keys}"))
        self._show_plan()
        in_thread(self, self._count, self._counted, self._problem.show, group="count")

    def _count(self) -> tuple[int, int]:
        from store.queries.corpus import corpus_size

        with self.context.workspace.reading() as connection:
            return corpus_size(connection)

    def _counted(self, size: tuple[int, int]) -> None:
        self.corpus = size
        self._show_plan()
        try:
            check_corpus(*size)
        except WorkbenchError as error:
            self._problem.show(error)

    def _request(self) -> CandidateRequest:
        """Return what is filled in.

        Raises:
            WorkbenchError: The number of codes is no number.
        """
        names = model_names(self.fields.text("models"))
        top = self.fields.number("top") or 0
        return CandidateRequest(names, top, self.fields.chosen("combine"))

    def _filled_in(self) -> CandidateRequest | None:
        """Return what is filled in; None where it cannot be read, which is said."""
        try:
            return self._request()
        except WorkbenchError as error:
            self._problem.show(error)
            return None

    @on(Input.Changed)
    @on(Select.Changed)
    def _changed(self) -> None:
        self._problem.show()
        self._show_plan()

    def _show_plan(self) -> None:
        """Say what will happen."""
        names = model_names(self.fields.text("models"))
        self.set_class(len(names) > 1, "-several")
        self.query_one("#plan", Static).update(Content("\n".join(self._plan())))

    def _plan(self) -> list[str]:
        if self.corpus is None:
            return ["Counting …"]
        queries, codes = self.corpus
        lines = [f"{pluralize(queries, 'query', 'queries')} and {pluralize(codes, 'code')} are compared."]
        try:
            request = self._request()
        except WorkbenchError:
            return lines
        if request.models and request.top and queries and codes:
            top = min(request.top, codes)
            pairs = pluralize(queries * top, "pair")
            lines.append(f"The best {top:,} of each query: {pairs}, less those that are here.")
            kept = "" if set(request.models) <= METHODS.keys() else "; vectors are kept"
            lines.append(f"It runs behind the screens. It can be stopped{kept}.")
        return lines

    # -- keys -----------------------------------------------------------------------------------------

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_begin()

    def action_begin(self) -> None:
        """Check what is filled in, and start that."""
        if self._is_checking:
            return
        request = self._filled_in()
        if request is None:
            return
        self._is_checking = True
        self._problem.update("Checking …")
        in_thread(
            self, partial(self._check, request), partial(self._checked, request), self._refused, group="check"
        )

    def _check(self, request: CandidateRequest) -> None:
        from agents.retrieval.candidate_search import CandidateSearch

        CandidateSearch(request, self.context.jobs.settings).check(self.context.workspace)

    def _checked(self, request: CandidateRequest, _: object) -> None:
        self._is_checking = False
        # What was changed meanwhile is not checked yet.
        if request == self._filled_in():
            self.dismiss(request)

    def _refused(self, error: WorkbenchError) -> None:
        self._is_checking = False
        self._problem.show(error)


def start_candidates(
    app: App[Any], context: ScreenContext, *, then: Callable[[Job], None] | None = None
) -> None:
    """Show the dialog, and start the search that it asks for.

    Args:
        then: Called with the job once it is started.
    """
    from store.policy.refusal import refuse_packet

    if context.refuses(Shows.WHOLE):
        return
    try:
        refuse_packet(context.workspace, "Candidates are added")
    except WorkbenchError as error:
        context.notices.report_error(error)
        return

    def confirmed(request: CandidateRequest | None) -> None:
        from agents.retrieval.candidate_search import CandidateSearch

        if request is None:
            return
        job = context.jobs.start(CandidateSearch(request, context.jobs.settings))
        if job is not None and then is not None:
            then(job)

    app.push_screen(CandidatesScreen(context), confirmed)
