"""The dashboard of a study in words, for the command line and the screen alike."""

from __future__ import annotations

from datetime import datetime

from store.formatting import coefficient, pluralize
from store.record.ids import now
from store.record.protocol import StudyProtocol
from store.studies.dashboard import Dashboard, Look, MemberProgress
from store.studies.plan import PlanPreview

WHY_LOGGED = (
    "A look shows the agreement and logs what was seen. Whoever looks often, and stops when the numbers "
    "please, finds agreement that is not there: with a look every 10 items that happened in 21 % of "
    "simulated studies. So the looks at which a study may stop are named before it is frozen; this one is "
    "logged as unplanned."
)
"""Why looks are logged, for somebody about to take an unplanned one."""


def plan_words(found: PlanPreview) -> list[str]:
    """Return in sentences what a plan asks of its raters, and what that rests on."""
    least, most = found.assignments
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    asked = f"{each} {'assignment' if most == 1 else 'assignments'} for each rater in "
    lines = [asked + pluralize(found.sittings, "sitting")]
    if found.shared is not None:
        low, high = found.shared
        shared = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        lines.append(f"any two raters share {shared} {'item' if high == 1 else 'items'}")
    hours = f"about {found.hours:,.1f} hours for a rater"
    if len(found.paces) == 1:
        return [*lines, f"{hours}, at {found.paces[0].sentence(found.asked)}"]
    by_condition = (f"  {one.named}: {one.sentence(found.asked)}" for one in found.paces)
    return [*lines, f"{hours}, by condition:", *by_condition]


def moment(when: datetime) -> str:
    """Return a moment in local time: "2026-03-04 15:10"."""
    return f"{when.astimezone():%Y-%m-%d %H:%M}"


def ended(when: datetime | None) -> str:
    """Return an expected end; empty where it cannot be told."""
    return "" if when is None else moment(when)


def day(when: datetime) -> str:
    """Return when something will be: the hour of today, or the day."""
    local, today = when.astimezone(), now().astimezone()
    return f"today {local:%H:%M}" if local.date() == today.date() else f"{local:%Y-%m-%d}"


def progress_words(one: MemberProgress, protocol: StudyProtocol) -> str:
    """Return how it stands with a rater, in a word or two."""
    member = one.member
    if member.withdrawn_at is not None:
        return "withdrawn"
    if protocol.consent and member.consent_version != protocol.consent_version:
        return "no consent yet"
    if not one.whole.done:
        return "not begun"
    return "at work" if one.left else "finished"


def looked(look: Look) -> tuple[str, str, int, int, str, str, str, str]:
    """Return a look as cells: when, question, labels, items, alpha, interval, half-width, kind."""
    interval = "–" if look.ci_low is None else f"{coefficient(look.ci_low)} to {coefficient(look.ci_high)}"
    return (
        moment(look.looked_at),
        look.question,
        look.judgments,
        look.items,
        coefficient(look.alpha),
        interval,
        coefficient(look.half_width),
        "planned" if look.planned else "unplanned",
    )


def stopping_words(found: Dashboard) -> str:
    """Return whether the study may stop, as a sentence."""
    protocol, judgments = found.study.protocol, min(found.judgments.values(), default=0)
    if found.study.frozen_at is None:
        return "A draft: freeze it, and its raters can begin."
    if found.is_met:
        why = "all is judged" if protocol.half_width is None else "the last planned look was narrow enough"
        return f"The stopping rule is met: {why}."
    if found.due is not None:
        return f"A look planned at {pluralize(found.due, 'label')} is due; {judgments:,} are there."
    if protocol.half_width is None:
        return f"It stops when all is judged: {pluralize(found.left, 'assignment')} left."
    looked_at = max((look.judgments for look in found.looks if look.planned), default=0)
    following = next((number for number in protocol.looks if number > max(judgments, looked_at)), None)
    if following is None:
        return "Every planned look was taken, and the interval was too wide at the last one."
    return f"The next planned look is at {pluralize(following, 'label')}; {judgments:,} are there."
