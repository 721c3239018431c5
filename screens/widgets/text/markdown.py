"""Markdown rendered as text: without its marks, with all of its words.

Nothing is interpreted beyond CommonMark with tables and strikethrough: HTML is shown as source, addresses
are shown and not opened. Whatever a block would lose in this, down to single characters, makes the block be
shown as in the source.
"""

from __future__ import annotations

import re
import string
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate, count
from threading import Lock
from typing import TYPE_CHECKING

from screens.widgets.text.document import Document
from screens.widgets.text.overlay import CodeBlock, Span, Spans, SpanStyle
from screens.widgets.text.sanitize import extent

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

CHARACTERS = 400_000
"""A longer source is shown unrendered."""

TABLE_CELLS = 76
"""Cells up to which a table is shown as one; they fit a terminal of 80."""

_KEPT = 32
"""Rendered texts that are kept: those of an item and its neighbours."""

_NESTED = 60
"""Blocks within blocks that are laid out; what is deeper is shown as in the source."""

_BAR = "▌ "
_BULLET = "• "
_RULE_CELLS = 40
_HEADING_CELLS = 76
_TASK = re.compile(r"\[[ xX]\](?=\s)")
_ENTITY = re.compile(r"&(?:#x?[0-9a-f]{1,7}|[a-z][a-z0-9]{0,31});", re.IGNORECASE)
_MARKS = str.maketrans("", "", string.punctuation + " \t\n\r")
_STYLES: dict[str, SpanStyle] = {"em": "emphasis", "strong": "strong", "s": "struck", "link": "link"}

_Style = tuple[int, int, SpanStyle]
"""A stretch of a line or of words (start, end) and what it is; one inside another comes after it."""

_kept: OrderedDict[tuple[str, tuple[int, ...]], Document] = OrderedDict()
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


def rendered(source: str, spans: Iterable[Span] = ()) -> Document:
    """Render Markdown, which takes its time for a long one; from any thread.

    Args:
        source: The Markdown; any text.
        spans: Stretches of it. A line in which a `rule` begins is no Markdown, and separates documents,
            such as an issue and its comments: what one of these leaves open ends before the next.

    Returns:
        The text as it is read; the latest ones are kept for the next time.
    """
    key = source, _breaks(source, spans)
    found = _kept.get(key)
    if found is None:
        found = _render(*key)
        with _keeping:
            _kept[key] = found
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
    return found


def kept(source: str, spans: Iterable[Span] = ()) -> Document | None:
    """Return a source that was rendered lately, without rendering it."""
    return _kept.get((source, _breaks(source, spans)))


def _breaks(source: str, spans: Iterable[Span]) -> tuple[int, ...]:
    return tuple(sorted({source.count("\n", 0, one.start) for one in spans if one.style == "rule"}))


@dataclass
class _Line:
    """A line of a rendered text.

    Attributes:
        origin: The line of the source that it comes from, from 0.
        styles: Headings, emphasis, links and the like in it.
        code: The code that it is part of.
        indent: Cells of quotes and lists before that.
    """

    text: str
    origin: int
    styles: list[_Style] = field(default_factory=list)
    code: CodeBlock | None = None
    indent: int = 0

    def within(self, prefix: str) -> _Line:
        """Return the line in a quote or an item of a list."""
        text = prefix + self.text if self.text else prefix.rstrip(" ")
        moved = _moved(self.styles, len(prefix))
        styles: list[_Style] = [(0, len(text), "quote"), *moved] if prefix == _BAR else moved
        return _Line(text, self.origin, styles, self.code, self.indent + len(prefix))


def _moved(styles: Iterable[_Style], by: int) -> list[_Style]:
    return [(start + by, end + by, style) for start, end, style in styles]


def _rule(text: str, origin: int) -> _Line:
    return _Line(text, origin, [(0, len(text), "rule")])


