"""What the tests of pictures have."""

import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from pictures import same_as_before
from syrupy.assertion import SnapshotAssertion


@pytest.fixture
def snap_compare(snapshot: SnapshotAssertion) -> Callable[..., bool]:
    """A function that compares what an app shows, in some sizes, with its pictures."""
    return partial(same_as_before, snapshot)


@pytest.fixture(autouse=True)
def _same_time_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Show moments as they are in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
