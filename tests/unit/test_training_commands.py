"""`workbench finetune` and `evaluate training`, of a folder, a workspace and files, and the report of both."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from learnable import learnable, write_beir

import agents.training.evaluation
from agents.training.csn99 import csn99, read_annotations
from agents.training.training import Trained
from agents.training.work import FineTuningRequest
from store.errors import ImportFailed, WorkbenchError

pytestmark = pytest.mark.usefixtures("one_thread")

FAST = ("--epochs", "2", "--batch", "8", "--rate", "0.001")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny_models.bert(tmp_path / "tiny")


def labelled(path: Path, parts: dict[str, int], seed: int = 0) -> Path:
    """A table of labelled pairs, each query with its code and the code of another one."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "query", "code", "label"))
        for name, part in learnable(parts, seed=seed).items():
            codes = list(part.codes.texts)
            for at, query in enumerate(part.queries.values()):
                rows.writerow((f"{name}{at}", query, codes[at], 1))
                rows.writerow((f"{name}{at}-no", query, codes[at - 1], 0))
    return path


def test_a_folder_gives_a_model_that_every_command_takes(workbench: Any, tmp_path: Path, model: Path) -> None:
    folder = write_beir(tmp_path / "beir", learnable({"train": 24, "dev": 8, "test": 8}))
    out = tmp_path / "out"
    asked = ("finetune", folder, "--model", model, "--output", out, *FAST)
    told = workbench(*asked, "--json").json()
    assert (told["pairs"], told["steps"], told["output"]) == (24, [6, 6], str(out))
    assert told["dev_loss"] > 0
    # Done again, it is there; another one is refused.
    assert workbench(*asked).out.startswith(f"{out}: 24 pairs, 6 steps, loss")
    assert workbench(*asked, "--seed", "1").says("is there, and is not the model of this training")
    found = workbench("evaluate", "retrieval", folder, "--methods", f"{model},{out}", "--json").json()
    assert found["methods"].keys() == {"tiny", "out"}
    assert workbench("finetune", folder, "--split", "v1", "--model", model, "--output", "x").says(
        "is a BEIR folder, whose parts are in it"
    )


def test_a_workspace_needs_a_split_and_keeps_the_work(workbench: Any, tmp_path: Path, model: Path) -> None:
    study, out = tmp_path / "ws.duckdb", tmp_path / "out"
    pairs = labelled(tmp_path / "pairs.csv", {"a": 40})
    assert workbench("import", study, pairs, "--label-as", "dana").code == 0
    asked = ("finetune", study, "--model", model, "--output", out, *FAST, "--negatives", "labelled")
    assert workbench(*asked).says("needs a split: which of its pairs are trained on")
    split = workbench("split", study, "v1", "--rater", "dana", "--json").json()
    assert workbench(*asked).says("make one: workbench split")
    told = workbench(*asked, "--split", "v1", "--json").json()
    assert told["pairs"] == next(one["labels"]["1"] for one in split["parts"] if one["part"] == "train")
    assert told["drawn"] == 0
    assert json.loads((out / "training.json").read_text())["data"] == "ws@v1, part train"
    at = (asked[0], f"{study}@v1", *asked[2:])
    assert workbench(*at, "--json").json() == told
    assert workbench("finetune", study, pairs, *asked[2:]).says("is trained on by itself")
    assert not (tmp_path / "out.training").exists()


def test_files_are_split_as_in_the_paper(workbench: Any, tmp_path: Path, model: Path) -> None:
    pairs = labelled(tmp_path / "pairs.csv", {"a": 40})
    asked = ("finetune", pairs, "--model", model, *FAST)
    told = workbench(*asked, "--output", tmp_path / "out", "--json").json()
    assert 28 <= told["pairs"] <= 36
    assert told["dev_loss"] is not None
    for place, option in enumerate(("--ratios", "--split")):
        other = workbench(*asked, "--output", tmp_path / f"half{place}", option, "1:1", "--json").json()
        assert 16 <= other["pairs"] <= 24
        assert other["dev_loss"] is None
    assert workbench(*asked, "--output", "x", "--ratios", "1:1", "--split", "2:1").says("Leave --ratios out")
    without = tmp_path / "without.csv"
    without.write_text("id,query,code\n1,a,b\n2,c,d\n")
    assert workbench("finetune", without, "--model", model, "--output", tmp_path / "none", *FAST).says(
        "has no labelled pairs"
    )


