"""Citing lines as the evidence of a judgment: choosing them, keeping them, following those of the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from screens.dispatch import Handler, Handlers
from screens.items.views import ItemView, Link, PaneText
from screens.judging.context import JudgingContext
from screens.judging.drafts import Drafts
from screens.review.panes import SUBJECT, PaneController
from screens.widgets.text.document import Document
from screens.widgets.text.view import TextPane
from store.record.actions import Action
from store.record.evidence import (
    CITATIONS_MOST,
    Citation,
    as_json,
    cite,
    digest,
    in_order,
    lines_in_words,
    readable_citations,
)
from store.tables.record import Judgment

_NAMED = 3


def format_citations(citations: Iterable[Citation], item: ItemView | None) -> str:
    """Return where cited lines are on the screen: `code 3-5, log 7`; the first places of many."""
    places = [_place(one, item) for one in in_order(citations)]
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    return ", ".join(places[:_NAMED]) + more


class Citations:
    """Lets lines be cited.

    What is marked when a label is given goes with it. It begins with what the rater's current label
    cites; what was changed since and went with no label yet is a draft, kept like that of a comment.

    Args:
        changed: Called when a draft has changed.
        show_execution: Shows the execution whose test or log is cited.
        judgment: The word for what cites the lines.

    Attributes:
        drafts: Changed citations that no label has.
    """

    def __init__(
        self,
        shared: JudgingContext,
        panes: PaneController,
        changed: Callable[[], None],
        show_execution: Callable[[Citation], None],
        judgment: str = "label",
    ) -> None:
        self._shared = shared
        self._panes = panes
        self._changed = changed
        self._bring_out = show_execution
        self._judgment = judgment
        self.drafts: Drafts[tuple[Citation, ...]] = Drafts(
            "citations", as_json, lambda kept: readable_citations(str(kept))
        )

    def handlers(self) -> Handlers:
        """Return what the commands do that cite lines, and follow citations."""
        return {"review.cite": Handler(self.cite, of_item=True), "review.follow": Handler(self.follow)}

    # -- citations -----------------------------------------------------------------------------------

    @property
    def cited(self) -> tuple[Citation, ...]:
        """The lines that the next label of the item shown cites."""
        return () if self._shared.item is None else self._citations_of(self._shared.item)

    def _citations_of(self, view: ItemView) -> tuple[Citation, ...]:
        draft = self.drafts.get(view.item_id)
        return _stored(view) if draft is None else draft

    def marked(self, view: ItemView) -> ItemView:
        """Return an item with the lines marked that the rater cites."""
        draft = self.drafts.get(view.item_id)
        if draft is not None and as_json(draft) == as_json(_stored(view)):
            self.drafts.put(view.item_id, None)
        cited = self._citations_of(view)
        if not cited and not _stored(view):
            return view

        def marked_in(part: PaneText) -> PaneText:
            lines, stored = (_lines_of(part, each) for each in (cited, _stored(view)))
            return replace(part, cited=lines, recorded=lines == stored)

        return replace(view, subject=marked_in(view.subject), case=tuple(map(marked_in, view.case)))

    def _mark_panes(self) -> None:
        """Mark the cited lines of the item shown in its panes."""
        if self._shared.item is None:
            return
        plain = [replace(part, cited=frozenset(), recorded=True) for part in self._shared.item.case]
        subject = replace(self._shared.item.subject, cited=frozenset(), recorded=True)
        view = self.marked(replace(self._shared.item, subject=subject, case=tuple(plain)))
        self._shared.guard.show_as(view)
        for pane_id, part in ((SUBJECT, view.subject), *((part.id, part) for part in view.case)):
            self._panes.by_id[pane_id].mark_cited(part.cited, recorded=part.recorded)

    def recorded(self, action: Action) -> None:
        """Take note that a label of the item shown was given, with what was cited for it."""
        if any(isinstance(record, Judgment) and record.value is not None for record in action.records):
            self.drafts.put(action.item_id, None)
        self._mark_panes()

    def keep_undone(self, action: Action, *, redo: bool) -> None:
        """Keep what a label cited that was taken back, for the label that may be given in its place."""
        labels = [record for record in action.about or action.records if isinstance(record, Judgment)]
        cited = readable_citations(labels[-1].evidence) if labels else ()
        if redo:
            self.drafts.put(action.item_id, None)
        elif cited:
            self.drafts.put(action.item_id, in_order(cited))

    # -- choosing lines -------------------------------------------------------------------------------

    def cite(self) -> None:
        """Begin to choose lines; chosen ones are cited, or cited no more."""
        item, pane = self._shared.item, self._panes.pane
        if self._shared.context.rater is None:
            self._shared.context.notices.show_no_rater()
            return
        missing = self._shared.guard.missing_at(self._shared.context.last_key.time)
        if item is None or missing:
            self._shared.lose_key("citation")
            self._shared.show_message(
                f"Not cited: the {missing} was not on the screen when you pressed. Press again.", alarm=True
            )
            return
        part = self._part_of(pane)
        if part is None or part.part is None:
            *first, last = [
                item.subject_word if item.has_sides else "Code",
                *(each.title for each in item.case if each.part is not None and each.text),
            ]
            places = f"{', '.join(first)} and {last}" if first else last
            hidden = (
                " The agents' test is not shown in a blind review."
                if item.blind and item.tests == "none"
                else ""
            )
            self._shared.lose_key("citation")
            self._shared.show_message(
                f"Nothing to cite in this pane: only lines of {places} can be cited.{hidden}"
            )
        elif not pane.text:
            self._shared.lose_key("citation")
            self._shared.show_message("There is nothing to cite in this pane.")
        elif pane.is_rendered:
            self._shared.lose_key("citation")
            self._shared.show_message(
                f"Only lines of the Markdown source can be cited: {self._shared.key('source')} shows it."
            )
        elif (lines := pane.selected_lines or pane.cursor_lines) is not None:
            self._cite(item, pane, part, lines)
        else:
            line = self._named_at(pane).begin_cursor()
            self._show_cursor(part, range(line, line + 1))

    def _named_at(self, pane: TextPane) -> TextPane:
        """Return a pane whose cursor names the lines that it comes to."""
        pane.cursor_moved = partial(self._moved, pane)
        return pane

    def _moved(self, pane: TextPane) -> None:
        part, lines = self._part_of(pane), pane.cursor_lines
        if part is None or lines is None:
            return
        if (link := _link_at(part, lines[-1])) is not None:
            self._show_link(link)
        elif part.part is not None:
            self._show_cursor(part, lines)

    def _show_cursor(self, part: PaneText, lines: range) -> None:
        several = f"{self._shared.key('text.more_up')} {self._shared.key('text.more_down')}"
        keys = f"{self._choosing_keys} choose, {several} several"
        here = f"▸ {part.side or part.part} {lines_in_words(lines[0], lines[-1])}"
        if _is_empty(part, lines):
            here += ", empty"
        self._shared.show_message(f"{here} · {keys} · {self._cites}")

    @property
    def _choosing_keys(self) -> str:
        return f"{self._shared.key('text.up')} {self._shared.key('text.down')}"

    @property
    def _cites(self) -> str:
        cite, follow = self._shared.key("cite"), self._shared.key("follow")
        return f"{cite} or {follow} cite · {self._shared.keys.ending} end"

    def _cite(self, item: ItemView, pane: TextPane, part: PaneText, lines: range) -> None:
        assert part.part is not None
        if _is_empty(part, lines):
            self._shared.lose_key("citation")
            where = f"{part.side or part.part} {lines_in_words(lines[0], lines[-1])}"
            self._shared.show_message(f"Not cited: {where} is empty.", alarm=True)
            return
        marked = set(pane.cited_lines)
        removing = marked.issuperset(lines)
        marked = marked - set(lines) if removing else marked | set(lines)
        sha256 = digest(part.text)
        others = [one for one in self.cited if (one.part, one.sha256) != (part.part, sha256)]
        ours = cite(part.part, part.text, Document(part.text).lines, marked, part.execution)
        if len(others) + len(ours) > CITATIONS_MOST:
            self._shared.show_message(
                f"More than {CITATIONS_MOST} places cannot be cited for one {self._judgment}.", alarm=True
            )
            return
        self._shared.forget_lost_key()
        self.drafts.put(item.item_id, in_order([*others, *ours]))
        self._mark_panes()
        self._changed()
        if item.item_id not in self.drafts:
            cited = format_citations(self.cited, item)
            self._shared.show_message(
                f"Your {self._judgment} cites {cited} as before." if cited else "Nothing is cited."
            )
            return
        cited = format_citations(self.cited, item) or "nothing"
        word = "No more cited" if removing else "▌ Cited"
        these = f"{part.side or part.part} {lines[0]}" + (f"-{lines[-1]}" if len(lines) > 1 else "")
        self._shared.show_message(f"{word}: {these} · your next {self._judgment} of this item cites {cited}")

    def _part_of(self, pane: TextPane) -> PaneText | None:
        """Return what a pane shows of the item."""
        if self._shared.item is None:
            return None
        if pane is self._panes.by_id[SUBJECT]:
            return self._shared.item.subject
        return next((part for part in self._shared.item.case if part.id == pane.id), None)

    # -- following ------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Cite the lines at the cursor; in the history go to those that it cites there.

        Without a cursor the history's latest are chosen.
        """
        pane = self._panes.pane
        part = self._part_of(pane)
        if part is None or not pane.text or not part.links:
            if pane.cursor_lines is not None:
                self.cite()
                return
            self._shared.show_message(
                f"{self._shared.key('follow')} follows the citations of History; there is none in this pane."
            )
            return
        lines = pane.cursor_lines
        link = None if lines is None else _link_at(part, lines[-1])
        if link is not None:
            self._go_to_cited(link.citation)
            return
        link = part.links[-1]
        self._named_at(pane).put_cursor(link.first, link.first)
        self._show_link(link)

    def _show_link(self, link: Link) -> None:
        goes = f"{self._shared.key('follow')} goes there · {self._choosing_keys} choose another one"
        self._shared.show_message(f"▸ {_place(link.citation, self._shared.item)} · {goes}")

    def _go_to_cited(self, citation: Citation) -> None:
        self._bring_out(citation)
        if self._shared.item is None:
            return
        for pane_id, part in (
            (SUBJECT, self._shared.item.subject),
            *((each.id, each) for each in self._shared.item.case),
        ):
            if part.part != citation.part:
                continue
            first, where = citation.first, _place(citation, self._shared.item)
            if not citation.fits(part.text):
                found = _find_again(Document(part.text).lines, citation)
                if found is None:
                    continue
                first, where = found, f"{where} when it was cited; the text has changed since"
            self._panes.by_id.end_cursors()
            self._panes.show_pane(pane_id)
            last = first + citation.last - citation.first
            # The pane may have been hidden until now, and then has no size to scroll in.
            pane = self._named_at(self._panes.by_id[pane_id])
            self._shared.screen.call_after_refresh(pane.put_cursor, first, last)
            self._shared.show_message(f"▸ {where} · {self._cites}")
            return
        self._shared.show_message(f"{citation.place}: that text is not shown any more; see History.")

    # -- keeping --------------------------------------------------------------------------------------

    def mention_draft(self, item_id: int) -> None:
        """Say that an item that has come onto the screen has a draft."""
        draft = self.drafts.get(item_id)
        if draft is not None:
            cited = format_citations(draft, self._shared.item) or "nothing"
            self._shared.append_message(f"Not recorded yet: your next {self._judgment} cites {cited}.")


