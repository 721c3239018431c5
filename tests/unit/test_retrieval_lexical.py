"""BM25 and bag of words: terms, scores, ties, blocks, texts without words."""

import subprocess
import sys
from collections import Counter
from math import log

import numpy
import pytest

from agents.retrieval import lexical, retriever
from agents.retrieval.lexical import bag_of_words, bm25, term_reader
from agents.retrieval.methods import METHODS, retriever_named
from store.errors import UnknownName

CODES = [
    "def read_csv_file(path): return path",
    "class HTTPServer2: pass",
    "def openFile(path): return open(path)",
    "",
    "x = 1",
    "def openFile(path): return open(path)",
    "files files files reading",
]
QUERIES = ["opening a file", "http servers", "", "zzz unknown", "READ files"]


def test_terms():
    terms_of = term_reader()
    assert terms_of("readCSVFiles(open_file)") == [
        *("read", "csv", "file", "readcsvfiles"),
        *("open", "file", "open_file"),
    ]
    assert terms_of("HTTPServer2 größe 中文 __x__") == [
        "http",
        "server",
        "2",
        "httpserver2",
        "größe",
        "中文",
        "x",
    ]
    assert terms_of("") == terms_of("+ - ()") == []


def bm25_by_definition(query, code, codes):
    """BM25 with k1 = 1.5 and b = 0.75, as Lucene has it."""
    lengths = [len(each) for each in codes]
    found = 0.0
    for term in query:
        having = sum(term in each for each in codes)
        times = code.count(term)
        if times:
            usual = 1 - 0.75 + 0.75 * len(code) / (sum(lengths) / len(lengths))
            found += log(1 + (len(codes) - having + 0.5) / (having + 0.5)) * times / (times + 1.5 * usual)
    return found


def cosine_by_definition(query, code, _):
    one, other = Counter(query), Counter(code)
    lengths = [sum(times * times for times in each.values()) ** 0.5 for each in (one, other)]
    return sum(one[term] * other[term] for term in one) / (lengths[0] * lengths[1]) if all(lengths) else 0.0


@pytest.mark.parametrize(
    ("create", "score"), [(bm25, bm25_by_definition), (bag_of_words, cosine_by_definition)]
)
@pytest.mark.parametrize("block", [4096, 2])
def test_the_best_codes_by_definition(monkeypatch, create, score, block):
    monkeypatch.setattr(retriever, "BLOCK", block)
    monkeypatch.setattr(lexical, "_CELLS", block * 4)
    terms_of = term_reader()
    codes, queries = [terms_of(code) for code in CODES], [terms_of(query) for query in QUERIES]
    scores = numpy.array([[score(query, code, codes) for code in codes] for query in queries])
    for top in (1, 2, 3, len(CODES), 20):
        found = create().search(QUERIES, CODES, top)
        assert found.codes.shape == found.scores.shape == (len(QUERIES), top)
        for query in range(len(QUERIES)):
            order = sorted(range(len(CODES)), key=lambda code: (-round(scores[query, code], 9), code))
            expected = [code for code in order if scores[query, code] > 0][:top]
            given = found.codes[query]
            assert given.tolist() == expected + [-1] * (top - len(expected))
            numpy.testing.assert_allclose(found.scores[query, : len(expected)], scores[query, expected])


@pytest.mark.parametrize("create", [bm25, bag_of_words])
def test_codes_that_are_read_once_for_many_queries(create):
    for codes in (CODES, ["", "+"], []):
        index = create().index(codes)
        for query in (*QUERIES, "a file of unknown words", *QUERIES):
            found, expected = index.search([query], 3), create().search([query], codes, 3)
            assert found.codes.tolist() == expected.codes.tolist()
            assert found.scores.tolist() == expected.scores.tolist()


def test_equal_texts_are_in_the_order_of_the_corpus():
    for name in METHODS:
        found = retriever_named(name).search(["open file"], ["open file"] * 50, 7)
        assert found.codes.tolist() == [list(range(7))], name


def test_nothing_to_search():
    for name in METHODS:
        method = retriever_named(name)
        assert method.name == name
        assert method.search(["x"], [], 2).codes.tolist() == [[-1, -1]]
        assert method.search(["x"], ["", "+"], 1).codes.tolist() == [[-1]]
        assert method.search([], ["x"], 1).codes.shape == (0, 1)
        assert method.search(["x"], ["x " * 100_000, "y"], 1).codes.tolist() == [[0]]
    with pytest.raises(UnknownName, match="bm25, bow"):
        retriever_named("bm26")


def test_the_command_line_starts_without_the_libraries():
    heavy = ["bm25s", "Stemmer", "torch", "sentence_transformers", "scipy", "numpy"]
    code = f"import sys, workbench.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_equal_cosines_are_ties_in_the_order_of_the_corpus():
    """Codes with 1/sqrt(2), 3/sqrt(18), 5/sqrt(50) ... of a query: the same cosine, rounded in many ways."""
    codes = [" ".join(["apple"] * times + ["pear"] * times) for times in range(40, 0, -1)]
    found = bag_of_words().search(["apple"], codes, 40)
    assert found.codes[0].tolist() == list(range(40))
    assert set(found.scores[0].tolist()) == {0.5**0.5}
