"""What the tests of pictures have."""

from collections.abc import Callable
from functools import partial

import pytest
from pictures import same_as_before
from syrupy.assertion import SnapshotAssertion


@pytest.fixture
def snap_compare(snapshot: SnapshotAssertion) -> Callable[..., bool]:
    """A function that compares what an app shows, in some sizes, with its pictures."""
    return partial(same_as_before, snapshot)
