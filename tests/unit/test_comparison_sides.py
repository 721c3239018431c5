"""The side of a comparison that a value favours: in files of labels, exports, reports, splits, and older workspaces."""

import csv
import json
from collections import Counter

import duckdb
import krippendorff
import pytest
from made_once import built_once

from store.kinds.comparison import in_canonical_order

NUMBER = 30
RED, BLUE = "red", "blue"
EARLIER = ("item", "kind", "question", "rater", "value", "word", "comment", "phase", "study", "judged_at")
"""Columns of an export that did not name the candidate."""


def text_of(name, number):
    return f"{name} answer {number}"


def listed(number):
    """The names of both candidates in the order of the file: blue is first on every third line."""
    return (RED, BLUE) if number % 3 else (BLUE, RED)


def better(number):
    """Who is better, by name, which the tests take for true; None where both are equal."""
    return None if number == 4 else RED if number % 5 else BLUE


def said_by_ana(number):
    """Ana is wrong on every tenth comparison, and finds two of them equal."""
    if number in (4, 5):
        return None
    right = better(number)
    return right if number % 10 else ({RED, BLUE} - {right}).pop()


def of_file(number, winner):
    """The value of a winner in the order of the file."""
    return 0 if winner is None else 1 if winner == listed(number)[0] else -1


def is_turned(number):
    """Whether the stored order is not that of the file."""
    one, other = listed(number)
    return not in_canonical_order(
        "", f"prompt {number}", (text_of(one, number), one), (text_of(other, number), other)
    )


def record(number, *, order=None, **more):
    first, second = order or listed(number)
    return {
        "id": f"c{number:02}", "prompt": f"prompt {number}", "first": text_of(first, number),
        "second": text_of(second, number), "first_name": first, "second_name": second, **more,
    }  # fmt: skip


