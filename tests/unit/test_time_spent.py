"""The time of a question adds up over the openings of its item, and over sessions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from screens.judging import judgment_builder
from screens.judging.time_spent import TimeSpent
from store.tables.record import QuestionTarget


def view(item: int, question: int = 1) -> Any:
    """What the measuring needs of an item that is asked a question."""
    return SimpleNamespace(item_id=item, current=SimpleNamespace(target=QuestionTarget(question)))


def test_time_goes_on_where_an_item_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = 0.0
    monkeypatch.setattr(judgment_builder.time, "monotonic", lambda: moment)
    spent = TimeSpent(idle_seconds=60)
    spent.begin(view(1))
    moment += 5
    spent.begin(view(2))
    moment += 100
    assert spent.watch.read() == (100_000, 0)  # nobody was there
    # Opened again, asked another question, and left for the end of the list.
    spent.begin(view(1))
    moment += 7
    assert spent.watch.read() == (12_000, 12_000)
    spent.begin(view(1, question=2))
    moment += 1
    spent.stop()
    moment += 50
    spent.begin(view(1))
    moment += 1
    spent.watch.touch()

    # In another session.
    later = TimeSpent(idle_seconds=60)
    later.take_session(spent.kept)
    for question, milliseconds in ((1, 13_000), (2, 1_000)):
        later.begin(view(1, question))
        assert later.watch.read() == (milliseconds, milliseconds)
    later.begin(view(2))
    assert later.watch.read() == (100_000, 0)
