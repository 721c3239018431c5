"""The report of agreement: what it counts, against a plain count over the records."""

import json
from itertools import combinations
from pathlib import Path

import pytest
from judging import Desk, judged_workspace
from recorded import RATERS, recorded_workspace

from store.ingest.importing import import_files
from store.kinds.spec import task_kinds
from store.measures.agreement import cohen_kappa, krippendorff_alpha
from store.measures.registry import COHEN_KAPPA, KRIPPENDORFF_ALPHA, measures
from store.queries.agreement import agreement
from store.record.raters import ensure_rater


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_counts_what_stands_of_people_and_of_each_run(tmp_path, monkeypatch, seed):
    monkeypatch.setattr("store.queries.agreement._ITEMS_AT_ONCE", 7)
    made = recorded_workspace(tmp_path, seed=seed, items=30, records=300)
    with made.workspace as workspace, workspace.reading() as connection:
        found = agreement(connection, "pair.match")
    labels = {}
    for name in RATERS:
        given = {item: made.label(name, item) for item in made.items}
        labels[name] = {item: one.value for item, one in given.items() if one is not None}
    for place, run in enumerate(sorted({one.run_id for one in made.verdicts})):
        labels[f"annotation/{place}"] = {one.item_id: one.value for one in made.verdicts if one.run_id == run}
    assert {one.name: (one.kind, one.labelled) for one in found.raters} == {
        name: ("agent" if "/" in name else "human", len(given)) for name, given in labels.items() if given
    }
    assert [pair.raters for pair in found.pairs] == list(combinations([one.name for one in found.raters], 2))
    for pair in found.pairs:
        one, other = (labels[name] for name in pair.raters)
        both = [item for item in made.items if item in one and item in other]
        assert (pair.n, pair.dropped) == (
            len(both),
            sum((item in one) != (item in other) for item in made.items),
        )
        assert pair.agreed == sum(one[item] == other[item] for item in both)
        assert pair.share == pytest.approx(pair.agreed / pair.n)
        assert pair.coefficients[COHEN_KAPPA] == cohen_kappa(
            [one[item] for item in both], [other[item] for item in both]
        )
    labelled = [item for item in made.items if any(item in given for given in labels.values())]
    assert found.coefficients[KRIPPENDORFF_ALPHA] == krippendorff_alpha(
        [[given.get(item) for item in labelled] for given in labels.values()]
    )
    alpha = found.coefficients[KRIPPENDORFF_ALPHA]
    assert alpha.units + alpha.dropped == len(labelled)
    assert found.items == 30


def test_it_says_what_was_judged_blind_and_what_with_the_agents_label_in_sight(tmp_path):
    with judged_workspace(tmp_path, 5) as workspace:
        dana, eli = Desk(workspace), Desk(workspace, "eli")
        shown = workspace.ids.next()
        dana.judge(1, 1.0, blind=True)
        dana.judge(2, 1.0, origin="accept", shown_verdict=shown)
        dana.judge(3, 0.0)
        eli.judge(1, 1.0)
        eli.judge(2, 0.0)
        eli.judge(4, 0.0, origin="override", shown_verdict=shown)
        eli.judge(5, 0.0)
        eli.undo()
        dana.judge(5, 1.0, phase="revealed")
        with workspace.reading() as connection:
            found = agreement(connection, "pair.match").to_dict()
    assert found["raters"] == [
        {"name": name, "kind": "human", "labelled": 3, "blind": blind, "revealed": 1}
        | {"repeated": 0, "deviation": None}
        for name, blind in (("dana", 1), ("eli", 0))
    ]
    (pair,) = found["pairs"]
    assert pair == {
        "raters": ("dana", "eli"),
        "n": 2,
        "dropped": 2,
        "agreed": 1,
        "blind": 1,
        "revealed": 1,
        "percent_agreement": 50.0,
        "cohen_kappa": 0.0,
        "why_no_kappa": "",
    }
    alpha = found["krippendorff_alpha"]
    assert (alpha["units"], alpha["dropped"], alpha["values"], alpha["level"]) == (2, 2, 4, "nominal")
    # Values 1, 1, 1, 0: alpha = 1 - (n - 1) o_01 / (n_0 n_1) = 1 - 3 * 1 / (1 * 3)
    assert alpha["value"] == pytest.approx(0.0)
    assert alpha["raters"] == ["dana", "eli"]


