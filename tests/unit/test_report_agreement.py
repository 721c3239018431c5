"""The report of agreement: what it counts, against a plain count over the records."""

import json
from datetime import datetime
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from judging import Desk, judged_workspace
from made_once import built_once
from recorded import RATERS, recorded_workspace
from sqlalchemy import insert

from store.analysis.agreement import agreement
from store.ingest.importing import import_files
from store.kinds.spec import task_kinds
from store.measures.agreement import cohen_kappa, krippendorff_alpha
from store.measures.registry import measures
from store.policy.words import condition_of
from store.record.raters import ensure_rater
from store.reports.labels import agreement_report, read_agreement
from store.reports.options import Options
from store.tables.columns import table_of
from store.tables.people import Assignment, Study
from store.workspace.duckdb import Workspace


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_counts_what_stands_of_people_and_of_each_run(tmp_path, monkeypatch, seed):
    monkeypatch.setattr("store.analysis.labels._ITEMS_AT_ONCE", 7)
    made = recorded_workspace(tmp_path, seed=seed, items=30, records=300)
    with made.workspace as workspace, workspace.reading() as connection:
        found = agreement(connection, "pair.match")
    labels = {}
    for name in RATERS:
        given = {item: made.label(name, item) for item in made.items}
        labels[name] = {item: one.value for item, one in given.items() if one is not None}
    for place, run in enumerate(sorted({one.run_id for one in made.verdicts})):
        labels[f"annotation/{place}"] = {one.item_id: one.value for one in made.verdicts if one.run_id == run}
    assert {one.name: (one.kind, one.labelled) for one in found.by_rater} == {
        name: ("agent" if "/" in name else "human", len(given)) for name, given in labels.items() if given
    }
    names = [one.name for one in found.by_rater]
    assert [pair.figures.raters for pair in found.by_pair] == list(combinations(names, 2))
    for pair in found.by_pair:
        figures = pair.figures
        one, other = (labels[name] for name in figures.raters)
        both = [item for item in made.items if item in one and item in other]
        assert (figures.units, figures.dropped_units) == (
            len(both),
            sum((item in one) != (item in other) for item in made.items),
        )
        agreed = sum(one[item] == other[item] for item in both)
        assert figures.percent == pytest.approx(100 * agreed / len(both))
        kappa = cohen_kappa([one[item] for item in both], [other[item] for item in both])
        assert (figures.cohen, figures.why) == (kappa.value, kappa.why_none)

    def alpha(kind):
        given = [labels[one.name] for one in found.by_rater if one.kind == kind]
        there = [item for item in made.items if any(item in own for own in given)]
        return krippendorff_alpha([[own.get(item) for item in there] for own in given])

    # People are in the headline, the agents' runs beside it, each for itself.
    people = alpha("human")
    assert found.figures.alpha["nominal"] == pytest.approx(people.value, abs=1e-12)
    assert (found.figures.units, found.figures.dropped_units) == (
        people.units + people.dropped,
        people.dropped,
    )
    assert set(found.beside) <= {"agent"}
    if "agent" in found.beside:
        assert found.beside["agent"].alpha["nominal"] == pytest.approx(alpha("agent").value, abs=1e-12)
    assert found.labels.items == 30


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
    rows = {one["name"]: one for one in found["by_rater"]}
    for name, blind, accepted in (("dana", 1, 1), ("eli", 0, 0)):
        assert (rows[name]["kind"], rows[name]["labelled"]) == ("human", 3)
        assert (rows[name]["blind"], rows[name]["revealed"], rows[name]["accepted"]) == (blind, 1, accepted)
    (pair,) = found["by_pair"]
    expected = {"raters": ("dana", "eli"), "units": 2, "dropped_units": 2, "blind": 1, "revealed": 1}
    assert {name: pair[name] for name in expected} == expected
    assert (pair["percent"], pair["cohen"], pair["why"]) == (50.0, 0.0, "")
    assert (found["units"], found["dropped_units"], found["judgments"]) == (4, 2, 6)
    assert found["level"] == "nominal"
    # Values 1, 1, 1, 0: alpha = 1 - (n - 1) o_01 / (n_0 n_1) = 1 - 3 * 1 / (1 * 3)
    assert found["alpha"]["nominal"] == pytest.approx(0.0)
    assert found["compared"] == ("dana", "eli")


