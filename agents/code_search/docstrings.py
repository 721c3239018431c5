"""Cuts what a docstring says of parameters and returned values (RepoRift, section 3.1)."""

from __future__ import annotations

import inspect
import re

_NAMES = r"param(?:eter)?s?|arg(?:ument)?s?|key(?:word)?s?|kwargs?|type|returns?|rtype|yields?|ytype"
_FIELD = re.compile(rf"(?::(?:{_NAMES})\b[^:\n]*:|[@\\](?:{_NAMES})\b)", re.I)
"""A field of Sphinx, Epydoc or Javadoc about parameters and returned values."""
_ANY_FIELD = re.compile(r":[a-z]+\b[^:\n]*:|[@\\][a-z]+\b", re.I)
_PARTS = (
    r"(?:(?:other|keyword|optional) )?(?:parameters?|params?|arguments?|args|kwargs|inputs?)"
    r"|outputs?|returns?|return values?|yields?"
)
_PART = re.compile(rf"(?:{_PARTS})\s*:", re.I)
"""The beginning of a part as Google has it."""
_ANY_PART = re.compile(r"[A-Z][\w ]{0,30}:\s*$")
_UNDERLINED = re.compile(rf"(?:{_PARTS})\s*$", re.I)
"""The heading of a part as NumPy has it, above a line."""
_LINE = re.compile(r"\s*(?:-{3,}|={3,})\s*$")
_WITHIN = re.compile(rf"[ \t](?=:(?:{_NAMES})\b[^:\n]*:)", re.I)
"""The blank before a field in the middle of a line, where a docstring was made one line."""


def cut_parameters(doc: str) -> str:
    """Return a docstring without what it says of parameters and returned values.

    Fields (`:param x:`, `@return`) and parts (`Args:`, or `Returns` above a line) are cut to their end:
    another field or part, or after an empty line a line that is not further in than their beginning.
    """
    lines = _WITHIN.sub("\n", inspect.cleandoc(doc)).split("\n")
    kept: list[str] = []
    cut, until_heading, after_blank = -1, False, False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        text = line.lstrip()
        inside = len(line) - len(text)
        heading = bool(text) and not _LINE.match(line) and bool(_LINE.match(following))
        if (_UNDERLINED if heading else _FIELD).match(text) or (not heading and _PART.match(text)):
            cut, until_heading, after_blank = inside, heading, False
        elif cut >= 0:
            other = not until_heading and (_ANY_FIELD.match(text) or _ANY_PART.match(text))
            outside = bool(text) and inside <= cut
            if heading or (outside and (other or (after_blank and not until_heading))):
                cut = -1
            after_blank = not text
        if cut < 0:
            kept.append(line)
    return "\n".join(kept).strip()
