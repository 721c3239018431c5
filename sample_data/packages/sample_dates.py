"""Reads dates as people write them, in English."""

import datetime
import re

__version__ = "1.0"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ISO = re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})")
_DAY_FIRST = re.compile(r"(?P<day>\d{1,2})\.? (?P<name>[a-z]{3,9})\.?,? (?P<year>\d{4})")
_MONTH_FIRST = re.compile(r"(?P<name>[a-z]{3,9})\.? (?P<day>\d{1,2}),? (?P<year>\d{4})")


def parse(text):
    """Return the date that a text names, such as "2021-05-03", "3 May 2021" or "May 3, 2021".

    Returns:
        A `datetime.date`; None for a text that is no date.
    """
    words = " ".join(text.lower().split())
    for form in (_ISO, _DAY_FIRST, _MONTH_FIRST):
        found = form.fullmatch(words)
        if found:
            parts = found.groupdict()
            try:
                month = int(parts["month"]) if "month" in parts else _MONTHS.index(parts["name"][:3]) + 1
                return datetime.date(int(parts["year"]), month, int(parts["day"]))
            except ValueError:
                return None
    return None
