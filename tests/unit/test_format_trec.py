"""TREC's qrels and runs, both ways, and what is wrong with files that are none."""

import gzip

import pytest
import pytrec_eval

from store.errors import EmptyFile, ImportFailed
from store.formats import trec
from store.formats.trec import read_qrels, read_run, write_qrels, write_run

QRELS = {"q1": {"code/a": 2.0, "ünï": 0.0, "c": -1.0}, "q2": {"c": 1.5}}
RUN = {"q1": ["b", "ünï", "a"], "q2": ["z"], "q3": []}


@pytest.mark.parametrize("ending", ["txt", "gz"])
def test_there_and_back(tmp_path, ending):
    write_qrels(tmp_path / f"qrels.{ending}", QRELS)
    assert read_qrels(tmp_path / f"qrels.{ending}") == QRELS
    write_run(tmp_path / f"run.{ending}", RUN, "made")
    # A query without results has no line.
    assert read_run(tmp_path / f"run.{ending}") == {"q1": RUN["q1"], "q2": RUN["q2"]}


def test_the_scores_of_a_run_leave_no_ties(tmp_path):
    write_run(tmp_path / "run", {"q": ["a", "c", "b"]}, "made")
    assert (tmp_path / "run").read_text() == "q Q0 a 1 3 made\nq Q0 c 2 2 made\nq Q0 b 3 1 made\n"
    with (tmp_path / "run").open() as file:
        theirs = pytrec_eval.RelevanceEvaluator({"q": {"c": 1}}, {"recip_rank"}).evaluate(
            pytrec_eval.parse_run(file)
        )
    assert theirs["q"]["recip_rank"] == 1 / 2
    for run, name in (({"q 1": ["a"]}, "n"), ({"q": ["a b"]}, "n"), ({"q": ["a"]}, ""), ({"q": [" a"]}, "n")):
        with pytest.raises(ValueError, match="not one word"):
            write_run(tmp_path / "other", run, name)


def test_a_run_is_ordered_as_trec_eval_orders_it(tmp_path):
    lines = [
        "# a comment",
        "",
        "q Q0 b 9 1.5 x",
        "q Q0 a 1 1.5000000001 x",
        "q Q0 c 2 -1e-3 x more words",
        "q Q0 d 3 2 x",
    ]
    (tmp_path / "run").write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8")
    assert read_run(tmp_path / "run") == {"q": ["d", "b", "a", "c"]}


def test_repeated_grades(tmp_path):
    file = tmp_path / "qrels"
    file.write_text("q 0 a 1\nq 0 a 3\nq 0 b 0\nq 0 a 1\n")
    with pytest.raises(ImportFailed, match=r":2: q and a have a grade already.*--repeated mean"):
        read_qrels(file)
    assert read_qrels(file, "mean") == {"q": {"a": pytest.approx(5 / 3), "b": 0}}
    assert read_qrels(file, "max") == {"q": {"a": 3, "b": 0}}


def test_qrels_of_beir(tmp_path):
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t0\n")
    assert read_qrels(tmp_path / "test.tsv") == {"q": {"a": 1, "b": 0}}
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq 0 a 1\n")
    with pytest.raises(ImportFailed, match=":2: the line has 4 fields; they are: query-id corpus-id score"):
        read_qrels(tmp_path / "test.tsv")


@pytest.mark.parametrize(
    ("read", "text", "why"),
    [
        (read_qrels, "q 0 a 1\nq 0 b\n", ":2: the line has 3 fields; they are: query 0 code grade"),
        (read_qrels, "q 0 a yes\n", ":1: the grade 'yes' is no finite number"),
        (read_qrels, "q 0 a nan\n", ":1: the grade 'nan' is no finite number"),
        (read_run, "q Q0 a 1 1 x\nq Q0 b 2 inf x\n", ":2: the score 'inf' is no finite number"),
        (read_run, "q Q0 a 1 NaN x\n", ":1: the score 'NaN' is no finite number"),
        (read_run, "q Q0 a 1 1 x\n\n\nq Q0 a 2 0 x\n", ":4: q has a already"),
        (read_run, "q Q0 a 1 1\n", ":1: the line has 5 fields; they are: query Q0 code rank score name"),
        (read_run, b"q Q0 a 1 1 x\nq Q0 \xff 2 0 x\n", ":2: the line is not UTF-8"),
        (read_qrels, "q 0 " + "a" * 20_000 + " 1\n", ":1: the line has more than 10,000 bytes"),
    ],
)
def test_bad_lines(tmp_path, read, text, why):
    (tmp_path / "file").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ImportFailed) as caught:
        read(tmp_path / "file")
    assert why in caught.value.message


def test_bad_files(tmp_path, monkeypatch):
    packed = gzip.compress(b"q 0 a 1\n" * 5)
    (tmp_path / "cut.gz").write_bytes(packed[:-9])
    (tmp_path / "empty").write_text("# nothing\n\n")
    (tmp_path / "head").write_text("query-id\tcorpus-id\tscore\n")
    with pytest.raises(ImportFailed, match="the gzip stream is damaged here"):
        read_qrels(tmp_path / "cut.gz", "max")
    for read, name in ((read_qrels, "empty"), (read_run, "empty"), (read_qrels, "head")):
        with pytest.raises(EmptyFile):
            read(tmp_path / name)
    with pytest.raises(ImportFailed, match="No such file"):
        read_run(tmp_path / "nothing")
    monkeypatch.setattr(trec, "MOST_LINES", 3)
    (tmp_path / "long").write_text("".join(f"q 0 c{number} 1\n" for number in range(4)))
    with pytest.raises(ImportFailed, match=":4: the file has more than 3 lines"):
        read_qrels(tmp_path / "long")
