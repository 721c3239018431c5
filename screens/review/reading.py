"""What a reader does with the panes of a review: move, search, zoom, wrap, jump, copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from textual import events, on
from textual.content import Content
from textual.widgets import ContentSwitcher, Input, Static

from screens.covering import CoveredScreen
from screens.help import first_key
from screens.review.panes import Panes
from screens.review.tabs import CaseTabs
from screens.widgets.markdown_text import CHARACTERS as RENDERED
from screens.widgets.text_pane import NO_MATCH, SearchMoved, TextPane
from screens.widgets.visible import one_line
from store.counted import counted

if TYPE_CHECKING:
    from screens.items.views import ItemView

SUBJECT = "subject"
PROMPT = "prompt"
FIND = "find"
COMMENT = "comment"
ABOVE = "above"

ABOVE_ROWS = 3
"""Rows that the words over a text get at most."""

SINGLE_BELOW = 120
"""Cells below which one pane is shown at a time."""


class SaysSentences(Protocol):
    """Says a sentence in the line at the foot, with codes to choose from in place of the keys."""

    def __call__(self, text: str, *, alarm: bool = False, choices: Sequence[tuple[str, str]] = ()) -> None:
        """Say a sentence; an alarm stands out."""


class KeepsDrafts(Protocol):
    """Closes the comment line, and keeps what is in it."""

    def __call__(self, *, focus: bool = True) -> bool:
        """Return whether the line was open; the focus then goes to the active pane."""


class ReadingActions(CoveredScreen):
    """The reading half of a review screen."""

    active: str
    preferred: str
    _panes: Panes

    searching: bool = False

    _above: str | None = None

    # What the other parts of a review give to this one.
    _say: SaysSentences
    _fit_prompt: Callable[[], None]
    keep_draft: KeepsDrafts

    @property
    def item(self) -> ItemView | None:
        """The item on the screen."""
        raise NotImplementedError

    def _key(self, verb: str) -> str:
        """Return the first key of a command of the review or of its parts, as it is configured."""
        command_id = verb if "." in verb else f"review.{verb}"
        return first_key(self.context.settings, command_id)

    @property
    def _ending_key(self) -> str:
        """The key that ends a question or a search: Escape, unless another one goes back."""
        return first_key(self.context.settings, "review.back", rather="escape")

    # -- panes ----------------------------------------------------------------------------------------

    @property
    def narrow(self) -> bool:
        """Whether one pane is shown at a time."""
        return self.app.size.width < SINGLE_BELOW

    @property
    def pane(self) -> TextPane:
        """The pane that is read: the one with the focus, otherwise the active one."""
        focused = self.focused
        return focused if isinstance(focused, TextPane) else self._panes[self.active]

    def _tabs(self) -> list[tuple[str, str]]:
        if self.item is None:
            return []
        case = [(part.id, part.title) for part in self.item.case]
        return [(SUBJECT, self.item.subject_word), *case] if self.narrow else case

    def _show_active(self) -> None:
        """Show the active pane, and mark its tab; in a narrow terminal it is the only one."""
        subject = self.active == SUBJECT
        # At once: each change has all that is on the screen styled again.
        self.update_classes(
            {
                "-single": self.narrow,
                "-subject": subject,
                "-in-case": not subject,
                "-in-prompt": self._in_prompt,
            }
        )
        switcher = self.query_one("#switcher", ContentSwitcher)
        if self.active not in {SUBJECT, switcher.current}:
            switcher.current = self._panes[self.active].id
        self._show_above(switcher.current)
        shown = self.active if self.narrow or self.active != SUBJECT else switcher.current or ""
        self.query_one(CaseTabs).show(self._tabs(), shown)
        self._fit_prompt()

    def _show_above(self, pane_id: str | None) -> None:
        """Show the words that belong over a pane of the case; none take no room."""
        case = () if self.item is None else self.item.case
        words = next((part.above for part in case if part.id == pane_id), "")
        width = self.app.size.width // (1 if self.narrow or self.has_class("-zoom") else 2)
        # A word that does not fit leaves the end of its row empty.
        words = one_line(words, max(width - 12, 12) * ABOVE_ROWS) if words else ""
        if words != self._above:
            self._above = words
            box = self.query_one(f"#{ABOVE}", Static)
            box.update(Content(words))
            box.display = bool(words)

    def _shown_in_case(self) -> str:
        """Return which part of the case is shown, or would be where only one pane is."""
        return self.query_one("#switcher", ContentSwitcher).current or ""

    @property
    def _in_prompt(self) -> bool:
        return self.focused is not None and self.focused.id == PROMPT

    def _choose(self, pane_id: str) -> None:
        self.active = pane_id
        if pane_id != SUBJECT:
            self.preferred = pane_id
        self._show_active()

    def focus_active(self) -> None:
        """Give the focus to the active pane."""
        if self.active in self._panes:
            self._panes[self.active].focus()

    def show_pane(self, pane_id: str) -> None:
        """Bring a pane into view and give it the focus."""
        if pane_id in self._panes:
            self._choose(pane_id)
            self.focus_active()

    @on(CaseTabs.Chosen)
    def _tab_chosen(self, message: CaseTabs.Chosen) -> None:
        self.show_pane(message.pane_id)

    def on_resize(self, event: events.Resize) -> None:
        """Lay the tabs out anew; panes keep their places themselves."""
        if self.is_mounted and self.item is not None:
            self._show_active()
            # A pane that has no room any more cannot keep the focus.
            if isinstance(self.focused, TextPane) and self.focused.id in self._panes:
                self.focus_active()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Take a pane that was clicked for the active one; a text line that was left is closed."""
        widget = event.widget
        self.set_class(isinstance(widget, Input), "-writing")
        if not isinstance(widget, TextPane):
            return
        self.keep_draft(focus=False)
        box = self.query_one(f"#{FIND}", Input)
        if box.display:
            box.display = False
            self._say("")
        if widget.id is not None and widget.id in self._panes and widget.id != self.active:
            self._choose(widget.id)
        else:
            self._show_active()

    def action_next_pane(self) -> None:
        """Go to the other pane; in a narrow terminal to the next tab."""
        self._step_pane(1)

    def action_previous_pane(self) -> None:
        """Go to the other pane; in a narrow terminal to the tab before."""
        self._step_pane(-1)

    def _step_pane(self, step: int) -> None:
        """Go round: subject, case (its tabs one by one where only one pane is shown), and a long prompt."""
        if self.narrow:
            names = [pane_id for pane_id, _ in self._tabs()]
        else:
            names = [SUBJECT, self.query_one("#switcher", ContentSwitcher).current or SUBJECT]
        prompt = self.query_one(f"#{PROMPT}", TextPane)
        if prompt.max_scroll_y > 0:
            names.append(PROMPT)
        current = PROMPT if self._in_prompt else self.active
        if not names or current not in names:
            return
        following = names[(names.index(current) + step) % len(names)]
        if following == PROMPT:
            prompt.focus()
        else:
            self.show_pane(following)

    def action_next_tab(self) -> None:
        """Show the next part of the case."""
        self._step_tab(1)

    def action_previous_tab(self) -> None:
        """Show the part of the case before."""
        self._step_tab(-1)

    def _step_tab(self, step: int) -> None:
        names = [pane_id for pane_id, _ in self._tabs()]
        if not names:
            return
        current = self.active
        if current not in names:
            current = self.query_one("#switcher", ContentSwitcher).current or names[0]
        self.show_pane(names[(names.index(current) + step) % len(names)])

    def action_zoom(self) -> None:
        """Give the focused pane the whole screen, or take it back."""
        zoomed = not self.has_class("-zoom")
        self.set_class(zoomed, "-zoom")
        self._show_active()
        self._say(f"Zoomed; {self._key('zoom')} gives the room back." if zoomed else "")

    def action_wrap(self) -> None:
        """Wrap long lines of the focused pane, or let them run on."""
        run_on = f"Long lines run on; {self._key('text.left')} {self._key('text.right')} scroll."
        self._say("Long lines are wrapped." if self.pane.toggle_wrap() else run_on)

    def action_numbers(self) -> None:
        """Show or hide the line numbers of the focused pane."""
        self._say("Line numbers shown." if self.pane.toggle_numbers() else "Line numbers hidden.")

    def action_source(self) -> None:
        """Show the Markdown of the focused pane as it stands, or rendered."""
        shown, key = self.pane.toggle_source(), self._key("source")
        if shown is None:
            self._say("This pane shows its text as it stands: it is no Markdown.")
        elif shown:
            self._say(f"The Markdown as it stands; {key} renders it.")
        elif self.pane.is_rendered or len(self.pane.given) <= RENDERED:
            self._say(f"The Markdown rendered; {key} shows it as it stands.")
        else:
            self._say(f"Markdown of more than {counted(RENDERED, 'character')} is shown as it stands.")

    def action_failure(self) -> None:
        """Go to the next failure in the log; without a log, say so."""
        if self.item is None or not any(part.id == "run" and part.text for part in self.item.case):
            self._say("There is no log here.")
            return
        self.show_pane("run")
        # The pane may have been hidden until now, and then has no size to scroll in.
        self.call_after_refresh(self._go_to_failure)

    def _go_to_failure(self) -> None:
        line = self._panes["run"].jump_to_landmark()
        following = self._key("failure")
        more = self._panes["run"].landmark_count > 1
        further = f"; {following} goes to the next one." if more else ", the only one."
        found = f"Failure at line {line}{further}"
        self._say(found if line else "The log shows no failure.")

    # -- search ---------------------------------------------------------------------------------------

    def action_find(self) -> None:
        """Open the search line for the focused pane."""
        self._searched = self.pane
        box = self.query_one(f"#{FIND}", Input)
        box.display = True
        box.focus()
        box.select_all()
        self._say("", choices=[("Enter", "keeps the search"), (self._key("line.close"), "ends it")])

    _searched: TextPane | None = None

    @on(Input.Changed, "#find")
    def _find_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._searched is not None and self.query_one(f"#{FIND}", Input).display:
            self._searched.search(event.value)

    @on(Input.Submitted, "#find")
    def _find_given(self, event: Input.Submitted) -> None:
        event.stop()
        box = self.query_one(f"#{FIND}", Input)
        box.display = False
        self.searching = bool(event.value) and self._searched is not None
        if self._searched is not None:
            self._searched.focus()
        if self.searching:
            self._say_search()
        else:
            self._say("")

    @on(SearchMoved)
    def _search_moved(self, message: SearchMoved) -> None:
        message.stop()
        if self.searching:
            self._say_search()

    def _say_search(self) -> None:
        if self._searched is not None:
            after, before, end = self._key("next"), self._key("find_back"), self._ending_key
            status = self._searched.search_status
            steps = "" if status == NO_MATCH else f" · {after} next match · {before} match before"
            self._say(f"find: {status}{steps} · {end} ends")

    def next_match(self) -> None:
        """Go to the next match of the search."""
        if self._searched is not None:
            self._searched.next_match()
            self._say_search()

    def action_previous_match(self) -> None:
        """Go to the match before."""
        if self.searching and self._searched is not None:
            self._searched.previous_match()
            self._say_search()
        else:
            self._say(f"No search is open; {self._key('find')} begins one.")

    def stop_searching(self) -> None:
        """Let the search end with the text that it was in."""
        self.searching = False

    def end_search(self) -> bool:
        """End a search or close a text line; return whether there was one."""
        box = self.query_one(f"#{FIND}", Input)
        if self.keep_draft():
            return True
        if not self.searching and not box.display:
            return False
        self.searching = False
        box.display = False
        if self._searched is not None:
            self._searched.search("")
            self._searched.focus()
        self._say("")
        return True