def test_corpora_are_compared_on_a_third(workbench: Any, tmp_path: Path, model: Path) -> None:
    one = write_beir(tmp_path / "one", learnable({"train": 40, "dev": 8, "test": 8}))
    other = write_beir(tmp_path / "other", learnable({"train": 24}, seed=1))
    test = write_beir(tmp_path / "third", learnable({"test": 30}, seed=2))
    study = tmp_path / "ws.duckdb"
    asked = (
        *("evaluate", "training", "--models", model, "--train", f"{one},{other}", "--test", test),
        *("--seeds", "2", *FAST, "--into", study),
    )
    told = workbench(*asked, "--json").json()
    assert (told["models"], told["trains"], told["test"]) == (["tiny"], ["one", "other"], "third")
    # Pairs are drawn from all pairs of things, so the third shares some of its queries.
    assert told["queries"] + told["left_out"] == 30
    assert told["left_out"] > 0
    seeds = [(row["data"], row["seeds"]) for row in told["scores"]]
    assert seeds == [(None, 1), ("one", 2), ("other", 2)]
    assert {"ndcg@10", "mrr@10", "map@10"} <= told["scores"][0]["means"].keys()
    assert told["scores"][0]["deviations"]["ndcg@10"] is None
    assert told["scores"][1]["deviations"]["ndcg@10"] >= 0
    assert {
        (d["measure"], d["first"], d["second"]) for d in told["differences"] if d["measure"] == "mrr@10"
    } == {
        ("mrr@10", "tiny, one", "tiny, untrained"),
        ("mrr@10", "tiny, other", "tiny, untrained"),
        ("mrr@10", "tiny, one", "tiny, other"),
    }
    report = workbench("report", study, "training", "--json").json()
    assert report["scores"] == told["scores"]
    assert report["published"]["CodeBERT"]["ndcg@10"] == [0.958, 0.937, 0.962]
    shown = workbench("report", study, "training").out
    assert "Trained on (Table III)" in shown
    assert f"left out: {told['left_out']} queries near one of a training" in shown


