"""The journal: whole lines or none, torn ones kept apart, and its last record found without reading it all."""

import json
import os
import resource
import subprocess
import sys

import pytest

from store.workspace.journal import Journal, journal_path, read_journal


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "study.duckdb.journal.jsonl")


def records(path):
    return [line.record for line in read_journal(path)]


def test_it_stands_beside_the_workspace(tmp_path):
    assert journal_path(tmp_path / "study.duckdb") == tmp_path / "study.duckdb.journal.jsonl"


def test_lines_are_appended_in_order(journal):
    journal.append([{"n": 1}, {"n": 2}])
    journal.append([{"n": 3}])
    assert records(journal.path) == [{"v": 1, "n": 1}, {"v": 1, "n": 2}, {"v": 1, "n": 3}]


def test_any_text_is_one_line(journal):
    hostile = 'a\nb\r\x85\u2028\u2029\0\x1b[31m \ud800 \U0001f600 "quoted"'
    journal.append([{"text": hostile}])
    assert journal.path.read_bytes().count(b"\n") == 1
    assert records(journal.path) == [{"v": 1, "text": hostile}]


@pytest.mark.parametrize("torn", ['{"v": 1, "n": 2', '{"v": 1, "n"', "\0\0\0\0", "[1]", "x"])
def test_a_torn_line_swallows_no_other(journal, torn):
    journal.append([{"n": 1}])
    with journal.path.open("a") as file:
        file.write(torn)
    journal.append([{"n": 3}])
    assert records(journal.path) == [{"v": 1, "n": 1}, None, {"v": 1, "n": 3}]
    assert [line.number for line in read_journal(journal.path)] == [1, 2, 3]


def test_empty_lines_are_left_out_and_counted(journal):
    journal.path.write_bytes(b'\n{"n": 1}\n  \n\r\n{"n": 2}\n')
    assert [(line.number, line.record) for line in read_journal(journal.path)] == [
        (2, {"n": 1}),
        (5, {"n": 2}),
    ]


def test_bytes_that_are_no_text_make_one_line_unreadable(journal):
    journal.path.write_bytes(b'{"n": 1}\n{"n": "\xff\xfe"}\n{"n": 3}\n')
    assert records(journal.path) == [{"n": 1}, None, {"n": 3}]


FULL = """
import json, resource, sys
from pathlib import Path
from store.workspace.journal import Journal

journal = Journal(Path(sys.argv[1]))
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
kept = failed = 0
for number in range(30):
    try:
        journal.append([{"n": number, "text": "x" * 40}, {"n": number + 1000}])
        kept += 1
    except OSError:
        failed += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
journal.append([{"n": 77}])
print(json.dumps([kept, failed]))
"""


def test_what_does_not_fit_is_refused_whole(journal, repository):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(journal.path)],
        timeout=60, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(repository)},
    )  # fmt: skip
    kept, failed = json.loads(done.stdout)
    assert kept > 0 < failed
    numbers = [record["n"] for record in records(journal.path)]
    assert numbers == [*(each for number in range(kept) for each in (number, number + 1000)), 77]


def test_a_journal_that_cannot_be_opened_says_so(journal):
    journal.path.mkdir()
    with pytest.raises(IsADirectoryError):
        journal.append([{"n": 1}])


def test_no_descriptor_stays_open(journal):
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(50):
        journal.append([{"n": number}])
    assert len(os.listdir("/proc/self/fd")) == before < soft
