"""A text that may be Markdown, shown rendered or as it stands; lines are always those of its source."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace

from screens.widgets.code_blocks import CodeBlock
from screens.widgets.markdown_text import CHARACTERS, Rendered, breaks_of, kept, rendered
from screens.widgets.overlay import Spans
from screens.widgets.text_selection import SelectableText
from screens.widgets.text_surface import TextKind
from screens.widgets.text_view import NO_GLYPHS, NO_SPANS, Place

AT_ONCE = 2_000
"""Characters of a Markdown source that is rendered before it is painted; a longer one is shown meanwhile."""


class MarkdownView(SelectableText):
    """A text view that renders Markdown, and keeps the place in both of its views."""

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._given = ""
        # How the source is shown: what there is to say without a text, and what is laid over it.
        self._given_with: tuple[str, Spans, Mapping[int, str]] = ("", NO_SPANS, NO_GLYPHS)
        self._is_markdown = False
        self._rendered: Rendered | None = None
        self._awaits_rendering = False
        # The lines of the source that stand between its documents, from 0.
        self._breaks: tuple[int, ...] = ()
        # Whether the reader asked for Markdown as it stands.
        self._as_source = False
        # The lines of the source that the shown lines come from; None where those are the source's own.
        self._lines: Sequence[int] | None = None

    # -- the text -------------------------------------------------------------------------------------

    @property
    def given(self) -> str:
        """The text as it was given; `text` is what is shown of it."""
        return self._given

    @property
    def is_rendered(self) -> bool:
        """Whether Markdown is shown rendered, so that the lines seen are not those of the source."""
        return self._lines is not None

    @property
    def source_note(self) -> str:
        """What there is to say when Markdown is shown as it stands."""
        if not self._is_markdown or self.is_rendered or not self.text:
            return ""
        return "source" if len(self.text) <= CHARACTERS else f"source: {len(self.text):,} characters"

    def show_text(
        self,
        text: str,
        language: str | None,
        kind: TextKind,
        empty: str,
        *,
        spans: Spans = NO_SPANS,
        glyphs: Mapping[int, str] = NO_GLYPHS,
        blocks: Sequence[CodeBlock] = (),
    ) -> bool:
        """Show a text (see `TextView.show_text`); spans and glyphs of Markdown are those of its source.

        A line in which a `rule` begins stands between two documents, and is shown as it stands.
        """
        markdown = kind == "markdown"
        another = text != self._given or markdown != self._is_markdown
        self._given, self._given_with, self._is_markdown = text, (empty, spans, glyphs), markdown
        if not markdown:
            self._lines = self._rendered = None
            self._awaits_rendering = False
            changed = super().show_text(
                text, language, kind, empty, spans=spans, glyphs=glyphs, blocks=blocks
            )
            return changed or another
        if another:
            self._breaks = breaks_of(text, spans.all)
            self._rendered = (rendered if len(text) <= AT_ONCE else kept)(text, self._breaks)
            self._awaits_rendering = self._rendered is None and len(text) <= CHARACTERS
        self._show_view()
        if another:
            self._go_to(Place())
        return another

    def _show_view(self) -> None:
        empty, spans, glyphs = self._given_with
        shown = None if self._as_source else self._rendered
        if shown is None:
            self._lines = None
            super().show_text(self._given, None, "reply", empty, spans=spans, glyphs=glyphs)
        else:
            self._lines = shown.lines
            marks = Spans(shown.spans)
            super().show_text(shown.text, None, "markdown", empty, spans=marks, blocks=shown.blocks)

    def _reflow(self) -> None:
        super()._reflow()
        if self._awaits_rendering and self.is_attached and self.scrollable_content_region:
            self._awaits_rendering = False
            self.run_worker(self._render_source(self._given, self._breaks), group="render")

    async def _render_source(self, source: str, breaks: tuple[int, ...]) -> None:
        # Keys are answered meanwhile: the interpreter goes back to them every few milliseconds.
        done = await asyncio.to_thread(rendered, source, breaks)
        if self._is_markdown and source == self._given:
            self._rendered = done
            if not self._as_source:
                self._turn()

    # -- the two views --------------------------------------------------------------------------------

    def toggle_source(self) -> bool | None:
        """Show Markdown as it stands, or rendered; the place stays.

        Returns:
            Whether it is shown as it stands now; None for a text that is no Markdown.
        """
        if not self._is_markdown:
            return None
        self._as_source = not self._as_source
        self._turn()
        return self._as_source

    def show_source(self) -> None:
        """Show Markdown as it stands, for what has to do with its lines."""
        if self._is_markdown and not self._as_source:
            self._as_source = True
            self._turn()

    def _turn(self) -> None:
        place = self.place
        self._show_view()
        self.restore(place)
        self._view_turned()

    def _view_turned(self) -> None:
        """Bring what depends on the shown text up to it."""

    def copy_text(self) -> str:
        """Return what is selected of the shown text, or the whole text as it was given when nothing is."""
        selection = self.text_selection if self.is_attached else None
        return super().copy_text() if selection is not None else self._given

    # -- lines of the source --------------------------------------------------------------------------

    @property
    def place(self) -> Place:
        """Where the reader is in the source; `restore` goes back there in any size and either view."""
        if self._lines is None:
            return self._place
        return replace(self._place, line=self._lines[min(self._place.line, len(self._lines) - 1)])

    def restore(self, place: Place) -> None:
        """Go to a place of the source (see `TextView.restore`)."""
        self._go_to(replace(place, line=self._shown_line(place.line)))

    def begin_at(self, line: int) -> None:
        """Go to a line of the source (see `TextView.begin_at`)."""
        super().begin_at(self._shown_line(line - 1) + 1)

    def _shown_line(self, line: int) -> int:
        return line if self._lines is None else bisect_left(self._lines, line)

    @property
    def _last_number(self) -> int:
        return self.line_count if self._lines is None else self._lines[-1] + 1

    def _number(self, line: int) -> int | None:
        if self._lines is None:
            return super()._number(line)
        origin = self._lines[line]
        return None if line and self._lines[line - 1] == origin else origin + 1
