"""Splits: parts that share nothing, with the labels of then."""

from __future__ import annotations

import csv
import json
from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import ceil, floor
from pathlib import Path

import krippendorff
import numpy
import pytest
from small_workspace import labelled_by_agents, pairs_workspace

from store.errors import WorkbenchError
from store.ingest.importing import import_files
from store.record.raters import register_kinds
from store.splits.allocation import Part, allot, parse_ratios
from store.splits.leakage import PlacedText, count_leaks, leaks
from store.splits.splits import (
    SplitPlan,
    find_split,
    list_splits,
    make_split,
    split_items,
)
from store.workspace.duckdb import Workspace

THREE = parse_ratios("8:1:1")


def labelled(path: Path, rows: list[tuple[str, str, str, float]], rater: str = "ana") -> Workspace:
    """A workspace of pairs, each an id, a query, a code and the rater's label."""
    file = path / "labelled.jsonl"
    lines = [
        json.dumps({"id": name, "query": query, "code": code, "label": label})
        for name, query, code, label in rows
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    workspace = Workspace.create(path / "work.duckdb")
    register_kinds(workspace)
    import_files(workspace, [file], label_as=rater)
    return workspace


def plan(**changes) -> SplitPlan:
    return SplitPlan(**{"question": "pair.match", "against": "ana", "parts": THREE, **changes})


def parts_of(workspace: Workspace, name: str) -> dict[str, list[int]]:
    with workspace.reading() as connection:
        found = find_split(connection, name)
        return {one.name: split_items(connection, found, one.name) for one in found.plan.parts}


@pytest.fixture
def csn99(tmp_path, shared_data):
    """Queries of CodeSearchNet with several codes each: the codes are their addresses; 2 and 3 match."""
    rows = {}
    with (shared_data("csn99") / "annotationStore.part.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault((row["Query"], row["GitHubUrl"]), float(int(row["Relevance"]) >= 2))
    given = [(f"c{n}", query, url, label) for n, ((query, url), label) in enumerate(rows.items())]
    given += [
        ("near-1", "python check if date is valid", "def valid(text): ...", 1.0),
        ("near-2", "python check if a valid date", "def is_date(text): ...", 0.0),
    ]
    with labelled(tmp_path, given) as workspace:
        yield workspace, {name: (query, code, label) for name, query, code, label in given}


def parts_of_file(path: str) -> dict[str, list[str]]:
    with Workspace.open(path) as workspace:
        names = names_of(workspace)
        return {part: [names[item] for item in items] for part, items in parts_of(workspace, "v1").items()}


def names_of(workspace: Workspace) -> dict[int, str]:
    return dict(workspace.native().execute("SELECT id, external_id FROM item").fetchall())


def test_no_query_nor_near_duplicate_is_in_two_parts(csn99):
    workspace, rows = csn99
    names = names_of(workspace)
    together = set()
    for seed in range(12):
        found = make_split(workspace, f"v{seed}", plan(seed=seed))
        parts = parts_of(workspace, found.name)
        queries = {part: {rows[names[item]][0] for item in items} for part, items in parts.items()}
        assert sum(len(items) for items in parts.values()) == len(rows)
        for one, other in combinations(queries.values(), 2):
            assert not one & other
        together.add(
            next(part for part, texts in queries.items() if "python check if a valid date" in texts)
            == next(part for part, texts in queries.items() if "python check if date is valid" in texts)
        )
        achieved = {one.part: one.achieved for one in found.report.parts}
        assert abs(achieved["train"] - 0.8) <= 0.05
        assert sum(one.queries for one in found.report.parts) == 43
        assert found.report.leakage.keys() <= {"near query", "same code", "same repository"}
        assert Counter(
            {value: sum(one.labels.get(value, 0) for one in found.report.parts) for value in "01"}
        ) == Counter(f"{label:g}" for _, _, label in rows.values())
    assert together == {True}
    assert len({tuple(parts_of(workspace, f"v{seed}")["test"]) for seed in range(12)}) > 6


def test_the_order_of_import_does_not_matter(tmp_path):
    rows = [
        (f"p{n}", f"query number {n % 13} of its own{n % 13}", f"code {n}", float(n % 2)) for n in range(80)
    ]
    found = []
    for folder, given in (("one", rows), ("other", rows[::-1])):
        (tmp_path / folder).mkdir()
        with labelled(tmp_path / folder, given) as workspace:
            digest = make_split(workspace, "v", plan(parts=parse_ratios("2:1:1"))).digest
            names = names_of(workspace)
            parts = {
                part: sorted(names[item] for item in items)
                for part, items in parts_of(workspace, "v").items()
            }
            found.append((digest, parts))
    assert found[0] == found[1]


def test_queries_and_codes_apart(csn99):
    workspace, rows = csn99
    names = names_of(workspace)
    found = make_split(workspace, "both", plan(disjoint="query,code", parts=parse_ratios("train=1,test=1")))
    parts = parts_of(workspace, "both")
    sides = [[rows[names[item]] for item in items] for items in parts.values()]
    for column in (0, 1):
        one, other = ({row[column] for row in side} for side in sides)
        assert not one & other
    kept = {names[item] for items in parts.values() for item in items}
    # Every positive pair is there; what is left out does not match, and would have crossed.
    left_out = [row for name, row in rows.items() if name not in kept]
    assert found.report.left_out == len(left_out)
    assert all(label == 0 for _, _, label in left_out)
    assert not {"same query", "same code"} & found.report.leakage.keys()


def test_one_component_is_named_with_its_share(tmp_path):
    ring = [(f"p{n}", f"alpha{n} beta{n}", f"code {n}", 1.0) for n in range(10)]
    ring += [(f"q{n}", f"alpha{n} beta{n}", f"code {(n + 1) % 10}", 1.0) for n in range(10)]
    with labelled(tmp_path, ring) as workspace:
        with pytest.raises(WorkbenchError, match=r"1 group, the largest with 100.0 %"):
            make_split(workspace, "v", plan(disjoint="query,code"))
        with workspace.reading() as connection:
            assert list_splits(connection) == []


def test_repositories_apart(tmp_path):
    task = {"prompt": "x = ", "groundtruth": "1", "right_context": ""}
    lines = [
        {
            **task,
            "prompt": f"x{n} = ",
            "metadata": {"task_id": f"t{n}", "repository": f"lab/{n % 7}", "file": "a.py"},
        }
        for n in range(42)
    ]
    tasks, labels = tmp_path / "tasks.jsonl", tmp_path / "labels.csv"
    tasks.write_text("\n".join(map(json.dumps, lines)))
    labels.write_text(
        "item,question,rater,value\n" + "".join(f"t{n},completion.keep,ana,{1 + n % 3}\n" for n in range(42))
    )
    with Workspace.create(tmp_path / "work.duckdb") as workspace:
        register_kinds(workspace)
        import_files(workspace, [tasks, labels])
        make_split(
            workspace,
            "v",
            plan(question="completion.keep", disjoint="repository", parts=parse_ratios("2:1")),
        )
        names = names_of(workspace)
        repositories = [
            {int(names[item][1:]) % 7 for item in items} for items in parts_of(workspace, "v").values()
        ]
        assert not repositories[0] & repositories[1]
        assert sum(map(len, repositories)) == 7
        with pytest.raises(WorkbenchError, match="Only pairs have"):
            make_split(workspace, "w", plan(question="completion.keep", disjoint="query,code"))


def test_a_code_in_two_repositories_is_one_code(tmp_path, workbench):
    lines = [
        {"id": f"p{n}", "query": f"alpha{n}", "code": "one code", "repository": f"of/{n}", "label": 1}
        for n in range(4)
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    work = tmp_path / "work.duckdb"
    workbench("import", work, tmp_path / "pairs.jsonl", "--label-as", "ana")
    made = workbench("split", work, "v", "--rater", "ana", "--ratios", "1:1", "--json").json()
    assert [(part["codes"], part["repositories"]) for part in made["parts"]] == [(1, 2), (1, 2)]


def test_labels_are_shared_out_where_that_is_asked(tmp_path):
    rows = [(f"p{n}", f"alpha{n} beta{n}", f"code {n}", float(n % 10 == 0)) for n in range(400)]
    with labelled(tmp_path, rows) as workspace:
        found = make_split(workspace, "v", plan(stratified=True))
        shares = [one.labels["1"] / one.items for one in found.report.parts]
        assert [one.items for one in found.report.parts] == [320, 40, 40]
        assert shares == pytest.approx([0.1] * 3)


def test_a_stratified_split_of_thirty_is_24_3_3(tmp_path, workbench):
    rows = [(f"p{n}", f"alpha{n} beta{n}", f"code {n}", float(n % 2)) for n in range(30)]
    with labelled(tmp_path, rows):
        pass
    work = tmp_path / "work.duckdb"
    for seed in range(5):
        split = ("split", work, f"v{seed}", "--rater", "ana", "--stratify", "--seed", seed)
        assert workbench(*split).code == 0
    with Workspace.open(work) as workspace:
        cells = workspace.native().execute(
            "SELECT s.name, l.part, l.value, count(*) FROM split_label l JOIN split s ON s.id = l.split_id "
            "GROUP BY ALL"
        )
        found = {(name, part, value): number for name, part, value, number in cells.fetchall()}
    for seed in range(5):
        for part, size, shares in (("train", 24, {12}), ("dev", 3, {1, 2}), ("test", 3, {1, 2})):
            of_labels = [found[f"v{seed}", part, value] for value in (0.0, 1.0)]
            assert sum(of_labels) == size
            assert set(of_labels) <= shares


def test_a_planted_leak_in_a_hand_made_split_is_found(tmp_path, workbench):
    rows = [(f"p{n}", f"alpha{n} beta{n} gamma{n}", f"def f{n}(): pass", float(n % 2)) for n in range(8)]
    rows += [
        ("leak-1", "python check if dates are valid", "def valid(text):\n    return text\n", 1.0),
        (
            "leak-2",
            "python check if date is valid",
            "# other comment\ndef  valid(text):\n    return text",
            0.0,
        ),
    ]
    with labelled(tmp_path, rows):
        pass
    given = tmp_path / "parts.csv"
    given.write_text(
        "item,part\n" + "".join(f"{name},{'b' if name in ('p1', 'leak-2') else 'a'}\n" for name, *_ in rows)
    )
    work = tmp_path / "work.duckdb"
    done = workbench("split", work, "hand", "--rater", "ana", "--parts-from", given, "--json")
    found = done.json()
    assert found["leakage"] == {
        "near query": [{"parts": ["a", "b"], "number": 1}],
        "same code": [{"parts": ["a", "b"], "number": 1}],
    }
    assert [leak["items"] for leak in found["leaks"]] == [["leak-1", "leak-2"]] * 2
    assert found["leaks_found"] == 2
    printed = workbench("splits", work, "hand", "--leaks").out
    assert "near query" in printed
    assert "python check if dates are valid" in printed


def test_the_detector_is_stricter_than_the_builder():
    texts = {"train": "convert a lists of string to json", "test": "converting list of strings to a json"}
    placed = [PlacedText(part, part, text) for part, text in texts.items()]
    found = leaks(("train", "test"), placed, [], [])
    assert count_leaks(found) == {"near query": {("train", "test"): 1}}
    assert count_leaks(leaks(("train", "test"), placed[:1], [], [])) == {}


def test_similar_queries_within_a_part_hide_no_leak(monkeypatch):
    monkeypatch.setattr("store.splits.leakage.MOST_NEAR", 100)
    alike = [PlacedText("train", f"i{n}", f"parse the number {n} out of a json file") for n in range(50)]
    same = [PlacedText(part, part, f"read rows{'!' * n}") for n in range(200) for part in ("train", "test")]
    torn = [
        PlacedText("train", "a", "one two three four five six seven eight"),
        PlacedText("test", "b", "one two three four five six seven nine"),
    ]
    assert count_leaks(leaks(("train", "test"), [*alike, *same, *torn], [], [])) == {
        "same query": {("train", "test"): 1},
        "near query": {("train", "test"): 1},
    }


def test_a_split_keeps_its_labels_of_then(tmp_path, workbench):
    with labelled(tmp_path, [(f"p{n}", f"alpha{n} beta{n}", f"code {n}", 0.0) for n in range(4)]):
        pass
    work, out = tmp_path / "work.duckdb", tmp_path / "qrels.txt"
    for n in range(4):
        workbench("judge", work, f"p{n}", n % 2, "--rater", "dana")
    made = workbench("split", work, "v", "--policy", "majority", "--ratios", "1:1", "--json").json()
    assert made["truth"]["panel"] == ["dana"]
    shown = workbench("splits", work, "v", "--now", "--json").json()
    assert shown["now"] == {"changed": [], "gone": [], "new": []}
    workbench("judge", work, "p3", 0, "--rater", "dana")
    shown = workbench("splits", work, "v", "--now", "--json").json()
    assert shown["now"] == {"changed": [{"item": "p3", "then": 1.0, "now": 0.0}], "gone": [], "new": []}
    assert shown["digest"] == made["digest"]
    for more, matches in (((), 2), (("--now",), 1)):
        done = workbench("export", work, out, "--format", "trec-qrels", "--split", "v", "--overwrite", *more)
        assert ("p3: 1, now 0" in done.out) == bool(more)
        lines = [line.split() for line in out.read_text().splitlines()]
        assert Counter(line[3] for line in lines) == {"1": matches, "0": 4 - matches}
    # The record, too, is of then: five labels were given, of which the split knows four of dana's.
    workbench("export", work, out, "--format", "labels", "--split", "v", "--rater", "dana", "--overwrite")
    with out.open(newline="") as file:
        labels = {row["item"]: (row["value"], row["part"]) for row in csv.DictReader(file)}
    assert {item: value for item, (value, _) in labels.items()} == {
        "p0": "0",
        "p1": "1",
        "p2": "0",
        "p3": "1",
    }
    assert Counter(part for _, part in labels.values()) == {"train": 2, "test": 2}
    assert workbench("splits", work, "v", "--delete").code == 0
    assert workbench("splits", work, "v").says("No split is called 'v'")
    with Workspace.open(work) as workspace:
        assert workspace.native().execute("SELECT count(*) FROM split_label").fetchone() == (0,)


def test_a_split_of_agents_labels_ends_before_the_first_judgment(tmp_path, workbench):
    pairs = [(f"p{n}", f"alpha{n} beta{n}", f"code {n}") for n in range(4)]
    with pairs_workspace(tmp_path, pairs) as workspace:
        register_kinds(workspace)
        labelled_by_agents(workspace, [(n, float(n % 2), "tested") for n in range(1, 5)], name="run:x")
        labelled_by_agents(workspace, [(1, 1.0, "tested")], name="run:y")
        make_split(workspace, "v", plan(against="run:x", parts=parse_ratios("1:1")))
        labelled_by_agents(workspace, [(2, 1.0, "tested")], name="run:z")
        workspace.native().execute(
            "UPDATE verdict SET created_at = now() WHERE id = (SELECT max(id) FROM verdict)"
        )
        work = workspace.path
    for n in range(4):
        workbench("judge", work, f"p{n}", 1, "--rater", "dana")
    for more, form, rows in (
        ((), "labels", 0),
        ((), "jsonl", 0),
        (("--rater", "run:x"), "csv", 4),
        (("--rater", "run:y"), "csv", 1),
        (("--rater", "run:z"), "csv", 0),
        (("--now",), "labels", 4),
        (("--rater", "run:z", "--now"), "csv", 1),
    ):
        out = tmp_path / f"{'-'.join(more)}.{form}"
        done = workbench("export", work, out, "--format", form, "--split", "v", *more, "--json")
        counted = done.json().get("labelled")
        counted = done.json().get("records", 0) if counted is None else counted
        assert counted == rows, (form, more, done.err)


@pytest.mark.parametrize("policy", ["majority", "unanimous"])
def test_agreement_is_of_undecided_items_too(tmp_path, in_folder, workbench, policy):
    """Of ten queries of four codes, every fourth item is a tie of two raters, and all of the last query's are."""
    values = {
        name: {f"p{query}-{code}": of(query, code) for query in range(10) for code in range(4)}
        for name, of in {
            "ana": lambda query, code: (query + code) % 2,
            "ben": lambda query, code: (query + code + (code == 3 or query == 9)) % 2,
        }.items()
    }
    rows = [
        (name, f"alpha{name[1]} beta{name[1]}", f"code {name}", float(v)) for name, v in values["ana"].items()
    ]
    labelled(tmp_path, rows).close()
    (tmp_path / "ben.csv").write_text(
        "item,rater,value\n" + "".join(f"{name},ben,{value}\n" for name, value in values["ben"].items())
    )
    path = str(tmp_path / "work.duckdb")
    assert workbench("import", path, str(tmp_path / "ben.csv")).code == 0
    made = workbench(
        *(
            "split",
            path,
            "v1",
            "--ratios",
            "2:1",
            "--policy",
            policy,
            "--panel",
            "ana,ben",
            "--json",
        )
    ).json()
    assert (made["truth"]["undecided"], made["undecided_queries"]) == (13, 1)

    def alpha(names):
        return krippendorff.alpha(
            [[values[r][name] for name in names] for r in ("ana", "ben")], level_of_measurement="nominal"
        )

    everything = made["agreement"]
    assert (everything["units"], everything["undecided"]) == (40, 13)
    assert everything["alpha"] == pytest.approx(alpha([*values["ana"]]))
    inside = parts_of_file(path)
    for part in made["parts"]:
        queries = {name.split("-")[0] for name in inside[part["part"]]}
        names = [name for name in values["ana"] if name.split("-")[0] in queries]
        assert len(names) == part["agreement"]["units"] == part["items"] + part["agreement"]["undecided"]
        assert part["agreement"]["alpha"] == pytest.approx(alpha(names))
        of_part = ("--split", "v1", "--part", part["part"])
        target = f"{part['part']}.csv"
        assert workbench("export", path, target, "--format", "matrix", *of_part).code == 0
        measured = workbench("measure", "agreement", target, "--bootstrap", "0", "--json").json()
        assert (measured["units"], measured["alpha"]["nominal"]) == (len(names), pytest.approx(alpha(names)))
        report = workbench("report", path, "agreement", *of_part, "--json").json()
        assert report["alpha"]["nominal"] == pytest.approx(alpha(names))
        # The matrix has the queries, so that its interval is the same, too.
        drawn = workbench("measure", "agreement", target, "--cluster", "query", "--json").json()
        assert drawn["intervals"]["alpha"] == report["intervals"]["alpha"]
        assert drawn["intervals"]["alpha"]["clusters"] == len(queries)
    said = " ".join(workbench("splits", path, "v1").out.split())
    assert (
        f"In all: {alpha([*values['ana']]):.3f} on 40 units, 13 undecided; 1 query without a decided item."
        in said
    )
    assert workbench("export", path, "card", "--format", "hugging-face", "--split", "v1").code == 0
    assert "13 undecided; 1 query without a decided item" in (in_folder / "card" / "README.md").read_text()


def test_groups_go_where_most_is_lacking():
    parts = parse_ratios("8:1:1")
    counts = numpy.ones((1000, 1), dtype=int)
    placed = allot(parts, [f"key {n}" for n in range(1000)], counts, 0)
    assert numpy.bincount(placed).tolist() == [800, 100, 100]
    # A large group is placed before all others, and where there is room for it.
    counts[500] = 150
    placed = allot(parts, [f"key {n}" for n in range(1000)], counts, 0)
    assert placed[500] == 0
    sizes = numpy.bincount(placed, weights=counts[:, 0])
    assert sizes / sizes.sum() == pytest.approx([0.8, 0.1, 0.1], abs=0.01)


def largest_remainders(total: int, ratios: list[int]) -> list[int]:
    """Whole numbers in these ratios, by exact fractions; of equal remainders the first is raised."""
    exact = [Fraction(total * ratio, sum(ratios)) for ratio in ratios]
    whole = [floor(share) for share in exact]
    for place in sorted(range(len(ratios)), key=lambda place: whole[place] - exact[place])[
        : total - sum(whole)
    ]:
        whole[place] += 1
    return whole


def test_stratified_parts_have_their_exact_sizes_and_their_share_of_each_label():
    for seed in range(800):
        random = numpy.random.default_rng(seed)
        ratios = random.integers(1, 9, random.integers(2, 6)).tolist()
        labels = random.integers(0, random.integers(2, 9), random.integers(2, 60))
        counts = numpy.eye(labels.max() + 1, dtype=int)[labels]
        parts = parse_ratios(":".join(map(str, ratios)))
        placed = allot(parts, [f"key {n}" for n in range(len(labels))], counts, seed)
        sizes = numpy.bincount(placed, minlength=len(ratios)).tolist()
        assert sizes == largest_remainders(len(labels), ratios), seed
        for label, total in enumerate(counts.sum(axis=0).tolist()):
            for place, ratio in enumerate(ratios):
                share = Fraction(total * ratio, sum(ratios))
                cell = int(((labels == label) & (placed == place)).sum())
                assert floor(share) <= cell <= ceil(share), seed


def test_stratified_groups_come_as_near_as_they_can():
    parts = parse_ratios("8:1:1")
    for seed in range(50):
        random = numpy.random.default_rng(seed)
        # Queries of up to five codes: single items make up for what whole groups cannot.
        counts = numpy.array([random.multinomial(size, [0.6, 0.4]) for size in random.integers(1, 6, 400)])
        placed = allot(parts, [f"key {n}" for n in range(400)], counts, seed)
        sizes = numpy.bincount(placed, weights=counts.sum(axis=1))
        assert sizes.tolist() == largest_remainders(int(counts.sum()), [8, 1, 1])
        for label in (0, 1):
            cells = numpy.bincount(placed, weights=counts[:, label])
            assert cells == pytest.approx(counts[:, label].sum() * numpy.array([0.8, 0.1, 0.1]), abs=1.01)
    # Where no part has room for a group, the one with most room takes it, and none stays empty for it.
    counts = numpy.array([[2, 2]] * 7)
    placed = allot(parts, [f"key {n}" for n in range(7)], counts, 0)
    assert numpy.bincount(placed).tolist() == [5, 1, 1]


@pytest.mark.parametrize(
    "ratios", ["8", "", "a:b", "8:0:2", "train=8,train=2", "x" * 500, "nan:1", "1:" * 30 + "1"]
)
def test_ratios_that_are_none(ratios):
    with pytest.raises(WorkbenchError, match="ratios"):
        parse_ratios(ratios)


def test_parts_have_names():
    assert parse_ratios("3:1") == (Part("train", 0.75), Part("test", 0.25))
    assert [part.name for part in parse_ratios("a=1, b=2,c=1,d=4")] == ["a", "b", "c", "d"]


def test_a_split_is_named_as_studies_are_and_by_its_old_option(tmp_path, workbench):
    with labelled(tmp_path, [(f"p{n}", f"alpha{n} beta{n}", f"code {n}", 0.0) for n in range(4)]):
        pass
    work = tmp_path / "work.duckdb"
    asked = ("--rater", "ana", "--ratios", "1:1", "--json")
    made = workbench("split", work, "v1", *asked).json()
    old = workbench("split", work, "--name", "v2", *asked).json()
    assert (made["split"], old["split"], old["digest"]) == ("v1", "v2", made["digest"])
    told = workbench("split", "--help").out
    assert "{workspace} [name]" in told
    assert "--name" not in told
    assert workbench("split", work, *asked[:-1]).says(f"workbench split {work} v1 --policy majority")
    assert workbench("split", work, "v3", "--name", "v4", *asked[:-1]).says("two names, v3 and v4")


def test_what_cannot_be_split(tmp_path, workbench):
    with pairs_workspace(tmp_path, [("p1", "query", "code")]) as workspace:
        register_kinds(workspace)
        with pytest.raises(WorkbenchError, match="No person has labels"):
            make_split(workspace, "v", plan(against="majority"))
        with pytest.raises(WorkbenchError, match="cannot name"):
            make_split(workspace, " ", plan())
    (tmp_path / "one").mkdir()
    with labelled(
        tmp_path / "one", [("p1", "query", "code", 1.0), ("p2", "query", "other", 0.0)]
    ) as workspace:
        with pytest.raises(WorkbenchError, match="1 group"):
            make_split(workspace, "v", plan())
        with pytest.raises(WorkbenchError, match="No repositories"):
            make_split(workspace, "v", plan(disjoint="repository"))
    work = str(tmp_path / "one" / "work.duckdb")
    for words in (
        "split WORK v",
        "split WORK v --rater ana --policy majority",
        "split WORK v --policy best",
        "splits WORK --now",
        "splits WORK v",
        "export WORK x --format beir --part train",
        "export WORK x --format beir --split v",
        "export WORK x --format beir --policy best",
    ):
        done = workbench(*words.replace("WORK", work).split())
        assert (done.code, done.out) == (2, ""), words
        assert done.err


def test_with_repositories_apart_ratios_count_items(tmp_path, workbench):
    rows = [(f"p{n}", f"alpha{n % 4} beta{n % 4}", f"code {n}", float(n % 2)) for n in range(40)]
    pairs, labels = tmp_path / "pairs.jsonl", tmp_path / "labels.csv"
    lines = [
        {"id": name, "query": query, "code": code, "repository": f"lab/{n % 10}"}
        for n, (name, query, code, _) in enumerate(rows)
    ]
    pairs.write_text("\n".join(map(json.dumps, lines)))
    labels.write_text(
        "item,rater,value\n" + "".join(f"{name},lab-ana,{label:g}\n" for name, *_, label in rows)
    )
    work = tmp_path / "work.duckdb"
    assert workbench("import", work, pairs, labels).code == 0
    options = ("--rater", "ana", "--disjoint", "repository", "--ratios", "8:2")
    made = workbench("split", work, "my split", *options)
    assert "10 groups, the largest with 10.0 % of the items" in made.out
    assert f"workbench splits {work} 'my split' --leaks" in made.out
    found = workbench("splits", work, "my split", "--json").json()
    # Every query is in both parts.
    assert [(one["queries"], one["items"], one["achieved"]) for one in found["parts"]] == [
        (4, 32, 0.8),
        (4, 8, 0.2),
    ]
    # The rater's whole name is kept: another one that ends the same may come.
    assert found["against"] == "lab-ana"


def test_a_table_of_codes_names_few_of_its_fields_where_it_is_refused(tmp_path, workbench):
    file = tmp_path / "codes.json"
    file.write_text(
        json.dumps({f"def f{n}():\n    return {n}" + " " * 500 + "x" * 500: n for n in range(999)})
    )
    refused = workbench("import", tmp_path / "work.duckdb", file)
    assert refused.says("and 979 more) is of no known format")
    assert len(refused.err) < 10_000
    # What is only written is no choice.
    assert "trec-qrels" not in refused.err


@pytest.mark.parametrize(
    "change",
    [
        "plan = 'no JSON'",
        "plan = replace(plan, 'query', 'nothing')",
        "plan = replace(plan, '0.5', '\"half\"')",
        "report = '{}'",
        "report = replace(report, 'number', 'nothing')",
        "report = 'null'",
    ],
)
def test_a_split_that_another_program_wrote_is_refused_and_can_be_deleted(tmp_path, workbench, change):
    rows = [(f"p{n}", f"alpha{n} beta{n}", "one code", 0.0) for n in range(4)]
    with labelled(tmp_path, rows) as workspace:
        assert make_split(workspace, "v", plan(parts=parse_ratios("1:1"))).report.leakage
        # As an import of a bundle does, whose tables are taken as they are.
        workspace.native().execute(f"UPDATE split SET {change}")
    work = tmp_path / "work.duckdb"
    export = ("export", work, tmp_path / "out.csv", "--format", "csv", "--split", "v")
    for command in (("splits", work), ("splits", work, "v", "--now"), export):
        assert workbench(*command).says("The split v is not as this program stores one")
    assert workbench("splits", work, "v", "--delete", "--json").json()["deleted"]
    assert workbench("splits", work, "--json").json()["splits"] == []
