"""Markdown as a text that is read: without its marks, but with all that it says.

Nothing is interpreted beyond CommonMark with tables and strikethrough: HTML is shown as it stands, addresses
are shown and not opened. Whatever a block would lose in this, down to single characters, makes the block be
shown as it stands in the source.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from screens.widgets.code_blocks import CodeBlock
from screens.widgets.markdown_page import Page, Rendered
from screens.widgets.overlay import Span

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ["CHARACTERS", "Rendered", "breaks_of", "kept", "rendered"]

CHARACTERS = 400_000
"""A longer source is shown as it stands."""

_KEPT = 32
"""Rendered texts that are kept: those of an item and its neighbours."""

_NESTED = 60
"""Blocks within blocks that are laid out; what is deeper stands as in the source."""


_kept: OrderedDict[tuple[str, tuple[int, ...]], Rendered] = OrderedDict()
_keeping = Lock()


@cache
def _parser() -> MarkdownIt:
    # It takes its time to be loaded, and most panes show no Markdown.
    from markdown_it import MarkdownIt

    parser = MarkdownIt(
        "commonmark", {"maxNesting": _NESTED, "inline_definitions": True, "store_labels": True}
    )
    parser.enable(["table", "strikethrough"])
    # Line ends are seen to here; no character is replaced, and no address is rewritten.
    parser.disable("normalize")
    parser.normalizeLink = str  # type: ignore[method-assign,assignment]
    parser.normalizeLinkText = str  # type: ignore[method-assign,assignment]
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser


def breaks_of(source: str, spans: Iterable[Span]) -> tuple[int, ...]:
    """Return the lines, from 0, that stand between the documents of a source: those that a `rule` begins in.

    Args:
        source: Several Markdown documents, such as an issue and its comments, with lines between them.
        spans: Stretches of it.
    """
    return tuple(sorted({source.count("\n", 0, one.start) for one in spans if one.style == "rule"}))


def rendered(source: str, breaks: tuple[int, ...] = ()) -> Rendered:
    """Render Markdown, which takes its time for a long one; from any thread.

    Args:
        source: The Markdown; any text.
        breaks: Lines, from 0, that are no Markdown and stand between documents: what one of these leaves open
            ends before the next.

    Returns:
        The text with what is laid over it; the latest ones are kept for the next time.
    """
    found = _kept.get((source, breaks))
    if found is None:
        found = _render(source, breaks)
        with _keeping:
            _kept[source, breaks] = found
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
    return found


def kept(source: str, breaks: tuple[int, ...] = ()) -> Rendered | None:
    """Return a source that was rendered lately, without rendering it."""
    return _kept.get((source, breaks))


def _render(source: str, breaks: tuple[int, ...]) -> Rendered:
    lines = source.replace("\r\n", "\n").split("\n")
    parts: list[Rendered] = []
    begun = 0
    for stop in (*(line for line in breaks if line < len(lines)), len(lines)):
        if begun < stop or not breaks:
            parts.append(_document(lines[begun:stop], begun))
        if stop < len(lines):
            if parts and parts[-1].text.strip():
                parts.append(Rendered("", (), (), (max(begun, stop - 1),)))
            between = (Span(0, len(lines[stop]), "rule"),)
            parts.append(Rendered(lines[stop], between, (), (stop,)))
        begun = stop + 1
    return parts[0] if len(parts) == 1 else _joined(parts)


def _document(lines: list[str], first: int) -> Rendered:
    page = Page(lines)
    page.add(_parser().parse("\n".join(lines)))
    done = page.done()
    return replace(done, lines=tuple(first + line for line in done.lines)) if first else done


def _joined(parts: list[Rendered]) -> Rendered:
    """Return rendered texts one below the other."""
    spans: list[Span] = []
    blocks: list[CodeBlock] = []
    origins: list[int] = []
    place = 0
    for part in parts:
        spans += (Span(place + one.start, place + one.end, one.style) for one in part.spans)
        blocks += (replace(block, line=len(origins) + block.line) for block in part.blocks)
        origins += part.lines
        place += len(part.text) + 1
    return Rendered("\n".join(part.text for part in parts), tuple(spans), tuple(blocks), tuple(origins))
