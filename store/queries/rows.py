"""What a queue is asked for, and the lines it answers with: plain values that cost a start nothing."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy

    Ids = array[int] | numpy.ndarray[Any, Any]
    """Item ids in order; both have len, slices and tolist."""

Status = Literal["judged", "open", "skipped", "cannot_decide"]
AgentLabel = Literal["0", "1", "none"]
SortKey = Literal["position", "title", "label", "agent", "similarity", "rank", "status"]

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
        path: How the agents came to their label: screened, tested, repaired.
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
        parts = [self.kind or ""]
        parts += [
            {"open": "unjudged", "cannot_decide": "cannot decide"}.get(self.status or "", self.status or "")
        ]
        parts += [f"you say {self.label:g}" if self.label is not None else ""]
        parts += [
            {None: "", "none": "agents have no label"}.get(self.agent, f"agents say {self.agent}"),
            {None: "", "agree": "you agree with the agents", "disagree": "you disagree with the agents"}[
                self.agreement
            ],
            self.path or "",
            {None: "", True: "flagged", False: "not flagged"}[self.flagged],
            f"contains “{self.text}”" if self.text else "",
        ]
        return " · ".join(part for part in parts if part) or "all items"


@dataclass(frozen=True, slots=True)
class QueueSort:
    """In which order a queue lists its items; ties stay in the order of import."""

    key: SortKey = "position"
    descending: bool = False


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One line of a queue. The agents' part is None when the review is blind."""

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
    def disagrees(self) -> bool:
        """Whether the rater's and the agents' labels differ."""
        return self.label is not None and self.agent_label is not None and self.label != self.agent_label
