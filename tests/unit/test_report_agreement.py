"""The report of agreement: what it counts, against a plain count over the records."""

import json
from itertools import combinations

import pytest
from judging import Desk, judged_workspace
from recorded import RATERS, recorded_workspace

from store.importing import import_files
from store.measures.agreement import cohen_kappa, krippendorff_alpha
from store.queries.agreement import agreement
from store.raters import ensure_rater


def by_item(labels):
    assert {place for _, place in labels} <= {""}
    return {item: value for (item, _), value in labels.items()}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_counts_what_stands_of_people_and_of_each_run(tmp_path, seed):
    made = recorded_workspace(tmp_path, seed=seed, items=30, records=300)
    with made.workspace as workspace, workspace.reading() as connection:
        found = agreement(connection, "pair.match")
    labels = {}
    for name in RATERS:
        given = {item: made.label(name, item) for item in made.items}
        labels[name] = {item: one.value for item, one in given.items() if one is not None}
    for place, run in enumerate(sorted({one.run_id for one in made.verdicts})):
        labels[f"annotation/{place}"] = {one.item_id: one.value for one in made.verdicts if one.run_id == run}
    assert {one.name: (one.kind, by_item(one.labels)) for one in found.raters} == {
        name: ("agent" if "/" in name else "human", given) for name, given in labels.items() if given
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
        assert pair.kappa == cohen_kappa([(one[item], other[item]) for item in both])
    labelled = [item for item in made.items if any(item in given for given in labels.values())]
    assert found.alpha == krippendorff_alpha(
        {name: [given.get(item) for item in labelled] for name, given in labels.items()}
    )
    assert found.alpha.units + found.alpha.dropped == len(labelled)
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
        {"name": "dana", "kind": "human", "labelled": 3, "blind": 1, "revealed": 1},
        {"name": "eli", "kind": "human", "labelled": 3, "blind": 0, "revealed": 1},
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
        assert (none.raters, none.pairs, none.alpha.value) == ((), (), None)
        Desk(workspace).judge(1)
        ensure_rater(workspace, "eli")
        with workspace.reading() as connection:
            alone = agreement(connection, "pair.match")
    assert ([one.name for one in alone.raters], alone.pairs) == (["dana"], ())
    assert (alone.alpha.why_none, alone.alpha.dropped) == ("no unit has two values", 1)


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
    assert {one.name: len(one.labels) for one in found.raters} == {
        name: len(own) for name, own in given.items()
    }
    for pair in found.pairs:
        one, other = (given[name] for name in pair.raters)
        assert pair.agreed == sum(one[item] == other[item] for item in one.keys() & other.keys())
