"""The panes of a review: their texts, which one is active, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from textual.content import Content
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static

from screens.dispatch import Handler, Handlers
from screens.help import with_keys
from screens.items.comparison import RIGHT
from screens.items.views import GUIDELINE, ItemView, PaneText
from screens.judging.context import JudgingContext
from screens.review.bars import CaseTabs
from screens.widgets.text.markdown import CHARACTERS as RENDERED
from screens.widgets.text.sanitize import one_line
from screens.widgets.text.view import Place, TextPane
from store.formatting import pluralize
from store.kinds.comparison_texts import CHANGES


class LazyPanes(Mapping[str, TextPane]):
    """Panes by their ids. Whoever looks a pane up finds it filled.

    Laying out a text takes time, and an item has more texts than are seen at once: the next item is
    painted earlier when those behind the tabs come after it.
    """

    def __init__(self) -> None:
        self._panes: dict[str, TextPane] = {}
        # With the place to go to: none when the pane is left where it is, a line to begin at.
        self._waiting: dict[str, tuple[PaneText, Place | int | None]] = {}
        # The line at which the text of a pane begins, from 1, where it is not the first.
        self._starts: dict[str, int] = {}

    def __getitem__(self, pane_id: str) -> TextPane:
        pane = self._panes[pane_id]
        part, place = self._waiting.pop(pane_id, (None, None))
        if part is not None:
            part.load_into(pane, title=part.border, empty=part.empty)
            pane.mark_cited(part.cited, recorded=part.recorded)
        if place is not None:
            _go(pane, place)
        return pane

    def __iter__(self) -> Iterator[str]:
        return iter(self._panes)

    def __len__(self) -> int:
        return len(self._panes)

    def __contains__(self, pane_id: object) -> bool:
        return pane_id in self._panes

    def add(self, pane_id: str, pane: TextPane) -> None:
        """Take in a pane."""
        self._panes[pane_id] = pane

    def show(self, pane_id: str, part: PaneText) -> None:
        """Let a pane show a text, as soon as the pane is looked up or `fill` is called."""
        self._waiting[pane_id] = (part, None)
        self._starts.pop(pane_id, None)
        if part.start is not None:
            self._starts[pane_id] = part.start

    def end_cursors(self) -> bool:
        """Take the cursors of all panes away; return whether there was one."""
        # Not looked up, since nothing need be filled for it.
        return any([pane.end_cursor() for pane in tuple(self._panes.values())])  # noqa: C419 - all of them

    def look_like(self, pane: TextPane, pane_ids: Iterable[str]) -> None:
        """Let panes show their texts as another one does; none is filled for it."""
        for pane_id in pane_ids:
            if pane_id in self._panes:
                self._panes[pane_id].look_like(pane)

    def fill(self) -> None:
        """Fill the panes that still wait for their texts."""
        for pane_id in tuple(self._waiting):
            self[pane_id]

    @property
    def places(self) -> dict[str, Place]:
        """Where each pane is scrolled to, or will be; without those that stand where their texts begin."""
        found: dict[str, Place] = {}
        for pane_id, pane in self._panes.items():
            if pane_id not in self._waiting:
                if not pane.has_begun:
                    found[pane_id] = pane.place
            elif not isinstance(place := self._waiting[pane_id][1], int):
                found[pane_id] = place or Place()
        return found

    def restore(self, places: Mapping[str, Place]) -> None:
        """Scroll every pane to its place; without one to where its text begins, otherwise to the top."""
        for pane_id, pane in self._panes.items():
            place = places.get(pane_id) or self._starts.get(pane_id) or Place()
            if pane_id in self._waiting:
                self._waiting[pane_id] = (self._waiting[pane_id][0], place)
            else:
                _go(pane, place)


def _go(pane: TextPane, place: Place | int) -> None:
    if isinstance(place, int):
        pane.begin_at(place)
    else:
        pane.restore(place)


SUBJECT = "subject"
CASE = "case"
PROMPT = "prompt"
ABOVE = "above"

ABOVE_ROWS = 3
"""Rows that the words over a text get at most."""

PROMPT_ROWS = ((45, 3), (20, 2), (0, 1))
"""Rows of the prompt by the rows of the terminal from which it has so many; it scrolls beyond them."""

SINGLE_BELOW = 120
"""Cells below which one pane is shown at a time."""


class PaneController:
    """Shows an item in panes, and moves among them.

    Args:
        chosen: Called with the id of a pane that was chosen.
        show: Shows an item with swapped panes.

    Attributes:
        active: The pane that is read: the subject, or a part of the case.
        preferred: The part of the case that is shown where an item has it.
        comparing: Whether two runs stand side by side, one above the other where the terminal is narrow.
    """

    def __init__(
        self, shared: JudgingContext, chosen: Callable[[str], None], show: Callable[[ItemView], None]
    ) -> None:
        self.by_id = LazyPanes()
        self.active = SUBJECT
        self.preferred = ""
        # The item that is shown; None before the first.
        self._item_id: int | None = None
        self.comparing = False
        self._shared = shared
        self._chosen = chosen
        self._show = show
        # The part of the case in the subject's place, for every item that has it; empty for none.
        self._swapped = ""
        # The part of the case and the active pane before the guideline was shown by its key.
        self._before_guideline: tuple[str, str] | None = None
        self._above: str | None = None
        self._prompt_height: int | str = 0

    def handlers(self) -> Handlers:
        """Return what the commands do that move among the panes, and change how they show their texts."""
        return {
            "review.pane": Handler(lambda: self._step_pane(1)),
            "review.pane_back": Handler(lambda: self._step_pane(-1)),
            "review.tab": Handler(lambda: self._step_tab(1)),
            "review.tab_back": Handler(lambda: self._step_tab(-1)),
            "review.sides": Handler(self.swap),
            "review.zoom": Handler(self.zoom, of_item=True),
            "review.wrap": Handler(self.wrap),
            "review.numbers": Handler(self.number_lines),
            "review.source": Handler(self.show_source),
            "review.guideline": Handler(self.show_guideline, self._is_in_study, of_item=True),
            "review.failure": Handler(self.show_failure, self._has_failure, of_item=True),
        }

    # -- which pane -----------------------------------------------------------------------------------

    @property
    def narrow(self) -> bool:
        """Whether one pane is shown at a time."""
        return self.is_small and not self.has_both

    @property
    def has_both(self) -> bool:
        """Whether both panes are shown, however narrow the terminal is."""
        item = self._shared.item
        return self.comparing or (item is not None and item.has_sides)

    @property
    def is_small(self) -> bool:
        """Whether two panes have no room side by side."""
        return self._shared.screen.app.size.width < SINGLE_BELOW

    @property
    def pane(self) -> TextPane:
        """The pane that is read: the one with the focus, otherwise the active one."""
        focused = self._shared.screen.focused
        return focused if isinstance(focused, TextPane) else self.by_id[self.active]

    @property
    def shown_in_case(self) -> str:
        """Which part of the case is shown, or would be where only one pane is."""
        return self._switcher.current or ""

    @property
    def _switcher(self) -> ContentSwitcher:
        return self._shared.screen.query_one("#switcher", ContentSwitcher)

    @property
    def prompt(self) -> TextPane:
        """The pane that shows what is asked for."""
        return self._shared.screen.query_one(f"#{PROMPT}", TextPane)

    @property
    def _in_prompt(self) -> bool:
        return self._shared.screen.focused is not None and self._shared.screen.focused.id == PROMPT

    def _tabs(self) -> list[tuple[str, str]]:
        item = self._shared.item
        if item is None:
            return []
        case = [(part.id, part.title) for part in item.case]
        return [(SUBJECT, item.subject_word), *case] if self.narrow else case

    def show_active(self) -> None:
        """Show the active pane, and mark its tab; in a narrow terminal it is the only one."""
        subject, switcher = self.active == SUBJECT, self._switcher
        part_id = switcher.current if subject else self.active
        without = self._side_without_text(part_id)
        self.update_classes()
        for side in (SUBJECT, CASE):
            # Not a class of the screen, since this one changes between items.
            self._shared.screen.query_one(f"#{side}").set_class(side == without, "-without-text")
        if self.active not in {SUBJECT, switcher.current}:
            switcher.current = self.by_id[self.active].id
        self._show_above(switcher.current)
        shown = self.active if self.narrow or self.active != SUBJECT else switcher.current or ""
        note = self._shown_part(part_id).empty if without == CASE else ""
        settings = self._shared.context.settings
        self._shared.screen.query_one(CaseTabs).show(self._tabs(), shown, with_keys(settings, note))
        self.fit_prompt()

    def update_classes(self) -> None:
        """Give the screen its classes, all at once: each change has everything on it styled again."""
        self._shared.screen.update_classes(
            {
                "-single": self.narrow,
                "-subject": self.active == SUBJECT,
                "-in-case": self.active != SUBJECT,
                "-in-prompt": self._in_prompt,
                "-stacked": self.is_small and self.has_both,
            }
        )

    def _shown_part(self, pane_id: str | None) -> PaneText:
        """Return a part of the case as it is shown; one without text where there is none."""
        item = self._shared.item
        case = () if item is None else item.case
        return next((item.as_shown(one) for one in case if item and one.id == pane_id), PaneText("", "", ""))

    def _side_without_text(self, part_id: str | None) -> str:
        """Return the side that gives its room to the other one, since it has no text and is not read."""
        item = self._shared.item
        if item is None or self.narrow or self.has_both:
            return ""
        has_part = any(one.text for one in item.case if one.id == part_id)
        if self.active == SUBJECT:
            return "" if has_part or not item.subject.text else CASE
        return SUBJECT if has_part and not item.subject.text else ""

    def _show_above(self, pane_id: str | None) -> None:
        """Show the words that belong over a pane of the case; none take no room."""
        screen, words = self._shared.screen, self._shown_part(pane_id).above
        width = screen.app.size.width // (1 if self.is_small or screen.has_class("-zoom") else 2)
        # A word that does not fit leaves the end of its row empty.
        words = one_line(words, max(width - 12, 12) * ABOVE_ROWS) if words else ""
        if words != self._above:
            self._above = words
            box = screen.query_one(f"#{ABOVE}", Static)
            box.update(Content(words))
            box.display = bool(words)

    def fit_prompt(self) -> None:
        """Give the prompt as many rows as it has for every item, so that no pane moves.

        A longer one has the rows as well that compared texts leave free.
        """
        pane, size = self.prompt, self._shared.screen.app.size
        zoomed = self._shared.screen.has_class("-zoom")
        rows = next(rows for least, rows in PROMPT_ROWS if size.height >= least)
        if not zoomed:
            rows += self._free_rows(rows)
        height: int | str = rows if self.is_small or zoomed else rows + 2
        if self._in_prompt and zoomed:
            height = "1fr"
        if height != self._prompt_height:
            self._prompt_height = height
            pane.styles.height = height

    def _free_rows(self, rows: int) -> int:
        """Return how many rows compared texts leave to a prompt that has more than some rows."""
        item = self._shared.item
        if item is None or not item.subject.compared:
            return 0
        seen = {self.active} if self.narrow else {SUBJECT, self.shown_in_case}
        shown = [self.by_id[pane_id] for pane_id in seen if pane_id in self.by_id]
        wanted = [pane.rows_wanted for pane in (self.prompt, *shown)]
        known = [each for each in wanted if each is not None]
        if len(known) < len(wanted):
            return 0
        asked, *texts = known
        body, above = (self._shared.screen.query_one(f"#{part}") for part in ("body", ABOVE))
        room = self.prompt.content_size.height + body.size.height - rows
        if above.display:
            room -= above.outer_size.height
        high = max(texts) + self.by_id[SUBJECT].styles.gutter.height
        if self.is_small and self.has_both:
            high *= 2
        return max(0, min(asked - rows, room - high))

    def _choose(self, pane_id: str) -> None:
        self.active = pane_id
        if pane_id != SUBJECT:
            self.preferred = pane_id
        self.show_active()
        item = self._shared.item
        if item is not None:
            # One that covers several responses is scrolled to the one of the current question.
            places = next((part.places for part in item.case if part.id == pane_id), {})
            if (line := places.get(item.current.pane)) is not None:
                self._shared.screen.call_after_refresh(self.by_id[pane_id].jump_to_line, line)
        self._chosen(pane_id)

    def focus_active(self) -> None:
        """Give the focus to the active pane."""
        if self.active in self.by_id:
            self.by_id[self.active].focus()

    def show_pane(self, pane_id: str) -> None:
        """Bring a pane into view and give it the focus."""
        if pane_id in self.by_id:
            self._choose(pane_id)
            self.focus_active()

    def resized(self) -> None:
        """Lay the tabs out for another size; panes keep their places themselves."""
        if self._shared.item is not None:
            self.show_active()
            self._shared.screen.call_after_refresh(self.fit_prompt)
            # A pane that has no room any more cannot keep the focus.
            focused = self._shared.screen.focused
            if isinstance(focused, TextPane) and focused.id in self.by_id:
                self.focus_active()

    def focused(self, widget: Widget) -> None:
        """Take a pane that has got the focus for the active one."""
        if widget.id is not None and widget.id in self.by_id and widget.id != self.active:
            self._choose(widget.id)
        else:
            self.show_active()

    def pane_in_sight(self, item: ItemView, part_id: str) -> TextPane | None:
        """Return the pane that shows a part of an item; None where it is out of sight."""
        pane_id = SUBJECT if item.subject.id == part_id else part_id
        seen = (self.active,) if self.narrow else (SUBJECT, self.shown_in_case)
        return self.by_id[pane_id] if pane_id in seen else None

    def _step_pane(self, step: int) -> None:
        """Go round: subject, case (its tabs one by one where only one pane is shown), and a long prompt."""
        if self.narrow:
            names = [pane_id for pane_id, _ in self._tabs()]
        else:
            names = [SUBJECT, self.shown_in_case or SUBJECT]
        if self.prompt.max_scroll_y > 0:
            names.append(PROMPT)
        current = PROMPT if self._in_prompt else self.active
        if not names or current not in names:
            return
        following = names[(names.index(current) + step) % len(names)]
        if following == PROMPT:
            self.prompt.focus()
        else:
            self.show_pane(following)

    def _step_tab(self, step: int) -> None:
        names = [pane_id for pane_id, _ in self._tabs()]
        if not names:
            return
        current = self.active
        if current not in names:
            current = self.shown_in_case or names[0]
        self.show_pane(names[(names.index(current) + step) % len(names)])

    # -- filling --------------------------------------------------------------------------------------

    def begin(self, subject: TextPane) -> None:
        """Take in the pane of the subject."""
        self._add(SUBJECT, subject)

    def _add(self, pane_id: str, pane: TextPane) -> None:
        self.by_id.add(pane_id, pane)
        # How many rows a text needs, and so how many are free, is known once it is laid out.
        self._shared.screen.watch(pane, "virtual_size", self.fit_prompt, init=False)
        pane.begin_code(
            wrap=self._shared.context.settings.wrap, numbers=self._shared.context.settings.line_numbers
        )

    def fill(self, view: ItemView) -> None:
        """Let the panes show an item; those out of sight are filled when it is painted."""
        self._load_prompt(view)
        switcher = self._switcher
        for part in view.case:
            if part.id not in self.by_id:
                pane = TextPane(id=part.id)
                self._add(part.id, pane)
                pane.display = part.id == switcher.current
                switcher.mount(pane)
        settings = self._shared.context.settings
        for pane_id, part in ((SUBJECT, view.subject), *((part.id, part) for part in view.case)):
            shown = view.as_shown(part)
            self.by_id.show(pane_id, replace(shown, empty=with_keys(settings, shown.empty)))
        if view.item_id != self._item_id:
            self._item_id = view.item_id
            self._begin_item(view)
        case = self.part_shown(view)
        if self.active != SUBJECT:
            self.active = case
        if switcher.current != case:
            switcher.current = case
        for pane_id in (SUBJECT, case):
            # These are seen; the others are filled when they are painted.
            self.by_id[pane_id]
        # What was chosen for another item's subject holds for all of them.
        self._look_alike(view, self.by_id[SUBJECT])
        if self._shared.guard.is_painted:
            self.by_id.fill()

    def _begin_item(self, view: ItemView) -> None:
        """Show of another item what its question is about, where another response was looked at before.

        Where only one pane is shown, that of the subject takes the place of one that this item lacks.
        """
        about = {question.pane for question in view.questions}
        asked = view.current.pane
        if asked and asked != self.preferred and self.preferred in about:
            self.preferred = asked
        lacks_pane = self.part_shown(view) not in (self.preferred, view.current.pane)
        if self.narrow and lacks_pane and self.active != SUBJECT:
            self.active = SUBJECT
            self.focus_active()

    def _load_prompt(self, view: ItemView) -> None:
        """Show the prompt, or what covers it, and how texts are shown that have no sides to say that."""
        changes = () if view.has_sides else (CHANGES[one] for one in view.changes)
        self.prompt.load(
            "" if view.is_covered else view.prompt,
            kind="reply",
            title=" · ".join([view.prompt_word or view.kind, view.external_id, *changes]),
            empty=with_keys(self._shared.context.settings, view.prompt_cover),
            start=view.prompt_start,
        )

    def part_shown(self, view: ItemView) -> str:
        """Return which part of an item's case is shown.

        A part without text for this item gives way, until an item has it again: to what is asked about, so
        that only the response that is scored is shown there, else to the first part.
        """
        # Beside another run an empty part says that this one has none.
        filled = {part.id for part in view.case if part.text or part.id == view.swapped or self.comparing}
        asked = next((part.id for part in view.case if part.id == view.current.pane), view.case[0].id)
        return self.preferred if self.preferred in filled else asked

    def empty(self, in_subject: str) -> None:
        """Show a sentence in the pane of the subject, and nothing in the others."""
        for pane in (self.prompt, *self.by_id.values()):
            pane.load("", empty=in_subject if pane.id == SUBJECT else "")
        self.show_active()

    def show_question_pane(self, view: ItemView) -> None:
        """Bring the pane into view that the question is about; a reader who is in the subject stays there."""
        pane = view.current.pane
        # A pane of an earlier item may be there, with that item's text.
        if pane not in self.by_id or all(part.id != pane for part in view.case):
            return
        self.preferred = pane
        if self.active != SUBJECT or self.narrow:
            self.active = pane
            self._shared.screen.call_after_refresh(self.focus_active)
        else:
            self._switcher.current = pane

    def go_to_pane(self, pane_id: str, view: ItemView) -> None:
        """Make the pane active that a session ended in, where an item has it."""
        self.active = pane_id if pane_id in self.by_id else SUBJECT
        if self.active != SUBJECT:
            self.preferred = self.active
            self.fill(view)

    # -- how texts are shown --------------------------------------------------------------------------

    def zoom(self) -> None:
        """Give the focused pane the whole screen, or take it back."""
        zoomed = not self._shared.screen.has_class("-zoom")
        self._shared.screen.set_class(zoomed, "-zoom")
        self.show_active()
        self._shared.show_message(f"Zoomed; {self._shared.key('zoom')} shows all panes." if zoomed else "")

    def wrap(self) -> None:
        """Wrap long lines of the focused pane, or let them run on; of compared texts all of them."""
        left, right = self._shared.key("text.left"), self._shared.key("text.right")
        run_on = f"Long lines are not wrapped; {left} {right} scroll."
        self._shared.show_message("Long lines are wrapped." if self.pane.toggle_wrap() else run_on)
        self._look_alike(self._shared.item, self.pane)
        self.fit_prompt()

    def number_lines(self) -> None:
        """Show or hide the line numbers of the focused pane, and of those that it is compared with."""
        self._shared.show_message(
            "Line numbers shown." if self.pane.toggle_numbers() else "Line numbers hidden."
        )
        self._look_alike(self._shared.item, self.pane)
        self.fit_prompt()

    def _look_alike(self, view: ItemView | None, pane: TextPane) -> None:
        """Show all texts that are compared as one of them is shown; the others are left as they are."""
        parts = () if view is None else ((SUBJECT, view.subject), *((part.id, part) for part in view.case))
        compared = [pane_id for pane_id, part in parts if part.compared]
        if pane.id in compared:
            self.by_id.look_like(pane, compared)

    def show_source(self) -> None:
        """Show the Markdown of the focused pane as source, or rendered."""
        item = self._shared.item
        if item is not None and item.marks_differences and self.pane.id in (SUBJECT, RIGHT):
            key = self._shared.key("differences")
            self._shared.show_message(f"Differences are marked in the source of a text; {key} hides them.")
            return
        show, shown, key = self._shared.show_message, self.pane.toggle_source(), self._shared.key("source")
        self._look_alike(self._shared.item, self.pane)
        self.fit_prompt()
        if shown is None:
            show("This text is not Markdown.")
        elif shown:
            show(f"Markdown source; {key} renders it.")
        elif self.pane.is_rendered or len(self.pane.given) <= RENDERED:
            show(f"Rendered Markdown; {key} shows the source.")
        else:
            show(f"Markdown of more than {pluralize(RENDERED, 'character')} is shown as source.")

    def _is_in_study(self) -> bool:
        # Outside a study the guideline is a tab among others, and the key line needs its room.
        return self._shared.context.study is not None

    def show_guideline(self) -> None:
        """Show the guideline, or go back to what was read before it."""
        item, before = self._shared.item, self._before_guideline
        if item is None or not any(part.id == GUIDELINE for part in item.case):
            self._shared.show_message("There is no guide for this item.")
        elif self.active != GUIDELINE:
            self._before_guideline = (self.shown_in_case, self.active)
            self.show_pane(GUIDELINE)
            self._shared.show_message(f"{self._shared.key('guideline')} closes it.")
        elif before is not None:
            self._before_guideline = None
            # The focus goes to one of them: an event of the other's would bring that one into view.
            for pane_id in before:
                if pane_id in self.by_id:
                    self._choose(pane_id)
            self.focus_active()
            self._shared.show_message("")

    def _has_failure(self) -> bool:
        item = self._shared.item
        return item is None or any(part.id == "run" and part.landmarks for part in item.case)

    def show_failure(self) -> None:
        """Go to the next failure in the log; without a log, show a message."""
        item = self._shared.item
        if item is None or not any(part.id == "run" and part.text for part in item.case):
            self._shared.show_message("There is no log here.")
            return
        self.show_pane("run")
        # The pane may have been hidden until now, and then has no size to scroll in.
        self._shared.screen.call_after_refresh(self._go_to_failure)

    def _go_to_failure(self) -> None:
        line = self.by_id["run"].jump_to_landmark()
        more = self.by_id["run"].landmark_count > 1
        further = f"; {self._shared.key('failure')} goes to the next one." if more else ", the only one."
        self._shared.show_message(f"Failure at line {line}{further}" if line else "The log shows no failure.")

    # -- swapping panes -------------------------------------------------------------------------------

    def swap(self) -> None:
        """Swap the part that is shown on the right with the subject, or swap them back."""
        item = self._shared.item
        if item is None:
            self._shared.show_no_item()
            return
        if self.comparing:
            self._shared.show_message(f"Two runs stand side by side; {self._shared.key('compare')} ends it.")
            return
        if item.has_sides:
            self._shared.show_message("The sides of a comparison cannot be swapped.")
            return
        self._swapped = "" if item.swapped else self.shown_in_case
        view = item.with_swapped(self._swapped)
        if item.swapped:
            message = f"{view.subject_word} is in its place again."
        else:
            back = self._shared.key("sides")
            message = f"{view.subject_word} is on the left now; {back} shows {item.subject_word} again."
        if self.active != SUBJECT and not view.swapped:
            self.active = SUBJECT
        self._show(view)
        self._shared.show_message(message)

    def unswapped(self, view: ItemView) -> ItemView:
        """Return an item with its panes where they were at first, and leave those of others there too."""
        self._swapped = ""
        return view.with_swapped("")

    def with_swapped(self, view: ItemView) -> ItemView:
        """Return an item with its panes swapped as they were chosen."""
        return view.with_swapped(self._swapped) if self._swapped and not view.has_sides else view
