"""workbench measure agreement: a CSV file's agreement, against published figures and worked examples."""

import csv
import json
import os
import tracemalloc

import numpy
import pytest
from numpy.random import default_rng

from store.measures.agreement import alpha_of_patterns
from store.measures.coefficients import (
    Patterns,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha_of_sums,
    standard_error,
)
from store.measures.intervals import Bootstrap, wilson
from store.measures.rating_columns import MOST_VALUES
from store.measures.rating_table import MOST_RATERS, RatingTable, read_ratings
from store.measures.table_agreement import table_agreement

# The example of four raters and twelve subjects in Gwet's handbook, as the package irrCAC has it (cac.raw4raters).
GWET = """Unit,A,B,C,D
1,1,1,,1
2,2,2,3,2
3,3,3,3,3
4,3,3,3,3
5,2,2,2,2
6,1,2,3,4
7,4,4,4,4
8,1,1,2,1
9,2,2,2,2
10,NA,5,5,5
11,*,,1,1
12,,,3,
"""
LEVELS = ("nominal", "ordinal", "interval", "ratio")


@pytest.fixture
def measure(workbench, in_folder):
    """A function from the text of a file, and options, to what the command prints as JSON."""

    def run(text, *options):
        (in_folder / "ratings.csv").write_text(text, encoding="utf-8", newline="")
        return workbench("measure", "agreement", "ratings.csv", "--json", *options)

    return run


def wide(ratings, names=None):
    """A wide file of values, of shape (raters, units); None for none."""
    names = names or [f"r{number}" for number in range(len(ratings))]
    lines = [",".join(names)]
    lines += [
        ",".join("" if value is None else str(value) for value in unit) for unit in zip(*ratings, strict=True)
    ]
    return "\n".join(lines) + "\n"


def test_the_example_of_four_raters_gives_the_published_coefficients(measure):
    found = measure(GWET, "--missing", "NA").json()
    assert found["columns"]["missing"] == {"": 5, "*": 1, "NA": 1}
    assert (found["units"], found["dropped_units"], found["raters"], found["judgments"]) == (12, 1, 4, 41)
    assert round(found["ac1"], 5) == 0.77544
    assert round(found["standard_errors"]["ac1"], 5) == 0.14295
    assert round(found["fleiss"], 5) == 0.76117
    assert round(found["ac2_quadratic"], 3) == 0.914
    assert found["percent"] == pytest.approx(900 / 11)


def test_published_alphas_of_real_ratings(measure, shared_data):
    for example in [json.loads((shared_data("krippendorff") / "matrix.json").read_text())]:
        found = measure(wide(example["reliability_data"])).json()
        for level in LEVELS:
            assert found["alpha"][level] == pytest.approx(example["expected"][level], abs=1e-9)

    folder = shared_data("codegen-grades")
    grades = json.loads((folder / "conala-human-grades.json").read_text())
    lines = ["unit,rater,value"]
    for number, record in enumerate(grades):
        for model, given in record.items():
            if model.startswith("grade-"):
                lines += [f"{number} {model},{rater},{value}" for rater, value in given.items()]
    found = measure("\n".join(lines)).json()
    expected = json.loads((folder / "expected.json").read_text())
    assert (found["form"], found["units"], found["raters"]) == (
        "long",
        expected["units"],
        expected["graders"],
    )
    assert found["judgments"] == expected["ratings"]
    for level in LEVELS:
        assert found["alpha"][level] == pytest.approx(expected[f"alpha_{level}"], abs=1e-9)
    figures = [round(found[name], 5) for name in ("ac1", "fleiss", "ac2_quadratic")]
    assert figures == [0.37509, 0.35072, 0.68185]


def test_three_annotators_and_each_two_of_them(measure, shared_data):
    folder = shared_data("pandalm")
    records = json.loads((folder / "testset-v1.part.json").read_text())
    ratings = [[record[f"annotator{number}"] for record in records] for number in (1, 2, 3)]
    found = measure(wide(ratings, ["1", "2", "3"]), "--raters", "1,2,3").json()
    expected = json.loads((folder / "expected.json").read_text())
    assert found["alpha"]["nominal"] == pytest.approx(expected["krippendorff_alpha_nominal"], abs=1e-9)
    assert found["fleiss"] == pytest.approx(expected["fleiss_kappa"], abs=1e-9)
    assert round(found["ac1"], 5) == 0.89677
    for pair in found["by_pair"]:
        assert pair["cohen"] == pytest.approx(expected["cohen_kappa"]["-".join(pair["raters"])], abs=1e-9)


