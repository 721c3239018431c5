"""Comparisons in a form of our own: a prompt, two candidates, and verdicts of judges if there are any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from store.formats.comparisons import AGAIN, Labels, refuse_itself
from store.formats.fields import recognized_by
from store.formats.protocol import JSON, Entity, FileContext, Format
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import Refused
from store.kinds.comparison import (
    ABOUT,
    AS_LISTED,
    COMPARISON,
    JUDGE,
    ORDERS,
    PREFERENCE,
    SWAPPED,
    comparison_id,
    in_canonical_order,
)

_TEXTS = ("language", "reference", "made_from")
_OTHER = {AS_LISTED: SWAPPED, SWAPPED: AS_LISTED}


class OwnComparisons:
    """Makes a comparison of each record, and labels of its verdicts."""

    def __init__(self, known: FileContext) -> None:
        self._labels = Labels(known)
        self.counts = self._labels.counts

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return a comparison in canonical order, and the verdicts of judges on it.

        Raises:
            Refused: A field is missing or of the wrong type, a value is off the scale, or a
                candidate meets itself.
        """
        whole = RecordReader(record)
        prompt = whole.text("prompt", required=True, filled=True)
        seed = whole.identity("seed") or ""
        texts = [whole.text(name, required=True) for name in ("first", "second")]
        names = [
            whole.text(f"{name}_name", required=True, filled=True, short=True) for name in ("first", "second")
        ]
        refuse_itself(*names)
        refs = [whole.text(f"{name}_ref") or name for name in ("first", "second")]
        about = whole.text("about") or ABOUT[0]
        if about not in ABOUT:
            raise Refused(f"'about' is {about!r}, and none of {', '.join(ABOUT)}")
        file_order = whole.text("file_order")
        if file_order not in (None, "", *_OTHER):
            raise Refused(f"'file_order' is {file_order!r}, and none of {', '.join(_OTHER)}")
        if file_order is None:
            file_order = AS_LISTED
        candidates = list(zip(texts, names, refs, strict=True))
        kept = in_canonical_order(seed, prompt, *((text, name) for text, name, _ in candidates))
        (first, first_name, first_ref), (second, second_name, second_ref) = (
            candidates if kept else candidates[::-1]
        )
        own_id = whole.identity("id")
        fields = {
            "external_id": own_id or comparison_id(seed, prompt, first, second, first_name, second_name),
            "prompt": prompt,
            "first": first,
            "second": second,
            "first_name": first_name,
            "second_name": second_name,
            "first_ref": first_ref,
            "second_ref": second_ref,
            "about": about,
            "file_order": file_order if kept else _OTHER.get(file_order, file_order),
            **{name: whole.text(name) or "" for name in _TEXTS},
        }
        of_judges: dict[str, dict[str, tuple[float, str]]] = {}
        for verdict in whole.objects("verdicts"):
            judge, order, value, said = _verdict(verdict)
            if not kept:
                order, value = _OTHER.get(order, order), 0.0 - value
            if order in of_judges.setdefault(judge, {}):
                add_count(self.counts, AGAIN)
            else:
                of_judges[judge][order] = (value, said)
        extra = whole.rest() | ({"seed": seed} if seed else {})
        made: list[Entity] = [Entity(COMPARISON.name, fields, extra)]
        for judge, orders in of_judges.items():
            made += self._labels.of_orders(str(fields["external_id"]), judge, orders)
        return made


def _verdict(verdict: RecordReader) -> tuple[str, str, float, str]:
    """Return the judge, order, value and comment of a verdict, as the record lists the candidates."""
    judge = verdict.text("judge", required=True, filled=True, short=True)
    value = verdict.number("value")
    if value not in PREFERENCE.scale.allowed:
        raise Refused(f"'value' is {value}, which is off the scale: 2, 1, 0, -1, -2")
    order = verdict.text("order") or JUDGE
    if order not in ORDERS:
        raise Refused(f"'order' is {order!r}, and none of {', '.join(ORDERS)}")
    said = verdict.text("comment") or ""
    verdict.take_rest()
    return judge, order, value, said


COMPARISONS = Format(
    name="comparisons",
    description="comparisons: prompt, first, second, first_name, second_name; and id, language, reference, "
    "about, made_from, verdicts",
    containers=JSON,
    layouts=(
        recognized_by(
            COMPARISON.name, prompt="text", first="text", second="text", first_name="text", second_name="text"
        ),
    ),
    converter=OwnComparisons,
)
