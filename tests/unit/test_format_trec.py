"""TREC's qrels and runs, both ways, and what is wrong with files that are none."""

import csv
import gzip

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from store.errors import EmptyFile, ImportFailed
from store.formats import trec
from store.formats.trec import read_qrels, read_run, write_qrels, write_run
from store.measures.ranking import evaluate_run

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


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["q1", "q2"]),
        st.dictionaries(
            st.sampled_from([f"c{number}" for number in range(15)]),
            # Many of them are equal, some as 32-bit numbers only.
            st.sampled_from([0.0, -1.0, 0.7, 0.7000000001, 0.70001, 1e-9, 2e-9, 3.0]) | st.floats(-10, 10),
            min_size=1,
        ),
        min_size=1,
    ),
    st.integers(0, 2**15 - 1),
)
def test_any_run_is_ordered_as_pytrec_eval_orders_it(tmp_path_factory, scores, relevant):
    path = tmp_path_factory.mktemp("run") / "run"
    lines = [f"{query} Q0 {code} 1 {score!r} x" for query, of in scores.items() for code, score in of.items()]
    path.write_text("\n".join(lines) + "\n")
    qrels = {query: {f"c{number}": relevant >> number & 1 for number in range(15)} for query in scores}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg"}).evaluate(scores)
    ours = evaluate_run(qrels, read_run(path), ["map", "ndcg"])
    for name, values in ours.values.items():
        assert values.tolist() == pytest.approx([theirs[query][name] for query in ours.queries]), name


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
    for line, why in (("q 0 a 1", "has 1 field"), ("q\t0\ta\t1", "has 4 fields"), ("q\t\t1", "is empty")):
        (tmp_path / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{line}\n")
        with pytest.raises(ImportFailed, match=f":2: .*{why}.*they are: query-id corpus-id score"):
            read_qrels(tmp_path / "test.tsv")


IDS = st.text(st.sampled_from(" \u00a0\u2003#ax\"',"), min_size=1, max_size=6)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(IDS, st.dictionaries(IDS, st.integers(0, 3), min_size=1), min_size=1))
def test_ids_of_beir_are_read_as_its_own_program_reads_them(tmp_path_factory, qrels):
    path = tmp_path_factory.mktemp("beir") / "test.tsv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["query-id", "corpus-id", "score"])
        writer.writerows([query, code, grade] for query, of in qrels.items() for code, grade in of.items())
    assert read_qrels(path) == qrels


def test_an_id_may_have_a_blank_that_is_none_of_ascii(tmp_path):
    # No-break, em and ideographic spaces: trec_eval splits lines by isspace() of C.
    ids = ["a\u00a0b", "a\u2003", "\u3000", "c"]
    (tmp_path / "qrels").write_text("".join(f"{one} 0\t{one} 1\n" for one in ids), encoding="utf-8")
    qrels = {one: {one: 1} for one in ids}
    assert read_qrels(tmp_path / "qrels") == qrels
    write_qrels(tmp_path / "again", qrels)
    assert read_qrels(tmp_path / "again") == qrels
    write_run(tmp_path / "run", {"q\u00a01": ids}, "made")
    assert read_run(tmp_path / "run") == {"q\u00a01": ids}


def test_the_qrels_of_beir_may_be_separated_by_blanks(tmp_path):
    (tmp_path / "test.tsv").write_text("query-id corpus-id score\nq a 1\n")
    assert read_qrels(tmp_path / "test.tsv") == {"q": {"a": 1}}


@pytest.mark.parametrize(
    ("read", "text", "why"),
    [
        (read_qrels, "q 0 a 1\nq 0 b\n", ":2: the line has 3 fields; they are: query 0 code grade"),
        (read_qrels, "q 0 a yes\n", ":1: the grade 'yes' is no finite number"),
        (read_qrels, "q 0 a nan\n", ":1: the grade 'nan' is no finite number"),
        (read_qrels, "q 0 a 1001\n", ":1: the grade 1001 is above 1,000"),
        (read_run, "q Q0 a 1 1 x\nq Q0 b 2 inf x\n", ":2: the score 'inf' is no finite number"),
        (read_run, "q Q0 a 1 NaN x\n", ":1: the score 'NaN' is no finite number"),
        (read_run, "q Q0 a 1 1 x\n\n\nq Q0 a 2 0 x\n", ":4: q has a already"),
        # An id with a blank: the rank would be taken for the score, or the score for the name.
        (read_run, "q Q0 my code 1 0.5 x\n", ":1: the line has 7 fields; they are: query Q0 code rank score"),
        (read_run, "q Q0 code 7 1 0.5 x\n", ":1: the line has 7 fields; they are: query Q0 code rank score"),
        (read_run, "q 1 Q0 code 1 0.5 x\n", ":1: the line has 7 fields; they are: query Q0 code rank score"),
        (read_qrels, "q 0 my code 1\n", ":1: the line has 5 fields; they are: query 0 code grade"),
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