def test_nobody_and_one_rater_alone_have_no_agreement(tmp_path):
    with judged_workspace(tmp_path) as workspace:
        with workspace.reading() as connection:
            none = agreement(connection, "pair.match")
        assert (none.by_rater, none.by_pair, none.figures.alpha["nominal"]) == ((), (), None)
        Desk(workspace).judge(1)
        ensure_rater(workspace, "eli")
        with workspace.reading() as connection:
            alone = agreement(connection, "pair.match")
    assert ([one.name for one in alone.by_rater], alone.by_pair) == (["dana"], ())
    assert (alone.figures.why, alone.figures.dropped_units) == ("no unit has two values", 1)


@built_once
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
    assert (facts["question"], facts["phases"], facts["items"]) == ("pair.match", ["review", "label"], 4)
    assert [(one["name"], one["kind"], one["labelled"]) for one in facts["by_rater"]] == [
        ("ana", "import", 3),
        ("dana", "human", 3),
        ("eli", "human", 1),
    ]
    pairs = {tuple(pair["raters"]): pair for pair in facts["by_pair"]}
    figures = [pairs["ana", "dana"][name] for name in ("units", "percent", "dropped_units", "cohen")]
    assert figures == [2, 50.0, 2, 0.0]
    assert (pairs["dana", "eli"]["cohen"], pairs["dana", "eli"]["why"]) == (None, "all values are equal")
    # The headline is that of people: ana is a column of a file.
    assert (facts["compared"], facts["raters"]) == (["dana", "eli"], 2)
    assert (facts["alpha"]["nominal"], facts["why"]) == (None, "all values are equal")
    text = workbench("report", study, "agreement").out
    assert "Agreement of dana, eli" in text
    assert "No alpha: all values are equal" in text
    text = workbench("report", study, "agreement", "--raters", "ana,dana,eli").out
    assert "Agreement of ana, dana, eli" in text
    assert "2 items with two labels or more; left out with one: 2" in text
    assert "50.0 %" in text
    assert "all values are equal" in text


def test_the_pairs_of_one_rater_can_be_asked_for(workbench, study):
    pairs = workbench("report", study, "agreement", "--rater", "eli", "--json").json()["by_pair"]
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
    assert {one.name: one.labelled for one in found.by_rater} == {
        name: len(own) for name, own in given.items()
    }
    for pair in found.by_pair:
        one, other = (given[name] for name in pair.figures.raters)
        both = one.keys() & other.keys()
        assert pair.figures.percent == pytest.approx(100 * sum(one[i] == other[i] for i in both) / len(both))


def answered(question, model, scores=(), **fields):
    told = {"question_id": question, "model": model, "answer": "so", **fields}
    return {**told, "scores": [{"judge": "ours-70b", "measure": name, "score": n} for name, n in scores]}


@built_once
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
    assert [(one["name"], one["kind"], one["labelled"]) for one in facts["by_rater"]] == [
        ("dana", "human", 4),
        ("eli", "human", 3),
        # What it said of r2 was not parsed.
        ("ours-70b", "judge", 2),
    ]
    pairs = {tuple(pair["raters"]): pair for pair in facts["by_pair"]}
    figures = ("units", "percent", "dropped_units")
    assert {raters: tuple(pair[name] for name in figures) for raters, pair in pairs.items()} == {
        ("dana", "eli"): (3, pytest.approx(100 / 3), 1),
        ("dana", "ours-70b"): (2, 50, 2),
        ("eli", "ours-70b"): (2, 0, 1),
    }
    given = [[9, 2, 6, 1], [8, 2, None, 3]]
    assert facts["alpha"]["interval"] == pytest.approx(krippendorff_alpha(given, "interval").value)
    assert (facts["level"], facts["units"], facts["dropped_units"]) == ("interval", 4, 1)
    # With the judge, where asked.
    three = ("--raters", "dana,eli,ours-70b")
    asked = ("report", answers, "agreement", "--question", "answer.accuracy", *three)
    together = workbench(*asked, "--json").json()
    given.append([9, 5, None, None])
    assert together["alpha"]["interval"] == pytest.approx(krippendorff_alpha(given, "interval").value)
    text = workbench(*asked).out
    assert "3 responses with two labels or more; left out with one: 1" in text
    # Of one response alone.
    only = workbench(
        "report", answers, "agreement", "--question", "answer.accuracy@m%5B1%5D", "--json"
    ).json()
    assert [(one["name"], one["labelled"]) for one in only["by_rater"]] == [
        *(("dana", 2), ("eli", 1), ("ours-70b", 1)),
    ]
    # An answer that comes later takes the place of what was said of the question itself.
    late = json.dumps(answered("r3", "m[1]")) + "\n"
    (in_folder / "late.jsonl").write_text(late, encoding="utf-8")
    assert workbench("import", answers, "late.jsonl").code == 0
    facts = workbench("report", answers, "agreement", "--question", "answer.accuracy", "--json").json()
    assert [one["labelled"] for one in facts["by_rater"]] == [3, 2, 2]


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
        "Kinds: pair, completion, answer, comparison."
        in workbench("items", answers, "--kind", "x", "--json").json()["error"]["hint"]
    )
    found = workbench("report", answers, "--rater", "dana", "--json").json()
    assert (found["items"], found["items_by_kind"], found["scored"]) == (3, {"answer": 3}, 2)
    told = {
        "items": 3,
        "judged": 0,
        "cannot_decide": 0,
        "skipped": 0,
        "agent_labelled": 0,
        "agent_hidden": 0,
        "left": 3,
    }
    assert found["kinds"] == {"answer": told}


