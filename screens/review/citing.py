"""Citing lines as the evidence of a judgment: choosing them, keeping them, following those of the history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from screens.context import ScreenContext
from screens.items.views import ItemView, PaneText
from screens.navigator import Navigator
from screens.queue.asked import Asked
from screens.review.keeping import DRAFTS_KEPT, KeepingPlaces
from screens.review.reading import SUBJECT
from screens.widgets.citing_pane import CitingPane
from screens.widgets.source_text import SourceText
from store.evidence import CITATIONS_MOST, Citation, as_json, cite, digest, in_order, readable_citations
from store.recording import Action
from store.tables.record import Judgment

_NAMED = 3


def in_words(citations: Iterable[Citation]) -> str:
    """Return where cited lines are: `code 3-5, log 7`; the first places of many."""
    places = [one.place for one in in_order(citations)]
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    return ", ".join(places[:_NAMED]) + more


class CitingLines(KeepingPlaces):
    """The part of a review screen in which lines are cited.

    What is marked when a label is given goes with it. It begins with what the rater's standing label
    cites; what was changed since and went with no label yet is a draft, kept like that of a comment.
    """

    def __init__(
        self,
        context: ScreenContext,
        navigator: Navigator,
        ids: list[int],
        index: int = 0,
        asked: Asked | None = None,
    ) -> None:
        super().__init__(context, navigator, ids, index, asked)
        self._cited_drafts: dict[int, tuple[Citation, ...]] = {}

    # -- what is cited --------------------------------------------------------------------------------

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The lines that the next label of the item shown cites."""
        return () if self.item is None else self._citations_of(self.item)

    def _citations_of(self, view: ItemView) -> tuple[Citation, ...]:
        return self._cited_drafts.get(view.item_id, _stored(view))

    def _with_citations(self, view: ItemView) -> ItemView:
        draft = self._cited_drafts.get(view.item_id)
        if draft is not None and as_json(draft) == as_json(_stored(view)):
            del self._cited_drafts[view.item_id]
        cited = self._citations_of(view)
        if not cited and not _stored(view):
            return view

        def marked(part: PaneText) -> PaneText:
            lines, stored = (_lines_of(part, each) for each in (cited, _stored(view)))
            return replace(part, cited=lines, recorded=lines == stored)

        return replace(view, subject=marked(view.subject), case=tuple(map(marked, view.case)))

    def _cite_anew(self, item_id: int, citations: Iterable[Citation]) -> None:
        """Take citations for those of the item's next label."""
        # The latest draft comes last, so that the oldest ones go when there are too many.
        self._cited_drafts.pop(item_id, None)
        self._cited_drafts[item_id] = in_order(citations)

    def _mark_panes(self) -> None:
        """Mark the cited lines of the item shown in its panes."""
        if self.item is None:
            return
        plain = [replace(part, cited=frozenset(), recorded=True) for part in self.item.case]
        subject = replace(self.item.subject, cited=frozenset(), recorded=True)
        view = self._with_citations(replace(self.item, subject=subject, case=tuple(plain)))
        self.show_as(view)
        for pane_id, part in ((SUBJECT, view.subject), *((part.id, part) for part in view.case)):
            self._panes[pane_id].mark_cited(part.cited, recorded=part.recorded)

    def citations_went(self, action: Action) -> None:
        """Take note that a label of the item shown was given, with what was cited for it."""
        if any(isinstance(record, Judgment) and record.value is not None for record in action.records):
            self._cited_drafts.pop(action.item_id, None)
        self._mark_panes()

    def keep_citations_of(self, action: Action, *, redo: bool) -> None:
        """Keep what a label cited that was taken back, for the label that may be given in its place."""
        labels = [record for record in action.about or action.records if isinstance(record, Judgment)]
        cited = readable_citations(labels[-1].evidence) if labels else ()
        if redo:
            self._cited_drafts.pop(action.item_id, None)
        elif cited:
            self._cite_anew(action.item_id, cited)

    # -- choosing lines -------------------------------------------------------------------------------

    def action_cite(self) -> None:
        """Begin to choose lines; chosen ones are cited, or cited no more."""
        item, pane = self.item, self.pane
        if self.context.rater is None:
            self.context.notices.say_no_rater()
            return
        if item is None:
            self._say("There is no item on the screen yet.")
            return
        part = self._part_of(pane)
        if not isinstance(pane, CitingPane) or part is None or part.part is None:
            *first, last = [
                "Code",
                *(each.title for each in item.case if each.part is not None and each.text),
            ]
            places = f"{', '.join(first)} and {last}" if first else last
            hidden = " The agents' test is not shown in a blind review." if self._is_blind else ""
            self._say(f"Nothing to cite in this pane: lines of {places} can be cited.{hidden}")
        elif not pane.text:
            self._say("There is nothing to cite in this pane.")
        elif pane.is_rendered:
            self._say(f"Lines are cited of the Markdown as it stands: {self._key('source')} shows it.")
        elif (lines := pane.selected_lines or pane.cursor_lines) is not None:
            self._cite(item, pane, part, lines)
        else:
            line = pane.begin_cursor()
            several = f"{self._key('text.more_up')} {self._key('text.more_down')}"
            self._say(
                f"▸ {part.part} {line} · {self._choosing_keys} choose, {several} several · {self._cites}"
            )

    @property
    def _choosing_keys(self) -> str:
        return f"{self._key('text.up')} {self._key('text.down')}"

    @property
    def _cites(self) -> str:
        return f"{self._key('cite')} cites · {self._ending_key} ends"

    @property
    def _is_blind(self) -> bool:
        return self.context.settings.blind

    def _cite(self, item: ItemView, pane: CitingPane, part: PaneText, lines: range) -> None:
        assert part.part is not None
        marked = set(pane.cited_lines)
        removing = marked.issuperset(lines)
        marked = marked - set(lines) if removing else marked | set(lines)
        sha256 = digest(part.text)
        others = [one for one in self.citations if (one.part, one.sha256) != (part.part, sha256)]
        ours = cite(part.part, part.text, SourceText(part.text).lines, marked, part.execution)
        if len(others) + len(ours) > CITATIONS_MOST:
            self._say(f"More than {CITATIONS_MOST} places cannot be cited for one label.", alarm=True)
            return
        self._cite_anew(item.item_id, [*others, *ours])
        self._mark_panes()
        self.keep_place_soon()
        if item.item_id not in self._cited_drafts:
            cited = in_words(self.citations)
            self._say(f"Your label cites {cited} as before." if cited else "Nothing is cited.")
            return
        cited = in_words(self.citations) or "nothing"
        word = "No more cited" if removing else "▌ Cited"
        these = f"{part.part} {lines[0]}" + (f"-{lines[-1]}" if len(lines) > 1 else "")
        self._say(f"{word}: {these} · your next label of this item cites {cited}")

    def _part_of(self, pane: object) -> PaneText | None:
        """Return what a pane shows of the item."""
        if self.item is None or not isinstance(pane, CitingPane):
            return None
        if pane is self._panes[SUBJECT]:
            return self.item.subject
        return next((part for part in self.item.case if part.id == pane.id), None)

    def _end_cursors(self) -> bool:
        return self._panes.end_cursors()

    def end_search(self) -> bool:
        """End a search, close a text line, or end the choosing of lines; return whether there was one."""
        if super().end_search():
            return True
        if self._end_cursors():
            self._say("")
            return True
        return False

    # -- following ------------------------------------------------------------------------------------

    def action_follow(self) -> None:
        """Go to the lines that the history cites at the cursor; without a cursor choose the latest."""
        pane = self.pane
        part = self._part_of(pane)
        if part is None or not isinstance(pane, CitingPane) or not part.links:
            self._say(f"{self._key('follow')} follows the citations of History; there is none in this pane.")
            return
        lines = pane.cursor_lines
        at = None if lines is None else lines[-1]
        link = next((each for each in part.links if at is not None and each.first <= at <= each.last), None)
        if link is not None:
            self._go_to_cited(link.citation)
            return
        link = part.links[-1]
        pane.put_cursor(link.first, link.first)
        goes = f"{self._key('follow')} goes there · {self._choosing_keys} choose another one"
        self._say(f"▸ {link.citation.place} · {goes}")

    def _go_to_cited(self, citation: Citation) -> None:
        self._bring_out(citation)
        if self.item is None:
            return
        for pane_id, part in ((SUBJECT, self.item.subject), *((each.id, each) for each in self.item.case)):
            if part.part != citation.part:
                continue
            first, said = citation.first, citation.place
            if not citation.fits(part.text):
                found = _find_again(SourceText(part.text).lines, citation)
                if found is None:
                    continue
                first, said = found, f"{citation.place} when it was cited; the text is another one now"
            self._end_cursors()
            self.show_pane(pane_id)
            last = first + citation.last - citation.first
            # The pane may have been hidden until now, and then has no size to scroll in.
            self.call_after_refresh(self._panes[pane_id].put_cursor, first, last)
            self._say(f"▸ {said} · {self._cites}")
            return
        self._say(f"{citation.place}: that text is not shown any more; History keeps what it said.")

    def _bring_out(self, citation: Citation) -> None:
        """Show the execution whose test or log is cited."""

    # -- keeping --------------------------------------------------------------------------------------

    def _restore_places(self, view: ItemView) -> None:
        self._end_cursors()
        super()._restore_places(view)
        if view.item_id in self._cited_drafts:
            cited = in_words(self._cited_drafts[view.item_id]) or "nothing"
            self._say_also(f"Not recorded yet: your next label cites {cited}.")

    def take_session(self, session: Mapping[str, Any]) -> None:
        """Take over the drafts of earlier sessions."""
        super().take_session(session)
        kept = session.get("citations")
        for number, evidence in (kept if isinstance(kept, dict) else {}).items():
            self._cited_drafts.setdefault(int(number), readable_citations(str(evidence)))

    def _further_drafts(self) -> dict[str, Any]:
        drafts = list(self._cited_drafts.items())[-DRAFTS_KEPT:]
        return {
            **super()._further_drafts(),
            "citations": {str(number): as_json(each) for number, each in drafts},
        }


def _stored(view: ItemView) -> tuple[Citation, ...]:
    """Return what the rater's label for the question that is asked cites."""
    return view.label.citations if view.label is not None else ()


def _lines_of(part: PaneText, citations: Iterable[Citation]) -> frozenset[int]:
    """Return the lines of a text that are cited."""
    ours = [one for one in citations if one.part == part.part]
    if not ours:
        return frozenset()
    sha256 = digest(part.text)
    return frozenset(
        number for one in ours if one.sha256 == sha256 for number in range(one.first, one.last + 1)
    )


def _find_again(lines: list[str], citation: Citation) -> int | None:
    """Return where cited lines stand in another text, the nearest to where they stood; None if nowhere."""
    wanted = citation.text.split("\n")
    if len(wanted) != citation.last - citation.first + 1:
        return None
    places = [at for at in range(len(lines) - len(wanted) + 1) if lines[at : at + len(wanted)] == wanted]
    return min((at + 1 for at in places), key=lambda at: abs(at - citation.first), default=None)
