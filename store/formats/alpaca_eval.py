"""Annotations of AlpacaEval: two outputs for an instruction, and a preference from 1 to 2.

A preference below 1.5 is for `output_1`, one above for `output_2`; 1.5 is a tie, and so is 0, which earlier
versions wrote. The sides on which the judge saw them are not in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from store.formats.comparisons import INVALID, Candidate, Labels, compared
from store.formats.fields import recognized_by
from store.formats.protocol import JSON, Entity, FileContext, Format
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import short_text, wrong
from store.kinds.comparison import BETTER, JUDGE, SAME, WORSE

_TIES = (0, 1.5)


class Preferences:
    """Makes a comparison and a label of each annotation."""

    def __init__(self, known: FileContext) -> None:
        self._labels = Labels(known)
        self.counts = self._labels.counts

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the comparison of an annotation, and its label.

        Raises:
            Refused: A field is missing or of the wrong type, or the preference is neither 0 nor from 1 to 2.
        """
        whole = RecordReader(record)
        instruction = whole.text("instruction", required=True)
        one, other = (
            Candidate(
                whole.text(f"generator_{place}", filled=True, short=True) or f"output_{place}",
                whole.text(f"output_{place}", required=True),
                f"output_{place}",
            )
            for place in "12"
        )
        is_person = isinstance(record.get("annotator"), int)
        annotator = short_text(whole.identity("annotator") or "annotator", "annotator")
        preference = whole.number("preference")
        if preference is not None and preference not in _TIES and not 1 <= preference <= 2:
            raise wrong(preference, "preference", "a number from 1 to 2, or 0 for a tie,")
        made = compared(
            self._labels.known, instruction, one, other, made_from="alpaca-eval", extra=whole.rest()
        )
        if preference is None:
            add_count(self.counts, INVALID)
            return [made.item]
        value = made.value(SAME if preference in _TIES else BETTER if preference < 1.5 else WORSE)
        said = "" if preference in (1, 1.5, 2) else f"preference {preference:g}"
        labels = (
            self._labels.of(made.id, f"annotator {annotator}", value, comment=said)
            if is_person
            else self._labels.of_orders(made.id, annotator, {JUDGE: (value, said)})
        )
        return [made.item, *labels]


ALPACA_EVAL = Format(
    name="alpaca-eval",
    description="AlpacaEval's annotations: instruction, output_1, output_2, generator_1, generator_2, "
    "annotator, preference",
    containers=JSON,
    layouts=(
        recognized_by(
            "comparison", instruction="text", output_1="text", output_2="text", preference="number"
        ),
    ),
    converter=Preferences,
)
