"""The words of a Markdown block, with what is emphasized, linked or code among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from screens.widgets.overlay import SpanStyle

if TYPE_CHECKING:
    from markdown_it.token import Token

_STYLES: dict[str, SpanStyle] = {"em": "emphasis", "strong": "strong", "s": "struck", "link": "link"}


@dataclass
class Inline:
    """Words on their way.

    Attributes:
        text: What was put together so far.
        spans: Stretches of it (start, end, style); what is inside another one comes after it.
        added: Words that the source does not have.
        dropped: Words of the source that stand elsewhere in it: labels of addresses.
    """

    text: str = ""
    spans: list[tuple[int, int, SpanStyle]] = field(default_factory=list)
    added: str = ""
    dropped: str = ""


def inline_text(tokens: Sequence[Token]) -> Inline:
    """Return the words of a block.

    Args:
        tokens: What markdown-it-py found in it.
    """
    words = Inline()
    parts: list[str] = []
    length = 0
    opened: list[tuple[int, int, int, Token]] = []

    def put(text: str) -> None:
        nonlocal length
        parts.append(text)
        length += len(text)

    for token in tokens:
        kind, _, side = token.type.rpartition("_")
        if side == "open" and kind in _STYLES:
            opened.append((length, len(parts), len(words.spans), token))
        elif side == "close" and kind in _STYLES and opened:
            start, count, place, opening = opened.pop()
            words.spans.insert(place, (start, length, _STYLES[kind]))
            if kind == "link":
                shown = "".join(parts[count:])
                label = str(opening.meta.get("label", ""))
                words.dropped += label if label.casefold() != shown.casefold() else ""
                put(_address(str(opening.attrGet("href") or ""), str(opening.attrGet("title") or ""), shown))
        elif token.type in ("softbreak", "hardbreak"):
            put("\n")
        elif token.type == "code_inline":
            words.spans.append((length, length + len(token.content) + 2, "code"))
            put(f"`{token.content}`")
        elif token.type == "image":
            alt = inline_text(token.children or ())
            label = str(token.meta.get("label", ""))
            words.added += "image" + alt.added
            words.dropped += alt.dropped + (label if label.casefold() != alt.text.casefold() else "")
            put(f"[image: {alt.text}]" if alt.text else "[image]")
            put(_address(str(token.attrGet("src") or ""), str(token.attrGet("title") or ""), ""))
        elif token.type == "html_inline":
            words.spans.append((length, length + len(token.content), "markup"))
            put(token.content)
        else:
            put(token.content)
    words.text = "".join(parts)
    return words


def _address(address: str, title: str, shown: str) -> str:
    """Return what stands after the words of a link: nothing where they are its address."""
    if not title and address in (shown, f"mailto:{shown}"):
        return ""
    return f" ({address}" + (f' "{title}")' if title else ")")
