"""Numbers of a job in words and characters."""

from __future__ import annotations

from agents.jobs.events import JobProgressed, JobState
from screens.widgets.text.sanitize import one_line
from store.counted import counted, dollars

FULL, EMPTY = "━", "─"

STATE_GLYPHS: dict[str, str] = {
    "starting": "…",
    "running": "▶",
    "paused": "‖",
    "stopping": "…",
    "done": "✓",
    "stopped": "■",
    "failed": "!",
}


def bar(done: int, total: int, width: int) -> str:
    """Return a bar of so many cells; a part begun shows at least one, and only a whole one is full."""
    if total <= 0 or width <= 0:
        return EMPTY * max(0, width)
    filled = min(width, done * width // total)
    if done and not filled:
        filled = 1
    return FULL * filled + EMPTY * (width - filled)


def in_words(seconds: float) -> str:
    """Return a duration as a person says it: "40 s", "3 min", "2 h 5 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def amount(what: str, number: float) -> str:
    """Return so much of what a `Budget` bounds, in words: "$5.00", "20 requests"."""
    return dollars(number) if what == "money" else counted(int(number), what.removesuffix("s"))


def parts(state: JobState | None, progress: JobProgressed | None, *, cost: bool = True) -> list[str]:
    """Return what there is to say of a job's numbers, the most important first, its run's cost last."""
    if progress is None:
        return []
    said = [f"{progress.ended:,} of {progress.total:,}"]
    if progress.failed:
        said.append(f"{progress.failed:,} failed")
    if progress.waiting:
        said.append(f"{progress.waiting:,} {'needs' if progress.waiting == 1 else 'need'} a sandbox")
    if state == "running" and progress.seconds_left is not None and progress.ended < progress.total:
        soon = progress.seconds_left < 1 and progress.ended > 0
        said.append("finishing" if soon else f"{in_words(progress.seconds_left)} left")
    if progress.per_minute:
        said.append(f"{progress.per_minute:,.0f}/min")
    spent = progress.spent
    if cost and spent.money:
        said.append(dollars(spent.money))
    if cost and spent.tokens:
        said.append(counted(spent.tokens, "token"))
    return said


def shortened(name: str, width: int) -> str:
    """Return a run's name in so many cells; what tells it from others is at its end, and is kept."""
    shown = one_line(name, len(name) + width)
    if len(shown) <= width:
        return shown
    tail = max(0, min(9, width - 2))
    return one_line(shown, width - tail) + shown[len(shown) - tail :]


def line(state: JobState, progress: JobProgressed | None, key: str, width: int) -> str:
    """Return a job on one line: state, bar, numbers, and the key that shows more.

    Args:
        state: How the job stands.
        progress: How far it is.
        key: The key of the jobs screen.
        width: Cells of the line.
    """
    head = f"{STATE_GLYPHS[state]} agents {state}"
    tail = f" · {key} shows more"
    said = parts(state, progress)
    bar_width = 10 if width < 100 else 20 if width < 120 else 30
    middle = ""
    if progress is not None:
        middle = f" {bar(progress.ended, progress.total, bar_width)} {said[0]}"
        for part in said[1:]:
            if len(head) + len(middle) + len(part) + 3 + len(tail) > width:
                break
            middle += f" · {part}"
    return one_line(head + middle + tail, width)
