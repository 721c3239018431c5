"""Numbers in one form everywhere: "1 item", "1,204 items", "$12.50", "$0.0008", and as bars and intervals."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence


def pluralize(number: int, thing: str, things: str = "") -> str:
    """Return a number with its noun.

    Args:
        number: How many.
        thing: The noun.
        things: Its plural; with an s by default.
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def in_list(names: Sequence[str]) -> str:
    """Return names apart by commas; quotes hold a name with a comma together."""
    file = io.StringIO()
    csv.writer(file, lineterminator="").writerow(names)
    return file.getvalue()


def coefficient(value: float | None) -> str:
    """Return a coefficient such as kappa with two places; a dash for none."""
    return "–" if value is None else f"{value:.2f}"


def dollars(money: float) -> str:
    """Return an amount of US dollars with cents, and with more places where it is small."""
    if not money or money >= 1:
        return f"${money:,.2f}"
    return f"${money:.4f}" if money >= 0.0001 else f"${money:.6f}"


def cost(money: float | None, unknown: int, what: str = "step", several: str = "") -> str:
    """Say what something cost.

    Args:
        money: US dollars, as far as they are known; None where nothing is.
        unknown: Of how many steps, or of whatever `what` names, it is not known.
        what: See `unknown`.
        several: Its plural; with an s by default.
    """
    if money is None:
        return "unknown"
    rest = f", and what {pluralize(unknown, what, several)} cost, which is unknown" if unknown else ""
    return f"{dollars(money)}{rest}"


def tokens(taken: int, cached: int, given: int, unknown: int) -> str:
    """Say how many tokens models took and gave.

    Args:
        taken: Input tokens.
        cached: Those of them that the service had in its cache.
        given: Output tokens.
        unknown: Of how many steps it is not known what they cost. Where no token was counted either, the
            service did not say how many it took.
    """
    if unknown and not taken and not given:
        return "unknown: the service does not say"
    return f"{taken:,} in ({cached:,} cached), {given:,} out"


def part_of(part: int, whole: int) -> str:
    """Return "48 of 60 (80.0 %)", or "0 of 0" where a share means nothing."""
    return f"{part:,} of {whole:,}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def format_duration(seconds: float) -> str:
    """Return a duration in words: "40 s", "3 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def compact(number: int) -> str:
    """Return a large number in few cells: 940, 23.1k, 4.5M."""
    for least, letter in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        # What rounds to a thousand of one letter has the next one.
        if number >= 0.9995 * least:
            return f"{number / least:.3g}{letter}"
    return str(number)


EIGHTHS = " ▏▎▍▌▋▊▉"
"""The ends of bars."""


def block_bar(share: float, width: int) -> str:
    """Return a bar of block characters; whatever is more than nothing is seen, and only a whole one is full.

    Args:
        share: The share of the width that it fills, from 0 to 1.
        width: The cells of a whole one.
    """
    if share <= 0:
        return ""
    most = 8 * width if share >= 1 else 8 * width - 1
    full, eighths = divmod(min(max(round(8 * share * width), 1), most), 8)
    return "█" * full + EIGHTHS[eighths].strip()


def progress_bar(share: float, width: int) -> str:
    """Return a bar of so many cells, its rest shaded: "███░░░"."""
    done = block_bar(share, width)
    return done + "░" * (width - len(done))


LEVELS = "▁▂▃▄▅▆▇█"
"""The heights of a sparkline."""


def sparkline(values: Sequence[float], width: int) -> str:
    """Return numbers as a line of small bars, the highest as high as the line.

    Args:
        values: Numbers of at least 0, in order of time; only 0 is drawn as a blank.
        width: The cells at most; of more numbers the last ones are drawn.
    """
    shown = list(values)[-width:] if width > 0 else []
    top = max(shown, default=0)
    return "".join(
        LEVELS[min(int(len(LEVELS) * value / top), len(LEVELS) - 1)] if value > 0 else " " for value in shown
    )


Drawn = tuple[float | None, float | None, float | None]
"""The lower end of an interval, the value, and the upper end."""


def interval_line(of: Drawn, start: float, end: float, width: int, middle: float | None = None) -> str:
    """Return an interval on a scale: "  ├──●──┤ ", with a mark for the middle of the scale.

    Args:
        of: The interval and its value; nothing is drawn of what is None.
        start: The lower end of the scale.
        end: The upper end.
        width: The cells of the scale.
        middle: A value that is marked; None for none.
    """
    low, value, high = of
    if value is None or end <= start:
        return ""

    def place(at: float) -> int:
        return min(max(round((at - start) / (end - start) * (width - 1)), 0), width - 1)

    cells = [" "] * width
    if middle is not None:
        cells[place(middle)] = "┊"
    if low is not None and high is not None:
        first, last = place(low), place(high)
        cells[first : last + 1] = "─" * (last + 1 - first)
        cells[first], cells[last] = "├", "┤"
    cells[place(value)] = "●"
    return "".join(cells).rstrip()


_LANGUAGES = {"csharp": "C#", "go": "Go", "java": "Java", "python": "Python", "typescript": "TypeScript"}


def language_name(language: str) -> str:
    """Return the name of a programming language as people write it, in any case; others as they are."""
    return _LANGUAGES.get(language.lower(), language)
