"""A Markdown source laid out block by block, so that nothing of it is lost."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from screens.widgets.code_blocks import CodeBlock
from screens.widgets.markdown_inline import inline_text
from screens.widgets.markdown_table import table_lines
from screens.widgets.overlay import Span, SpanStyle
from screens.widgets.visible import extent

if TYPE_CHECKING:
    from markdown_it.token import Token

_BAR = "▌"
_RULE_CELLS = 40
_HEADING_CELLS = 76
_CODE_INDENT = "  "
_BARE_CODE_INDENT = "    "
_TASK = re.compile(r"\[[ xX]\](?=\s)")
_ENTITY = re.compile(r"&(?:#x?[0-9a-f]{1,7}|[a-z][a-z0-9]{0,31});", re.IGNORECASE)
_MARKS = str.maketrans("", "", string.punctuation + " \t\n\r")


@dataclass(frozen=True, slots=True)
class Rendered:
    """A Markdown source as it is read.

    Attributes:
        text: The text.
        spans: Headings, emphasis, links and the like in it.
        blocks: Its code, to be coloured.
        lines: For each of its lines the one of the source that it comes from, from 0; it never goes back.
    """

    text: str
    spans: tuple[Span, ...]
    blocks: tuple[CodeBlock, ...]
    lines: tuple[int, ...]


class _Container:
    """A quote or a list item around lines.

    Attributes:
        marker: What stands before its first line.
        prefix: What stands before the others.
        fresh: Whether its first line is still to come.
    """

    def __init__(self, marker: str, prefix: str) -> None:
        self.marker, self.prefix = marker, prefix
        self.fresh = True


class Page:
    """A text on its way, block by block.

    Args:
        source: The lines of the Markdown.
    """

    def __init__(self, source: Sequence[str]) -> None:
        self._source = source
        self._lines: list[str] = []
        self._origins: list[int] = []
        self._spans: list[tuple[int, int, int, SpanStyle]] = []
        self._blocks: list[CodeBlock] = []
        self._containers: list[_Container] = []
        self._numbers: list[_Numbers | None] = []
        self._wants_blank = False
        self._layouts: dict[str, Callable[[Token], None]] = {
            "blockquote_open": self._open_quote,
            "blockquote_close": self._close_quote,
            "bullet_list_open": self._open_list,
            "ordered_list_open": self._open_list,
            "bullet_list_close": self._close_list,
            "ordered_list_close": self._close_list,
            "list_item_open": self._open_item,
            "list_item_close": self._close_item,
            "hr": self._hr,
            "definition": self._definition,
            "html_block": self._html,
            "fence": self._fence,
            "code_block": self._bare_code,
        }
        # Characters, of the block in hand, that the source does not have, and those of it that are not shown.
        self._added: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()

    def add(self, tokens: Sequence[Token]) -> None:
        """Lay out the blocks of the source.

        Args:
            tokens: What markdown-it-py found in it.
        """
        at = line = 0
        while at < len(tokens):
            end = at + 1
            while tokens[end - 1].level or tokens[end - 1].nesting > 0:
                end += 1
            first, last = tokens[at].map or (line, line)
            self._as_it_stands(line, first)
            self._outermost(tokens[at:end], max(line, first), last)
            at, line = end, max(line, last)
        self._as_it_stands(line, len(self._source))

    def done(self) -> Rendered:
        """Return the text."""
        starts = [0]
        for each in self._lines:
            starts.append(starts[-1] + len(each) + 1)
        # Of an empty heading in a quote nothing is left to mark.
        spans = (
            Span(starts[line] + start, starts[line] + end, style)
            for line, start, end, style in self._spans
            if end <= len(self._lines[line])
        )
        origins: list[int] = []
        for origin in self._origins:
            origins.append(max(origin, origins[-1] if origins else 0))
        return Rendered("\n".join(self._lines), tuple(spans), tuple(self._blocks), tuple(origins) or (0,))

    # -- blocks ---------------------------------------------------------------------------------------

    def _outermost(self, tokens: Sequence[Token], first: int, last: int) -> None:
        """Lay out a block that is in no other one, unless some of it would be lost."""
        before = len(self._lines), len(self._spans), len(self._blocks), self._wants_blank
        self._added.clear()
        self._dropped.clear()
        self._lay_out(tokens)
        shown = Counter(_said("".join(self._lines[before[0] :]))) - self._added + self._dropped
        source = "\n".join(self._source[first:last])
        if Counter(_said(_ENTITY.sub("", source))) <= shown:
            return
        del self._lines[before[0] :], self._origins[before[0] :]
        del self._spans[before[1] :], self._blocks[before[2] :]
        self._containers, self._numbers, self._wants_blank = [], [], before[3]
        self._as_it_stands(first, last)

    def _as_it_stands(self, first: int, last: int) -> None:
        """Show lines of the source, if there is anything in them."""
        while first < last and not self._source[first].strip(" \t"):
            first += 1
        while last > first and not self._source[last - 1].strip(" \t"):
            last -= 1
        for line in range(first, last):
            self._line(self._source[line], line)
        self._wants_blank = self._wants_blank or last > first

    def _lay_out(self, tokens: Sequence[Token]) -> None:
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.type == "table_open":
                end = next(
                    number
                    for number in range(at, len(tokens))
                    if tokens[number].type == "table_close" and tokens[number].level == token.level
                )
                self._table(tokens[at:end])
                at = end + 1
                continue
            if token.type == "inline":
                self._inline(token, tokens[at - 1])
            elif token.type in self._layouts:
                self._layouts[token.type](token)
            at += 1

    def _line(self, text: str, origin: int, spans: Sequence[tuple[int, int, SpanStyle]] = ()) -> int:
        """Add a line to what there is, within its containers; return how many characters these take."""
        if self._wants_blank and self._lines:
            self._wants_blank = False
            before = self._origins[-1]
            # The blank line of the source, if there is one.
            self._put("", before + 1 if before + 1 < origin else before, fresh=False)
        self._wants_blank = False
        before = self._put(text, origin)
        bar = self._lines[-1].find(_BAR, 0, before)
        if bar >= 0:
            self._spans.append((len(self._lines) - 1, bar, len(self._lines[-1]), "quote"))
        self._spans += (
            (len(self._lines) - 1, start + before, end + before, style) for start, end, style in spans
        )
        return before

    def _put(self, text: str, origin: int, *, fresh: bool = True) -> int:
        prefix = ""
        for each in self._containers:
            if each.fresh and not fresh:
                break
            prefix += each.marker if each.fresh else each.prefix
            if each.fresh:
                each.fresh = False
                self._added.update(_said(each.marker))
            else:
                self._added.update(_said(each.prefix))
        line = prefix + text
        self._lines.append(line if text else line.rstrip(" "))
        self._origins.append(origin)
        return len(prefix)

    def _close(self) -> None:
        """End a quote or an item; one in which nothing stands is a line of its own."""
        if self._containers[-1].fresh:
            self._line("", self._origins[-1] if self._origins else 0)
        self._containers.pop()

    # -- quotes and lists -----------------------------------------------------------------------------

    def _open_quote(self, token: Token) -> None:
        self._containers.append(_Container(f"{_BAR} ", f"{_BAR} "))

    def _close_quote(self, token: Token) -> None:
        self._close()
        self._wants_blank = True

    def _open_list(self, token: Token) -> None:
        start = token.attrGet("start")
        first = 1 if start is None else int(start)
        self._numbers.append(_Numbers(first) if token.type == "ordered_list_open" else None)

    def _close_list(self, token: Token) -> None:
        self._numbers.pop()
        self._wants_blank = self._wants_blank or not self._numbers

    def _open_item(self, token: Token) -> None:
        numbers = self._numbers[-1]
        marker = "• " if numbers is None else f"{numbers.following(token.info)}{token.markup} "
        self._dropped.update(token.info)
        self._containers.append(_Container(marker, " " * len(marker)))

    def _close_item(self, token: Token) -> None:
        self._close()

    # -- what holds words -----------------------------------------------------------------------------

    def _inline(self, token: Token, opening: Token) -> None:
        text = inline_text(token.children or ())
        self._added.update(_said(text.added))
        self._dropped.update(_said(text.dropped))
        container = self._containers[-1] if self._containers else None
        content, spans = text.text, list(text.spans)
        if container is not None and container.fresh and container.marker == "• " and _TASK.match(content):
            # The box stands in the place of the bullet.
            container.marker = container.prefix = ""
        heading = opening.type == "heading_open"
        if heading:
            spans.insert(0, (0, len(content), "heading"))
        first, last = token.map or (0, 1)
        start = 0
        lines = content.split("\n")
        for number, line in enumerate(lines):
            end = start + len(line)
            inside = [
                (max(a, start) - start, min(b, end) - start, style)
                for a, b, style in spans
                if a < end and b > start
            ]
            self._line(line, min(first + number, last - 1), inside)
            start = end + 1
        if heading and opening.tag in ("h1", "h2"):
            cells = min(max(extent(line)[1] for line in lines), _HEADING_CELLS)
            self._rule("═" * cells if opening.tag == "h1" else "─" * cells, last - 1)
        self._wants_blank = not opening.hidden

    def _rule(self, text: str, origin: int) -> None:
        self._line(text, origin, [(0, len(text), "rule")])

    def _hr(self, token: Token) -> None:
        self._rule("─" * _RULE_CELLS, (token.map or [0])[0])
        self._wants_blank = True

    def _definition(self, token: Token) -> None:
        title = f' "{token.meta["title"]}"' if token.meta["title"] else ""
        self._line(
            f"[{token.meta['label']}]: {token.meta['url']}{title}".replace("\n", " "), (token.map or [0])[0]
        )

    def _html(self, token: Token) -> None:
        first = (token.map or [0])[0]
        for number, line in enumerate(token.content.removesuffix("\n").split("\n")):
            self._line(line, first + number, [(0, len(line), "markup")])
        self._wants_blank = True

    def _table(self, tokens: Sequence[Token]) -> None:
        lines, added, dropped = table_lines(tokens)
        self._added.update(_said(added))
        self._dropped.update(_said(dropped))
        for text, origin, spans in lines:
            self._line(text, origin, spans)
        self._wants_blank = True

    # -- code -----------------------------------------------------------------------------------------

    def _fence(self, token: Token) -> None:
        first, last = token.map or (0, 1)
        info = token.info.strip(" \t")
        head = f"── {info} ─" if info else "────"
        self._rule(head + "─" * max(0, _RULE_CELLS - len(head)), first)
        self._code(token.content, first + 1, _CODE_INDENT, info.split()[0] if info.split() else "")
        self._rule("─" * _RULE_CELLS, last - 1)
        self._wants_blank = True

    def _bare_code(self, token: Token) -> None:
        self._code(token.content, (token.map or [0])[0], _BARE_CODE_INDENT, "")
        self._wants_blank = True

    def _code(self, content: str, first: int, indent: str, language: str) -> None:
        before, begun = 0, 0
        lines = content.removesuffix("\n").split("\n") if content else []
        for number, line in enumerate(lines):
            before = self._line(indent + line if line else "", first + number)
            begun = begun or len(self._lines)
        if lines and language:
            self._blocks.append(CodeBlock(begun - 1, len(lines), before + len(indent), language.strip("{}.")))


def _said(text: str) -> str:
    """Return what a text says: its characters without blanks, Markdown's marks, and upper case."""
    return text.translate(_MARKS).casefold()


class _Numbers:
    """The numbers of a list: those of its source, counted on where these are all the same."""

    def __init__(self, start: int) -> None:
        self._next = start
        self._first: str | None = None

    def following(self, number: str) -> str:
        """Return what stands before the next item, whose source has a number."""
        if self._first is None:
            self._first = number
        counted = str(self._next)
        self._next += 1
        return counted if number == self._first and number != counted else number
