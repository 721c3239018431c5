"""Training of encoders: pairs and batches, one step, stops, what it teaches, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import pytest
import tiny_models
import torch
from full_disk import largest_file
from learnable import learnable, write_beir
from safetensors.torch import load_file

from agents.jobs.work import WorkSettings
from agents.jobs.work_progress import WorkProgress, ignore_progress
from agents.llm.settings import ModelSettings
from agents.retrieval.encoders import LocalEncoder, open_encoders
from agents.retrieval.evaluation import Benchmark, NamedTexts, rank_codes, run_of
from agents.retrieval.methods import open_retriever
from agents.retrieval.settings import RetrievalSettings
from agents.retrieval.stored_texts import StoredTexts
from agents.training.evaluation import without_near
from agents.training.pairs import TrainingPairs, batches, epochs_of_batches, training_pairs
from agents.training.training import CARD, SCALE, Trained, TrainingSettings, train
from agents.training.work import FineTuningRequest, fine_tune, read_training
from store.errors import WorkbenchError
from store.measures.ranking import PRESETS

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = TrainingSettings(epochs=3, batch=10, rate=1e-3)


def part(rows: Sequence[tuple[str, str, float]], name: str = "train") -> Benchmark:
    """A part of a benchmark of query, code and grade."""
    texts, codes = StoredTexts(), list(dict.fromkeys(code for _, code, _ in rows))
    for code in codes:
        texts.append(code)
    qrels: dict[str, dict[str, float]] = {}
    for query, code, grade in rows:
        qrels.setdefault(query, {})[code] = grade
    return Benchmark({query: query for query in qrels}, NamedTexts(tuple(codes), texts), qrels, name)


def opened(model: str) -> LocalEncoder:
    (encoder,) = open_encoders([model])
    assert isinstance(encoder, LocalEncoder)
    return encoder


def trained(
    model: str,
    folder: Path,
    pairs: TrainingPairs,
    dev: TrainingPairs | None = None,
    settings: TrainingSettings = SMALL,
    report: Callable[[WorkProgress], None] = ignore_progress,
) -> Trained:
    """Train, into the folder `out` of a folder."""
    (folder / "work").mkdir(parents=True, exist_ok=True)
    card = {"base": model, "data": "made", "labels": pairs.digest}
    return train(
        opened(model), pairs, dev, settings,
        folder=folder / "work", output=folder / "out", card=card, report=report,
    )  # fmt: skip


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return {
        f"{file.relative_to(folder).parent}/{name}": tensor
        for file in sorted(folder.rglob("*.safetensors"))
        for name, tensor in load_file(file).items()
    }


def same(one: Path, other: Path) -> bool:
    first, second = weights(one), weights(other)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def ndcg(model: str, test: Benchmark, folder: Path) -> float:
    """NDCG@10 of a model on a test."""
    settings = RetrievalSettings(vectors=folder / "vectors")
    ranking = rank_codes(test, open_retriever(model, settings, ModelSettings()), 10)
    shutil.rmtree(folder / "vectors")
    return (
        PRESETS["cosqa-plus"]
        .scores(test.qrels, run_of(test, ranking), level=1, complete=True)
        .means()["ndcg@10"]
    )


# -- pairs and batches --------------------------------------------------------------------------------------


def test_pairs_are_matches_each_once_by_their_texts() -> None:
    rows = [("a", "x", 1), ("a", "y", 1), ("a", "z", 0), ("b", "x", 1), ("c", "z", 0)]
    found = training_pairs(part(rows))
    assert list(found.pairs) == [("a", "x"), ("a", "y"), ("b", "x")]
    assert found.matches == {"a": {"x", "y"}, "b": {"x"}}
    assert found.digest != training_pairs(part([*rows[:-1], ("c", "z", 1)])).digest


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("negatives", ["in-batch", "labelled"])
def test_no_match_of_a_query_is_its_negative(seed: int, negatives: Any) -> None:
    random = Random(seed)
    rows = [
        (f"q{random.randrange(12)}", f"c{random.randrange(15)}", float(random.random() < 0.5))
        for _ in range(90)
    ]
    rows += [(f"q{number}", f"only{number}", 0.0) for number in range(12)]
    of = part(list(dict.fromkeys(rows)))
    pairs = training_pairs(of, negatives, seed)
    seen = Counter[int]()
    for batch in batches(pairs, 6, Random(seed)):
        seen.update(batch)
        codes = [pairs.pairs[place][1] for place in batch]
        codes += [pairs.negatives[place] for place in batch if pairs.negatives]
        for place in batch:
            query, own = pairs.pairs[place]
            assert [code for code in codes if code in pairs.matches[query]] == [own]
    assert max(seen.values()) == 1
    if negatives == "labelled":
        assert len(seen) == len(pairs.pairs)
        for (query, _), code in zip(pairs.pairs, pairs.negatives, strict=True):
            assert of.qrels[query].get(code, 0) == 0


def test_each_epoch_has_as_many_batches_in_another_order() -> None:
    pairs = training_pairs(part([(f"q{at // 2}", f"c{at}", 1) for at in range(40)]))
    first, *others = epochs_of_batches(pairs, 8, 4, seed=1)
    assert {len(one) for one in others} == {len(first)}
    assert first not in others
    assert epochs_of_batches(pairs, 8, 4, seed=1)[0] == first != epochs_of_batches(pairs, 8, 4, seed=2)[0]


def test_a_match_of_another_part_is_no_negative_either() -> None:
    train_rows = [("a", "x", 1), ("b", "y", 1), ("b", "z", 0)]
    pairs = training_pairs(part(train_rows), others=[part([("a", "y", 1)], "dev")])
    assert pairs.matches["a"] == {"x", "y"}
    assert list(batches(pairs, 8, Random(0))) == []


def test_without_a_labelled_non_match_a_code_of_another_query_is_taken() -> None:
    pairs = training_pairs(part([("a", "x", 1), ("a", "w", 0), ("b", "y", 1)]), "labelled")
    assert (list(pairs.negatives), pairs.drawn) == (["w", "x"], 1)


def test_queries_near_those_of_a_training_are_left_out() -> None:
    test = part(
        [("python sort list", "x", 1), ("Sort a list in Python", "y", 1), ("open socket", "z", 1)], "test"
    )
    left, count = without_near(test, {"sort a list in python", "read the file"})
    assert (list(left.queries), count) == (["open socket"], 2)
    assert list(left.codes.ids) == ["x", "y", "z"]


# -- one step, and stops ------------------------------------------------------------------------------------


def test_loss_and_gradients_of_a_step_are_those_of_a_plain_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from transformers import AutoModel, AutoTokenizer

    model = tiny_models.bert(tmp_path / "bert")
    pairs = training_pairs(learnable({"train": 8})["train"])
    seen: list[Any] = []
    load = LocalEncoder.loaded.fget
    assert load is not None

    def without_dropout(encoder: LocalEncoder) -> Any:
        made = load(encoder)
        for module in made.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        return made

    forward, step = MultipleNegativesRankingLoss.forward, torch.optim.AdamW.step

    def noted(self: Any, *given: Any, **more: Any) -> Any:
        seen.append(forward(self, *given, **more))
        seen.append(dict(self.model.named_parameters()))
        return seen[0]

    def before_step(self: Any, *given: Any, **more: Any) -> Any:
        seen.append({name: one.grad.clone() for name, one in seen[1].items() if one.grad is not None})
        return step(self, *given, **more)

    monkeypatch.setattr(LocalEncoder, "loaded", property(without_dropout))
    monkeypatch.setattr(MultipleNegativesRankingLoss, "forward", noted)
    monkeypatch.setattr(torch.optim.AdamW, "step", before_step)
    trained(str(model), tmp_path, pairs, settings=TrainingSettings(epochs=1, batch=8))
    order = epochs_of_batches(pairs, 8, 1, 0)[0][0]

    tokenizer, plain = AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model)
    plain.eval()

    def vectors(texts: list[str]) -> torch.Tensor:
        given = tokenizer(texts, padding=True, return_tensors="pt")
        mask = given["attention_mask"].unsqueeze(-1).float()
        mean = (plain(**given).last_hidden_state * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(mean, dim=1)

    scores = (
        SCALE
        * vectors([pairs.pairs[at][0] for at in order])
        @ vectors([pairs.pairs[at][1] for at in order]).T
    )
    loss = torch.nn.functional.cross_entropy(scores, torch.arange(8))
    loss.backward()
    assert abs(float(seen[0].detach()) - float(loss.detach())) < 1e-5
    wanted = {name: one.grad for name, one in plain.named_parameters() if one.grad is not None}
    # Gradients longer than 1 are cut to that length before the step.
    cut = max(1.0, float(torch.sqrt(sum((one**2).sum() for one in wanted.values()))))
    found = {name.partition("model.")[2]: one for name, one in seen[2].items()}
    assert found.keys() == wanted.keys()
    for name, grad in wanted.items():
        assert torch.allclose(found[name], grad / cut, atol=1e-5), name


class Stop(Exception):
    pass


def test_stopped_at_every_checkpoint_it_comes_to_the_same_weights(tmp_path: Path) -> None:
    model, parts = tiny_models.bert(tmp_path / "bert"), learnable({"train": 60, "dev": 20})
    pairs, dev = training_pairs(parts["train"]), training_pairs(parts["dev"])
    whole = trained(str(model), tmp_path / "whole", pairs, dev)
    for stops in ([2, 4, 6, 8, 10, 12, 14, 16], [1, 1, 3, 17]):
        left = list(stops)
        folder = tmp_path / f"stopped {stops[0]}"

        def stop(progress: WorkProgress, left: list[int] = left) -> None:
            if left and progress.total and progress.done >= left[0]:
                left.pop(0)
                raise Stop

        for _ in stops:
            with pytest.raises(Stop):
                trained(str(model), folder, pairs, dev, report=stop)
            assert not (folder / "out").exists()
        assert trained(str(model), folder, pairs, dev, report=stop) == whole
        assert same(folder / "out", tmp_path / "whole" / "out")


def test_it_ends_once_the_loss_on_the_dev_part_falls_no_more(tmp_path: Path) -> None:
    model = tiny_models.bert(tmp_path / "bert")
    parts = learnable({"train": 60, "dev": 20, "test": 20}, shuffled=True)
    pairs, dev = training_pairs(parts["train"]), training_pairs(parts["test"])
    settings = replace(SMALL, epochs=30, rate=5e-3)
    found = trained(str(model), tmp_path, pairs, dev, settings)
    assert found.stopped_early
    assert found.steps[0] < found.steps[1] == 180
    assert found.best < found.steps[0]
    assert json.loads((tmp_path / "out" / CARD).read_text())["trained"]["best"] == found.best


# -- what it teaches ----------------------------------------------------------------------------------------

LAYOUTS = {
    "minilm": (tiny_models.bert, "", TrainingSettings(epochs=30, batch=30, rate=3e-3)),
    "unixcoder": (tiny_models.roberta, "unixcoder=", TrainingSettings(epochs=30, batch=30, rate=3e-3)),
    "codebert": (tiny_models.roberta, "codebert=", TrainingSettings(epochs=100, batch=30, rate=3e-3)),
    "codet5p": (tiny_models.codet5p, "codet5p=", TrainingSettings(epochs=30, batch=30, rate=1e-2)),
}


@pytest.mark.full
@pytest.mark.parametrize("layout", LAYOUTS)
def test_held_out_queries_find_their_codes_after_training(layout: str, tmp_path: Path) -> None:
    make, prefix, settings = LAYOUTS[layout]
    model = f"{prefix}{make(tmp_path / 'model')}"
    for seed in range(3):
        parts = learnable({"train": 90, "test": 30}, seed=seed)
        before = ndcg(model, parts["test"], tmp_path)
        trained(
            model, tmp_path / str(seed), training_pairs(parts["train"]), settings=replace(settings, seed=seed)
        )
        assert ndcg(str(tmp_path / str(seed) / "out"), parts["test"], tmp_path) > before + 0.2


@pytest.mark.full
def test_shuffled_labels_teach_nothing(tmp_path: Path) -> None:
    make, prefix, settings = LAYOUTS["minilm"]
    model, risen = f"{prefix}{make(tmp_path / 'model')}", []
    for seed in range(3):
        parts = learnable({"train": 90, "test": 30}, seed=seed, shuffled=True)
        before = ndcg(model, parts["test"], tmp_path)
        trained(
            model, tmp_path / str(seed), training_pairs(parts["train"]), settings=replace(settings, seed=seed)
        )
        risen.append(ndcg(str(tmp_path / str(seed) / "out"), parts["test"], tmp_path) - before)
    assert fmean(risen) < 0.2


# -- the work, and what is refused --------------------------------------------------------------------------


def request(folder: Path, model: Path | str, **changes: Any) -> FineTuningRequest:
    asked = FineTuningRequest(str(folder / "data"), "made", str(model), str(folder / "out"), settings=SMALL)
    return replace(asked, **changes)


def work_settings(folder: Path) -> WorkSettings:
    return WorkSettings(ModelSettings(), RetrievalSettings(vectors=folder / "vectors"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_beir(tmp_path / "data", learnable({"train": 30, "dev": 10, "test": 10}))


def test_a_trained_model_keeps_its_layout_and_says_what_it_learnt(tmp_path: Path, data: Path) -> None:
    model = tiny_models.codet5p(tmp_path / "model")
    asked = request(tmp_path, f"codet5p={model}")
    found = fine_tune(asked, work_settings(tmp_path), ignore_progress)
    assert (found.pairs, found.steps) == (30, (9, 9))
    card = json.loads((tmp_path / "out" / CARD).read_text())
    assert (card["base"], card["data"], card["dev"]) == (f"codet5p={model}", "made, part train", "dev")
    assert card["labels"] == read_training(data, "train", SMALL).train.digest
    assert card["versions"].keys() == {"sentence-transformers", "torch", "transformers"}
    assert "trained on 30 pairs of made, part train" in (tmp_path / "out" / "README.md").read_text()
    assert opened(str(tmp_path / "out")).encode(["a"], "query").vectors.shape == (1, 16)
    assert not asked.folder.exists()
    # The same again trains nothing; another one does not take its place.
    assert fine_tune(asked, work_settings(tmp_path), ignore_progress) == found
    with pytest.raises(WorkbenchError, match="is there, and is not the model of this training"):
        fine_tune(replace(asked, settings=replace(SMALL, seed=1)), work_settings(tmp_path), ignore_progress)


def test_prompts_are_trained_with_and_stay(tmp_path: Path, data: Path) -> None:
    model = tiny_models.roberta(tmp_path / "model")
    asked = request(tmp_path, f"unixcoder-encoder-only={model}")
    fine_tune(asked, work_settings(tmp_path), ignore_progress)
    assert opened(str(tmp_path / "out")).prompts == {"query": "<encoder-only>", "code": "<encoder-only>"}


def test_other_labels_do_not_go_on_with_a_training(tmp_path: Path, data: Path) -> None:
    model = tiny_models.bert(tmp_path / "model")

    def stop(progress: WorkProgress) -> None:
        if progress.done == 2:
            raise Stop

    with pytest.raises(Stop):
        fine_tune(request(tmp_path, model), work_settings(tmp_path), stop)
    qrels = data / "qrels" / "train.tsv"
    qrels.write_text(qrels.read_text().replace("train-q0\ttrain-c0\t1\n", ""))
    with pytest.raises(WorkbenchError, match="other labels, settings or models"):
        fine_tune(request(tmp_path, model), work_settings(tmp_path), ignore_progress)


def test_a_training_without_a_checkpoint_begins_anew(tmp_path: Path, data: Path) -> None:
    model = tiny_models.bert(tmp_path / "model")
    with pytest.raises(WorkbenchError, match="lack the layer"):
        fine_tune(request(tmp_path, f"codet5p={model}"), work_settings(tmp_path), ignore_progress)
    assert fine_tune(request(tmp_path, model), work_settings(tmp_path), ignore_progress).steps == (9, 9)


def test_texts_that_are_too_long_are_counted(tmp_path: Path) -> None:
    model = tiny_models.bert(tmp_path / "model", length=16)
    rows = [(f"q {at}", "x " * (at % 2 * 40 + 2) + str(at), 1.0) for at in range(10)]
    assert trained(str(model), tmp_path, training_pairs(part(rows))).truncated == (5, 20)


def test_a_full_disk_is_said_and_training_goes_on_later(tmp_path: Path, data: Path) -> None:
    model = tiny_models.bert(tmp_path / "model")
    whole = request(tmp_path, model, output=str(tmp_path / "whole"))
    fine_tune(whole, work_settings(tmp_path), ignore_progress)
    with largest_file(50_000), pytest.raises(WorkbenchError, match="cannot be written") as refused:
        fine_tune(request(tmp_path, model), work_settings(tmp_path), ignore_progress)
    assert "goes on from the last checkpoint" in refused.value.hint
    assert not (tmp_path / "out").exists()
    fine_tune(request(tmp_path, model), work_settings(tmp_path), ignore_progress)
    assert same(tmp_path / "out", tmp_path / "whole")


def test_without_room_it_does_not_begin(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = shutil.disk_usage(tmp_path)._replace(free=1_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(WorkbenchError, match="Checkpoints of this model take up to"):
        fine_tune(
            request(tmp_path, tiny_models.bert(tmp_path / "model")), work_settings(tmp_path), ignore_progress
        )


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path, data: Path) -> None:
    asked = request(tmp_path, tiny_models.bert(tmp_path / "model"))
    (tmp_path / "out").mkdir()

    def meanwhile(progress: WorkProgress) -> None:
        if progress.done == 4:
            with pytest.raises(WorkbenchError, match="Another process trains in"):
                fine_tune(asked, work_settings(tmp_path), ignore_progress)

    # An empty folder is taken.
    assert fine_tune(asked, work_settings(tmp_path), meanwhile).steps == (9, 9)


def test_a_training_that_diverges_leaves_no_model(tmp_path: Path, data: Path) -> None:
    asked = request(tmp_path, tiny_models.bert(tmp_path / "model"), settings=replace(SMALL, rate=1e30))
    with pytest.raises(WorkbenchError, match="The loss has no value any more"):
        fine_tune(asked, work_settings(tmp_path), ignore_progress)
    assert not (tmp_path / "out").exists()


def test_a_service_is_not_trained(tmp_path: Path, data: Path) -> None:
    with pytest.raises(WorkbenchError, match="runs at a service"):
        fine_tune(request(tmp_path, "openai:any"), work_settings(tmp_path), ignore_progress)


def test_a_part_without_a_match_is_refused(tmp_path: Path, data: Path) -> None:
    qrels = data / "qrels" / "train.tsv"
    qrels.write_text(qrels.read_text().replace("\t1\n", "\t0\n"))
    with pytest.raises(WorkbenchError, match="No pair of the part train is labelled a match"):
        read_training(data, "train", SMALL)


def test_a_part_with_queries_of_the_test_is_refused(tmp_path: Path, data: Path) -> None:
    with pytest.raises(WorkbenchError, match="cannot be tested by it"):
        read_training(data, "test", SMALL)
    queries = data / "queries.jsonl"
    lines = [json.loads(line) for line in queries.read_text().splitlines()]
    shared = next(one for one in lines if one["_id"] == "train-q3")["text"].upper() + "?"
    next(one for one in lines if one["_id"] == "test-q1")["text"] = shared
    queries.write_text("".join(json.dumps(one) + "\n" for one in lines))
    with pytest.raises(WorkbenchError, match="The part test has queries of the part train"):
        read_training(data, "train", SMALL)


def test_pairs_of_one_query_have_no_negatives(tmp_path: Path) -> None:
    pairs = training_pairs(part([("a", "x", 1), ("a", "y", 1)]))
    with pytest.raises(WorkbenchError, match="All pairs are of one query"):
        epochs_of_batches(pairs, 4, 1, 0)