def _link_at(part: PaneText, line: int) -> Link | None:
    """Return the citation that a line of the history shows; None where it shows none."""
    return next((each for each in part.links if each.first <= line <= each.last), None)


def _is_empty(part: PaneText, lines: range) -> bool:
    """Tell whether nothing stands on some lines of a text."""
    every = Document(part.text).lines
    return not any(line.strip() for line in every[lines.start - 1 : lines.stop - 1])


def _stored(view: ItemView) -> tuple[Citation, ...]:
    """Return what the rater's label for the question that is asked cites."""
    return view.label.citations if view.label is not None else ()


def _lines_of(part: PaneText, citations: Iterable[Citation]) -> frozenset[int]:
    """Return the lines of a text that are cited."""
    ours = [one for one in citations if one.part == part.part]
    if not ours:
        return frozenset()
    sha256 = digest(part.text)
    lines = part.text.count("\n") + 1
    return frozenset(
        number
        for one in ours
        if one.sha256 == sha256
        for number in range(one.first, min(one.last, lines) + 1)
    )


def _place(citation: Citation, item: ItemView | None) -> str:
    """Return where cited lines are: "code 3-5"; of a comparison on which side."""
    parts = () if item is None else (item.subject, *item.case)
    word = next((one.side for one in parts if one.side and one.part == citation.part), citation.part)
    return f"{word} {lines_in_words(citation.first, citation.last)}"


def _find_again(lines: list[str], citation: Citation) -> int | None:
    """Return the nearest line of another text at which cited lines are found; None if nowhere."""
    wanted = citation.text.split("\n")
    if len(wanted) != citation.last - citation.first + 1:
        return None
    places = [at for at in range(len(lines) - len(wanted) + 1) if lines[at : at + len(wanted)] == wanted]
    return min((at + 1 for at in places), key=lambda at: abs(at - citation.first), default=None)