def test_raters_without_names_are_counted(measure, shared_data):
    with (shared_data("csn99") / "annotationStore.part.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    counts = {}
    for row in rows:
        key = (f"{row['Language']} {row['Query']} {row['GitHubUrl']}".replace('"', "'"), row["Relevance"])
        counts[key] = counts.get(key, 0) + 1
    text = "unit,value,count\n" + "".join(
        f'"{unit}",{value},{times}\n' for (unit, value), times in counts.items()
    )
    found = measure(text).json()
    assert (found["form"], found["raters"], found["by_pair"]) == ("counts", None, [])
    assert (found["units"], found["judgments"], found["dropped_units"]) == (1204, 1656, 839)
    assert [found["alpha"][level] for level in LEVELS[:3]] == pytest.approx(
        [0.18161776767745486, 0.44220204265823726, 0.4437608120514399], abs=1e-12
    )
    # A row for each judgment, without names, is the same.
    long = "unit,value\n" + "".join(f'"{unit}",{value}\n' * times for (unit, value), times in counts.items())
    assert measure(long).json()["alpha"] == found["alpha"]


def test_the_sums_of_the_bootstrap_give_the_coefficient_of_the_package(measure):
    random = default_rng(3)
    ratings = random.integers(0, 5, (4, 300)).astype(float)
    ratings[random.random(ratings.shape) < 0.3] = numpy.nan
    counts = Patterns.of_ratings(ratings)
    text = wide([[None if numpy.isnan(value) else value for value in row] for row in ratings])
    found = measure(text).json()
    for level in LEVELS:
        assert krippendorff_alpha_of_sums(level).of(counts) == pytest.approx(found["alpha"][level], abs=1e-12)


def test_with_two_raters_linear_and_quadratic_weights(measure):
    # Cicchetti and Allison's weights by hand: rows (0, 0), (0, 1), (1, 1), (2, 0) and (2, 2).
    found = measure("a,b\n0,0\n0,1\n1,1\n2,0\n2,2\n").json()
    (pair,) = found["by_pair"]
    assert found["cohen"] == pair["cohen"] == pytest.approx((3 / 5 - 8 / 25) / (1 - 8 / 25))
    assert pair["cohen_linear"] == pytest.approx((0.7 - 0.54) / (1 - 0.54))
    assert pair["cohen_quadratic"] == pytest.approx((0.75 - 0.65) / (1 - 0.65))


def test_positive_and_negative_agreement(measure):
    # 40 both yes, 9 both no, 6 and 5 apart: 2 * 40 / (80 + 11), 2 * 9 / (18 + 11).
    found = measure("a,b\n" + "1,1\n" * 40 + "0,0\n" * 9 + "1,0\n" * 6 + "0,1\n" * 5).json()
    no, yes = found["values"]
    assert (no["specific_agreement"], yes["specific_agreement"]) == (
        pytest.approx(18 / 29),
        pytest.approx(80 / 91),
    )
    assert yes["share"] == pytest.approx(91 / 120)


def test_the_published_mean_over_blocks_is_another_number(measure):
    random = default_rng(5)
    first = random.integers(0, 2, 250)
    second = numpy.where(random.random(250) < 0.8, first, 1 - first)
    second[:100] = first[:100]
    text = wide([first.tolist(), second.tolist()])
    found = measure(text, "--blocks", "100").json()
    lines = text.splitlines()
    blocks = [
        measure("\n".join([lines[0], *lines[start : start + 100]])).json()["alpha"]["nominal"]
        for start in (1, 101, 201)
    ]
    assert found["blocks"] == pytest.approx(sum(blocks) / 3)
    assert abs(found["blocks"] - found["alpha"]["nominal"]) > 0.001


def clustered(random, queries=100, pairs=20, correlation=0.2):
    """Labels of two raters whose agreement is correlated within a query, and the queries of the pairs."""
    query = numpy.repeat(numpy.arange(queries), pairs)
    # Beta-binomial: the intraclass correlation of agreeing is 1 / (a + b + 1), its mean a / (a + b) = 0.8.
    both = 1 / correlation - 1
    agrees = random.random(queries * pairs) < random.beta(0.8 * both, 0.2 * both, queries)[query]
    first = random.integers(0, 2, len(query))
    return numpy.stack([first, numpy.where(agrees, first, 1 - first)]).astype(float), query


def test_intervals_over_queries_cover_and_those_over_units_do_not():
    alpha = krippendorff_alpha_of_sums("nominal")
    ratings, _ = clustered(default_rng(0), queries=20_000)
    truth = alpha.of(Patterns.of_ratings(ratings))
    covered = {"queries": 0, "units": 0}
    samples = 200
    for seed in range(samples):
        ratings, query = clustered(default_rng(seed + 1))
        counts = Patterns.of_ratings(ratings)
        for name, clusters in (("queries", query), ("units", None)):
            table = RatingTable("wide", ("a", "b"), counts, clusters=clusters)
            (found,) = Bootstrap(300, seed).intervals(table, [alpha.statistic(counts)])
            covered[name] += found.low <= truth <= found.high
    assert 0.92 <= covered["queries"] / samples <= 0.97
    assert covered["units"] / samples < 0.75


def test_an_interval_names_its_clusters_and_warns_of_few(measure):
    text = "query,a,b\n" + "".join(f"q{number // 4},{number % 2},{number % 3 % 2}\n" for number in range(40))
    found = measure(text, "--cluster", "query", "--bootstrap", "200", "--seed", "7").json()
    assert (found["clustered"], found["intervals"]["alpha"]["clusters"]) == (True, 10)
    assert "only 10 clusters" in found["intervals"]["alpha"]["warning"]
    assert found["ci_low"] <= found["alpha"]["nominal"] <= found["ci_high"]
    assert found == measure(text, "--cluster", "query", "--bootstrap", "200", "--seed", "7").json()
    assert found["ci_low"] != measure(text, "--bootstrap", "200", "--seed", "7").json()["ci_low"]
    assert measure(text, "--bootstrap", "0").json()["ci_low"] is None


def test_wilsons_interval():
    assert [round(end, 3) for end in wilson(603, 1000)] == [0.572, 0.633]
    assert wilson(0, 10)[0] == 0
    assert wilson(10, 10)[1] == 1
    with pytest.raises(ValueError, match="11 of 10"):
        wilson(11, 10)


def test_standard_errors_are_those_of_the_example_for_fleiss_and_quadratic_weights():
    rows = [line.split(",")[1:] for line in GWET.splitlines()[1:]]
    ratings = numpy.array([[float(cell) if cell.isdigit() else numpy.nan for cell in row] for row in rows]).T
    counts = Patterns.of_ratings(ratings)
    errors = [standard_error(each, counts) for each in (fleiss_kappa(), gwet_ac("quadratic"))]
    assert [round(each, 5) for each in errors] == [0.15302, 0.10396]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\n1\n0\n", "no unit has two values"),
        ("a,b\n1,1\n1,1\n", "all values are equal"),
        ("a,b\n,\n,NA\n", "no unit has two values"),
        ("a,b\n", "no unit has two values"),
    ],
)
def test_what_has_no_coefficient_says_why(measure, text, why):
    done = measure(text)
    found = done.json()
    assert (done.code, found["alpha"]["nominal"], found["why"]) == (0, None, why)
    assert (found["ci_low"], found["cohen"]) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "unit,a,b\r\n1,1,1\r\n2,0,1\r\n3,0,0\r\n",
        '\ufeffunit;a;b\n1;"1";1.0\n2;0; 1\n3;"0";0\n',
        "item\ta\tb\n1\t1\t1\n\n2\t0\t1\n3\t0\t0\n",
    ],
)
def test_numbers_as_text_and_other_separators_are_read(measure, text):
    found = measure(text).json()
    assert (found["units"], found["raters"], found["judgments"]) == (3, 2, 6)
    assert found["alpha"]["nominal"] == pytest.approx(1 - 5 / 9)


