"""Markdown as a text that is read: without its marks, but with all that it says.

Nothing is interpreted beyond CommonMark with tables and strikethrough: HTML is shown as it stands, addresses
are shown and not opened. Whatever a block would lose in this, down to single characters, makes the block be
shown as it stands in the source.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from screens.widgets.markdown_page import Page, Rendered

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ["CHARACTERS", "Rendered", "kept", "rendered"]

CHARACTERS = 400_000
"""A longer source is shown as it stands."""

_KEPT = 32
"""Rendered texts that are kept: those of an item and its neighbours."""

_NESTED = 60
"""Blocks within blocks that are laid out; what is deeper stands as in the source."""


_kept: OrderedDict[str, Rendered] = OrderedDict()
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


def rendered(source: str) -> Rendered:
    """Render Markdown, which takes its time for a long one; from any thread.

    Args:
        source: The Markdown; any text.

    Returns:
        The text with what is laid over it; the latest ones are kept for the next time.
    """
    found = _kept.get(source)
    if found is None:
        found = _render(source)
        with _keeping:
            _kept[source] = found
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
    return found


def kept(source: str) -> Rendered | None:
    """Return a source that was rendered lately, without rendering it."""
    return _kept.get(source)


def _render(source: str) -> Rendered:
    text = source.replace("\r\n", "\n")
    page = Page(text.split("\n"))
    page.add(_parser().parse(text))
    return page.done()