def test_an_evaluation_goes_on_with_the_trainings_that_are_not_done(
    workbench: Any, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, asked = tmp_path / "ws.duckdb", list[str]()
    pairs = labelled(tmp_path / "pairs.csv", {"a": 40})
    train = agents.training.evaluation.fine_tune

    def ending(request: FineTuningRequest, *given: Any) -> Trained:
        asked.append(Path(request.output).name)
        if len(asked) == 3:
            raise WorkbenchError("Ended", "The machine was switched off.")
        return train(request, *given)

    monkeypatch.setattr(agents.training.evaluation, "fine_tune", ending)
    command = (
        *("evaluate", "training", "--models", model, "--train", pairs, "--test", pairs, "--seeds", "3"),
        *(*FAST, "--into", study, "--output", tmp_path / "models"),
    )
    workbench(*command)
    assert workbench(*command, "--json").json()["scores"][1]["seeds"] == 3
    assert asked == [f"tiny-pairs-{seed}" for seed in (0, 1, 2, 2)]
    assert {one.name for one in (tmp_path / "models").iterdir()} == {"corpora", *asked}
    # One that fails later does not take its place.
    other = (*command[:-1], tmp_path / "others")
    asked.clear()
    assert workbench(*other).code == 2
    kept = workbench("report", study, "training", "--json").json()
    assert kept["scores"][1]["seeds"] == 3


def test_what_cannot_be_compared_is_refused(
    workbench: Any, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    one = write_beir(tmp_path / "one", learnable({"train": 24, "test": 8}))
    asked = ("evaluate", "training", "--models", model, *FAST)
    assert workbench(*asked, "--train", one).code == 2
    namesake = write_beir(tmp_path / "deep" / "one", learnable({"train": 24}, seed=1))
    twice = workbench(*asked, "--train", f"{one},{namesake}", "--test", one)
    assert twice.says("Two corpora are called one")
    same = write_beir(tmp_path / "same", {"test": learnable({"train": 24})["train"]})
    assert workbench(*asked, "--train", one, "--test", same).says("is near one that a model is trained on")
    assert workbench("report", tmp_path / "none.duckdb", "training").code == 2
    unknown = (
        "evaluate",
        "training",
        "--models",
        f"{model},nothing/there",
        "--train",
        one,
        "--test",
        one,
        *FAST,
    )
    monkeypatch.setattr(agents.training.evaluation, "fine_tune", None)
    assert workbench(*unknown).says("Model not found")
    codes = write_empty(tmp_path / "codes.jsonl")
    assert workbench(*asked, "--train", one, "--test", one, "--codes", codes).says("Leave --codes out")


ROWS = """Language,Query,GitHubUrl,Relevance,Notes
Python,sort a list,https://github.com/a/b/blob/1/s.py#L1-L3,3,
Python,sort a list,https://github.com/a/b/blob/1/s.py#L1-L3,1,
Python,sort a list,https://github.com/a/b/blob/1/t.py#L1-L3,2,
Python,open a file,https://github.com/a/b/blob/1/o.py#L1-L3,3,"a note, with a comma"
Python,open a file,https://github.com/a/b/blob/1/gone.py#L1-L3,3,
Go,open a file,https://github.com/a/b/blob/1/o.go#L1-L3,3,
"""


def test_annotations_are_joined_with_codes_by_their_address(
    workbench: Any, tmp_path: Path, model: Path
) -> None:
    annotations = tmp_path / "annotationStore.csv"
    annotations.write_text(ROWS)
    codes = tmp_path / "python.jsonl.gz"
    with gzip.open(codes, "wt") as file:
        for name in ("s", "t", "o", "other"):
            row = {"url": f"https://github.com/a/b/blob/1/{name}.py#L1-L3", "code": f"def {name}(): ..."}
            file.write(json.dumps(row) + "\n")
    test, lost = csn99(annotations, [codes])
    assert (list(test.queries), lost) == (["sort a list", "open a file"], 1)
    assert list(test.codes.texts) == ["def s(): ...", "def o(): ..."]
    assert test.qrels["open a file"] == {"https://github.com/a/b/blob/1/o.py#L1-L3": 1.0}
    one = write_beir(tmp_path / "one", learnable({"train": 24}))
    asked = (
        *("evaluate", "training", "--models", model, "--train", one, "--test", annotations, "--seeds", "1"),
        *FAST,
    )
    assert workbench(*asked).says("has addresses of codes, and no codes")
    told = workbench(*asked, "--codes", codes, "--json").json()
    assert (told["queries"], told["pairs"], told["codes"], told["lost"]) == (2, 2, 2, 1)
    with pytest.raises(ImportFailed, match="None of the 3 annotated addresses"):
        csn99(annotations, [write_empty(tmp_path / "empty.jsonl")])
    for row in ("Python,a,b,high", "Python,,b,3", "Python,a"):
        annotations.write_text(f"Language,Query,GitHubUrl,Relevance\nPython,a,b,3\n{row}\n")
        with pytest.raises(ImportFailed, match=r"annotationStore\.csv:3 "):
            read_annotations(annotations)
    annotations.write_text("Language,Query,GitHubUrl,Relevance\nPython,a,b,2\n")
    with pytest.raises(ImportFailed, match="no pair of Python with the grade 3"):
        read_annotations(annotations)


def write_empty(path: Path) -> Path:
    path.write_text("")
    return path