def test_words_are_nominal(measure):
    text = "a,b\nyes,yes\nno,yes\nno,no\nmaybe,1\n"
    found = measure(text).json()
    assert found["alpha"]["nominal"] is not None
    assert (found["alpha"]["ordinal"], found["ac2_linear"]) == (None, None)
    assert [each["value"] for each in found["values"]] == ["1", "maybe", "no", "yes"]
    assert "have no ordinal distance" in measure(text, "--level", "ordinal").json()["error"]["message"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (",".join(f"r{number}" for number in range(MOST_RATERS + 1)) + "\n", "has 10,001 raters"),
        ("a,b\n" + "".join(f"{number},{number}\n" for number in range(MOST_VALUES + 1)), "1,000 different"),
        ("", "has no header"),
        ("a,a\n1,1\n", "two columns 'a'"),
        ("a,b\n1,1\n1\n", "has 1 cells in line 3 and 2 in the header"),
        ('a,b\n"1,1\n', "is no CSV"),
        ("unit,rater,value\n1,x,1\n1,x,0\n", "two values of 'x' for unit '1' (line 3)"),
        ("unit,value,count\n1,1,-2\n", "the count '-2' in line 2"),
        ("unit,value,count\n1,1,1e99\n", "the count '1e99'"),
        ("unit,rater,value,count\n1,x,1,2\n", "columns rater and count"),
        ("unit\n1\n", "no column of a rater"),
        ("a,b\n1e200,1\n1,-1e308\n", "has the value '1e200'"),
        ("a,b\n1e-300,1\n", "has the value '1e-300'"),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_table_of_ratings_is_refused(measure, text, says):
    done = measure(text)
    assert done.code == 2
    assert says in done.json()["error"]["message"]


@pytest.mark.parametrize("text", ["a,b,query\n1,1,x\n1,2, \n", "unit,value,query\n1,1,x\n2,1,\n"])
def test_units_of_no_cluster_are_not_one_cluster(measure, text):
    done = measure(text, "--cluster", "query")
    assert (done.code, "names no cluster in line 3" in done.json()["error"]["message"]) == (2, True)


def test_a_file_that_is_not_there_or_not_utf_8_is_refused(workbench, in_folder):
    assert (
        "cannot be read" in workbench("measure", "agreement", "none.csv", "--json").json()["error"]["message"]
    )
    (in_folder / "latin.csv").write_bytes("a,b\nä,1\n".encode("latin-1"))
    done = workbench("measure", "agreement", "latin.csv", "--json")
    assert "is not UTF-8 (byte 4)" in done.json()["error"]["message"]
    os.mkfifo(in_folder / "pipe")
    for name in ("pipe", "/dev/zero"):
        done = workbench("measure", "agreement", name, "--json")
        assert "is no file but a pipe or a device" in done.json()["error"]["message"]


@pytest.mark.parametrize("level", LEVELS)
def test_without_a_value_no_level_has_an_alpha(measure, level):
    for text in ("a,b\n", "a,b\n,*\n", "a,b\n1,\n"):
        found = measure(text, "--level", level).json()
        assert (found["alpha"][level], found["ci_low"], found["why"]) == (
            None,
            None,
            "no unit has two values",
        )


def test_ratios_of_values_of_both_signs_mean_nothing(measure):
    found = measure("a,b\n-1,1\n2,2\n1,1\n-1,-1\n2,1\n1,-1\n", "--level", "ratio").json()
    assert (found["alpha"]["ratio"], found["ci_low"]) == (None, None)
    assert found["why"] == "ratios of values above and below 0 mean nothing"
    assert found["alpha"]["interval"] is not None


@pytest.mark.parametrize("level", LEVELS)
def test_small_values_have_the_intervals_of_large_ones(measure, level):
    rows = [(1, 2), (3, 3), (2, 5), (4, 4), (1, 1), (5, 2), (0, 0), (3, 4)]
    large, small = (
        measure("a,b\n" + "".join(f"{a}{power},{b}{power}\n" for a, b in rows), "--level", level).json()
        for power in ("", "e-9")
    )
    for name in ("ci_low", "ci_high"):
        assert small[name] == pytest.approx(large[name], abs=1e-9)
    assert small["alpha"] == pytest.approx(large["alpha"], abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_many_values_take_little_memory(monkeypatch, in_folder, level):
    """Two thousand units of 900 values: every two values of each unit would be 13 GB."""
    rows = ["a,b,c", *(",".join(map(str, row)) for row in default_rng(3).integers(1, 900, (2000, 3)))]
    (in_folder / "many.csv").write_text("\n".join(rows))
    table = read_ratings(in_folder / "many.csv")
    tracemalloc.start()
    found = table_agreement(table, level=level, bootstrap=Bootstrap(20))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 300_000_000
    assert found.ci_low < found.alpha[level] < found.ci_high
    few = Patterns.of_codes(table.patterns.domain[:60], table.patterns.codes[:, :200] % 60)
    by_package = alpha_of_patterns(few, level).value
    monkeypatch.setattr("store.measures.agreement.MOST_CELLS", 0)
    assert alpha_of_patterns(few, level).value == pytest.approx(by_package, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "options", "left_out"),
    [
        (",ana,ben\n0,1,1\n1,0,0\n2,1,0\n3,0,0\n", (), ["column 1"]),
        ("Unnamed: 0,ana,ben\n7,1,1\n8,0,0\n9,1,0\n9,0,0\n", (), ["Unnamed: 0"]),
        ("task_id,id,ana,ben\n5,a,1,1\n6,b,0,0\n7,c,1,0\n8,d,0,0\n", (), ["task_id"]),
        ("unit,query,ana,ben\n1,x,1,1\n2,x,0,0\n3,y,1,0\n4,y,0,0\n", (), ["query"]),
        ("ana,ben\nTrue,1\nfalse,0\ntrue,FALSE\n0,0.0\n", (), []),
        ("ana;ben\n1,0;1\n0;0,0\n1;0\n0;0\n", (), []),
        ("ana,ben\nnone,none\nyes,yes\nnone,yes\nyes,yes\n", (), []),
        ("ana,ben,gold\n1,1,1\n0,0,1\n1,0,1\n0,0,1\n", ("--raters", "ana,ben"), ["gold"]),
        ("1,0\n1,1\n0,0\n1,0\n0,0\n", ("--raters", "1,0"), []),
        ("item,annotator,label\n1,a,1\n1,b,1\n2,a,0\n2,b,0\n3,a,1\n3,b,0\n4,a,0\n4,b,0\n", (), []),
        (
            "title,who,at,verdict\np,a,2024-01-01,y\np,b,2024-01-02,y\nq,a,2024-01-01,n\nq,b,2024-01-02,n\n"
            "r,a,2024-01-03,y\nr,b,2024-01-03,n\ns,a,2024-01-05,n\ns,b,2024-01-05,n\n",
            ("--unit", "title", "--raters", "who", "--value", "verdict"),
            ["at"],
        ),
        ("ana,ben\n1,1\n0,0\n1,0\n0,0\n?,1\n-,-\n", ("--missing", "?,-"), []),
    ],
    ids=lambda text: str(text)[:14],
)
def test_the_raters_of_a_file_are_found_or_named(measure, text, options, left_out):
    found = measure(text, *options).json()
    # Of 8 values 3 are of one kind and 5 of the other, and 1 unit of 4 has both: 1 - 7 * 1 / (3 * 5).
    assert found["alpha"]["nominal"] == pytest.approx(8 / 15)
    assert (found["raters"], found["columns"]["left_out"]) == (2, left_out)


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("ana,ben,note\n1,1,ok\n0,0,ok\n", "'note' (words, where others hold numbers)", "--raters ana,ben"),
        ("ana,ben,no\n1,1,11\n0,0,12\n1,0,13\n", "'no' (another value in every row)", "--raters ana,ben"),
        ("ana,ben,at\n1,1,2024-01-31\n0,0,2024-01-31\n", "'at' (dates)", "--raters ana,ben"),
        ("ana,ben,page\n1,1,40\n0,0,40\n1,0,41\n", "'page' (no value that others have)", "--raters ana,ben"),
        ("ana,ben\n1,1\n0,NA\n1,0\n", "'ben' ('NA' among numbers)", "--missing NA"),
        ("unit,value\n1,1\n1,n/a\n2,1\n", "column 'value' 'n/a' among numbers", "--missing n/a"),
        ("unit,ana,ben\n1,1,1\n2,0,1\n1,0,0\n", "has unit '1' twice (line 4)", "--value"),
        ("1,0\n0,0\n1,1\n", "has no header", "--raters"),
        ("yes,no\nno,yes\nyes,yes\n", "has no header", "--raters"),
        ("ana,ben\nYes,yes\nno,no\n", "writes 'Yes' also as 'yes' (line 2)", "one way"),
        (
            "annotator,created_at,id,lead_time,sentiment\n1,2024-01-01T10:00:00Z,7,3.2,good\n",
            "the column of the values is not known",
            "--raters annotator --unit id --value COLUMN",
        ),
        ("item,0,1,2\na,3,0,0\nb,1,2,0\n", "has columns that are called 0, 1, 2", "unit,value,count"),
        ("u99,0,1\nu1,1,1\nu2,0,1\n", "has columns that are called 0, 1", "The first line names the columns"),
        ("unit,rater,value\na,ana,1\na,,1\n", "names no rater in line 3", "Name one"),
        ("unit,rater,value\na,ana,1\n,ben,1\n", "names no unit in line 3", "Name one"),
        ("sentence_id,user,stance\ns1,u1,pos\ns1,u2,neg\ns2,u1,pos\n", "'user' (no value that", "--value V"),
        ("ana,ben,no\n1,1,11\n0,0,12\n1,0,13\n", "'no' (another", "--unit U --raters R --value V"),
        ("ana,ben\n1,1\n", "has no column 'carl'", "ana, ben"),
    ],
    ids=lambda text: text[:14],
)
def test_what_cannot_be_a_rater_is_refused_with_a_way_out(measure, text, says, hint):
    done = measure(text, *(("--raters", "ana,carl") if "carl" in says else ()))
    assert done.code == 2
    error = done.json()["error"]
    assert says in error["message"]
    assert hint in error["hint"]