def test_agents_are_not_sent_where_they_cannot_work(workbench, answers):
    reply = {"role": "screener", "subject": "r1", "reply": {"assessment": "unclear", "justification": "so"}}
    Path("none.jsonl").write_text(json.dumps(reply) + "\n", encoding="utf-8")
    done = workbench("annotate", answers, "--model", "scripted:none.jsonl", "--json")
    assert (done.code, done.json()["error"]["title"]) == (2, "Nothing to annotate")
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
    (pair,) = facts["by_pair"]
    assert (pair["mean_gap"], pair["why_no_gap"], pair["cohen"]) == (0.5, "", 0.0)
    assert (facts["unit_count"]["units"], facts["units"]) == (4, 4)
    assert " gap " in text
    assert "Count (nominal) none: a count is no coefficient" in " ".join(text.split())


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
    assert [one["name"] for one in both["by_rater"]] == both["compared"] == ["ben", "ana"]
    ratings = [[float(value) for value in labels[who]] for who in ("ben", "ana")]
    assert both["alpha"]["nominal"] == pytest.approx(krippendorff_alpha(ratings).value)
    assert both["beside"] == {}
    all_three = workbench(*report).json()
    assert (all_three["compared"], all_three["alpha"]["nominal"]) == ([], None)
    assert both["alpha"]["nominal"] > all_three["beside"]["import"]["alpha"]["nominal"]
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


