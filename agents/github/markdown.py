"""Code, images and links in the Markdown texts of issues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_PICTURE = r"\.(?:png|jpe?g|gif|webp|bmp|svg)(?:[?#][^\s)]*)?"
_IMAGE = re.compile(
    rf"https?://[^\s<>\"')]+{_PICTURE}(?![\w.])"
    r"|https?://(?:user-images|private-user-images)\.githubusercontent\.com/"
    r"|https?://github\.com/(?:user-attachments/assets|[\w.-]+/[\w.-]+/assets)/",
    re.IGNORECASE,
)
_HTML_IMAGE = re.compile(r"<(?:img|picture|svg|video)\b", re.IGNORECASE)
_MAY_BE_CODE = re.compile(r"```|~~~| {4}|\t")
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ADDRESS = re.compile(r"https?://\S+")
_THREAD_ADDRESS = re.compile(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/(?:issues|pulls?)/(\d+)(?![^/?#\s)\]>,.])")
_COMMIT_ADDRESS = re.compile(r"https?://[^/\s]+/[^/\s]+/[^/\s]+/(?:pulls?/\d+/)?commits?/[0-9a-f]{7,40}")
_NUMBER = re.compile(r"(?<![\w&/#-])([\w.-]+/[\w.-]+|GH(?=-))?(?:#|(?<=GH)-)(\d{1,9})(?![\w-])")
# Forty digits are a hash; fewer are a word or a number unless they have both digits and letters.
_HASH = re.compile(r"(?<![\w/.-])(?:[0-9a-f]{40}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,39})(?![\w/-])")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


@cache
def _block_parser() -> MarkdownIt:
    """Return the parser of blocks alone, which leaves their text as it is."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable("inline")


def _tokens(text: str) -> Iterator[Token]:
    for token in _parser().parse(text):
        yield token
        yield from token.children or ()


def fenced(text: str, language: str = "") -> str:
    """Return a text as a block of code, whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


@lru_cache(maxsize=8)
def code_blocks(text: str) -> tuple[str, ...]:
    """Return the blocks of code in a Markdown text, in order, each fenced, with its language."""
    if not _MAY_BE_CODE.search(text):
        return ()
    blocks = []
    for token in _block_parser().parse(text):
        if token.type in ("fence", "code_block"):
            blocks.append(fenced(token.content.rstrip(), token.info.strip()))
    return tuple(blocks)


def without_code(text: str) -> str:
    """Return a Markdown text without its blocks of code."""
    lines = text.split("\n")
    spans = [
        token.map
        for token in _block_parser().parse(text)
        if token.type in ("fence", "code_block") and token.map is not None
    ]
    for first, last in reversed(spans):
        del lines[first:last]
    return "\n".join(lines)


def has_image(text: str) -> bool:
    """Return whether a Markdown text shows an image, or points to one."""
    if "![" not in text and not _HTML_IMAGE.search(text) and not _IMAGE.search(text):
        return False
    for token in _tokens(text):
        if token.type == "image":
            return True
        if token.type in ("html_block", "html_inline"):
            html = _HTML_COMMENT.sub("", token.content)
            if _HTML_IMAGE.search(html) or _IMAGE.search(html):
                return True
        if token.type == "text" and _IMAGE.search(token.content):
            return True
        if token.type == "link_open" and _IMAGE.match(str(token.attrs.get("href", ""))):
            return True
    return False


def points_elsewhere(text: str, repository: str, number: int | None) -> bool:
    """Return whether a Markdown text points to another issue, to a pull request or to a commit.

    Args:
        text: The text; what stands in code or in an HTML comment points nowhere.
        repository: The repository of its issue, OWNER/NAME.
        number: The number of its issue.
    """
    own = (repository.lower(), number)

    def is_other(of: str, digits: str) -> bool:
        return (of.lower() or own[0], int(digits)) != own

    for token in _tokens(text):
        words, addresses = "", []
        if token.type == "text":
            addresses = _ADDRESS.findall(token.content)
            words = _ADDRESS.sub(" ", token.content)
        elif token.type == "link_open":
            addresses = [str(token.attrs.get("href", ""))]
        elif token.type in ("html_block", "html_inline"):
            html = _HTML_COMMENT.sub("", token.content)
            addresses = [part.strip("\"'<>") for part in re.split(r"[\s\"'<>]+", html) if "://" in part]
            words = re.sub(r"<[^>]*>", " ", html)
        for address in addresses:
            if _COMMIT_ADDRESS.match(address):
                return True
            if (found := _THREAD_ADDRESS.match(address)) and is_other(found[1], found[2]):
                return True
        if _HASH.search(words):
            return True
        for found in _NUMBER.finditer(words):
            of = found[1] or ""
            if is_other("" if of == "GH" else of, found[2]):
                return True
    return False
