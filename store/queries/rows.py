"""The filter and order of a queue, and its rows: plain values that cost a start nothing."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from store.kinds.spec import task_kinds

if TYPE_CHECKING:
    import numpy

    Ids = array[int] | numpy.ndarray[Any, Any]
    """Item ids in order; both have len, slices and tolist."""

Status = Literal["judged", "open", "skipped", "cannot_decide"]
AgentLabel = str
"""A value of the scale as text, or "none"."""
SortKey = Literal["position", "title", "label", "agent", "similarity", "rank", "status"]

NEEDS_SANDBOX = "Needs a sandbox"
"""The title of the error in the last step on an item whose test has nothing to run in."""
WAITING_PATH = "needs_sandbox"
"""In place of a path: agents have no verdict, since nothing is here that could run the test."""

FAILED_PATH = "failed"
"""In place of a path: a run has no verdict, since it failed on the item."""


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """Which items a queue lists; every part that is None lets everything through.

    Attributes:
        kind: A task kind.
        status: How far the rater is with the item.
        label: The rater's own label, as a value on the scale.
        agent: The agents' label, "none" for items without a verdict.
        agreement: Whether the rater's and the agents' labels agree; items lacking one are left out.
        path: How the agents came to their label, in a word of their pipeline; needs_sandbox where they
            wait for a sandbox.
        flagged: Whether the rater flagged the item.
        text: A part of the item's id or of its texts, in any case.
        items: Only these items: those behind a figure of a report.
        named: What these are, for the sentence.
    """

    kind: str | None = None
    status: Status | None = None
    label: float | None = None
    agent: AgentLabel | None = None
    agreement: Literal["agree", "disagree"] | None = None
    path: str | None = None
    flagged: bool | None = None
    text: str = ""
    items: tuple[int, ...] | None = None
    named: str = ""

    @property
    def by_agents(self) -> bool:
        """Whether it asks for something that rests on the agents' labels."""
        return bool(self.agent or self.agreement or self.path)

    def without_agents(self) -> QueueFilter:
        """Return the filter without the parts that depend on the agents' labels."""
        return replace(self, agent=None, agreement=None, path=None)

    def sentence(self, here: Collection[str] = (), agents: Collection[str] = ()) -> str:
        """Return the filter as a phrase to read, "all items" when it lets everything through.

        Args:
            here: The kinds that there are; their labels' words are used, those of all kinds without any.
            agents: The kinds on which agents work, likewise for the words of the agents' labels.
        """
        yours: Collection[str] = (self.kind,) if self.kind else here
        theirs: Collection[str] = (
            (self.kind,) if self.kind else frozenset(agents).intersection(here) or agents
        )
        parts = (
            phrase_of(part.name, getattr(self, part.name), theirs if part.name == "agent" else yours)
            for part in fields(self)
        )
        return " · ".join(part for part in parts if part) or "all items"


def phrase_of(part: str, value: Any, kinds: Collection[str] = ()) -> str:
    """Return how a part of a filter reads in its sentence, empty when it lets everything through.

    Args:
        part: The name of the part, as in `QueueFilter`.
        value: Its value.
        kinds: The kinds whose words labels have; none: those of all.
    """
    if value in (None, "") or part == "items":
        return ""
    match part:
        case "kind":
            return task_kinds()[value].plural if value in task_kinds() else str(value)
        case "status":
            return {"open": "unjudged"}.get(value, str(value).replace("_", " "))
        case "label":
            return f"you say {label_word(value, kinds)}"
        case "agent":
            said = value != "none"
            return f"agents say {label_word(float(value), kinds)}" if said else "agents have no label"
        case "agreement":
            return f"you {value} with the agents"
        case "path" if value == WAITING_PATH:
            return "needs a sandbox"
        case "flagged":
            return "flagged" if value else "not flagged"
        case "text":
            return f"contains “{value}”"
    return str(value)


def label_words(kinds: Collection[str] = (), *, whole: bool = False) -> dict[float, str]:
    """Return the words of the labels that can be filtered by, by value.

    Args:
        kinds: Of which kinds, none for all; a value has every word that it can mean.
        whole: With the numbers: "1 match" in place of "match".
    """
    words: dict[float, list[str]] = {}
    for each in task_kinds().values():
        if each.label_question is not None and (not kinds or each.name in kinds):
            for known in each.label_question.scale.values:
                said = known.shown if whole or known.sign else known.word
                said = each.queue.label_words.get(known.value, said)
                words.setdefault(known.value, []).append(said)
    return {value: " or ".join(dict.fromkeys(each)) for value, each in words.items()}