def comparisons(path, **more):
    """A file of comparisons: `of(number)` of further fields, or the order of both names."""
    lines = [record(n, **{key: give(n) for key, give in more.items()}) for n in range(NUMBER)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def labels(path, rows, columns=("item", "kind", "rater", "value")):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def plain(path, *, order=of_file):
    """A file of labels without the candidate's name: the reference, and ana's."""
    return labels(
        path,
        [
            (f"c{n:02}", "comparison", rater, order(n, whose(n)))
            for n in range(NUMBER)
            for rater, whose in (("gold", better), ("ana", said_by_ana))
        ],
    )


def verdicts(number):
    return [{"judge": "J", "value": of_file(number, better(number))}]


def winners(path):
    """The winner's name of every label that counts, by rater and comparison: from what is stored."""
    with duckdb.connect(str(path)) as connection:
        rows = connection.execute(
            "SELECT r.name, i.external_id, arg_max(j.value, j.id), any_value(c.first_name), any_value(c.second_name) "
            "FROM judgment j JOIN rater r ON r.id = j.rater_id JOIN item i ON i.id = j.item_id "
            "JOIN comparison c ON c.item_id = i.id WHERE j.phase = 'review' GROUP BY ALL"
        ).fetchall()
    return {
        (rater, item): one if value > 0 else other if value < 0 else None
        for rater, item, value, one, other in rows
    }


EXPECTED = {
    (rater, f"c{n:02}"): whose(n)
    for n in range(NUMBER)
    for rater, whose in (("gold", better), ("ana", said_by_ana))
}


@built_once
def workspace(workbench, in_folder):
    """Comparisons with a judge's verdicts in their file, and labels in a file of their own."""
    comparisons(in_folder / "c.jsonl", verdicts=verdicts)
    plain(in_folder / "labels.csv")
    assert workbench("import", "w.duckdb", "c.jsonl", "labels.csv").code == 0
    return in_folder / "w.duckdb"


def test_the_stored_order_is_turned_for_half_of_them():
    assert 10 < sum(map(is_turned, range(NUMBER))) < 20


def test_a_value_without_a_name_is_in_the_order_of_the_comparisons_file(workbench, workspace):
    found = winners(workspace)
    assert {key: found[key] for key in EXPECTED} == EXPECTED
    assert {found["J", f"c{n:02}"] for n in range(NUMBER) if better(n) == RED} == {RED}
    report = workbench(
        "report",
        workspace,
        "accuracy",
        "--question",
        "comparison.preference",
        "--policy",
        "J",
        "--json",
        "--bootstrap",
        0,
    ).json()
    accuracy = {one["rater"]: one["accuracy"] for one in report["raters"]}
    right = sum(said_by_ana(n) == better(n) for n in range(NUMBER))
    assert (accuracy["gold"], accuracy["ana"]) == (1.0, pytest.approx(right / NUMBER))


@pytest.mark.parametrize("sign", ["magnitude", "order of the file"])
def test_a_row_names_the_candidate_that_its_value_favours(workbench, in_folder, sign):
    comparisons(in_folder / "c.jsonl")

    def row(number):
        value = (1 + number % 2) * of_file(number, better(number))
        if sign == "magnitude":
            value = abs(value)
        return f"c{number:02}", "comparison.preference", "gold", value, better(number)

    columns = ("item", "question", "rater", "value", "of")
    labels(in_folder / "l.csv", map(row, range(NUMBER)), columns)
    assert workbench("import", "w.duckdb", "c.jsonl", "l.csv").code == 0
    found = winners(in_folder / "w.duckdb")
    assert found == {("gold", f"c{n:02}"): better(n) for n in range(NUMBER)}
    with duckdb.connect("w.duckdb") as connection:
        sizes = connection.execute(
            "SELECT abs(value), count(*) FROM judgment GROUP BY 1 ORDER BY 1"
        ).fetchall()
    assert sizes == [(0, 1), (1, 14), (2, 15)]


def test_a_name_that_cannot_be_meant_is_refused(workbench, in_folder):
    comparisons(in_folder / "c.jsonl")
    (in_folder / "p.jsonl").write_text('{"id": "p", "query": "q", "code": "c"}\n')
    assert workbench("import", "w.duckdb", "c.jsonl", "p.jsonl").code == 0
    columns = ("item", "kind", "rater", "value", "of")
    for row, says in (
        (("c00", "comparison", "ana", 1, "green"), "'green' is no candidate of 'c00'; its candidates: "),
        (("p", "pair", "ana", 1, RED), "`of` names a candidate of a comparison, and 'p' is none"),
        # Listed second, so that the two disagree.
        (
            ("c01", "comparison", "ana", -1, RED),
            "-1 favours the candidate that is listed second, and `of` names",
        ),
        (("c01", "comparison", "ana", 0, RED), "0 favours neither candidate, and `of` names 'red'"),
        (
            ("c01", "comparison", "ana", -3, BLUE),
            "-3 is off the scale of comparison.preference: -2, -1, 0, 1, 2",
        ),
    ):
        labels(in_folder / "l.csv", [row], columns)
        done = workbench("import", "w.duckdb", "l.csv", "--json")
        assert done.code == 2
        assert says in done.json()["error"]["message"]
    assert winners(in_folder / "w.duckdb") == {}


def test_where_two_files_differ_the_order_of_the_first_counts(workbench, in_folder):
    comparisons(in_folder / "a.jsonl")
    comparisons(
        in_folder / "b.jsonl",
        order=lambda n: listed(n)[::-1],
        verdicts=lambda n: [{"judge": "J", "value": 1}],
    )
    plain(in_folder / "l.csv")
    for path, given in (("once.duckdb", ["a.jsonl", "b.jsonl", "l.csv"]), ("twice.duckdb", ["a.jsonl"])):
        assert workbench("import", path, *given).code == 0
    assert workbench("import", "twice.duckdb", "b.jsonl", "l.csv").code == 0
    for path in ("once.duckdb", "twice.duckdb"):
        found = winners(in_folder / path)
        assert {key: found[key] for key in EXPECTED} == EXPECTED
        # Verdicts are of the record that they stand in.
        assert [found["J", f"c{n:02}"] for n in range(NUMBER)] == [listed(n)[1] for n in range(NUMBER)]


def test_a_record_says_how_another_file_listed_both(workbench, in_folder):
    comparisons(
        in_folder / "c.jsonl",
        order=lambda n: listed(n)[::-1] if n % 2 else listed(n),
        file_order=lambda n: "swapped" if n % 2 else "as-listed",
    )
    plain(in_folder / "l.csv")
    assert workbench("import", "w.duckdb", "c.jsonl", "l.csv").code == 0
    assert winners(in_folder / "w.duckdb") == EXPECTED


def alpha_and_kappa(table):
    """Krippendorff's nominal alpha and Cohen's kappa of two raters' values, None for none."""
    both = [(one, other) for one, other in table if one is not None and other is not None]
    observed = sum(one == other for one, other in both) / len(both)
    margins = [Counter(own) for own in zip(*both, strict=True)]
    chance = sum(margins[0][value] * margins[1][value] for value in margins[0]) / len(both) ** 2
    alpha = krippendorff.alpha(list(zip(*table, strict=True)), level_of_measurement="nominal")
    return alpha, (observed - chance) / (1 - chance)


def test_all_reports_have_the_coefficients_of_the_order_of_the_file(workbench, workspace):
    values = [(of_file(n, better(n)), of_file(n, said_by_ana(n))) for n in range(NUMBER)]
    alpha, kappa = alpha_and_kappa(values)
    stored = [(-one, -other) if is_turned(n) else (one, other) for n, (one, other) in enumerate(values)]
    assert abs(alpha_and_kappa(stored)[1] - kappa) > 1e-4
    raters = ("--raters", "gold,ana", "--bootstrap", "0", "--json")
    asked = ("--question", "comparison.preference")
    agreement = workbench("report", workspace, "agreement", *asked, *raters).json()
    preference = workbench("report", workspace, "preference", *raters).json()
    assert agreement["alpha"]["nominal"] == pytest.approx(alpha, abs=1e-12)
    assert preference["alpha"] == pytest.approx(alpha, abs=1e-12)
    (pair,) = agreement["by_pair"]
    assert pair["cohen"] == pytest.approx(kappa, abs=1e-12)
    assert [*preference["cohen"].values()] == [pytest.approx(kappa, abs=1e-12)]

    accuracy = workbench(
        "report",
        workspace,
        "accuracy",
        *asked,
        "--policy",
        "gold",
        "--raters",
        "ana",
        "--bootstrap",
        "0",
        "--json",
    ).json()
    (row,) = accuracy["raters"]
    assert row["kappa"] == pytest.approx(kappa, abs=1e-12)
    shares = []
    for label in {value for own in values for value in own}:
        called = [one == label for one, other in values if other == label]
        shares.append(sum(called) / len(called) if called else 0.0)
    assert row["precision"] == pytest.approx(sum(shares) / len(shares), abs=1e-12)

    # So has a report of files, and the exported matrix.
    comparisons(
        workspace.parent / "v.jsonl",
        verdicts=lambda n: [
            {"judge": name, "value": value} for name, value in zip(("gold", "ana"), values[n], strict=True)
        ],
    )
    of_files = workbench("measure", "preference", "v.jsonl", "--bootstrap", "0", "--json").json()
    assert of_files["alpha"] == pytest.approx(alpha, abs=1e-12)
    assert [*of_files["cohen"].values()] == [pytest.approx(kappa, abs=1e-12)]
    assert workbench("export", workspace, "matrix.csv", "--format", "matrix").code == 0
    with open("matrix.csv") as file:
        rows = {row["unit"]: row for row in csv.DictReader(file)}
    assert {unit: (int(row["gold"]), int(row["ana"])) for unit, row in rows.items()} == {
        f"c{n:02}": own for n, own in enumerate(values)
    }


def other_way_round(path):
    """The same comparisons in a file that lists both candidates the other way round."""
    return comparisons(path, order=lambda n: listed(n)[::-1])


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
def test_exported_labels_name_the_candidate_and_are_read_wherever_it_is_listed(workbench, workspace, name):
    assert workbench("export", workspace, name, "--format", "labels").code == 0
    with duckdb.connect() as memory:
        rows = memory.execute(f"SELECT rater, item, value, nullif(of, ''), word FROM '{name}'").fetchall()
    assert {(rater, item): of for rater, item, _, of, _ in rows} == winners(workspace)
    assert {(value, word) for *_, value, _, word in rows} == {
        (1, "first better"),
        (0, "same"),
        (-1, "second better"),
    }
    assert {(rater, item): value for rater, item, value, _, _ in rows if rater != "J"} == {
        (rater, f"c{n:02}"): of_file(n, whose(n))
        for n in range(NUMBER)
        for rater, whose in (("gold", better), ("ana", said_by_ana))
    }
    other_way_round(workspace.parent / "d.jsonl")
    assert workbench("import", "d.duckdb", "d.jsonl", name).code == 0
    assert winners(workspace.parent / "d.duckdb") == winners(workspace)


def test_an_export_of_an_earlier_version_is_read_in_stored_order_and_said_to_be(workbench, workspace):
    stored = [
        (
            f"c{n:02}",
            "comparison",
            "comparison.preference",
            rater,
            -value if is_turned(n) else value,
            "",
            "",
            "",
            "",
            "",
        )
        for n in range(NUMBER)
        for rater, whose in (("gold", better), ("ana", said_by_ana))
        for value in [of_file(n, whose(n))]
    ]
    labels(workspace.parent / "earlier.csv", stored, EARLIER)
    done = workbench("import", "again.duckdb", "c.jsonl", "earlier.csv")
    assert (
        f"labels of comparisons read in the order in which an earlier version exported them: {2 * NUMBER}"
        in done.out
    )
    found = winners(workspace.parent / "again.duckdb")
    assert {key: found[key] for key in EXPECTED} == EXPECTED


def test_the_full_record_a_matrix_in_long_form_and_a_bundle_keep_who_won(workbench, workspace):
    expected = winners(workspace)
    assert workbench("export", workspace, "r.jsonl", "--format", "jsonl").code == 0
    first = json.loads((workspace.parent / "r.jsonl").read_text().splitlines()[0])
    fields = first["content"]["fields"]
    assert first["of"] == fields["first_name" if first["value"] > 0 else "second_name"]
    assert workbench("export", workspace, "b", "--format", "bundle").code == 0
    assert workbench("export", workspace, "m.csv", "--format", "matrix-long").code == 0
    asked = ("--question", "comparison.preference", "--raters", "gold,ana", "--bootstrap", "0", "--json")
    alpha = workbench("report", workspace, "agreement", *asked).json()["alpha"]
    for path, given in (("r.duckdb", ["r.jsonl"]), ("b.duckdb", ["b"]), ("m.duckdb", ["c.jsonl", "m.csv"])):
        assert workbench("import", path, *given).code == 0
        assert winners(workspace.parent / path) == expected
        # They hold the order of the file, too.
        assert workbench("report", path, "agreement", *asked).json()["alpha"] == alpha


def test_labels_of_a_policy_and_of_a_split_name_the_candidate(workbench, workspace):
    asked = ("--question", "comparison.preference", "--policy", "majority", "--panel", "gold")
    assert workbench("split", workspace, "s", *asked).code == 0
    assert workbench("export", workspace, "s.csv", "--format", "labels", "--split", "s").code == 0
    with open("s.csv") as file:
        found = {row["item"]: (int(row["value"]), row["of"]) for row in csv.DictReader(file)}
    assert found == {f"c{n:02}": (of_file(n, better(n)), better(n) or "") for n in range(NUMBER)}
    assert not any(workbench("splits", workspace, "s", "--now", "--json").json()["now"].values())
    # A data set has the value of the texts beside it.
    assert workbench("export", workspace, "hf", "--format", "hugging-face", "--split", "s").code == 0
    with duckdb.connect() as memory:
        rows = memory.execute("SELECT id, label, first_name, second_name FROM 'hf/data/*.parquet'").fetchall()
    assert {item: one if value > 0 else other for item, value, one, other in rows if value} == {
        f"c{n:02}": better(n) for n in range(NUMBER) if better(n)
    }


def test_the_order_of_comparisons_made_here_is_that_of_names_and_labels_have_to_name_one(
    workbench, in_folder
):
    tasks = [{"id": f"q{n}", "question": f"question {n}", "answer": "a"} for n in range(8)]
    answers = [
        {"question_id": f"q{n}", "model": name, "answer": text_of(name, n)}
        for n in range(8)
        for name in (RED, BLUE)
    ]
    for name, lines in (("q.jsonl", tasks), ("a.jsonl", answers)):
        (in_folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert workbench("import", "w.duckdb", "q.jsonl", "a.jsonl").code == 0
    assert workbench("compare", "new", "w.duckdb", "duel", "--models", "red,blue").code == 0
    with duckdb.connect("w.duckdb") as connection:
        rows = connection.execute(
            "SELECT external_id, first_name, file_order FROM comparison JOIN item ON id = item_id ORDER BY id"
        ).fetchall()
    ids = [row[0] for row in rows]
    assert {(row[1], row[2]) for row in rows} == {(RED, ""), (BLUE, "")}
    labels(in_folder / "l.csv", [(one, "comparison", "ana", 1) for one in ids])
    done = workbench("import", "w.duckdb", "l.csv", "--json")
    assert done.code == 2
    assert (
        "its file lists first is not known; name the one that the value favours"
        in done.json()["error"]["message"]
    )
    # Blue sorts first.
    won = [(RED, BLUE)[n % 3 == 0] for n in range(8)]
    labels(
        in_folder / "l.csv",
        [(one, "comparison", "ana", 1, name) for one, name in zip(ids, won, strict=True)],
        ("item", "kind", "rater", "value", "of"),
    )
    assert workbench("import", "w.duckdb", "l.csv").code == 0
    assert winners(in_folder / "w.duckdb") == {("ana", one): name for one, name in zip(ids, won, strict=True)}
    assert workbench("export", "w.duckdb", "out.csv", "--format", "labels").code == 0
    with open("out.csv") as file:
        found = [(int(row["value"]), row["of"]) for row in csv.DictReader(file)]
    assert found == [(1 if name == BLUE else -1, name) for name in won]
    assert "8 judgments already there" in workbench("import", "w.duckdb", "out.csv").out

    # Ben finds blue better throughout but once; figures are those of values from the view of blue.
    says = [BLUE if n else RED for n in range(8)]
    labels(
        in_folder / "ben.csv",
        [(one, "comparison", "ben", 1, name) for one, name in zip(ids, says, strict=True)],
        ("item", "kind", "rater", "value", "of"),
    )
    assert workbench("import", "w.duckdb", "ben.csv").code == 0
    _, kappa = alpha_and_kappa(
        [(int(one == BLUE), int(other == BLUE)) for one, other in zip(won, says, strict=True)]
    )
    raters = ("--raters", "ana,ben", "--bootstrap", "0", "--json")
    (pair,) = workbench(
        "report", "w.duckdb", "agreement", "--question", "comparison.preference", *raters
    ).json()["by_pair"]
    preference = workbench("report", "w.duckdb", "preference", *raters).json()
    assert [pair["cohen"], *preference["cohen"].values()] == [pytest.approx(kappa, abs=1e-12)] * 2