def test_intervals_draw_whole_queries_and_units_only_by_name(workbench, in_folder):
    """Twenty queries of three pairs each, on which two people agree or not as a whole."""
    random = Random(7)
    lines, labels = [], {"dana": [], "eli": []}
    for query in range(20):
        same = random.random() < 0.7
        for place in range(3):
            lines.append(json.dumps({"id": f"{query}-{place}", "query": f"q{query}", "code": f"c{place}"}))
            value = random.randrange(2)
            labels["dana"].append(value)
            labels["eli"].append(value if same else 1 - value)
    (in_folder / "pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert workbench("import", "w.duckdb", "pairs.jsonl").code == 0
    with Workspace.open(Path("w.duckdb")) as workspace:
        for name, values in labels.items():
            desk = Desk(workspace, name)
            for item, value in enumerate(values, start=1):
                desk.judge(item, float(value), active_ms=1000 * (item % 3))
    report = ("report", "w.duckdb", "agreement", "--json")
    whole = workbench(*report).json()
    assert (whole["cluster"], whole["intervals"]["alpha"]["clusters"]) == ("query", 20)
    assert "only 20 clusters" in whole["intervals"]["alpha"]["warning"]
    assert whole["ci_low"] < whole["alpha"]["nominal"] < whole["ci_high"]
    assert whole == workbench(*report).json()
    single = workbench(*report, "--bootstrap-units").json()
    assert (single["cluster"], single["intervals"]["alpha"]["clusters"]) == (None, 60)
    assert single["ci_high"] - single["ci_low"] < 0.8 * (whole["ci_high"] - whole["ci_low"])
    (pair,) = whole["by_pair"]
    assert pair["cohen"] == whole["cohen"]
    assert (pair["ci_low"], pair["ci_high"]) == tuple(
        whole["intervals"]["cohen"][end] for end in ("low", "high")
    )
    assert workbench(*report, "--seed", "1").json()["ci_low"] != whole["ci_low"]
    none = workbench(*report, "--bootstrap", "0").json()
    assert (none["ci_low"], none["intervals"]) == (None, {})
    blocks = workbench(*report, "--blocks", "30").json()["blocks"]
    halves = [krippendorff_alpha([own[start : start + 30] for own in labels.values()]) for start in (0, 30)]
    assert blocks == pytest.approx(sum(half.value for half in halves) / 2)
    assert [one["median_seconds"] for one in whole["by_rater"]] == [1, 1]
    # Each of two raters agrees with the other as often as both do.
    assert {one["percent"] for one in whole["by_rater"]} == {whole["percent"]}


def test_each_item_can_be_asked_for_the_least_agreed_first(workbench, in_folder):
    pairs = [{"id": f"p{n}", "query": "q", "code": f"c{n}"} for n in range(3)]
    (in_folder / "p.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs), encoding="utf-8")
    labels = "item,rater,value\np0,ana,1\np0,ben,1\np0,chi,1\np1,ana,1\np1,ben,0\np1,chi,0\np2,ana,1\n"
    (in_folder / "labels.csv").write_text(labels, encoding="utf-8")
    workbench("import", "w.duckdb", "p.jsonl", "labels.csv")
    report = ("report", "w.duckdb", "agreement", "--raters", "ana,ben,chi", "--by-item")
    found = workbench(*report, "--json").json()
    assert [(one["item"], one["judgments"], one["percent"]) for one in found["by_item"]] == [
        ("p1", 3, pytest.approx(100 / 3)),
        ("p0", 3, 100),
        ("p2", 1, None),
    ]
    assert found["by_item"][0]["values"] == {"ana": 1, "ben": 0, "chi": 0}
    # Without ana the others always agree; ana agrees with them on one of two items.
    rows = {one["name"]: one for one in found["by_rater"]}
    assert [rows[name]["percent"] for name in ("ana", "ben", "chi")] == [50, 75, 75]
    assert rows["ana"]["alpha_without"] == 1
    text = workbench(*report).out
    assert "ana 1, ben 0, chi 0" in text
    refused = workbench("report", "w.duckdb", "progress", "--by-item")
    assert (refused.code, refused.says("--by-item belongs to the report agreement")) == (2, True)


def test_a_study_and_repeats_are_compared_for_themselves(tmp_path, workbench):
    with judged_workspace(tmp_path, 4) as workspace:
        desks = {name: Desk(workspace, name) for name in ("dana", "eli")}
        assignments = {(name, item): workspace.ids.next() for name in desks for item in (1, 2, 3)}
        rows = [
            {"id": key, "study_id": 7, "rater_id": desks[name].rater.id, "item_id": item, "phase": "review"}
            | {"position": item, **condition_of("blind")._asdict(), "seed": 0}
            for (name, item), key in assignments.items()
        ]

        def write(connection):
            study = {"id": 7, "name": "expert study", "protocol": '{"kind": "pair"}', "manifest": "{}"}
            study |= {"created_at": datetime(2026, 1, 1), "frozen_at": datetime(2026, 1, 2)}
            connection.execute(insert(table_of(Study)), [study])
            connection.execute(insert(table_of(Assignment)), rows)

        workspace.lane.submit(write).result()
        for name, values in (("dana", (1, 0, 1)), ("eli", (1, 0, 0))):
            for item, value in enumerate(values, start=1):
                desks[name].judge(item, value, assignment_id=assignments[name, item])
        # Outside of the study they disagree on one more item; dana meets two of them again.
        desks["dana"].judge(4, 1.0)
        desks["eli"].judge(4, 0.0)
        desks["dana"].judge(1, 1.0, phase="repeat")
        desks["dana"].judge(2, 1.0, phase="repeat")
        path = workspace.path
    whole = workbench("report", path, "agreement", "--json").json()
    assert (whole["units"], whole["percent"]) == (4, 50)
    rows = {one["name"]: one["repeat"] for one in whole["by_rater"]}
    assert rows["eli"] is None
    assert (rows["dana"]["units"], rows["dana"]["percent"], rows["dana"]["cohen"]) == (2, 50, 0)
    text = workbench("report", path, "agreement").out
    assert "dana 2 50.0 % 0.000" in " ".join(text.partition("Items that came again")[2].split())
    assert "with those of open studies: expert study" in text
    text = workbench("report", path, "agreement", "--question", "all").out
    assert "with those of open studies: expert study" in text
    with Workspace.open(path) as opened, opened.reading() as connection:
        every = Options(question="all")
        caption = agreement_report(read_agreement(connection, every), every).caption
    assert "labels with those of open studies: expert study" in caption
    within = workbench("report", path, "agreement", "--study", "expert study", "--json").json()
    assert "open studies" not in workbench("report", path, "agreement", "--study", "expert study").out
    assert (within["study"], within["units"], within["percent"]) == (
        "expert study",
        3,
        pytest.approx(200 / 3),
    )
    lost = workbench("report", path, "agreement", "--study", "other", "--json")
    assert (lost.code, lost.json()["error"]["hint"]) == (2, "Studies: expert study.")


def test_a_ruling_is_no_label_of_a_rater(tmp_path):
    with judged_workspace(tmp_path) as workspace:
        dana, eli = Desk(workspace), Desk(workspace, "eli")
        dana.judge(1, 1.0)
        eli.judge(1, 0.0)
        Desk(workspace, "fay").judge(1, 1.0, origin="ruling")
        with workspace.reading() as connection:
            found = agreement(connection, "pair.match")
    assert found.compared == ("dana", "eli")


def test_scores_are_correlated_and_labels_are_not(workbench, answers):
    facts = workbench("report", answers, "agreement", "--question", "answer.accuracy", "--json").json()
    pair = next(pair for pair in facts["by_pair"] if pair["raters"] == ["dana", "eli"])
    # Scores 9, 2, 1 and 8, 2, 3: deviations 5, -2, -3 and 11/3, -7/3, -4/3.
    assert pair["pearson"] == pytest.approx(27 / (38 * 62 / 3) ** 0.5)
    assert pair["spearman"] == pytest.approx(0.5)
    assert pair["kendall"] == pytest.approx(1 / 3)
    assert pair["cohen_quadratic"] is not None
    text = workbench("report", answers, "agreement", "--question", "answer.accuracy").out
    assert "Pearson" in text
    assert "weighted: Cohen's kappa with quadratic weights" in text


def test_a_line_for_each_question(workbench, answers):
    workbench("judge", answers, "r1", "5", "--question", "clarity@m%5B1%5D", "--rater", "dana")
    facts = workbench("report", answers, "agreement", "--question", "all", "--json").json()
    (one,) = facts["questions"]
    assert (one["question"], one["compared"]) == ("answer.accuracy", ["dana", "eli"])
    workbench("judge", answers, "r1", "5", "--question", "clarity@m%5B1%5D", "--rater", "eli")
    text = workbench("report", answers, "agreement", "--question", "all").out
    assert "answer.accuracy" in text
    assert "answer.clarity" in text
    refused = workbench("report", answers, "agreement", "--question", "all", "--raters", "dana,eli")
    assert (refused.code, refused.says("Name one question")) == (2, True)


def test_few_queries_are_warned_of_where_only_imported_raters_have_labels(workbench, in_folder):
    pairs = "".join(f'{{"id": "p{n}", "query": "q{n // 2}", "code": "c{n}"}}\n' for n in range(12))
    (in_folder / "p.jsonl").write_text(pairs, encoding="utf-8")
    labels = {"one": "111110000011", "two": "111100001011"}
    lines = [
        "item,rater,value",
        *(f"p{n},{who},{v}" for who, row in labels.items() for n, v in enumerate(row)),
    ]
    (in_folder / "labels.csv").write_text("\n".join(lines), encoding="utf-8")
    workbench("import", "w.duckdb", "p.jsonl", "labels.csv")
    told = workbench("report", "w.duckdb", "agreement")
    assert "No person has labels of this question." in told.out
    assert told.err.count("The interval: only 6 clusters, and under 30 it is too narrow.") == 1