def label_word(value: float, kinds: Collection[str] = ()) -> str:
    """Return the word of a label of some kinds, of all with none; its number where it has none."""
    return label_words(kinds).get(value, f"{value:g}")


@dataclass(frozen=True, slots=True)
class QueueSort:
    """In which order a queue lists its items; ties stay in the order of import."""

    key: SortKey = "position"
    descending: bool = False


_FILTER = tuple(one.name for one in fields(QueueFilter) if one.name not in ("items", "named"))
"""The parts of a filter that a view has; a list of single items is none."""


COLUMNS = {
    "kind": "kind",
    "agents": "agents' label",
    "path": "how the agents reached it",
    "detail": "detail, such as the code's name",
    "similarity": "similarity",
}
"""The columns of a list that can be hidden, with what they are called."""


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """What a view lists, and how.

    Attributes:
        grouped: Whether the items of a group, such as the pairs of a query, are on one line.
        hidden: The columns that are not shown, of `COLUMNS`.
    """

    wanted: QueueFilter = field(default_factory=QueueFilter)
    sort: QueueSort = field(default_factory=QueueSort)
    grouped: bool = True
    hidden: tuple[str, ...] = ()

    @property
    def by_agents(self) -> bool:
        """Whether it rests on the agents' labels."""
        return self.wanted.by_agents or self.sort.key == "agent"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able values, without the parts that let everything through."""
        wanted = {name: getattr(self.wanted, name) for name in _FILTER}
        given = {name: value for name, value in wanted.items() if value not in (None, "")}
        hidden = {"hidden": list(self.hidden)} if self.hidden else {}
        return {"filter": given, "sort": asdict(self.sort), "grouped": self.grouped, **hidden}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ViewQuery:
        """Return what `to_dict` returned; parts that this version does not know are left out."""
        wanted = {name: one for name, one in value.get("filter", {}).items() if name in _FILTER}
        sort = QueueSort(**value.get("sort", {}))
        if sort.key not in get_args(SortKey):
            sort = QueueSort()
        hidden = known_columns(value.get("hidden"))
        return cls(QueueFilter(**wanted), sort, value.get("grouped") is not False, hidden)


def known_columns(names: Any) -> tuple[str, ...]:
    """Return those of some stored names that are columns."""
    return tuple(name for name in COLUMNS if isinstance(names, list | tuple) and name in names)


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One line of a queue. The agents' part is None where the item hides it (`blind`).

    `label` is the value of the question that tells of its kind, None where there is none. The item is judged
    when `answered`, its questions that have a value of the rater, reaches `required`, all that it is asked.
    `agent_path` is a word of the agents' pipeline where they have a label, `WAITING_PATH` where they wait
    for a sandbox. `reason` came with the label of an item that is asked one question, and `shown_as` says how
    the item was shown then.
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
    answered: int = 0
    required: int = 1
    blind: bool = False
    reason: str = ""
    shown_as: str = ""

    @property
    def needs_sandbox(self) -> bool:
        """Whether agents could not run the item's test, for want of a sandbox."""
        return self.agent_path == WAITING_PATH

    @property
    def disagrees(self) -> bool:
        """Whether the rater's and the agents' labels differ."""
        return self.label is not None and self.agent_label is not None and self.label != self.agent_label


def titled_kinds() -> dict[str, str]:
    """Return the kinds of which experts may rewrite the title, each with the column that it is."""
    return {
        name: kind.queue.title
        for name, kind in task_kinds().items()
        if kind.queue.title in kind.editing.columns
    }


def with_revised_titles(
    rows: Mapping[int, QueueRow], current: Mapping[int, Mapping[str, str]]
) -> dict[int, QueueRow]:
    """Return those of some rows whose title an expert rewrote, with the current title."""
    titled = titled_kinds()
    return {
        number: replace(row, title=current[number][titled[row.kind]])
        for number, row in rows.items()
        if row.kind in titled and titled[row.kind] in current.get(number, ())
    }
