"""Exports of splits, opened by the libraries that they are for."""

from __future__ import annotations

import csv
import json
import os
from datetime import datetime
from hashlib import sha256

import ir_measures
import krippendorff
import numpy
import pytest
import pytrec_eval
from judging import judged_workspace
from study_bench import frozen_study

from store.formats.protocol import formats
from store.ingest.importing import import_files
from store.record.raters import register_kinds
from store.workspace.duckdb import Workspace

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"

RATERS = "first,second,third"


@pytest.fixture(scope="module")
def work(tmp_path_factory, shared_data):
    """Pairs of CoSQA with labels of three imported raters, who differ, and a split of their majority."""
    folder = tmp_path_factory.mktemp("exports")
    pairs = json.loads((shared_data("cosqa-pairs") / "cosqa-dev.part.json").read_text(encoding="utf-8"))
    file, labels = folder / "cosqa.json", folder / "labels.csv"
    file.write_text(json.dumps(pairs), encoding="utf-8")
    draw = numpy.random.default_rng(5)
    with labels.open("w", encoding="utf-8", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(("item", "question", "rater", "value"))
        for pair in pairs:
            for rater in RATERS.split(","):
                if draw.random() < 0.9:
                    value = pair["label"] if draw.random() < 0.85 else 1 - pair["label"]
                    rows.writerow((pair["idx"], "pair.match", rater, value))
    with Workspace.create(folder / "work.duckdb") as workspace:
        register_kinds(workspace)
        import_files(workspace, [file], label_as="cosqa")
        import_files(workspace, [labels])
    return folder / "work.duckdb"


@pytest.fixture
def split(work, workbench):
    """The split, made once."""
    made = workbench("splits", work, "v1", "--json")
    if made.code:
        made = workbench("split", work, "v1", "--policy", "majority", "--panel", RATERS, "--json")
    assert made.code == 0
    return made.json()


@pytest.fixture
def exported(work, workbench, tmp_path, split):
    """Write the split in a format, and return where."""

    def write(form, *more):
        out = tmp_path / form
        done = workbench("export", work, out, "--format", form, "--split", "v1", *more)
        assert done.code == 0, done.err
        return out

    return write


def labels_of(split):
    return {one["part"]: sum(one["labels"].values()) for one in split["parts"]}


def test_hugging_face_and_croissant(exported, split):
    import datasets
    import mlcroissant

    out = exported("hugging-face")
    loaded = datasets.load_dataset(str(out), cache_dir=str(out.parent))
    assert {part: rows.num_rows for part, rows in loaded.items()} == labels_of(split)
    row = loaded["test"][0]
    assert row["word"] in ("match", "no match")
    # Imported raters may be people. P1 is the first, whose labels came with the pairs.
    assert {one["rater"] for one in row["provenance"]} <= {"P1", "P2", "P3", "P4"}
    assert all(one["judged_at"] and one["origin"] == "import" for one in row["provenance"])
    votes = [one["value"] for one in row["provenance"] if one["rater"] != "P1"]
    assert row["label"] == round(sum(votes) / len(votes))
    described = mlcroissant.Dataset(jsonld=str(out / "croissant.json"))
    records = list(described.records(record_set="test"))
    assert [one["test/id"].decode() for one in records] == loaded["test"]["id"]
    card = (out / "README.md").read_text(encoding="utf-8")
    assert split["digest"] in card
    for part in split["parts"]:
        assert f"{part['agreement']['alpha']:.4f}" in card


def test_beir_coir_and_trec_are_one_benchmark(exported, split):
    import datasets

    qrels = {}
    beir = exported("beir", "--names")
    texts = {
        name: {one["_id"]: one for one in map(json.loads, (beir / f"{name}.jsonl").read_text().splitlines())}
        for name in ("queries", "corpus")
    }
    for part in labels_of(split):
        with (beir / "qrels" / f"{part}.tsv").open(newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                assert row["query-id"] in texts["queries"]
                assert row["corpus-id"] in texts["corpus"]
                qrels[row["query-id"], row["corpus-id"]] = int(row["score"])
    assert len(qrels) == sum(labels_of(split).values())
    assert set(qrels.values()) == {0, 1}
    votes = {}
    for one in map(json.loads, (beir / "provenance.jsonl").read_text().splitlines()):
        assert (one["origin"], one["blind"], one["saw_label"]) == ("import", False, False)
        assert datetime.fromisoformat(one["judged_at"]).tzinfo is not None
        if one["rater"] in RATERS.split(","):
            votes.setdefault((one["query-id"], one["corpus-id"]), []).append(one["value"])
    assert qrels == {pair: round(sum(values) / len(values)) for pair, values in votes.items()}

    trec = exported("trec-qrels")
    assert {
        (one.query_id, one.doc_id): one.relevance for one in ir_measures.read_trec_qrels(str(trec))
    } == qrels
    with trec.open() as file:
        parsed = pytrec_eval.parse_qrel(file)
    run = {query: {code: float(score) for code, score in codes.items()} for query, codes in parsed.items()}
    found = pytrec_eval.RelevanceEvaluator(parsed, {"ndcg"}).evaluate(run)
    assert {query: one["ndcg"] for query, one in found.items()} == {
        query: float(any(codes.values())) for query, codes in parsed.items()
    }

    coir = exported("coir")
    loaded = datasets.load_dataset(str(coir / "queries-corpus"), cache_dir=str(coir.parent))
    assert {row["_id"]: row["text"] for row in loaded["corpus"]} == {
        name: one["text"] for name, one in texts["corpus"].items()
    }
    graded = datasets.load_dataset(str(coir / "qrels"), cache_dir=str(coir.parent))
    assert {
        (row["query_id"], row["corpus_id"]): row["score"] for part in graded.values() for row in part
    } == qrels


def test_mteb_opened_this_benchmark(tmp_path, workbench, sample_folder, repository):
    work, out = tmp_path / "sample.duckdb", tmp_path / "benchmark"
    workbench("import", work, sample_folder / "pairs.jsonl", sample_folder / "labels.csv")
    panel = ("--panel", "sample-ana,sample-ben,sample-chi")
    workbench("split", work, "v1", "--policy", "majority", *panel)
    workbench("export", work, out, "--format", "beir", "--split", "v1")
    opened = json.loads((repository / "tests" / "oracles" / "opened_by_mteb.json").read_text())
    codes = len((out / "corpus.jsonl").read_text().splitlines())
    for part in ("train", "dev", "test"):
        rows = map(json.loads, (out / "qrels" / f"{part}.jsonl").read_text().splitlines())
        qrels = sorted([row["query-id"], row["corpus-id"], row["score"]] for row in rows)
        assert opened[part] == {
            "codes": codes,
            "queries": len({query for query, _, _ in qrels}),
            "qrels": len(qrels),
            "digest": sha256(json.dumps(qrels).encode()).hexdigest(),
        }
    assert "path: qrels/train.jsonl" in (out / "README.md").read_text()


def test_the_line_of_an_export_names_the_panel(split, work, workbench, tmp_path):
    panel = RATERS.replace(",", ", ")
    given = ("--split", "v1", "--part", "dev", "--policy", "majority")
    for form, said in (
        ("csv", f"29 rows, 29 with a label by majority of {panel}"),
        ("beir", f", labels by majority of {panel} ("),
    ):
        done = workbench("export", work, tmp_path / form, "--format", form, *given)
        assert said in " ".join(done.out.split())
    of_one = ("--rater", "cosqa", "--split", "v1", "--overwrite", "--json")
    done = workbench("export", work, tmp_path / "csv", "--format", "csv", *of_one)
    assert (done.json()["rater"], done.json()["panel"]) == ("cosqa", [])


def test_a_corpus_of_all_codes_and_a_part_alone(exported, split, work, workbench, tmp_path):
    part = exported("beir", "--part", "test")
    assert {file.name for file in (part / "qrels").iterdir()} == {"test.tsv", "test.jsonl"}
    judged = len((part / "corpus.jsonl").read_text().splitlines())
    out = tmp_path / "all"
    workbench("export", work, out, "--format", "beir", "--split", "v1", "--part", "test", "--corpus", "all")
    with Workspace.open(work) as workspace:
        codes = workspace.native().execute("SELECT count(DISTINCT text_hash) FROM code").fetchone()
    everything = (out / "corpus.jsonl").read_text().splitlines()
    assert judged < len(everything) == codes[0]


def test_alpha_of_the_matrix_is_that_of_the_report(exported, split, work, workbench):
    for part in split["parts"]:
        out = exported("matrix", "--part", part["part"], "--overwrite")
        with out.open(newline="") as file:
            rows = list(csv.DictReader(file))
        matrix = [
            [float(row[rater]) if row[rater] else numpy.nan for row in rows] for rater in RATERS.split(",")
        ]
        alpha = krippendorff.alpha(reliability_data=matrix, level_of_measurement="nominal")
        given = ("--split", "v1", "--part", part["part"], "--raters", RATERS, "--json")
        report = workbench("report", work, "agreement", *given).json()
        assert report["alpha"]["nominal"] == pytest.approx(alpha, abs=1e-12)
        assert part["agreement"]["alpha"] == pytest.approx(alpha, abs=1e-12)
        measured = workbench("measure", "agreement", out, "--json").json()
        assert measured["alpha"]["nominal"] == pytest.approx(alpha, abs=1e-12)
    out = exported("matrix-long")
    with out.open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert {row["missing"] for row in cells if not row["value"]} == {"not judged"}
    assert all((row["value"] == "") == (row["missing"] != "") for row in cells)
    # Queries without a decided item are in no part, and say how well people agree on all.
    assert split["undecided_queries"] > 0
    assert {row["part"] for row in cells} == {"train", "dev", "test", ""}


def test_a_retrieval_set_goes_through_every_format(shared_data, tmp_path, workbench):
    """CoSQA's retrieval queries, each with one matching code, as every format that takes true labels has them."""
    file, work = tmp_path / "queries.json", tmp_path / "work.duckdb"
    file.write_bytes((shared_data("cosqa-retrieval") / "queries.json").read_bytes())
    assert workbench("import", work, file, "--label-as", "cosqa").code == 0
    split = workbench("split", work, "v1", "--rater", "cosqa", "--json").json()
    number = labels_of(split)
    assert sum(number.values()) == 500
    # 497 groups: three queries are near-duplicates of others.
    assert split["groups"] == 497
    takes = [name for name, form in formats().items() if form.write is not None and "split" in form.choices]
    assert {"beir", "coir", "hugging-face", "trec-qrels", "matrix", "cosqa", "label-studio", "argilla"} < {
        *takes
    }
    of_other_kinds = {"crosscodeeval", "questions"}
    for name in takes:
        out = tmp_path / name
        done = workbench("export", work, out, "--format", name, "--split", "v1", "--part", "test", "--json")
        assert done.code == (2 if name in of_other_kinds else 0), (name, done.err)
        if name not in of_other_kinds:
            assert done.json()["records"] == number["test"], name


def test_grades_of_codesearchnet(shared_data, tmp_path, workbench):
    """Grades 0 to 3 of several experts: their agreement, their qrels, and the matches that are made of them."""
    with (shared_data("csn99") / "annotationStore.part.csv").open(newline="", encoding="utf-8") as opened:
        given = [((row["Query"], row["GitHubUrl"]), int(row["Relevance"])) for row in csv.DictReader(opened)]
    grades = {}
    for pair, grade in given:
        grades.setdefault(pair, []).append(grade)
    pairs, labels, work = tmp_path / "pairs.csv", tmp_path / "experts.csv", tmp_path / "work.duckdb"
    with pairs.open("w", newline="", encoding="utf-8") as items, labels.open("w", newline="") as opened:
        rows, judged = csv.writer(items), csv.writer(opened)
        rows.writerow(("id", "query", "code", "Relevance"))
        judged.writerow(("item", "rater", "value", "question"))
        for number, (pair, (first, *others)) in enumerate(grades.items()):
            rows.writerow((f"c{number}", *pair, first))
            for expert, grade in enumerate(others, 2):
                judged.writerow((f"c{number}", f"expert {expert}", grade, "pair.relevance"))
    mapped = ("--map", "relevance=Relevance", "--label-as", "expert 1", "--match-from", "2")
    assert workbench("import", work, pairs, *mapped).code == 0
    assert workbench("import", work, labels).code == 0

    experts = ",".join(f"expert {number}" for number in range(1, 1 + max(map(len, grades.values()))))
    by_grade = ("--question", "pair.relevance")
    report = workbench("report", work, "agreement", "--raters", experts, *by_grade, "--json").json()
    counts = numpy.array([[each.count(grade) for grade in range(4)] for each in grades.values()])
    expected = krippendorff.alpha(value_counts=counts, level_of_measurement="ordinal")
    assert report["alpha"]["ordinal"] == pytest.approx(expected, abs=1e-12)
    firsts = [each[0] for each in grades.values()]
    counted = workbench("report", work, "labels", *by_grade, "--json").json()
    assert counted["values"] == [0, 1, 2, 3]
    assert counted["raters"][0]["counts"] == [firsts.count(grade) for grade in range(4)]

    def export(form, *options):
        out = tmp_path / f"{form}{len(options)}"
        done = workbench("export", work, out, "--format", form, "--rater", "expert 1", *options)
        assert done.code == 0, done.err
        return out

    def scores(qrels):
        return sorted(one.relevance for one in ir_measures.read_trec_qrels(str(qrels)))

    assert scores(export("trec-qrels", *by_grade)) == sorted(firsts)
    assert scores(export("trec-qrels")) == sorted(int(grade >= 2) for grade in firsts)
    assert "query? (0, 1, 2, 3)." in (export("hugging-face", *by_grade) / "README.md").read_text()
    assert workbench("export", work, tmp_path / "x.jsonl", "--format", "jsonl", *by_grade).code == 2

    found = {}
    for level in ("1", "2"):
        options = ("--methods", "bm25", "--rater", "expert 1", *by_grade, "--level", level)
        runs = tmp_path / f"runs{level}"
        done = workbench("evaluate", "retrieval", work, *options, "--run-out", runs, "--json").json()
        evaluator = pytrec_eval.RelevanceEvaluator(
            pytrec_eval.parse_qrel((runs / "qrels.txt").open()),
            {"map_cut_10", "P_10"},
            relevance_level=int(level),
        )
        by_query = evaluator.evaluate(pytrec_eval.parse_run((runs / "bm25.run").open()))
        means = numpy.mean([one["P_10"] for one in by_query.values()])
        found[level] = done["methods"]["bm25"]["precision@10"]
        assert found[level] == pytest.approx(means)
    assert found["1"] > found["2"]

    split = workbench("split", work, "v1", "--policy", "majority", "--panel", experts, *by_grade)
    alone = sum(len(each) == 1 for each in grades.values())
    assert f"by one rater {alone:,} of the true labels" in " ".join(split.out.split())

    # A split is of one question; and what has grades alone is asked for by name.
    of_split = ("evaluate", "retrieval", work, "--methods", "bm25", "--split", "v1", "--question")
    assert "The split v1 is of pair.relevance, not of pair.match." in workbench(*of_split, "pair.match").err
    graded = tmp_path / "graded.duckdb"
    assert workbench("import", graded, pairs, *mapped[:4]).code == 0
    assert "is no label of pair.match" in " ".join(
        workbench(
            "export", graded, tmp_path / "none.txt", "--format", "trec-qrels", "--rater", "expert 1"
        ).err.split()
    )

    # Nobody is asked for grades here: not by adjudication, not by a study.
    assert workbench("adjudicate", work, "--rater", "dana", *by_grade).code == 2
    study = ("new", work, "S", "--raters", "dana", "--sample-pairs", "5", "--questions", "pair.relevance")
    assert "Questions: pair.match" in workbench("study", *study).err


@pytest.mark.parametrize("form", ["cosqa", "cosqa-plus", "csv", "parquet", "jsonl", "labels"])
def test_labels_of_a_part_are_imported_again(form, exported, split, tmp_path, workbench):
    out = exported(form, "--policy", "majority", "--part", "dev")
    name = {
        "labels": "labels.csv",
        "csv": "x.csv",
        "parquet": "x.parquet",
        "jsonl": "x.jsonl",
        "cosqa": "x.json",
    }
    if form in name:
        out = out.rename(tmp_path / name[form])
    if form == "labels":
        with out.open(newline="") as file:
            assert sum(1 for _ in csv.DictReader(file)) == labels_of(split)["dev"]
        return
    again = tmp_path / "again.duckdb"
    assert workbench("import", again, out, "--label-as", "majority").code == 0
    items = workbench("items", again, "--rater", "majority", "--json").json()["items"]
    assert len(items) == labels_of(split)["dev"]
    (dev,) = [one for one in split["parts"] if one["part"] == "dev"]
    with Workspace.open(again) as workspace:
        rows = workspace.native().execute("SELECT value, count(*) FROM judgment GROUP BY value").fetchall()
    assert {f"{value:g}": number for value, number in rows} == dev["labels"]


def test_pseudonyms_where_something_is_published(tmp_path, workbench):
    pairs = tmp_path / "pairs.jsonl"
    lines = [json.dumps({"id": f"p{n}", "query": f"alpha{n} beta{n}", "code": f"code {n}"}) for n in range(4)]
    pairs.write_text("\n".join(lines))
    work = tmp_path / "work.duckdb"
    workbench("import", work, pairs)
    for n in range(4):
        workbench("judge", work, f"p{n}", n % 2, "--rater", "Dana Doe", "--comment", "dana doe is sure")
    labels = tmp_path / "labels.csv"
    # A person whose labels were imported has a pseudonym, too, and nobody that of another.
    labels.write_text("item,rater,value\np0,Dana Roe,1\np1,P1,1\n")
    workbench("import", work, labels)
    workbench("split", work, "hers", "--rater", "Dana Doe", "--ratios", "1:1")
    import datasets

    for more, name in (((), "P2"), (("--names",), "Dana Doe")):
        out = tmp_path / name
        done = workbench("export", work, out, "--format", "hugging-face", "--split", "hers", *more)
        assert done.code == 0, done.err
        parts = datasets.load_dataset(str(out), cache_dir=str(tmp_path))
        rows = [row for part in parts.values() for row in part]
        raters = [one["rater"] for row in rows for one in row["provenance"]]
        assert raters.count(name) == 4
        assert len(set(raters)) == 3
        published = (str(rows) + (out / "README.md").read_text()).casefold()
        assert ("dana" in published) == bool(more)
        workbench("export", work, out / "beir", "--format", "beir", "--split", "hers", *more)
        published = (out / "beir" / "provenance.jsonl").read_text().casefold()
        assert published.count(name.casefold()) >= len(rows)
        assert ("dana" in published) == bool(more)


def test_a_split_of_a_studys_labels_has_its_pseudonyms_or_names(tmp_path, workbench):
    with judged_workspace(tmp_path) as workspace:
        frozen_study(workspace, ("dana",), seed=1)
        work = workspace.path
    for n in (1, 2, 3, 4):
        assert workbench("judge", work, f"pair/{n}", n % 2, "--rater", "dana").code == 0
    split = ("hers", "--rater", "dana", "--study", "rq2", "--ratios", "1:1")
    assert workbench("study", "close", work, "rq2").code == 0
    assert workbench("split", work, *split).code == 0
    for more, names in (((), {"R1"}), (("--names",), {"dana"})):
        out = tmp_path / f"labels{len(more)}.csv"
        done = workbench("export", work, out, "--format", "labels", "--split", "hers", *more)
        assert done.code == 0, done.err
        with out.open(newline="") as file:
            assert {row["rater"] for row in csv.DictReader(file)} == names


def test_parts_and_folders_of_any_name(work, workbench, tmp_path):
    """Words that YAML takes for something else, and names that no file has."""
    import datasets

    more = ("--policy", "majority", "--panel", RATERS, "--ratios", "no=1,null=1,1=1", "--json")
    workbench("split", work, 's/../"x"', *more)
    for form, folder in (("hugging-face", ""), ("coir", "qrels"), ("beir", "")):
        out = tmp_path / f"{form} \N{GRINNING FACE}"
        assert workbench("export", work, out, "--format", form, "--split", 's/../"x"').code == 0
        assert [*datasets.load_dataset(str(out / folder), cache_dir=str(tmp_path))] == ["no", "null", "1"]
    for name in (os.fsdecode(b"x\xff"), "x" * 250):
        done = workbench(
            "export", work, tmp_path / name, "--format", "beir", "--policy", "majority", "--json"
        )
        assert (done.code, "error" in done.json()) == (2, True)
    # A file somewhere below that is no part of the export is kept.
    mine = tmp_path / "hugging-face \N{GRINNING FACE}" / "data" / "notes.txt"
    mine.write_text("mine")
    again = ("--format", "hugging-face", "--split", 's/../"x"', "--overwrite", "--json")
    done = workbench("export", work, mine.parents[1], *again)
    assert (done.code, done.json()["error"]["title"]) == (2, "Folder in use")
    assert mine.read_text() == "mine"


def test_other_kinds_are_no_benchmark_of_codes(tmp_path, workbench):
    tasks, labels = tmp_path / "tasks.jsonl", tmp_path / "labels.csv"
    task = {"groundtruth": "1", "right_context": ""}
    tasks.write_text(
        "\n".join(
            json.dumps(
                {
                    **task,
                    "prompt": f"x{n} = ",
                    "metadata": {"task_id": f"t{n}", "repository": f"lab/{n}", "file": "a"},
                }
            )
            for n in range(6)
        )
    )
    labels.write_text(
        "item,question,rater,value\n" + "".join(f"t{n},completion.keep,ana,1\n" for n in range(6))
    )
    work = tmp_path / "work.duckdb"
    workbench("import", work, tasks, labels)
    given = ("--question", "completion.keep", "--rater", "ana", "--ratios", "1:1")
    assert workbench("split", work, "v", *given).code == 0
    done = workbench("export", work, tmp_path / "beir", "--format", "beir", "--split", "v")
    assert done.code == 2
    assert done.says("the labels are of completions")
    assert not (tmp_path / "beir").exists()
    done = workbench(
        "export", work, tmp_path / "kept.jsonl", "--format", "crosscodeeval", "--split", "v", "--part", "test"
    )
    assert done.code == 0, done.err
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 3
    assert workbench("export", work, tmp_path / "hf", "--format", "hugging-face", "--split", "v").code == 0
