"""Comparisons made of what a workspace has, studies of them, and the sides on which raters see them."""

import json
import random
from collections import Counter
from hashlib import sha256

import pytest
from scipy.stats import binomtest

from store.analysis.preferences import preference_votes
from store.errors import WorkbenchError
from store.ingest.importing import import_files
from store.measures.preference_report import preference_report
from store.policy.scope import LABEL
from store.policy.words import words_sql
from store.record.ids import now
from store.record.protocol import StudyProtocol
from store.studies.design import StudyItem, design_study
from store.studies.sides import draw_sides
from store.studies.studies import freeze_study
from store.workspace.duckdb import Workspace


def two_sets(folder, sets=("old", "new"), queries=30, backwards=False):
    """A workspace of two imported files of codes that share queries; each has two codes that match and one not."""
    path = folder / "w.duckdb"
    with Workspace.create(path) as workspace:
        both = list(zip(sets, ("left", "right"), strict=True))
        for name, prefix in both[::-1] if backwards else both:
            file = folder / f"{name}.jsonl"
            lines = [
                {
                    "id": f"{prefix}-{n}-{k}", "query": f"query {n}", "label": int(k < 2),
                    "code": f"{prefix if k else 'both'}_{n}_{k}",
                }
                for n in range(queries)
                for k in range(3)
            ]  # fmt: skip
            file.write_text("\n".join(map(json.dumps, lines)))
            import_files(workspace, [file])
    return path


def rows(path, sql):
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        return connection.exec_driver_sql(sql).fetchall()


COMPARISONS = (
    "SELECT i.external_id, p.text, c.first, c.second, first_name, second_name, first_ref, made_from, i.extra "
    "FROM comparison c JOIN item i ON i.id = c.item_id JOIN prompt p ON p.id = c.prompt_id ORDER BY i.id"
)


def test_of_two_sets_one_pair_of_matching_codes_is_drawn_for_each_query(tmp_path, workbench):
    path = two_sets(tmp_path)
    arguments = ("compare", "new", path, "rq1", "--codes-from", "old:new", "--seed", 7)
    done = workbench(*arguments)
    assert done.code == 0, done.err
    found = rows(path, COMPARISONS)
    assert len(found) == 30
    assert len({row[1] for row in found}) == 30
    for _, query, *texts, first_name, second_name, _, made_from, extra in found:
        assert {first_name, second_name} == {"old", "new"}
        assert texts[0] != texts[1]
        assert all(text.split("_")[1] == query.split()[1] and int(text.split("_")[2]) < 2 for text in texts)
        assert (made_from, json.loads(extra)) == ("codes", {"comparisons": "rq1", "seed": "7"})
    firsts = Counter(row[4] for row in found)
    assert min(firsts.values()) >= 6
    again = json.loads(workbench(*arguments, "--json").out)
    assert (again["made"], again["added"]) == (30, 0)
    assert rows(path, COMPARISONS) == found
    few = json.loads(workbench(*arguments[:-1], 8, "--items", 5, "--json").out)
    assert (few["made"], few["added"]) == (5, 5)
    other = workbench("compare", "new", path, "rq1", "--codes-from", "old:nothing")
    assert other.code == 2
    assert "No pair is of the set 'nothing'" in other.err
    assert workbench("compare", "new", path, "rq1").code == 2


def test_names_of_sets_and_the_order_of_import_change_nothing_that_a_rater_sees(tmp_path, workbench):
    seen = []
    for place, names in enumerate((("old", "new"), ("new", "old"))):
        folder = tmp_path / str(place)
        folder.mkdir()
        path = two_sets(folder, names, backwards=bool(place))
        assert (
            workbench("compare", "new", path, "rq1", "--codes-from", "old:new", "--raters", "ana,ben").code
            == 0
        )
        with Workspace.open(path) as workspace:
            freeze_study(workspace, "rq1", now())
        shown = rows(
            path,
            "SELECT i.external_id, content_hash, p.text, c.first, c.second, about, made_from, i.extra "
            "FROM comparison c JOIN item i ON i.id = c.item_id JOIN prompt p ON p.id = c.prompt_id ORDER BY i.id",
        )
        seen.append(shown)
    assert seen[0] == seen[1]


