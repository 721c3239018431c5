"""PandaLM's test set, with the labels of three people, and the files of judges that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from store.formats import values
from store.formats.comparisons import INVALID, Candidate, Compared, Labels, compared
from store.formats.fields import recognized_by
from store.formats.protocol import JSON, Entity, FileContext, Format
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import Refused, short
from store.kinds.comparison import BETTER, SAME, WORSE

_VALUES = {"0": SAME, "tie": SAME, "1": BETTER, "2": WORSE}
_PEOPLE = "annotator"
_RESULT = "_result"
_JUDGES = {"gpt": "gpt-3.5-turbo", "pandalm": "pandalm-7b"}
"""The judges of the published files, by the beginning of their fields."""


class Responses:
    """Makes a comparison and the labels of people of each record of the test set, or a judge's labels.

    A judge's file names the record alone, so it is imported together with the test set.
    """

    def __init__(self, known: FileContext) -> None:
        self._labels = Labels(known)
        self._stem = known.stem
        self._compared: dict[str, Compared] = known.shared.setdefault("pandalm", {})
        self.counts = self._labels.counts

    def scan(self, record: Mapping[str, Any]) -> None:
        """Keep the comparison of a record of the test set, for judges' files before it."""
        if "response1" in record:
            try:
                made = self._item(RecordReader(record))[0]
            except Refused:
                return
            self._compared[made.id] = made

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the comparison and its labels, or the labels of a judge.

        Raises:
            Refused: A field is missing or of the wrong type, or the comparison is not in the same import.
        """
        whole = RecordReader(record)
        if "response1" not in record:
            return self._judged(whole)
        made, labels = self._item(whole)
        found: list[Entity] = [made.item]
        for rater, value in labels.items():
            found += self._labels.of(made.id, rater, made.value(value), shown_as=made.order(True))
        return found

    def _item(self, whole: RecordReader) -> tuple[Compared, dict[str, float]]:
        number = whole.identity("idx", required=True)
        key = whole.text("cmp_key", required=True, filled=True)
        names = key.split("_")
        if len(names) != 2 or not all(names):
            raise Refused(f"'cmp_key' is {short(key)}, which does not name two models: MODEL_MODEL")
        instruction = whole.text("instruction", required=True)
        given = whole.text("input")
        one, other = (
            Candidate(name, _response(whole, f"response{place}"), f"response{place}")
            for place, name in enumerate(names, start=1)
        )
        labels = {
            name: value
            for name in whole.names()
            if name.startswith(_PEOPLE) and (value := _value(whole.identity(name), name)) is not None
        }
        prompt = f"{instruction}\n\n{given}" if given else instruction
        known = self._labels.known
        made = compared(known, prompt, one, other, made_from="pandalm", name=number, extra=whole.rest())
        return made, labels

    def _judged(self, whole: RecordReader) -> list[Entity]:
        number = whole.identity("idx", required=True)
        made = self._compared.get(number)
        if made is None:
            raise Refused(f"comparison {number!r} is in none of the files of the test set imported with it")
        found: list[Entity] = []
        for name in [name for name in whole.names() if name.endswith(_RESULT)]:
            judge = name.removesuffix(_RESULT)
            given = whole.identity(name)
            value = None if given is None else _VALUES.get(given.strip().lower())
            if value is None:
                add_count(self.counts, INVALID)
                continue
            reason = whole.text(f"{judge}_reason") or ""
            order = {made.order(True): (made.value(value), reason)}
            found += self._labels.of_orders(made.id, _JUDGES.get(judge, judge), order)
        return found


def _response(whole: RecordReader, name: str) -> str:
    """Take a response; the published file has some that were read as true or false, or as a number."""
    value = whole.there(name)
    return str(value) if isinstance(value, bool | int | float) else values.text(value, name)


def _value(given: str | None, name: str) -> float | None:
    if given is None:
        return None
    if given.lower() not in _VALUES:
        raise Refused(f"{name!r} is {short(given)}, and none of 0 (a tie), 1 and 2")
    return _VALUES[given.lower()]


PANDALM = Format(
    name="pandalm",
    description="PandaLM's test set: idx, cmp_key, instruction, input, response1, response2, annotator1...; "
    "with it, files of judges: idx, gpt_result or pandalm_result",
    containers=JSON,
    layouts=(
        recognized_by("comparison", idx="id", cmp_key="text", response1="text", response2="text"),
        recognized_by("label", idx="id", gpt_result="text"),
        recognized_by("label", idx="id", pandalm_result="text"),
    ),
    converter=Responses,
)
