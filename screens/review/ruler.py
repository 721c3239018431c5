"""A long scale as a ruler: the rater's own score, the judge's, and the bands of points with one meaning."""

from __future__ import annotations

from textual.content import Content

from store.record.scales import Scale

LONG_FROM = 6
"""Values of a scale from which it is shown as a ruler."""

OWN, JUDGE = "●", "◆"


def is_long(scale: Scale) -> bool:
    """Return whether a scale has so many values that a ruler says more than a number."""
    return scale.level == "interval" and len(scale.values) >= LONG_FROM


def ruler(scale: Scale, own: float | None, judge: float | None) -> Content:
    """Return a scale in a row: `1 ─ ─│─ ●│─ ─│◆ ─│─ ─ 10`; bars part the bands.

    A score between two points stands between them. Where both scores are the same, the own mark stands
    there, and `●=◆` follows.

    Args:
        scale: The scale, of whole numbers in order.
        own: The rater's score; None for none.
        judge: The judge's score; None where there is none, or it is hidden.
    """
    values = scale.values
    cells: list[tuple[str, str]] = []
    for before, value in zip((None, *values), values, strict=False):
        if before is not None:
            cells.append((" " if before.word == value.word else "│", "$foreground-muted"))
        cells.append(("─", "$foreground-muted"))
    low, high = values[0].value, values[-1].value
    for score, mark, style in ((judge, JUDGE, "$text-primary"), (own, OWN, "bold $text-accent")):
        if score is not None and low <= score <= high:
            cells[round(2 * (score - low))] = (mark, style)
    ends = [(f"{low:g} ", "$foreground-muted"), (f" {high:g}", "$foreground-muted")]
    same = [(f" {OWN}={JUDGE}", "$foreground-muted")] if own is not None and own == judge else []
    return Content.assemble(ends[0], *cells, ends[1], *same)


def band_of(scale: Scale, value: float) -> str:
    """Return the meaning of a score: that of its band; empty for a score between two points."""
    return next((known.word for known in scale.values if known.value == value), "")
