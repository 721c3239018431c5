"""Keys that were never added are told apart at once; one that was added never is."""

import hashlib
from datetime import UTC, datetime
from uuid import UUID

import numpy
from small_workspace import pairs_workspace
from sqlalchemy import insert

from agents.bloom_filter import BloomFilter
from store.queries.replies import reply_key_parts
from store.tables.columns import table_of
from store.tables.runs import ReplyRow


def keys(count, salt):
    return [UUID(bytes=hashlib.sha256(f"{salt} {number}".encode()).digest()[:16]) for number in range(count)]


def parts(some):
    return numpy.frombuffer(b"".join(key.bytes for key in some), dtype=">u4").reshape(-1, 4).T


def test_what_was_added_one_by_one_or_together_is_in_it_and_hardly_anything_else():
    one_by_one, together = BloomFilter(), BloomFilter()
    added, others = keys(5_000, "added"), keys(20_000, "others")
    together.add_parts(list(parts(added)))
    # Hashes of two million others, as good as any.
    together.add_parts(numpy.random.default_rng(1).integers(0, 2**32, (4, 2_000_000), dtype=numpy.uint32))
    for key in added:
        one_by_one.add(key)

    assert all(key in together for key in added)
    assert all(key in one_by_one for key in added)
    assert sum(key in one_by_one for key in others) == 0
    assert sum(key in together for key in others) < 0.004 * len(others)


def test_the_keys_of_a_workspace_are_read_as_they_are_added(tmp_path):
    some, found = keys(500, "kept"), BloomFilter()
    with pairs_workspace(tmp_path, [("p", "double", "x = 1\n")]) as workspace:
        said = {"role": "", "model": "", "service": "", "snapshot": "", "text": "", "sdk": "", "seconds": 0.0}
        spent = {"tokens_in": 0, "tokens_out": 0, "tokens_cached": 0, "tokens_written": 0, "requests": 1}
        told = said | spent | {"money": None, "price": "", "created_at": datetime(2026, 1, 1, tzinfo=UTC)}

        def write(connection):
            connection.execute(insert(table_of(ReplyRow)), [{"id": key, **told} for key in some])

        workspace.lane.submit(write).result()
        cursor = workspace.native()
        batches = list(reply_key_parts(cursor))
        cursor.close()

    for columns in batches:
        found.add_parts(columns)
    assert all(key in found for key in some)
    assert not any(key in found for key in keys(500, "others"))
