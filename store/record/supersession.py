"""The rules by which a rater's records supersede each other, free of the database.

Within its key a record supersedes the newest older one; judging ends skip and cannot decide, and cannot
decide withdraws judgments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from store.record.evidence import NONE
from store.record.ids import ROOM, following_id

if TYPE_CHECKING:
    from store.tables.record import Judgment, Mark

    Record = Judgment | Mark

_PLACE = ("item_id", "rater_id", "assignment_id", "phase")
_JUDGMENT_KEY = (*_PLACE, "question_id", "response_ref_id")
_MARK_KEY = (*_PLACE, "kind")

NO_LABEL: dict[str, Any] = {"value": None, "reason": "", "comment": "", "evidence": NONE}
"""The content of a judgment that leaves no value."""


def is_judgment(record: Record) -> bool:
    """Return whether a record is a judgment, not a mark."""
    return hasattr(record, "question_id")


def key_of(record: Record) -> tuple[Any, ...]:
    """Return the key within which a record supersedes; a judgment and a mark never share one."""
    names = _JUDGMENT_KEY if is_judgment(record) else _MARK_KEY
    return (is_judgment(record), *(getattr(record, name) for name in names))


class ItemRecords:
    """The records of one item, of all raters.

    Args:
        records: The stored records; records of other items must not be among them.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = list(records)

    def add(self, record: Record) -> None:
        """Add a record that was stored."""
        self._records.append(record)

    def stored(self, number: UUID | None) -> Record | None:
        """Return the record of some id; None where there is none."""
        return next((record for record in self._records if record.id == number), None)

    def id_before(self, record: Record) -> UUID | None:
        """Return the id of the record that another supersedes: the newest of its key that is older."""
        return max((one.id for one in self._of_key(record) if one.id < record.id), default=None)

    def consequences(self, record: Record) -> list[Record]:
        """Return the records that follow from a stored one, as parts of its action.

        The later of a judgment and a mark wins, also when it was stored first because the other had to be
        retried.
        """
        newest = max(one.id for one in self._of_key(record)) == record.id
        if record.origin in ("undo", "redo") or not newest:
            return []
        further: list[Record] = []
        if is_judgment(record):
            for mark in self._current_marks(record) if cast("Judgment", record).value is not None else ():
                if mark.kind == "cannot_decide" and mark.id > record.id:
                    further.append(_withdrawn(cast("Judgment", record), mark))
                else:
                    further.append(_ended(mark, record))
        else:
            further = self._of_mark(cast("Mark", record))
        return self._numbered(further, record)

    def reconcile(self) -> list[Record]:
        """Return the records that follow where records of one assignment came from two files.

        As if they had been made in one: a later judgment ends a mark, and a later "cannot decide" withdraws
        judgments. Where nothing contradicts there are none.
        """
        current = {key_of(one): one for one in sorted(self._records, key=lambda one: one.id)}
        marks = [cast("Mark", one) for one in current.values() if not is_judgment(one)]
        return [one for mark in marks for one in self._numbered(self._of_mark(mark), mark)]

    def _of_mark(self, mark: Mark) -> list[Record]:
        """Return what follows from a current mark, without ids."""
        if not mark.active or mark.kind not in ("cannot_decide", "skip"):
            return []
        judgments = self._current_judgments(mark)
        later = [judgment for judgment in judgments if judgment.id > mark.id]
        if later:
            return [_ended(mark, later[0])]
        if mark.kind == "cannot_decide":
            return [_withdrawn(judgment, mark) for judgment in judgments]
        return []

    def _numbered(self, further: Sequence[Record], cause: Record) -> list[Record]:
        """Return records that follow from one, with the next ids after its own, and what they supersede."""
        used = {one.id for one in self._records}
        free = (one for place in range(1, ROOM + 1) if (one := following_id(cause.id, place)) not in used)
        return [
            one.model_copy(update={"id": number, "supersedes": one.id})
            for one, number in zip(further, free, strict=False)
        ]

    def _current_marks(self, record: Record) -> list[Mark]:
        """Return the active "cannot decide" and "skip" by the rater of a record."""
        marks = [cast("Mark", one) for one in self._current(record) if not is_judgment(one)]
        return [mark for mark in marks if mark.active and mark.kind in ("cannot_decide", "skip")]

    def _current_judgments(self, record: Record) -> list[Judgment]:
        """Return the judgments with a value by the rater of a record, one a question."""
        judgments = [cast("Judgment", one) for one in self._current(record) if is_judgment(one)]
        return [judgment for judgment in judgments if judgment.value is not None]

    def _of_key(self, record: Record) -> list[Record]:
        key = key_of(record)
        return [one for one in self._records if key_of(one) == key]

    def _current(self, record: Record) -> list[Record]:
        """Return the current record of each key of the same rater, assignment and phase."""
        place = _place_of(record)
        found = [one for one in self._records if _place_of(one) == place]
        return list({key_of(one): one for one in sorted(found, key=lambda one: one.id)}.values())


def _place_of(record: Record) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in _PLACE)


def _ended(mark: Mark, cause: Record) -> Mark:
    """Return the record that takes a mark away, as a part of the action of its cause."""
    return mark.model_copy(update={**_part_of(cause), "active": False})


def _withdrawn(judgment: Judgment, cause: Record) -> Judgment:
    """Return the record that takes a judgment's value away, as a part of the action of its cause."""
    return judgment.model_copy(update={**_part_of(cause), **NO_LABEL, "origin": "withdraw"})


def _part_of(cause: Record) -> dict[str, Any]:
    return {
        "action": cause.action,
        "origin": "independent",
        "target_action": None,
        "restores": None,
        "created_at": cause.created_at,
    }
