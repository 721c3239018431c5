"""The pace and the spending of a run as lines with sparklines, and when its budget will be used up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from screens.jobs.job_line import format_amount
from store.formatting import compact, dollars, format_duration, pluralize, sparkline
from store.queries.run_pace import LOOK_BACK, PARTS

if TYPE_CHECKING:
    from agents.jobs.budget import Budget
    from agents.jobs.events import JobProgressed, Spent
    from store.queries.run_pace import RunPace

WIDE_CELLS = 110
"""Cells of a line from which each part of the time has a cell of the sparkline."""


def rate_line(pace: RunPace | None, progress: JobProgressed | None, width: int) -> str:
    """Return how many items a run labels, over time; empty where there is nothing to tell.

    Args:
        pace: The run's pace; None where there is none.
        progress: How far the job at work is; None for a run of an earlier session.
        width: Cells of the line.
    """
    drawn = _drawn(pace.items if pace is not None else (), width)
    if progress is not None:
        return f"rate  {drawn}{progress.per_minute:,.0f} items/min" if progress.per_minute else ""
    if pace is None or not drawn:
        return ""
    items = pluralize(round(sum(pace.items)), "item")
    whole = pace.seconds < LOOK_BACK.total_seconds()
    return f"rate  {drawn}{items} in {format_duration(pace.seconds) if whole else 'the last hour'}"


def spend_line(
    spent: Spent,
    pace: RunPace | None,
    width: int,
    *,
    budget: Budget | None = None,
    labelled: int = 0,
    end: str = "",
) -> str:
    """Return what all jobs of a run spent together, over time; empty where nothing was asked.

    Args:
        pace: The run's pace; None where there is none.
        width: Cells of the line.
        budget: What it may spend; None where that is not known.
        labelled: Its items with a label.
        end: When the budget will be used up, in words; empty where that is not known.
    """
    limits = {} if budget is None else budget.limits
    asked = spent.requests or spent.tokens or spent.from_cache
    if not asked and not limits:
        return ""
    words = []
    if spent.money is not None or "money" in limits:
        words.append(
            _of(dollars(spent.money or 0), "money", limits) + (" and more" if spent.unpriced else "")
        )
    if "items" in limits:
        words.append(_of(f"{labelled:,}", "items", limits))
    bounded = [what for what in ("requests", "tokens") if what in limits]
    words += [_of(f"{getattr(spent, what):,}", what, limits) for what in bounded]
    words += [end] if end else []
    if asked and "requests" not in limits:
        words.append(pluralize(spent.requests, "request"))
    if asked and "tokens" not in limits:
        words.append(f"{compact(spent.tokens)} tokens")
    words += [f"{spent.from_cache:,} from the cache"] if spent.from_cache else []
    series = () if pace is None else pace.money if any(pace.money) else pace.tokens
    return f"spend {_drawn(series, width)}{' · '.join(words)}"


def budget_end(
    spent: Spent, pace: RunPace | None, budget: Budget, progress: JobProgressed, now: datetime
) -> str:
    """Return when a budget will be used up at the present rate, in words; empty where that is not known."""
    left = []
    for what, limit in budget.limits.items():
        each = 1.0 if what == "items" else pace.for_each_item(what) if pace is not None else None
        used = progress.labelled if what == "items" else getattr(spent, what) or 0
        if each:
            left.append(max(limit - used, 0) / each)
    if not left or not progress.done or not progress.seconds:
        return ""
    seconds = min(left) * progress.seconds / progress.done
    if progress.seconds_left is not None and progress.seconds_left <= seconds:
        return "lasts to the end"
    end = (now + timedelta(seconds=seconds)).astimezone()
    today = end.date() == now.astimezone().date()
    return f"at this rate until {end:%H:%M}" if today else f"at this rate until {end:%Y-%m-%d %H:%M}"


def _of(used: str, what: str, limits: dict[str, float]) -> str:
    return f"{used} of {format_amount(what, limits[what])}" if what in limits else used


def _drawn(series: Sequence[float], width: int) -> str:
    """Return a sparkline in a frame, since parts without anything are blank; empty where all are."""
    if width < WIDE_CELLS:
        # Two parts are one.
        series = [sum(pair) for pair in zip(series[::2], series[1::2], strict=True)]
    drawn = sparkline(series, PARTS)
    return f"▕{drawn}▏ " if drawn.strip() else ""