def _render(source: str, breaks: tuple[int, ...]) -> Document:
    texts = source.replace("\r\n", "\n").split("\n")
    lines: list[_Line] = []
    begun = 0
    for stop in (*(line for line in breaks if line < len(texts)), len(texts)):
        part: list[_Line] = []
        if begun < stop or not breaks:
            part = _Page(texts[begun:stop]).lines() or [_Line("", 0)]
            for line in part:
                line.origin += begun
            lines += part
        if stop < len(texts):
            if any(line.text.strip() for line in part or lines[-1:]):
                lines.append(_Line("", max(begun, stop - 1)))
            lines.append(_rule(texts[stop], stop))
        begun = stop + 1
    starts = accumulate((len(line.text) + 1 for line in lines), initial=0)
    # Of an empty heading in a quote nothing is left to mark.
    spans = [
        Span(at + start, at + end, style)
        for at, line in zip(starts, lines, strict=False)
        for start, end, style in line.styles
        if end <= len(line.text)
    ]
    blocks = [
        replace(line.code, line=number, indent=line.code.indent + line.indent)
        for number, line in enumerate(lines)
        if line.code is not None and (not number or lines[number - 1].code is not line.code)
    ]
    origins = tuple(accumulate((line.origin for line in lines), max))
    text = "\n".join(line.text for line in lines)
    return Document(text, words=True, spans=Spans(spans), blocks=blocks, origins=origins)


