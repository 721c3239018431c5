"""Repeated scores of one judge, half points, and the rating of MT-bench."""

import json

import pytest
from made_once import built_once

from screens.items.answer import ANSWER_PART
from store.errors import JudgmentRefused
from store.kinds.answer import RATING
from store.kinds.pair import MATCH
from store.policy.scope import Scope
from store.queries.responses import ScoreView, summarize_scores
from store.record.ids import IdClock
from store.record.raters import ensure_rater, register_kinds
from store.record.scales import Scale
from store.workspace.duckdb import Workspace


def answers(folder, scores, model="m"):
    answer = {"question_id": "t1", "model": model, "answer": "Here.", "scores": scores}
    (folder / f"{model}.jsonl").write_text(json.dumps(answer) + "\n")
    return f"{model}.jsonl"


def score(value, number, measure="accuracy", judge="ours-70b"):
    return {"judge": judge, "measure": measure, "score": value, "repeat": number}


@built_once
def study(workbench, in_folder):
    (in_folder / "q.jsonl").write_text(json.dumps({"id": "t1", "question": "Where?", "answer": "There."}))
    given = [score(7, 1), score(8, 2), score(4, 1, "clarity"), score(5, 2, "clarity"), score(5, 3, "clarity")]
    answers(in_folder, [*given, score("good", 1, "relevance"), score(6, 2, "relevance")])
    assert workbench("import", "w.duckdb", "q.jsonl", "m.jsonl").code == 0
    return in_folder / "w.duckdb"


def shown(path, rater="dana"):
    with Workspace.open(path) as workspace:
        register_kinds(workspace)
        scope = Scope(ensure_rater(workspace, rater))
        with workspace.reading() as connection:
            return ANSWER_PART.load(connection, scope, 1)


def test_scores_of_one_judge_are_kept_once_each_and_summarized(workbench, study, in_folder):
    again = workbench("import", study, "m.jsonl", "--json").json()
    assert again["files"][0]["scores_added"] == 0
    (item,) = workbench("items", study, "--json").json()["items"]
    found = {one["measure"]: one for one in item["scores"]}
    assert (found["accuracy"]["scores"], found["accuracy"]["mean"]) == (2, 7.5)
    assert found["accuracy"]["deviation"] == pytest.approx(0.5**0.5)
    assert (found["relevance"]["scores"], found["relevance"]["not_parsed"]) == (1, 1)
    assert found["relevance"]["deviation"] is None
    report = workbench("report", study, "agreement", "--question", "answer.accuracy", "--json").json()
    (judge,) = report["by_rater"]
    assert (judge["repeated"], judge["deviation"]) == (1, pytest.approx(0.5**0.5))
    workbench("export", study, "out.jsonl", "--format", "answers")
    assert len(json.loads((in_folder / "out.jsonl").read_text())["scores"]) == 7


def test_a_mean_on_a_half_point_is_a_claim_and_another_is_not_rounded(study):
    view = shown(study)
    prompts = {one.spec.title: one for one in view.questions}
    claim = prompts["accuracy"].claim
    assert (claim.value, claim.summary) == (7.5, "◆ ours-70b: 7.5 · mean 7.5, SD 0.71, of 2 scores")
    assert prompts["clarity"].claim is None
    assert "mean 4.667, SD 0.58, of 3 scores · no point of this scale" in prompts["clarity"].unclaimed
    (judges,) = [pane for pane in view.case if pane.id == "judges"]
    assert "accuracy: mean 7.5, SD 0.71, of 2 scores" in judges.text


def test_people_give_half_points_and_nothing_between(workbench, study, in_folder):
    command = ("judge", study, "t1")
    given = workbench(*command, "7.5", "--question", "accuracy@m", "--rater", "dana", "--json").json()
    assert (given["value"], given["word"]) == (7.5, "7.5")
    off = workbench(*command, "7.3", "--question", "accuracy@m", "--rater", "dana", "--json").json()
    assert "in steps of 0.5" in off["error"]["hint"]
    workbench("export", study, "labels.csv", "--format", "labels")
    assert workbench("import", study, "labels.csv", "--dry-run").code == 0
    workbench("export", study, "record.jsonl", "--format", "jsonl")
    assert workbench("import", "other.duckdb", "record.jsonl").code == 0


def test_a_workspace_of_an_earlier_version_learns_the_half_points(workbench, study):
    with Workspace.open(study) as workspace, workspace.native() as cursor:
        cursor.execute(
            "UPDATE question SET scale = json_merge_patch(scale::JSON, '{\"step\": null}') "
            "WHERE name LIKE 'answer.%'"
        )
    done = workbench("judge", study, "t1", "6.5", "--question", "accuracy@m", "--rater", "dana")
    assert done.code == 0


def test_a_rating_is_asked_where_a_judge_gave_one(workbench, study, in_folder):
    assert "rating" not in {one.spec.title for one in shown(study).questions}
    answers(in_folder, [score(8, 1, "rating")], model="other")
    workbench("import", study, "other.jsonl")
    titles = [one.spec.title for one in shown(study).questions]
    assert (titles.count("rating"), len(titles)) == (1, 9)
    (item,) = workbench("items", study, "--json").json()["items"]
    assert (item["answered"], item["required"]) == (0, 9)
    command = ("judge", study, "t1", "9", "--rater", "dana", "--question")
    assert workbench(*command, "rating@other").code == 0
    assert workbench(*command, "rating@m").code == 2
    (item,) = workbench("items", study, "--rater", "dana", "--json").json()["items"]
    assert item["answered"] == 1
    pairs = workbench("report", study, "agreement", "--question", "answer.rating", "--json").json()["by_pair"]
    assert [(pair["units"], pair["percent"]) for pair in pairs] == [(1, 0)]


def test_the_numbers_of_a_scale():
    assert RATING.scale.check(1.5) == 1.5
    for value in (0.5, 10.5, 1.25):
        with pytest.raises(JudgmentRefused):
            RATING.scale.check(value)
    assert Scale.from_json(RATING.scale.to_json()) == RATING.scale
    assert "step" not in MATCH.scale.to_json()


def test_scores_that_no_judge_repeated_have_no_deviation():
    ids = IdClock()
    one, other = (ScoreView(ids.next(), name, "accuracy", 7.0, "", "") for name in "ab")
    assert [(each.judge, each.deviation) for each in summarize_scores([one, other])] == [
        ("a", None),
        ("b", None),
    ]


def test_a_command_that_was_refused_gives_nobody_the_name_of_a_judge(workbench, study, in_folder):
    refused = workbench("judge", study, "t1", "7", "--question", "no such question", "--rater", "fay-1b")
    assert refused.code == 2
    (in_folder / "late.jsonl").write_text(
        json.dumps(
            {"question_id": "t1", "model": "late", "answer": "so"}
            | {"scores": [{"judge": "fay-1b", "measure": "accuracy", "score": 3}]}
        )
    )
    assert workbench("import", study, "late.jsonl").code == 0
    taken = workbench("judge", study, "t1", "7", "--question", "accuracy@m", "--rater", "fay-1b", "--json")
    assert taken.json()["error"]["title"] == "Name taken"
