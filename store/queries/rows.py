"""What a queue is asked for, and the lines it answers with: plain values that cost a start nothing."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from store.kinds.protocol import task_kinds

if TYPE_CHECKING:
    import numpy

    Ids = array[int] | numpy.ndarray[Any, Any]
    """Item ids in order; both have len, slices and tolist."""

Status = Literal["judged", "open", "skipped", "cannot_decide"]
AgentLabel = Literal["0", "1", "none"]
SortKey = Literal["position", "title", "label", "agent", "similarity", "rank", "status"]

VERDICT_PATHS = ("screened", "read", "simulated", "tested", "repaired")
"""How agents come to a verdict: the screener found it clear, a model read what there is and ruled, a model
predicted what a test would show, a test was run, one was run after a repair."""
NEEDS_SANDBOX = "Needs a sandbox"
"""The title of the error in the last step on an item whose test has nothing to run in."""
WAITING_PATH = "needs_sandbox"
"""In place of a path: agents have no verdict, since nothing is here that could run the test."""

SORT_KEYS: tuple[SortKey, ...] = ("position", "title", "label", "agent", "similarity", "rank", "status")


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Which items a queue lists; every part that is None lets everything through.

    Attributes:
        kind: A task kind.
        status: How far the rater is with the item.
        label: The rater's own label, as a value on the scale.
        agent: The agents' label, "none" for items without a verdict.
        agreement: Whether the rater's and the agents' labels agree; items lacking one are left out.
        path: How the agents came to their label, one of `VERDICT_PATHS`; needs_sandbox where they wait for
            a sandbox.
        flagged: Whether the rater flagged the item.
        text: A part of the item's texts, in any case.
    """

    kind: str | None = None
    status: Status | None = None
    label: float | None = None
    agent: AgentLabel | None = None
    agreement: Literal["agree", "disagree"] | None = None
    path: str | None = None
    flagged: bool | None = None
    text: str = ""

    def sentence(self) -> str:
        """Return the filter as a phrase to read, "all items" when it lets everything through."""
        parts = (phrase_of(part.name, getattr(self, part.name)) for part in fields(self))
        return " · ".join(part for part in parts if part) or "all items"


def phrase_of(part: str, value: Any) -> str:
    """Return how a part of a filter reads in its sentence, empty when it lets everything through.

    Args:
        part: The name of the part, as in `QueueFilter`.
        value: What it is set to.
    """
    if value in (None, ""):
        return ""
    match part:
        case "kind":
            return task_kinds()[value].plural if value in task_kinds() else str(value)
        case "status":
            return {"open": "unjudged"}.get(value, str(value).replace("_", " "))
        case "label":
            return f"you say {label_word(value)}"
        case "agent":
            return "agents have no label" if value == "none" else f"agents say {label_word(float(value))}"
        case "agreement":
            return f"you {value} with the agents"
        case "path" if value == WAITING_PATH:
            return "needs a sandbox"
        case "flagged":
            return "flagged" if value else "not flagged"
        case "text":
            return f"contains “{value}”"
    return str(value)


def label_words() -> dict[float, str]:
    """Return the words of the labels that can be filtered by, by value; the first kind's where two differ."""
    words: dict[float, str] = {}
    for kind in task_kinds().values():
        for known in kind.questions[0].scale.values:
            words.setdefault(known.value, known.word)
    return words


def label_word(value: float) -> str:
    """Return the word of a label, its number where it has none."""
    return label_words().get(value, f"{value:g}")


@dataclass(frozen=True, slots=True)
class QueueSort:
    """In which order a queue lists its items; ties stay in the order of import."""

    key: SortKey = "position"
    descending: bool = False


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One line of a queue. The agents' part is None when the review is blind.

    `agent_path` is one of `VERDICT_PATHS` where agents have a label, `WAITING_PATH` where they wait for a
    sandbox.
    """

    item_id: int
    external_id: str
    kind: str
    title: str
    detail: str
    rank: int | None
    similarity: float | None
    status: Status
    label: float | None
    agent_label: float | None
    agent_path: str | None
    flagged: bool
    commented: bool

    @property
    def needs_sandbox(self) -> bool:
        """Whether agents could not run the item's test, for want of a sandbox."""
        return self.agent_path == WAITING_PATH

    @property
    def disagrees(self) -> bool:
        """Whether the rater's and the agents' labels differ."""
        return self.label is not None and self.agent_label is not None and self.label != self.agent_label
