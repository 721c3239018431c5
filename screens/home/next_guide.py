"""The guide of the question that is next, shown on Home where a tall terminal has room for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from screens.help import first_key, key_name
from screens.home.panel import TALL
from screens.items.reader import ItemReader
from screens.items.views import GUIDELINE, ItemView, PaneText
from screens.judging.keys import ScaleKeys
from screens.queue.query import QueueQuery
from screens.review.next_item import resumed_item
from screens.widgets.text.sanitize import one_line
from screens.widgets.text.view import TextPane
from store.errors import UnknownName

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.workbench_screen import WorkbenchScreen

LEAST_LINES = 10
"""Lines that must be free for it to be shown."""

VALUES_NAMED = 5
"""Values of a scale up to which each has a line; those of a longer one stand behind each other."""


@dataclass(frozen=True, slots=True)
class NextGuide:
    """The guide of the question that is next.

    Attributes:
        item: The item that is next, at its first question without an answer.
        pane: The guide, as the review shows it.
    """

    item: ItemView
    pane: PaneText


def read_next_guide(context: ScreenContext) -> NextGuide | None:
    """Read the guide of the question that is next, in a thread; None where nothing can be judged."""
    scope, session = context.scope, context.session.kept
    number = resumed_item(context.workspace, scope, session, QueueQuery.of(session.get("queue"), scope))
    if number is None:
        return None
    try:
        view = ItemReader(context.workspace, scope).read(number)
    except UnknownName:
        # Nothing that is installed shows the item, which is said where it is opened.
        return None
    open_questions = (at for at, one in enumerate(view.questions) if one.target not in view.own.labels)
    place = next(open_questions, None)
    pane = next((pane for pane in view.case if pane.id == GUIDELINE), None)
    return None if place is None or pane is None else NextGuide(view.at_question(place), pane)


class GuideBox(Vertical):
    """The next question, its scale with keys and meanings, and as much of its guide as fits."""

    DEFAULT_CSS = """
    GuideBox {
        display: none;
        height: 1fr;
        padding: 0 1;
        border: round $foreground 30%;
        border-title-color: $foreground;
        border-subtitle-color: $text-muted;

        #asked { height: auto; margin-bottom: 1; }
        TextPane, TextPane:focus { border: none; background: transparent; }
    }
    """

    def __init__(self, context: ScreenContext, found: NextGuide) -> None:
        super().__init__(id="guide")
        self._given = context
        self._found: NextGuide | None = found
        self._has_parts = False

    def compose(self) -> ComposeResult:
        """Lay out the question above its guide."""
        yield Static(id="asked")
        yield TextPane(id="guide-text")

    def on_mount(self) -> None:
        """Leave the keys to Home, which they are of."""
        self._pane.can_focus = False
        self._has_parts = True
        self.show(self._found)

    @property
    def _pane(self) -> TextPane:
        return self.query_one(TextPane)

    def show(self, found: NextGuide | None) -> None:
        """Show a guide, or none, where there is room."""
        self._found = found
        if not self._has_parts:
            return
        if found is not None:
            self.query_one("#asked", Static).update(Content("\n").join(self._asked(found.item)))
            pane = found.pane
            pane.load_into(self._pane, title="", empty=pane.empty)
            # Of a study the border names the version of its guide.
            self.border_title = Content(f"Next question · {one_line(pane.border, 70)}")
        self.fit()

    def fit(self) -> None:
        """Show it where the lines beside it leave room; nothing moves for it."""
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        body = self.parent
        if not isinstance(body, Widget) or not self.is_attached:
            return
        others = (each for each in body.children if each is not self and each.display)
        free = body.content_size.height - sum(each.outer_size.height for each in others)
        is_tall = self.app.size.height >= TALL
        self.display = self._found is not None and is_tall and free >= LEAST_LINES
        if self.display:
            self.call_after_refresh(self._tell_rest)

    def _tell_rest(self) -> None:
        """Say how the rest is read, where it does not fit."""
        place = "its tab in the review"
        if self._given.study is not None:
            place = f"{first_key(self._given.settings, 'review.guideline')} in the review"
        has_rest = self._pane.max_scroll_y > 0
        self.border_subtitle = Content(f"there is more: {place} shows all of it" if has_rest else "")

    def _asked(self, item: ItemView) -> list[Content]:
        """Return the question with the keys and meanings of its scale."""
        keys = ScaleKeys(self._given.settings, lambda: item)
        of_value = {known: key_name(key) for key, known in reversed(list(keys.of_values().items()))}
        about = f" ({item.current.title})" if item.has_several else ""
        lines = [Content.styled(f"{one_line(item.question.text, 300)}{about}", "bold")]
        values = [(of_value[known.key], known.shown) for known in item.question.scale.values]
        # A number that is its key is named once.
        named = [
            Content.assemble((key, "bold $text-accent"), f"  {shown.removeprefix(f'{key} ')}")
            for key, shown in values
        ]
        if len(values) <= VALUES_NAMED:
            return [*lines, *(Content("  ") + each for each in named)]
        return [*lines, Content("  ") + Content(" · ").join(named)]


def show_next_guide(screen: WorkbenchScreen, found: NextGuide | None) -> None:
    """Show a guide below the other parts of a Home, or take it away."""
    box = next(iter(screen.query(GuideBox)), None)
    if box is not None:
        box.show(found)
    elif found is not None:
        screen.query_one("#body").mount(GuideBox(screen.context, found))
