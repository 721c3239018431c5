"""CSN99 as CoSQA+ tests on it: Python pairs that some expert graded 3, counted in the published file."""

import csv

from agents.training.csn99 import is_annotations, read_annotations


def test_the_pairs_are_those_that_some_expert_graded_3(shared_data):
    path = shared_data("csn99") / "annotationStore.part.csv"
    assert is_annotations(path)
    found = read_annotations(path)
    assert (len(found.pairs), len(found.queries)) == (158, 40)
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row[0] == "Python" and row[3] == "3"]
    # Several experts graded some pairs.
    assert len(rows) > len({(row[1], row[2]) for row in rows}) == 158
