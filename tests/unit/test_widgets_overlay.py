"""Stretches of a text are found by the place that they touch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from screens.widgets.text.overlay import Span, Spans

PLACES = st.integers(0, 30)


@given(st.lists(st.tuples(PLACES, PLACES)), PLACES, PLACES)
def test_those_that_touch_a_part_are_found(ends: list[tuple[int, int]], first: int, last: int) -> None:
    spans = [Span(min(pair), max(pair), "strong") for pair in ends]
    start, end = min(first, last), max(first, last)
    found = list(Spans(spans).between(start, end))
    assert sorted(found, key=repr) == sorted(
        (span for span in spans if span.start <= end and span.end >= start), key=repr
    )
    assert [span.start for span in found] == sorted(span.start for span in found)


def test_only_an_empty_stretch_of_a_style_with_a_glyph_stands_between_characters() -> None:
    spans = [Span(4, 4, "missing"), Span(2, 2, "cursor"), Span(1, 3, "cursor"), Span(3, 3, "strong")]
    assert Spans(spans).insets == ((2, "▮"), (4, "‸"))