def test_a_study_of_comparisons_has_its_scale_and_balanced_sides(tmp_path, workbench):
    path = two_sets(tmp_path)
    done = workbench(
        *(
            "compare",
            "new",
            path,
            "rq1",
            "--codes-from",
            "old:new",
            "--raters",
            "ana,ben,chi",
            "--overlap",
            2,
        ),
        *("--repeats", 3, "--scale", "forced", "--json"),
    )
    assert done.code == 0, done.err
    protocol = json.loads(done.out)["study"]["protocol"]
    assert (protocol["kind"], protocol["scale"], protocol["overlap"]) == ("comparison", "forced", 2)
    assert workbench("study", "freeze", path, "rq1").code == 0
    left = Counter()
    sides = {}
    for rater, item, condition, swapped, first_name, phase in rows(
        path,
        f"SELECT a.rater_id, a.item_id, {words_sql('a')}, a.swapped, c.first_name, a.phase FROM assignment a "
        "JOIN comparison c ON c.item_id = a.item_id ORDER BY a.position",
    ):
        assert condition == ("blind swapped" if swapped else "blind")
        assert sides.setdefault((rater, item), swapped) == swapped
        if phase == LABEL:
            left[rater, (first_name == "old") != swapped] += 1
    assert sorted(left.values()) == [10] * 6
    for rater in workbench("study", "status", path, "rq1", "--json").json()["raters"]:
        assert rater["conditions"] == {"blind": {"done": 0, "total": 23}}
        assert rater["left"] == 23
    # The same of comparisons that are there already, such as imported ones.
    given = ("--kind", "comparison", "--raters", "ana,ben", "--scale", "five", "--mask-names")
    protocol = workbench("study", "new", path, "rq3", *given, "--json").json()["protocol"]
    assert (protocol["scale"], len(protocol["texts"])) == ("five", 1)
    assert workbench("study", "new", path, "rq4", "--raters", "ana", "--mask-names").says(
        "belong to comparisons"
    )
    with pytest.raises(WorkbenchError, match="No scale is called 'six'"):
        StudyProtocol("comparison", scale="six").checked()


