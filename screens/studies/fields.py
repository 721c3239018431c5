"""The fields of a form: a line to fill in, a choice, each with its title."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, Select, Static


def line(title: str, name: str, placeholder: str = "", *, value: str = "", only: str = "") -> Horizontal:
    """Return a line to fill in.

    Args:
        title: Its title.
        name: Its id.
        placeholder: What it shows while it is empty.
        value: What is in it at first.
        only: The choices that it belongs to, apart by blanks; empty for all.
    """
    row = _row(title, Input(value, id=name, placeholder=placeholder, compact=True))
    row.add_class(*(f"only-{one}" for one in only.split()))
    return row


def choice(title: str, name: str, options: Sequence[tuple[str, str]], value: str) -> Horizontal:
    """Return a choice of one of several values, each with its words."""
    return _row(title, Select(options, value=value, id=name, allow_blank=False, compact=True))


def _row(title: str, widget: Widget) -> Horizontal:
    return Horizontal(Static(title, classes="title"), widget, classes="field")