def test_raters_without_a_common_value_are_named(measure):
    found = measure("ana,ben,carl\nyes,y,no\nno,n,no\nyes,n,yes\n", "--raters", "ana,ben,carl").json()
    assert "ben has no value in common with another rater." in found["columns"]["notes"]
    assert not any("ana" in each or "carl" in each for each in found["columns"]["notes"])


def test_how_a_file_was_read_is_printed(workbench, in_folder):
    (in_folder / "ratings.csv").write_text("id,ana,ben,note\n1,True,1\n".replace("True,1", "True,1,NA"))
    done = workbench("measure", "agreement", "ratings.csv", "--raters", "ana,ben")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert {"raters 2: ana, ben", "units are in column id", "columns left out note"} <= {*lines}
    assert "True is read as 1." in done.err
    (in_folder / "ratings.csv").write_text("ana,ben\n1,1\n,NA\n0,*\n")
    done = workbench("measure", "agreement", "ratings.csv", "--missing", "NA")
    assert "3 (1 empty, 1 *, 1 NA)" in done.out


def test_people_read_it_as_a_table(workbench, in_folder):
    (in_folder / "ratings.csv").write_text(GWET)
    done = workbench("measure", "agreement", "ratings.csv", "--level", "ordinal", "--missing", "NA")
    assert "0.7754 (standard error 0.1429)" in done.out
    assert "alpha, ordinal              0.8154 (0.4550 to 1.0000)" in done.out
    assert "95% interval: " in done.out
    assert "only 12 clusters, and under 30" in done.err


