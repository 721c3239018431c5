"""The settings of completions: their context, retriever and decoding, and the names that give these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

IN_FILE = "in-file"
"""The setting without context of other files, and its context."""
RETRIEVED = "retrieval"
WITH_REFERENCE = "retrieval w/ ref."
CONTEXTS = (IN_FILE, RETRIEVED, WITH_REFERENCE)
"""The contexts of the tables of CrossCodeEval, in their order."""
CONSTRUCTION, CONSTRUCTED = "construction", "constructed"
"""The kind of works that construct tasks, and the extra field that such tasks have."""
GREEDY, NUCLEUS, FIM = "greedy", "nucleus", "fim"
OWN = "default"
"""The decoding of a service that takes no temperature, or is sent none."""

_PUBLISHED = re.compile(r"(?:line_completion_)?(rg\d*|oracle)_([\w-]+)")


class Setting(NamedTuple):
    """The context, retriever and decoding of completions.

    Attributes:
        context: One of `CONTEXTS`; the name of the setting where that says nothing of it.
        retriever: Empty for none, and where it is not known.
        decoding: `greedy`, or how else, such as `nucleus+fim`.
        name: The name of the setting of the context.
    """

    context: str
    retriever: str
    decoding: str
    name: str


def response_setting(context: str, decoding: str, *, fim: bool) -> str:
    """Return the setting of responses: that of the context, with another decoding than greedy behind it."""
    others = (decoding if decoding != GREEDY else "", FIM if fim else "")
    return "+".join((context, *filter(None, others)))


def context_setting(name: str) -> str:
    """Return the setting of the context of responses in a setting."""
    return name.partition("+")[0]


def setting_named(name: str, retrievers: Mapping[str, tuple[str, bool]]) -> Setting:
    """Return the setting of a name.

    Args:
        name: As `response_setting` makes it. That of the context is read as in the published files, too:
            `line_completion`, `line_completion_rg1_bm25`, `oracle_bm25`.
        retrievers: By setting of context that was retrieved here, its retriever, and whether the reference
            was a part of the query.
    """
    base = context_setting(name)
    decoding = name.removeprefix(base).strip("+") or GREEDY
    if base in retrievers:
        retriever, with_reference = retrievers[base]
        return Setting(WITH_REFERENCE if with_reference else RETRIEVED, retriever, decoding, base)
    if base in (IN_FILE, "line_completion"):
        return Setting(IN_FILE, "", decoding, base)
    found = _PUBLISHED.fullmatch(base)
    if found is not None:
        return Setting(WITH_REFERENCE if found[1] == "oracle" else RETRIEVED, found[2], decoding, base)
    return Setting(base, "", decoding, base)
