"""The report on a file of ratings: the agreement of its raters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from store.formatting import pluralize
from store.reports.labels import fleiss_title
from store.reports.value import Cell, Report, Row, Table, counted, facts, filled, number, of_percent, share

if TYPE_CHECKING:
    from store.measures.rating_table import ColumnsRead
    from store.measures.table_agreement import TableAgreement

NAMED = 10
"""Raters that are named."""
MOST_VALUES = 20
"""Different values that have a table."""


def ratings_report(found: TableAgreement, read: ColumnsRead, blocks: int | None) -> Report:
    """Return the agreement of the raters of a file.

    Args:
        found: The agreement.
        read: Which columns were read.
        blocks: Rows of a block; None for none.
    """
    warnings = [f"{said}." for said in read.notes]
    if found.interval is not None and found.interval.warning and not found.why:
        warnings.append(f"The interval: {found.interval.warning}.")
    told = facts(
        [
            ("units", f"{found.units:,}; left out with less than two values: {found.dropped_units:,}"),
            ("raters", _raters(found.raters, read)),
            ("units are", f"in column {read.unit}" if read.unit else "rows"),
            ("columns left out", ", ".join(read.left_out)),
            ("missing values", _missing(read.missing)),
            ("judgments", found.judgments),
        ]
    )
    tables = filled(told, _coefficients(found, blocks), _values(found), _pairs(found))
    return Report((), (), tables, warnings=tuple(warnings))


def _coefficients(found: TableAgreement, blocks: int | None) -> Table:
    def cell(value: float | None, error: float | None = None) -> Cell:
        plain = number(value, 4)
        return plain if error is None else Cell(f"{plain.text} (standard error {error:.4f})", value)

    drawn = found.interval
    rows = [("percent agreement", of_percent(found.percent))]
    for level, value in found.alpha.items():
        ends = (drawn.low, drawn.high) if drawn is not None and level == found.level else (None, None)
        rows.append((f"alpha, {level}", number(value, 4, *ends, end_places=4)))
    rows += [
        (f"alpha, mean of blocks of {blocks}", cell(found.blocks)),
        ("Cohen's kappa", cell(found.cohen)),
        (fleiss_title(found), cell(found.fleiss, found.standard_errors["fleiss"])),
        ("Gwet's AC1", cell(found.ac1, found.standard_errors["ac1"])),
        ("Gwet's AC2, linear", cell(found.ac2_linear)),
        ("Gwet's AC2, quadratic", cell(found.ac2_quadratic)),
    ]
    notes = [f"No alpha: {found.why}."] if found.why else []
    if drawn is not None and drawn.low is not None:
        of = "clusters" if found.clustered else "units"
        notes.append(f"{drawn.share:.0%} interval: {pluralize(drawn.resamples, 'resample')} of {of}.")
    return Table(
        ("coefficient", "value"),
        tuple(Row((name, value)) for name, value in rows if value.value is not None),
        "Agreement",
        notes=tuple(notes),
    )


def _values(found: TableAgreement) -> Table:
    values = found.values if 1 < len(found.values) <= MOST_VALUES else ()
    return Table(
        ("value", "share", "specific agreement"),
        tuple(
            Row(
                (
                    each["value"] if isinstance(each["value"], str) else f"{each['value']:g}",
                    share(each["share"]),
                    number(each["specific_agreement"], 4),
                ),
                each["share"],
            )
            for each in values
        ),
        "Values",
        drawn="share of values",
    )


def _pairs(found: TableAgreement) -> Table:
    return Table(
        ("rater", "and", "units", "percent", "Cohen", "linear", "quadratic"),
        tuple(
            Row(
                (
                    *pair.raters,
                    *(counted(pair.units), of_percent(pair.percent)),
                    *(number(each, 4) for each in (pair.cohen, pair.cohen_linear, pair.cohen_quadratic)),
                )
            )
            for pair in found.by_pair
            if len(found.by_pair) > 1
        ),
        "Every two raters",
        names=2,
    )


def _raters(several: int | None, read: ColumnsRead) -> str:
    if several is None:
        return f"not named; values in column {read.value}"
    if read.value:
        return f"{several:,}, named in column {read.raters[0]}; values in column {read.value}"
    more = f" and {several - NAMED:,} more" if several > NAMED else ""
    return f"{several:,}: {', '.join(read.raters[:NAMED])}{more}"


def _missing(missing: Mapping[str, int]) -> str | None:
    words = ", ".join(f"{times:,} {word or 'empty'}" for word, times in missing.items())
    return f"{sum(missing.values()):,} ({words})" if words else None