def test_an_export_of_labels_is_a_table_of_ratings(workbench, measure, in_folder):
    lines = ["item,kind,question,rater,value,word,comment"]
    for rater, values in (("ana", "1010"), ("ben", "1011")):
        lines += [f'p{n},pair,pair.match,{rater},{value},match,"a, b"' for n, value in enumerate(values)]
    found = measure("\n".join(lines)).json()
    assert (found["form"], found["units"], found["raters"]) == ("long", 4, 2)
    # Values 1, 1, 0, 0, 1, 1, 0, 1: alpha = 1 - (n - 1) o_01 / (n_0 n_1) = 1 - 7 * 1 / (3 * 5)
    assert found["alpha"]["nominal"] == pytest.approx(1 - 7 / 15)
    assert "\n1      62.5 % " in workbench("measure", "agreement", "ratings.csv").out
    lines += ["p0,pair,pair.other,ana,1,match,"]
    several = measure("\n".join(lines))
    assert (several.code, "pair.match, pair.other" in several.json()["error"]["message"]) == (2, True)
    named = measure("\n".join(lines), "--question", "pair.match").json()
    assert named["alpha"] == found["alpha"]
    lost = measure("\n".join(lines), "--question", "match").json()["error"]
    assert "pair.match, pair.other" in lost["hint"]
    assert measure("a,b\n1,0\n", "--question", "x").code == 2
