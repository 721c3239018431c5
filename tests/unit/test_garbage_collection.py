"""The collector waits for a pause."""

import gc
import subprocess
import sys
import weakref

import pytest

from screens import garbage_collection


class Knot:
    """Refers to itself, so that only the collector can free it."""

    def __init__(self):
        self.me = self


@pytest.fixture
def collector():
    """The collector as it was, afterwards."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)
    gc.enable()


@pytest.fixture
def full(monkeypatch):
    """As if there was enough to look through."""
    monkeypatch.setattr(
        garbage_collection.gc, "get_count", lambda: (0, 0, garbage_collection.MIN_COLLECTIONS)
    )


def test_nothing_is_collected_while_somebody_types(full, collector):
    knot = weakref.ref(Knot())
    assert not garbage_collection.collect_when_idle(garbage_collection.IDLE_SECONDS - 0.1)
    assert knot() is not None


def test_a_pause_is_used(full, collector):
    knot = weakref.ref(Knot())
    assert garbage_collection.collect_when_idle(garbage_collection.IDLE_SECONDS)
    assert knot() is None
    assert gc.get_freeze_count() > 0


def test_a_pause_with_little_to_look_through_is_left_alone(collector, monkeypatch):
    monkeypatch.setattr(
        garbage_collection.gc, "get_count", lambda: (0, 0, garbage_collection.MIN_COLLECTIONS - 1)
    )
    assert not garbage_collection.collect_when_idle(60.0)


def test_what_is_there_is_kept_out_of_later_collections():
    code = (
        "import gc; gc.disable()\n"
        "from screens import garbage_collection\n"
        "alive = len(gc.get_objects())\n"
        "garbage_collection.freeze_existing()\n"
        "print(gc.isenabled(), gc.get_threshold() == garbage_collection.THRESHOLDS, len(gc.get_objects()) < alive // 10)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["True", "True", "True"]