def test_in_200_random_studies_every_set_is_on_the_left_as_often_as_the_other():
    chance = random.Random(3)
    share = []
    for seed in range(200):
        sets = [f"set {n}" for n in range(chance.randint(2, 4))]
        raters = [f"r{n}" for n in range(chance.randint(1, 5))]
        number = chance.randint(1, 60)
        overlap = chance.randint(1, len(raters))
        named = {n: tuple(chance.sample(sets, 2)) for n in range(number + 6)}
        design = design_study(
            [StudyItem(n) for n in range(number)],
            raters,
            overlap=overlap,
            repeats=chance.randint(0, number * overlap // len(raters)),
            gold=range(number, number + 4),
            training=range(number + 4, number + 6),
            reveal=chance.choice([None, "revealed"]),
            seed=seed,
        )
        swapped = draw_sides(design, named, seed)
        assert swapped == draw_sides(design, named, seed)
        for rater, own in design.items():
            assert all((rater, one.item) in swapped for one in own)
            left = Counter()
            for item in dict.fromkeys(one.item for one in own if one.phase == LABEL and not one.gold):
                pair = tuple(sorted(named[item]))
                low_left = (named[item][0] == pair[0]) != swapped[rater, item]
                left[pair] += 1 if low_left else -1
            assert all(abs(one) <= 1 for one in left.values())
        share += swapped.values()
    assert abs(sum(share) / len(share) - 0.5) < 0.02


def test_responses_and_their_scores_become_comparisons(tmp_path, workbench):
    prompt = "[Question]\nWhat is {n}?\n\n[The Start of Assistant's Answer]\n{said}\n[The End of Assistant's Answer]"
    lines = [
        {
            "question_id": n, "model": model, "judge": "gpt-4", "turn": 1, "judgment": f"[[{score}]]", "score": score,
            "user_prompt": prompt.format(n=n, said=f"{model} says {n}" if n < 4 else "alike"),
        }
        for n in range(5)
        for model, score in (("red", 5 + n), ("blue", 7))
    ]  # fmt: skip
    (tmp_path / "scores.jsonl").write_text("\n".join(map(json.dumps, lines)))
    path = tmp_path / "w.duckdb"
    assert workbench("import", path, tmp_path / "scores.jsonl").code == 0
    made = json.loads(workbench("compare", "new", path, "answers", "--models", "red,blue", "--json").out)
    # The last question has the same answer of both.
    assert (made["made"], made["added"]) == (4, 4)
    assert {row[7] for row in rows(path, COMPARISONS)} == {"responses"}
    made = json.loads(workbench("compare", "new", path, "scored", "--from-scores", "--json").out)
    assert made["added"] == 4
    assert Counter(row[7] for row in rows(path, COMPARISONS)) == {"responses": 4, "single scores": 4}
    with Workspace.open(path) as workspace, workspace.reading() as connection:
        votes = preference_votes(connection)
    assert votes.judges == {"gpt-4"}
    won = {
        votes.items[one.item].first if one.value > 0 else votes.items[one.item].second
        for one in votes.labels
        if one.value
    }
    assert won == {"red", "blue"}
    found = preference_report(votes)
    assert found.rated_by == "judges"
    assert {one.candidate: (one.wins, one.losses, one.ties) for one in found.ratings} == {
        "blue": (2, 1, 1),
        "red": (1, 2, 1),
    }
    assert workbench("compare", "new", path, "x", "--models", "red,green").code == 2


def test_sides_of_a_study_reach_the_report_which_its_raters_do_not_get(tmp_path, workbench):
    path = two_sets(tmp_path)
    study = (
        "compare",
        "new",
        path,
        "rq1",
        "--codes-from",
        "old:new",
        "--raters",
        "ana,ben",
        "--coordinators",
        "eva",
    )
    assert workbench(*study).code == 0
    assert workbench("study", "freeze", path, "rq1").code == 0
    with Workspace.open(path) as workspace, workspace.native() as cursor:
        # Everybody prefers what is on the left.
        cursor.execute(
            "INSERT INTO judgment BY NAME SELECT uuidv7() AS id, uuidv7() AS action, a.item_id, "
            "(SELECT id FROM question WHERE name = 'comparison.preference') AS question_id, a.rater_id, "
            "a.id AS assignment_id, a.phase, CASE WHEN a.swapped THEN -1 ELSE 1 END AS value, "
            "'independent' AS origin, true AS blind, '' AS reason, '' AS comment, '[]' AS evidence, "
            "now() AS created_at FROM assignment a"
        )
    done = workbench("--rater", "eva", "report", path, "preference", "--study", "rq1", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [(one["rater"], one["judgments"], one["share_left"]) for one in found["position"]] == [
        ("ana", 30, 1.0),
        ("ben", 30, 1.0),
    ]
    by_rater = {one["rater"]: one["candidates"] for one in found["win_rate"]["by_rater"]}
    assert {one["rate"] for one in by_rater["ana"]} == {0.5}
    assert found["n"]["without_majority"] == 30 - found["n"]["battles"]
    sealed = workbench("--rater", "ana", "report", path, "preference", "--json")
    assert sealed.code == 2
    assert json.loads(sealed.out)["error"]["title"] == "Sealed session"
    (tmp_path / "blind.toml").write_text("[screens]\nblind = true\n")
    blind = workbench("report", path, "preference", "--config", tmp_path / "blind.toml", "--json")
    assert json.loads(blind.out)["error"]["title"] == "Blind review"


def test_in_a_packet_of_1000_comparisons_nothing_but_the_texts_tells_the_set(tmp_path, workbench):
    path = two_sets(tmp_path, ("aardvark", "zebra"), queries=1000)
    arguments = (
        "compare",
        "new",
        path,
        "rq1",
        "--codes-from",
        "aardvark:zebra",
        "--raters",
        "ana",
        "--scale",
        "forced",
    )
    assert workbench(*arguments).code == 0
    assert workbench("study", "freeze", path, "rq1").code == 0
    truth = dict(
        rows(
            path,
            "SELECT c.first, c.first_name = 'aardvark' FROM comparison c UNION ALL "
            "SELECT c.second, c.second_name = 'aardvark' FROM comparison c",
        )
    )
    packet = tmp_path / "ana.duckdb"
    done = workbench("packet", "make", path, "rq1", "ana", packet)
    assert done.code == 0, done.err
    with Workspace.open(packet) as workspace, workspace.native() as cursor:
        found = cursor.execute(
            "SELECT c.first, c.* EXCLUDE (first, second), i.*, a.*, p.* EXCLUDE (text), c.rowid AS comparison_row, "
            "i.rowid AS item_row, a.rowid AS assignment_row, p.rowid AS prompt_row FROM comparison c "
            "JOIN item i ON i.id = c.item_id JOIN assignment a ON a.item_id = i.id JOIN prompt p ON p.id = prompt_id"
        )
        names = [each[0] for each in found.description][1:]
        packed = found.fetchall()
        tables = [name for (name,) in cursor.execute("SHOW TABLES").fetchall()]
        every = str([cursor.execute(f"FROM {name}").fetchall() for name in tables])
        (protocol,) = cursor.execute("SELECT protocol FROM study").fetchone()
    assert StudyProtocol.from_json(protocol).scale == "forced"
    assert len(packed) == 1000
    assert "aardvark" not in every
    assert "zebra" not in every
    values = list(zip(*(row[1:] for row in packed), strict=True))
    first = [truth[row[0]] for row in packed]
    swapped = values[names.index("swapped")]
    left = [one != other for one, other in zip(first, swapped, strict=True)]
    assert {"external_id", "content_hash", "extra", "position", "comparison_row", "prompt_row"} <= {*names}
    chances = []
    # A test of each column and of its hash, of what is first and of what is on the left; Bonferroni.
    for column in values:
        middle = sorted(map(str, column))[len(column) // 2]
        low = [str(value) < middle for value in column]
        odd = [sha256(str(value).encode()).digest()[0] % 2 == 1 for value in column]
        for told in (low, odd):
            for known in (first, left):
                if len(set(told)) > 1:
                    hits = sum(one == other for one, other in zip(told, known, strict=True))
                    share = [sum(some) / len(some) for some in (told, known)]
                    expected = share[0] * share[1] + (1 - share[0]) * (1 - share[1])
                    chances.append(binomtest(hits, len(known), expected).pvalue)
    assert len(chances) > 20
    assert min(chances) > 1e-4 / len(chances)
