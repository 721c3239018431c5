"""The cache of vectors: whole blocks only, whatever stops the work, and errors for what cannot be compared."""

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
from full_disk import largest_file

from agents.retrieval.encoder import Encoded
from agents.retrieval.vectors import TEXTS_AT_ONCE, VectorCache
from store.errors import WorkbenchError

CHILD = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], str(Path(sys.argv[1]).parent)]
from test_vectors import Counting, TEXTS
from agents.retrieval.vectors import VectorCache

def report(progress):
    if progress.per_second:
        print(progress.done, flush=True)
        input()

VectorCache(Path(sys.argv[2])).vectors(Counting(), TEXTS, "code", report)
"""
TEXTS = [f"def f{number}(x): return {number}" for number in range(20 * TEXTS_AT_ONCE + 7)]


class Counting:
    """Makes vectors that follow from the texts, and counts what it is asked for."""

    def __init__(self, width=12, name="counting"):
        self.name = name
        self.warning = ""
        self.width = width
        self.encoded = []

    def identity(self, role):
        return {"model": "counting", "prompt": role}

    def encode(self, texts, role, report=None):
        self.encoded += texts
        seeds = numpy.array([len(text) + sum(map(ord, text[-6:])) for text in texts])
        vectors = numpy.sin(seeds[:, None] * numpy.arange(1, self.width + 1)).astype(numpy.float32)
        return Encoded(vectors, numpy.array([len(text) > 30 for text in texts]))


def test_no_text_is_encoded_twice(tmp_path):
    encoder, cache = Counting(), VectorCache(tmp_path)
    texts = [*TEXTS[:3000], *TEXTS[1000:2000], "long " * 100]
    progress = []
    vectors = cache.vectors(encoder, texts, "code", progress.append)
    assert len(encoder.encoded) == 3001
    assert numpy.array_equal(vectors.all(), encoder.encode(texts, "code").vectors)
    assert vectors.truncated == sum(len(text) > 30 for text in texts)
    assert (progress[0].done, progress[1].done, progress[1].kept) == (0, 1000, 1000)
    assert (progress[-1].done, progress[-1].total) == (4001, 4001)
    assert progress[-1].per_second > 0
    assert progress[-1].seconds_left == 0
    # In another order, by another process's eyes, and a block of it.
    shuffled = random.Random(1).sample(texts, len(texts))
    again = Counting()
    found = VectorCache(tmp_path).vectors(again, shuffled, "code")
    assert again.encoded == []
    part = numpy.empty((500, 12), dtype=numpy.float32)
    found.read(700, part)
    assert numpy.array_equal(part, encoder.encode(shuffled[700:1200], "code").vectors)
    # A query has a prompt of its own.
    cache.vectors(again, texts[:5], "query")
    assert len(again.encoded) == 5


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*.vectors")}


def test_killed_at_random_and_resumed_it_is_the_same(repository, tmp_path):
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    expected = VectorCache(whole).vectors(Counting(), TEXTS, "code").all()
    chance = random.Random(7)
    for _ in range(3):
        environment = {**os.environ, "PYTHONPATH": str(repository)}
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(repository / "tests" / "unit"), str(torn)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
        )  # fmt: skip
        # It may write six blocks, the first without a rate, and is killed somewhere on the way.
        child.stdin.write(b"\n" * 4)
        child.stdin.flush()
        for _ in range(chance.randint(2, 5)):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.communicate()
    before = contents(torn)
    assert 0 < len(before) < 21
    encoder = Counting()
    vectors = VectorCache(torn).vectors(encoder, TEXTS, "code")
    assert numpy.array_equal(vectors.all(), expected)
    assert contents(torn) == contents(whole)
    assert len(encoder.encoded) == len(TEXTS) - TEXTS_AT_ONCE * len(before)


def test_a_full_disk_leaves_whole_blocks(tmp_path):
    cache = VectorCache(tmp_path)
    cache.vectors(Counting(), TEXTS[:100], "code")
    before = contents(tmp_path)
    with largest_file(20_000), pytest.raises(WorkbenchError, match=r"Vectors not written: .*Make room"):
        cache.vectors(Counting(), TEXTS[:5000], "code")
    assert contents(tmp_path) == before
    assert not list(tmp_path.rglob("*.part"))
    assert len(cache.vectors(Counting(), TEXTS[:5000], "code")) == 5000


def test_what_was_half_written_an_hour_ago_is_removed(tmp_path):
    VectorCache(tmp_path).vectors(Counting(), TEXTS[:5], "code")
    (block,) = tmp_path.rglob("*.vectors")
    old, new = (block.with_name(f"{name}.part") for name in ("old", "new"))
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (time.time() - 4000, time.time() - 4000))
    VectorCache(tmp_path).vectors(Counting(), TEXTS[:5], "code")
    assert not old.exists()
    assert new.exists()


def test_two_threads_write_the_same_block(tmp_path, monkeypatch):
    both = threading.Barrier(2)
    # Each has written all of its file before the other renames its own.
    monkeypatch.setattr("os.fsync", lambda _: both.wait(20))
    with ThreadPoolExecutor(2) as pool:
        caches = [VectorCache(tmp_path), VectorCache(tmp_path)]
        found = [pool.submit(cache.vectors, Counting(), TEXTS[:50], "code") for cache in caches]
        first, second = (one.result().all() for one in found)
    assert numpy.array_equal(first, second)
    assert len(contents(tmp_path)) == 1
    assert not list(tmp_path.rglob("*.part"))


def test_what_cannot_be_written_is_said(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(WorkbenchError, match="No space left on device"):
        VectorCache(tmp_path).vectors(Counting(), TEXTS[:5], "code")


def test_bad_input_is_refused_and_nothing_of_it_stored(tmp_path):
    cache = VectorCache(tmp_path)
    encoder = Counting()
    for texts in (["a", " \n"], [""]):
        with pytest.raises(WorkbenchError, match=r"Query .* is empty"):
            cache.vectors(encoder, texts, "query")
    assert encoder.encoded == []

    class Broken(Counting):
        def encode(self, texts, role, report=None):
            found = super().encode(texts, role)
            found.vectors[2, 3] = numpy.nan
            return found

    with pytest.raises(WorkbenchError, match="not of numbers, for text 3"):
        cache.vectors(Broken(), TEXTS[:5], "code")
    assert contents(tmp_path) == {}
    cache.vectors(encoder, TEXTS[:5], "code")
    with pytest.raises(WorkbenchError, match="gives vectors of 13 numbers; those in the cache have 12"):
        cache.vectors(Counting(width=13), TEXTS[:9], "code")
    assert len(contents(tmp_path)) == 1


def test_damaged_files_are_named(tmp_path):
    cache = VectorCache(tmp_path)
    vectors = cache.vectors(Counting(), TEXTS[:50], "code")
    (path,) = tmp_path.rglob("*.vectors")
    whole = path.read_bytes()
    # The last one says that it has four thousand million texts.
    huge = whole[:8] + b"\xff" * 4 + whole[12:]
    for broken in (whole[:-1], b"", b"something else altogether", whole[:30], huge):
        path.write_bytes(broken)
        with pytest.raises(WorkbenchError, match=f"{path.name}.*Delete the file"):
            cache.vectors(Counting(), TEXTS[:50], "code")
    path.write_bytes(whole[:-1])
    with pytest.raises(WorkbenchError, match="Vectors damaged"):
        vectors.all()
    # A byte of the checksum, of a digest, of a flag, and of the numbers of a vector.
    for place in (17, 25, 20 + 50 * 16 + 3, -len(whole) // 3, -1):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(WorkbenchError, match=f"{path.name}: its checksum .*Delete the file"):
            cache.vectors(Counting(), TEXTS[:50], "code").read(40, numpy.empty((5, 12), dtype="f4"))
        for other in tmp_path.rglob("*.vectors"):
            other.unlink()