class _Page:
    """A Markdown source, laid out block by block."""

    def __init__(self, source: Sequence[str]) -> None:
        self._source = source
        self._tokens = _parser().parse("\n".join(source))
        self._at = 0
        # The words of the current block.
        self._contents: list[str] = []

    def lines(self) -> list[_Line]:
        """Return what is shown of it."""
        lines: list[_Line] = []
        line, gap = 0, False
        while self._at < len(self._tokens):
            first, last = self._tokens[self._at].map or (line, line)
            gap = _add(lines, *self._as_source(line, first), gap=gap)
            self._contents.clear()
            block, after = self._block(listed=False)
            source = "\n".join(self._source[max(line, first) : last])
            if not Counter(_normalized(_ENTITY.sub("", source))) <= Counter(
                _normalized("".join(self._contents))
            ):
                block, after = self._as_source(max(line, first), last)
            gap = _add(lines, block, after, gap=gap)
            line = max(line, last)
        _add(lines, *self._as_source(line, len(self._source)), gap=gap)
        return lines

    def _as_source(self, first: int, last: int) -> tuple[list[_Line], bool]:
        """Return lines of the source, and whether there is anything in them."""
        while first < last and not self._source[first].strip(" \t"):
            first += 1
        while last > first and not self._source[last - 1].strip(" \t"):
            last -= 1
        return [_Line(self._source[line], line) for line in range(first, last)], first < last

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _block(self, *, listed: bool) -> tuple[list[_Line], bool]:
        """Lay out the next block; return its lines, and whether a blank one follows."""
        token = self._next()
        first, last = token.map or (0, 1)
        kind = token.type.removesuffix("_open")
        if kind in ("paragraph", "heading"):
            lines = self._words(self._next(), token)
            self._next()
            return lines, not token.hidden
        if kind == "blockquote":
            lines, _ = self._blocks(first, listed=listed)
            return [line.within(_BAR) for line in lines], True
        if kind in ("bullet_list", "ordered_list"):
            lines, after = self._list(token)
            return lines, after or not listed
        if kind == "table":
            return self._table(), True
        if kind == "hr":
            return [_rule("─" * _RULE_CELLS, first)], True
        if kind == "definition":
            title = f' "{token.meta["title"]}"' if token.meta["title"] else ""
            text = f"[{token.meta['label']}]: {token.meta['url']}{title}".replace("\n", " ")
            self._contents.append(text)
            return [_Line(text, first)], False
        self._contents.append(token.content)
        texts = token.content.removesuffix("\n").split("\n") if token.content else []
        if kind == "html_block":
            return [_Line(text, at, [(0, len(text), "markup")]) for at, text in enumerate(texts, first)], True
        if kind == "code_block":
            return _code(texts, first, "    ", ""), True
        self._contents.append(token.info)
        info = token.info.strip(" \t")
        head = f"── {info} ─" if info else "────"
        language = info.split()[0].strip("{}.") if info.split() else ""
        return [
            _rule(head.ljust(_RULE_CELLS, "─"), first),
            *_code(texts, first + 1, "  ", language),
            _rule("─" * _RULE_CELLS, last - 1),
        ], True

    def _blocks(self, origin: int, *, listed: bool) -> tuple[list[_Line], bool]:
        """Lay out what is in a quote or an item; an empty one is a line of its own."""
        lines: list[_Line] = []
        gap = False
        while self._tokens[self._at].nesting >= 0:
            gap = _add(lines, *self._block(listed=listed), gap=gap)
        self._next()
        return lines or [_Line("", origin)], gap

    def _list(self, token: Token) -> tuple[list[_Line], bool]:
        lines: list[_Line] = []
        number, gap = None, False
        start = token.attrGet("start")
        for counted in count(1 if start is None else int(start)):
            item = self._next()
            if item.nesting < 0:
                break
            self._contents.append(item.info)
            # The numbers are those of the source, counted on where these are all the same.
            number = number or item.info
            shown = str(counted) if item.info == number else item.info
            marker = f"{shown}{item.markup} " if token.type == "ordered_list_open" else _BULLET
            if marker == _BULLET and _is_task(self._tokens[self._at + 1]):
                # The box replaces the bullet.
                marker = ""
            block, after = self._blocks((item.map or [0])[0], listed=True)
            prefixes = (marker, *[" " * len(marker)] * (len(block) - 1))
            block = [line.within(prefix) for line, prefix in zip(block, prefixes, strict=True)]
            gap = _add(lines, block, after, gap=gap)
        return lines, gap

    def _words(self, token: Token, opening: Token) -> list[_Line]:
        words = self._collect_words(token)
        heading = opening.type == "heading_open"
        if heading:
            words.styles.insert(0, (0, len(words.text), "heading"))
        first, last = token.map or (0, 1)
        lines: list[_Line] = []
        start = 0
        for number, text in enumerate(words.text.split("\n")):
            end = start + len(text)
            inside = [
                (max(a, start) - start, min(b, end) - start, style)
                for a, b, style in words.styles
                if a < end and b > start
            ]
            lines.append(_Line(text, min(first + number, last - 1), inside))
            start = end + 1
        if heading and opening.tag in ("h1", "h2"):
            cells = min(max(extent(line.text)[1] for line in lines), _HEADING_CELLS)
            lines.append(_rule(("═" if opening.tag == "h1" else "─") * cells, last - 1))
        return lines

    def _collect_words(self, token: Token) -> _Words:
        words = _words_of(token.children or ())
        self._contents += words.contents
        return words

    def _table(self) -> list[_Line]:
        rows: list[list[_Words]] = []
        origins: list[int] = []
        aligned: list[str] = []
        while (token := self._next()).type != "table_close":
            if token.type == "tr_open":
                rows.append([])
                origins.append((token.map or [0])[0])
            elif token.type == "th_open":
                aligned.append(str(token.attrGet("style") or "").rpartition(":")[2])
            elif token.type == "inline":
                cell = self._collect_words(token)
                # In a line there are no line ends, and a tab would not line up.
                cell.text = cell.text.replace("\n", " ").replace("\t", " ")
                rows[-1].append(cell)
        widths = [max(_cells(cell.text) for cell in column) for column in zip(*rows, strict=True)]
        if sum(widths) + 3 * (len(widths) - 1) > TABLE_CELLS:
            return list(_row_by_row(rows, origins))
        lines: list[_Line] = []
        for row, origin in zip(rows, origins, strict=True):
            line = _Line("", origin)
            for cell, width, side in zip(row, widths, aligned, strict=True):
                blank = width - _cells(cell.text)
                left = blank if side == "right" else blank // 2 if side == "center" else 0
                line.text += (" │ " if line.text else "") + " " * left
                line.styles += _moved(cell.styles, len(line.text))
                if not lines:
                    line.styles.append((len(line.text), len(line.text) + len(cell.text), "strong"))
                line.text += cell.text + " " * (blank - left)
            line.text = line.text.rstrip(" ")
            lines.append(line)
            if len(lines) == 1:
                lines.append(_rule("─┼─".join("─" * width for width in widths), origin + 1))
        return lines