def test_nobody_and_one_rater_alone_have_no_agreement(tmp_path):
    with judged_workspace(tmp_path) as workspace:
        with workspace.reading() as connection:
            none = agreement(connection, "pair.match")
        assert (none.raters, none.pairs, none.coefficients[KRIPPENDORFF_ALPHA].value) == ((), (), None)
        Desk(workspace).judge(1)
        ensure_rater(workspace, "eli")
        with workspace.reading() as connection:
            alone = agreement(connection, "pair.match")
    assert ([one.name for one in alone.raters], alone.pairs) == (["dana"], ())
    assert (
        alone.coefficients[KRIPPENDORFF_ALPHA].why_none,
        alone.coefficients[KRIPPENDORFF_ALPHA].dropped,
    ) == ("no unit has two values", 1)


@pytest.fixture
def study(workbench, in_folder):
    pairs = [{"id": f"p{n}", "query": "q", "code": f"c{n}"} for n in range(1, 5)]
    (in_folder / "p.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs), encoding="utf-8")
    (in_folder / "labels.csv").write_text(
        "item,rater,value\np1,ana,1\np2,ana,0\np3,ana,0\n", encoding="utf-8"
    )
    assert workbench("import", "w.duckdb", "p.jsonl", "labels.csv").code == 0
    for item, value in (("p1", "1"), ("p2", "1"), ("p4", "0")):
        workbench("judge", "w.duckdb", item, value, "--rater", "dana")
    workbench("judge", "w.duckdb", "p1", "1", "--rater", "eli")
    return in_folder / "w.duckdb"


def test_the_command_prints_every_pair_with_its_ground(workbench, study):
    facts = workbench("report", study, "agreement", "--json").json()
    assert facts["report"] == "agreement"
    assert (facts["question"], facts["phase"], facts["items"]) == ("pair.match", "review", 4)
    assert [(one["name"], one["kind"], one["labelled"]) for one in facts["raters"]] == [
        ("ana", "import", 3),
        ("dana", "human", 3),
        ("eli", "human", 1),
    ]
    told = {tuple(pair["raters"]): pair for pair in facts["pairs"]}
    assert (told["ana", "dana"]["n"], told["ana", "dana"]["agreed"], told["ana", "dana"]["dropped"]) == (
        2,
        1,
        2,
    )
    assert (told["ana", "dana"]["percent_agreement"], told["ana", "dana"]["cohen_kappa"]) == (50.0, 0.0)
    assert (told["dana", "eli"]["cohen_kappa"], told["dana", "eli"]["why_no_kappa"]) == (
        None,
        "all values are equal",
    )
    text = workbench("report", study, "agreement").out
    assert "Krippendorff's alpha (nominal) over 3 raters" in text
    assert "from 5 labels of 2 items, left out: 2 items with one label" in text
    assert "50.0 %" in text
    assert "all values are equal" in text


def test_the_pairs_of_one_rater_can_be_asked_for(workbench, study):
    pairs = workbench("report", study, "agreement", "--rater", "eli", "--json").json()["pairs"]
    assert [pair["raters"] for pair in pairs] == [["ana", "eli"], ["dana", "eli"]]
    done = workbench("report", study, "agreement", "--rater", "nobody", "--json")
    assert done.code == 2
    assert "ana, dana, eli" in done.json()["error"]["hint"]


def test_a_blind_review_is_told_no_agreement(workbench, study, monkeypatch):
    monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", "true")
    done = workbench("report", study, "agreement", "--json")
    assert done.code == 2
    assert done.json()["error"]["title"] == "Blind review"
    assert "ana" not in done.out + done.err


def test_labels_of_the_sample_agree_as_counted(tmp_path, sample_folder):
    with judged_workspace(tmp_path) as workspace:
        import_files(workspace, [sample_folder / "pairs.jsonl", sample_folder / "labels.csv"])
        with workspace.reading() as connection:
            found = agreement(connection, "pair.match")
    given = {}
    for line in (sample_folder / "labels.csv").read_text(encoding="utf-8").splitlines()[1:]:
        item, _, rater, value = line.split(",")[:4]
        given.setdefault(rater, {})[item] = float(value)
    assert {one.name: one.labelled for one in found.raters} == {name: len(own) for name, own in given.items()}
    for pair in found.pairs:
        one, other = (given[name] for name in pair.raters)
        assert pair.agreed == sum(one[item] == other[item] for item in one.keys() & other.keys())


def answered(question, model, scores=(), **fields):
    told = {"question_id": question, "model": model, "answer": "so", **fields}
    return {**told, "scores": [{"judge": "ours-70b", "measure": name, "score": n} for name, n in scores]}


@pytest.fixture
def answers(workbench, in_folder):
    """Two questions with three answers and one without any; dana and eli scored some of them."""
    asked = [{"id": f"r{n}", "question": f"why {n}?", "answer": "so"} for n in (1, 2, 3)]
    given = [
        answered("r1", "m[1]", [("accuracy", 9), ("clarity", 2)]),
        answered("r1", "m@2", [("accuracy", 5)], setting="bm25", trial=3),
        answered("r2", "m[1]", [("accuracy", -1)]),
    ]
    for name, records in (("questions.jsonl", asked), ("answers.jsonl", given)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (in_folder / name).write_text(lines, encoding="utf-8")
    done = workbench("import", "w.duckdb", "questions.jsonl", "answers.jsonl")
    assert done.code == 0, done.err
    for item, place, dana, eli in (
        ("r1", "@m%5B1%5D", "9", "8"),
        ("r1", "@m%402[bm25]#3", "2", "2"),
        ("r2", "@m%5B1%5D", "6", None),
        ("r3", "", "1", "3"),
    ):
        for rater, value in (("dana", dana), ("eli", eli)):
            if value is not None:
                said = workbench(
                    *("judge", "w.duckdb", item, value, "--question", f"accuracy{place}", "--rater", rater)
                )
                assert said.code == 0, said.err
    return in_folder / "w.duckdb"


def test_a_question_about_responses_is_compared_over_all_of_them_with_judges(workbench, answers, in_folder):
    facts = workbench("report", answers, "agreement", "--question", "answer.accuracy", "--json").json()
    assert (facts["items"], facts["responses"]) == (3, 3)
    assert [(one["name"], one["kind"], one["labelled"]) for one in facts["raters"]] == [
        ("dana", "human", 4),
        ("eli", "human", 3),
        # What it said of r2 was not parsed.
        ("ours-70b", "judge", 2),
    ]
    told = {tuple(pair["raters"]): (pair["n"], pair["agreed"], pair["dropped"]) for pair in facts["pairs"]}
    assert told == {
        ("dana", "eli"): (3, 1, 1),
        ("dana", "ours-70b"): (2, 1, 2),
        ("eli", "ours-70b"): (2, 0, 1),
    }
    alpha = facts["krippendorff_alpha"]
    given = [[9, 2, 6, 1], [8, 2, None, 3], [9, 5, None, None]]
    assert alpha["value"] == pytest.approx(krippendorff_alpha(given, "interval").value)
    assert (alpha["level"], alpha["units"], alpha["dropped"]) == ("interval", 3, 1)
    text = workbench("report", answers, "agreement", "--question", "answer.accuracy").out
    assert "from 8 labels of 3 responses, left out: 1 response with one label" in text
    # Of one response alone.
    only = workbench(
        "report", answers, "agreement", "--question", "answer.accuracy@m%5B1%5D", "--json"
    ).json()
    assert [(one["name"], one["labelled"]) for one in only["raters"]] == [
        *(("dana", 2), ("eli", 1), ("ours-70b", 1)),
    ]
    # An answer that comes later takes the place of what was said of the question itself.
    late = json.dumps(answered("r3", "m[1]")) + "\n"
    (in_folder / "late.jsonl").write_text(late, encoding="utf-8")
    assert workbench("import", answers, "late.jsonl").code == 0
    facts = workbench("report", answers, "agreement", "--question", "answer.accuracy", "--json").json()
    assert [one["labelled"] for one in facts["raters"]] == [3, 2, 2]


def test_without_a_question_it_is_that_of_the_first_kind_and_an_unknown_one_is_refused(workbench, answers):
    facts = workbench("report", answers, "agreement", "--json").json()
    assert (facts["question"], facts["items"]) == ("answer.accuracy", 3)
    done = workbench("report", answers, "agreement", "--question", "accuracy", "--json")
    assert done.code == 2
    assert "answer.accuracy" in done.json()["error"]["hint"]
    done = workbench("report", answers, "progress", "--question", "answer.accuracy")
    assert done.code == 2
    for name in ("nobody[bm25]", ""):
        done = workbench("report", answers, "agreement", "--question", f"answer.accuracy@{name}")
        assert (done.code, done.says("No item has a response")) == (2, True)


def test_items_and_progress_tell_the_kinds_apart(workbench, answers):
    workbench("judge", answers, "r3", "5", "--question", "clarity", "--rater", "dana")
    shown = workbench("items", answers, "--kind", "repository questions", "--rater", "dana").out
    assert "2 of 4" in shown
    assert "2 of 8" in shown
    assert "why 1?" in shown
    assert workbench("items", answers, "--kind", "pair", "--json").json()["total"] == 0
    assert (
        "Kinds: pair, completion, answer."
        in workbench("items", answers, "--kind", "x", "--json").json()["error"]["hint"]
    )
    found = workbench("report", answers, "--rater", "dana", "--json").json()
    assert (found["items"], found["items_by_kind"], found["scored"]) == (3, {"answer": 3}, 2)
    told = {"items": 3, "judged": 0, "cannot_decide": 0, "skipped": 0, "agent_labelled": 0, "left": 3}
    assert found["kinds"] == {"answer": told}


def test_agents_are_not_sent_where_they_cannot_work(workbench, answers):
    reply = {"role": "screener", "subject": "r1", "reply": {"assessment": "unclear", "justification": "so"}}
    Path("none.jsonl").write_text(json.dumps(reply) + "\n", encoding="utf-8")
    done = workbench("annotate", answers, "--model", "scripted:none.jsonl", "--json")
    assert (done.code, done.json()["error"]["title"]) == (2, "Nothing for the agents")
    assert "3 repository questions" in done.json()["error"]["message"]
    assert workbench("report", answers, "pipeline", "--json").json()["runs"] == []


def test_a_measure_of_another_package_appears_in_the_report(workbench, in_folder, monkeypatch):
    """Two more measures are registered by a package: one of two raters, one of all."""
    package = in_folder / "site"
    info = package / "more_measures-1.0.dist-info"
    info.mkdir(parents=True)
    (package / "more_measures.py").write_text(
        "from store.measures.agreement import Agreement\n"
        "from store.measures.registry import Measure\n"
        "TWO = Measure('mean_gap', 'gap', True, lambda ratings, level: Agreement("
        "float(abs(ratings[0] - ratings[1]).mean()), len(ratings[0]), 0, 2 * len(ratings[0])))\n"
        "ALL = Measure('unit_count', 'Count', False, lambda ratings, level: Agreement("
        "None, len(ratings[0]), 0, 0, 'a count is no coefficient'))\n"
    )
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more-measures\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[workbench.measures]\nmean_gap = more_measures:TWO\nunit_count = more_measures:ALL\n"
    )
    monkeypatch.syspath_prepend(str(package))
    (in_folder / "p.jsonl").write_text(
        "".join(json.dumps({"id": f"q{number}", "query": "q", "code": "c"}) + "\n" for number in range(4))
    )
    assert workbench("import", "w.duckdb", "p.jsonl").code == 0
    for rater, values in (("dana", "1100"), ("eli", "1001")):
        for number, value in enumerate(values):
            assert workbench("judge", "w.duckdb", f"q{number}", value, "--rater", rater).code == 0
    measures.cache_clear()
    try:
        facts = workbench("report", "w.duckdb", "agreement", "--json").json()
        text = workbench("report", "w.duckdb", "agreement").out
    finally:
        measures.cache_clear()
    (pair,) = facts["pairs"]
    assert (pair["mean_gap"], pair["why_no_gap"], pair["cohen_kappa"]) == (0.5, "", 0.0)
    assert (facts["unit_count"]["units"], facts["unit_count"]["raters"]) == (4, ["dana", "eli"])
    assert facts["krippendorff_alpha"]["units"] == 4
    assert " gap " in text
    assert "Count (nominal) over 2 raters: none: a count is no coefficient" in text


def test_only_the_raters_that_are_named_are_compared(workbench, in_folder):
    lines = ["item,rater,value"]
    labels = {"ana": "11110000", "ben": "11110001", "chi": "10101010"}
    lines += [f"p{n},{who},{value}" for who, values in labels.items() for n, value in enumerate(values)]
    (in_folder / "labels.csv").write_text("\n".join(lines) + "\n")
    pairs = [{"id": f"p{n}", "query": "q", "code": f"c{n}"} for n in range(8)]
    (in_folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    workbench("import", "w.duckdb", "pairs.jsonl", "labels.csv")
    report = ("report", "w.duckdb", "agreement", "--json")
    both = workbench(*report, "--raters", "ben, ana").json()
    assert [one["name"] for one in both["raters"]] == ["ben", "ana"]
    assert both["krippendorff_alpha"]["raters"] == ["ben", "ana"]
    ratings = [[float(value) for value in labels[who]] for who in ("ben", "ana")]
    assert both["krippendorff_alpha"]["value"] == pytest.approx(krippendorff_alpha(ratings).value)
    assert both["krippendorff_alpha"]["value"] > workbench(*report).json()["krippendorff_alpha"]["value"]
    lost = workbench(*report, "--raters", "ana,benn").json()["error"]
    assert lost["hint"].startswith("Did you mean ben?")
    alone = workbench(*report, "--raters", "ana").json()["error"]
    assert alone["title"] == "Raters missing"
    elsewhere = workbench("report", "w.duckdb", "progress", "--raters", "ana,ben", "--json").json()["error"]
    assert "--raters" in elsewhere["message"]


def test_a_scale_without_an_order_is_nominal():
    levels = {spec.name: spec.scale.level for kind in task_kinds().values() for spec in kind.questions}
    assert levels["pair.match"] == levels["completion.cross_file"] == "nominal"
    assert levels["completion.keep"] == levels["completion.predictable"] == "ordinal"