def _is_task(token: Token) -> bool:
    words = token.type == "inline" and token.content.startswith("[")
    return words and _TASK.match(_words_of(token.children or ()).text) is not None


def _add(lines: list[_Line], block: list[_Line], after: bool, *, gap: bool) -> bool:
    """Add a block to lines, below a blank one where there is to be a gap; return whether one follows."""
    if not block:
        return gap
    if gap and lines:
        before = lines[-1].origin
        # The blank line of the source, if there is one.
        lines.append(_Line("", before + 1 if before + 1 < block[0].origin else before))
    lines += block
    return after


def _code(texts: Sequence[str], first: int, indent: str, language: str) -> list[_Line]:
    code = CodeBlock(0, len(texts), len(indent), language) if language else None
    return [
        _Line(indent + text if text else "", origin, code=code) for origin, text in enumerate(texts, first)
    ]


def _cells(text: str) -> int:
    # A combining mark sits on the blank before it.
    return extent(" " + text)[1] - 1


def _row_by_row(rows: list[list[_Words]], origins: list[int]) -> Iterator[_Line]:
    """Yield each row of a table as lines of heading and content; a table without rows is its heading."""
    heading, *others = rows
    if not others:
        yield from (_Line(cell.text, origins[0], cell.styles) for cell in heading)
    for row, origin in zip(others, origins[1:], strict=True):
        for number, (name, cell) in enumerate(zip(heading, row, strict=True)):
            before = f"{' ' if number else '▪'} {name.text}: "
            styles: list[_Style] = [(2, len(before) - 1, "strong"), *_moved(cell.styles, len(before))]
            yield _Line(before + cell.text, origin, styles)


def _normalized(text: str) -> str:
    """Return the characters of a text without blanks, Markdown's marks, and upper case."""
    return text.translate(_MARKS).casefold()


@dataclass
class _Words:
    """The words of a block.

    Attributes:
        text: The words, with the addresses of links.
        styles: The emphasized, linked and code parts of them.
        contents: The parts of them that are in the source, with the labels of addresses that are elsewhere in
            it.
    """

    text: str
    styles: list[_Style]
    contents: list[str]


def _words_of(tokens: Sequence[Token]) -> _Words:
    styles: list[_Style] = []
    contents: list[str] = []
    parts: list[str] = []
    length = 0
    opened: list[tuple[int, int, int, Token]] = []

    def put(text: str, content: str | None = None) -> None:
        nonlocal length
        parts.append(text)
        contents.append(text if content is None else content)
        length += len(text)

    def put_address(token: Token, attribute: str, words: str, shown: str) -> None:
        label = str(token.meta.get("label", ""))
        contents.append(label if label.casefold() != words.casefold() else "")
        address, title = str(token.attrGet(attribute) or ""), str(token.attrGet("title") or "")
        # Words that are the address are not followed by it.
        if title or address not in (shown, f"mailto:{shown}"):
            put(f" ({address}" + (f' "{title}")' if title else ")"))

    for token in tokens:
        kind, _, side = token.type.rpartition("_")
        if side == "open" and kind in _STYLES:
            opened.append((length, len(parts), len(styles), token))
        elif side == "close" and kind in _STYLES and opened:
            start, first, place, opening = opened.pop()
            styles.insert(place, (start, length, _STYLES[kind]))
            if kind == "link":
                shown = "".join(parts[first:])
                put_address(opening, "href", shown, shown)
        elif token.type in ("softbreak", "hardbreak"):
            put("\n")
        elif token.type == "code_inline":
            styles.append((length, length + len(token.content) + 2, "code"))
            put(f"`{token.content}`")
        elif token.type == "image":
            alt = _words_of(token.children or ())
            contents += alt.contents
            put(f"[image: {alt.text}]" if alt.text else "[image]", "")
            put_address(token, "src", alt.text, "")
        else:
            if token.type == "html_inline":
                styles.append((length, length + len(token.content), "markup"))
            put(token.content)
    return _Words("".join(parts), styles, contents)
