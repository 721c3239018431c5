"""Contrastive training of an encoder by sentence-transformers' trainer (CoSQA+, section IV.A, RQ1).

Checkpoints lie in a folder of their own until the model is whole; only then it gets its name. Begun again,
training goes on from the last whole checkpoint, on a processor to the same weights.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.jobs.work_progress import ReportWork, WorkProgress
from agents.training.pairs import Negatives, TrainingPairs, epochs_of_batches
from store.errors import WorkbenchError
from store.formatting import pluralize

if TYPE_CHECKING:
    from agents.retrieval.encoder import Role
    from agents.retrieval.encoders import LocalEncoder

CARD = "training.json"
"""The file of a trained model that says what it was trained on."""
WHOLE = "whole"
"""The file that a checkpoint gets once all of it is written."""
SCALE = 20.0
"""The factor of cosines in the loss, as sentence-transformers has it."""
CHECKS = 4
"""Checkpoints of an epoch, each with the loss on the dev part."""
PATIENCE = 4
"""Checkpoints without a lower loss on the dev part before training ends."""
MOST_DEV = 2_000
"""Pairs of the dev part that are looked at."""
WARM = 0.1
"""The share of steps in which the rate rises; it falls to 0 in the others."""
_COPIES = 12
"""Disk space for three checkpoints with the state of the optimizer, and the model; in sizes of the model."""
_PACKAGES = ("sentence-transformers", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """The settings of a training; the paper names none of them.

    Attributes:
        epochs: Times that each pair is seen at most.
        batch: Pairs of a batch.
        rate: The highest learning rate.
        seed: Draws the batches, and the weights that are dropped.
        negatives: Whether labelled non-matches are negatives, too.
    """

    epochs: int = 3
    batch: int = 32
    rate: float = 2e-5
    seed: int = 0
    negatives: Negatives = "in-batch"


@dataclass(frozen=True, slots=True)
class Trained:
    """The result of a training.

    Attributes:
        pairs: Pairs that it was trained on.
        unused: Pairs that were in no batch of the first epoch.
        drawn: Pairs without a labelled non-match, which have a code of another query in its place.
        truncated: Texts that are longer than the model reads, of how many.
        steps: Steps until the end, of how many.
        stopped_early: Whether it ended since the loss on the dev part fell no more.
        loss: The mean loss of the last steps.
        dev_loss: The lowest loss on the dev part; None without one.
        best: The step whose weights these are.
    """

    pairs: int
    unused: int
    drawn: int
    truncated: tuple[int, int]
    steps: tuple[int, int]
    stopped_early: bool
    loss: float | None
    dev_loss: float | None
    best: int


def require_trainer() -> None:
    """Refuse where the packages that train are not installed.

    Raises:
        WorkbenchError: They are not.
    """
    if any(find_spec(name) is None for name in ("sentence_transformers", "torch", "accelerate", "datasets")):
        raise WorkbenchError(
            "Models are not installed",
            "Training needs the extra `models` (sentence-transformers, torch, accelerate and datasets).",
            "Install it: pip install 'workbench[models]'",
        )


def train(
    encoder: LocalEncoder,
    pairs: TrainingPairs,
    dev: TrainingPairs | None,
    settings: TrainingSettings,
    *,
    folder: Path,
    output: Path,
    card: Mapping[str, Any],
    report: ReportWork,
) -> Trained:
    """Train an encoder, and save it with its card.

    Args:
        encoder: The encoder, whose model is changed.
        pairs: What it is trained on.
        dev: The pairs by which it ends early; None for none.
        settings: The settings.
        folder: Where checkpoints are kept until the end.
        output: The folder of the model, which is not there yet.
        card: What is said of the data.
        report: Receives the progress; an exception from it ends training, to go on from the last checkpoint.

    Raises:
        WorkbenchError: There are no negatives, or no room on the disk; or the weights are no numbers.
    """
    require_trainer()
    import torch
    from datasets import Dataset, disable_progress_bars
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.base.sampler import DefaultBatchSampler
    from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from transformers import EarlyStoppingCallback, TrainerCallback
    from transformers.trainer_callback import PrinterCallback

    report(WorkProgress("loading the model", 0, 0))
    disable_progress_bars()
    model, prompts = encoder.loaded, encoder.prompts
    texts = {"anchor": [query for query, _ in pairs.pairs], "positive": [code for _, code in pairs.pairs]}
    if pairs.negatives:
        texts["negative"] = [*pairs.negatives]
    truncated = _truncated(encoder, texts)
    epochs = epochs_of_batches(pairs, settings.batch, settings.epochs, settings.seed)
    steps = len(epochs[0])
    each = max(1, math.ceil(steps / CHECKS))
    _check_room(folder, model)

    class Batches(DefaultBatchSampler):
        """The batches of each epoch, as they were drawn."""

        def __iter__(self) -> Iterator[list[int]]:
            yield from epochs[self.epoch % len(epochs)]

        def __len__(self) -> int:
            return steps

    class Trainer(SentenceTransformerTrainer):
        def get_batch_sampler(
            self, dataset: Any, batch_size: int, drop_last: bool, *_: Any, **__: Any
        ) -> Any:
            return Batches(range(len(dataset)), batch_size=batch_size, drop_last=drop_last)

        def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
            """Leave out the library's own card, which has examples of the data in it."""

        def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
            self.model.save_pretrained(str(output_dir), create_model_card=False)

    class OnDev(SentenceEvaluator):
        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]

        def __call__(self, *_: Any, **__: Any) -> dict[str, float]:
            assert dev is not None
            was_training = model.training
            model.eval()
            loss = loss_on(encoder, dev)
            model.train(was_training)
            if not math.isfinite(loss):
                raise _diverged(settings, folder)
            return {"eval_loss": loss}

    class Reporting(TrainerCallback):
        """Reports each step with the last loss, and marks whole checkpoints."""

        loss: float | None = None

        def on_step_begin(self, *given: Any, **_: Any) -> None:
            state = given[1]
            stage = f"epoch {min(int(state.global_step // steps) + 1, settings.epochs)} of {settings.epochs}"
            stage += "" if self.loss is None else f" · loss {self.loss:.3f}"
            report(WorkProgress(stage, state.global_step, steps * settings.epochs))

        def on_log(self, *given: Any, **more: Any) -> None:
            self.loss = more.get("logs", {}).get("loss", self.loss)

        def on_save(self, *given: Any, **_: Any) -> None:
            (folder / f"checkpoint-{given[1].global_step}" / WHOLE).touch()

    cuda = torch.cuda.is_available()
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch,
        learning_rate=settings.rate,
        warmup_steps=math.ceil(WARM * steps * settings.epochs),
        seed=settings.seed,
        data_seed=settings.seed,
        use_cpu=not cuda,
        bf16=cuda and torch.cuda.is_bf16_supported(),
        prompts={name: prompts["query" if name == "anchor" else "code"] for name in texts},
        eval_strategy="no" if dev is None else "steps",
        eval_steps=each,
        save_strategy="steps",
        save_steps=each,
        save_total_limit=2,
        load_best_model_at_end=dev is not None,
        metric_for_best_model=None if dev is None else "eval_loss",
        greater_is_better=None if dev is None else False,
        logging_steps=max(1, each // 10),
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=cuda,
    )
    reporting = Reporting()
    callbacks: list[Any] = [reporting]
    if dev is not None:
        callbacks.append(EarlyStoppingCallback(early_stopping_patience=PATIENCE))
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict(texts),
        loss=MultipleNegativesRankingLoss(model, scale=SCALE),
        evaluator=None if dev is None else OnDev(),
        callbacks=callbacks,
    )
    trainer.remove_callback(PrinterCallback)
    with _saving(folder):
        trainer.train(resume_from_checkpoint=_last_checkpoint(folder))
        report(WorkProgress("saving the model", 0, 0))
        if not all(bool(torch.isfinite(one).all()) for one in model.parameters()):
            raise _diverged(settings, folder)
        state = trainer.state
        found = Trained(
            len(pairs.pairs),
            len(pairs.pairs) - sum(map(len, epochs[0])),
            pairs.drawn,
            truncated,
            (state.global_step, steps * settings.epochs),
            state.global_step < steps * settings.epochs,
            reporting.loss,
            state.best_metric,
            _step_of(state.best_model_checkpoint) or state.global_step,
        )
        _save(model, prompts, found, settings, folder=folder, output=output, card=card)
    return found


def loss_on(encoder: LocalEncoder, dev: TrainingPairs) -> float:
    """Return the loss on the dev part: of each pair among the codes that do not match its query."""
    import numpy

    pairs = dev.pairs[:MOST_DEV]
    places = {code: place for place, code in enumerate(dict.fromkeys(code for _, code in pairs))}
    queries = encoder.encode([query for query, _ in pairs], "query").vectors
    codes = encoder.encode(list(places), "code").vectors
    scores = SCALE * (queries @ codes.T).astype(numpy.float64)
    losses = []
    if not numpy.isfinite(scores).all():
        return math.nan
    for row, (query, code) in zip(scores, pairs, strict=True):
        row[[places[one] for one in dev.matches[query] if one in places and one != code]] = -numpy.inf
        losses.append(numpy.logaddexp.reduce(row) - row[places[code]])
    return float(numpy.mean(losses))


def _diverged(settings: TrainingSettings, folder: Path) -> WorkbenchError:
    return WorkbenchError(
        "Training diverged",
        f"The loss has no value any more at the rate {settings.rate:g}.",
        f"Give a lower one: --rate 2e-5. To start over, delete {folder}.",
    )


def _truncated(encoder: LocalEncoder, texts: Mapping[str, Sequence[str]]) -> tuple[int, int]:
    queries = [*dict.fromkeys(texts["anchor"])]
    codes = [*dict.fromkeys([*texts["positive"], *texts.get("negative", ())])]
    long = int(encoder.too_long(queries, "query").sum()) + int(encoder.too_long(codes, "code").sum())
    return long, len(queries) + len(codes)


def _step_of(checkpoint: str | None) -> int:
    return int(checkpoint.rpartition("-")[2]) if checkpoint else 0


def _last_checkpoint(folder: Path) -> str | None:
    """Return the last whole checkpoint, and remove those that are not whole."""
    whole = []
    for one in folder.glob("checkpoint-*"):
        if (one / WHOLE).is_file():
            whole.append(one)
        else:
            shutil.rmtree(one)
    return str(max(whole, key=lambda one: _step_of(one.name))) if whole else None


def _check_room(folder: Path, model: Any) -> None:
    """Refuse to begin where the checkpoints have no room.

    Raises:
        WorkbenchError: There is none.
    """
    needed = _COPIES * sum(one.numel() * one.element_size() for one in model.parameters())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise WorkbenchError(
            "No room on the disk",
            f"Checkpoints of this model take up to {needed / 1e9:.1f} GB, of {free / 1e9:.1f} that are free.",
            "Make room, or name a folder elsewhere: --output DIR",
        )


@contextmanager
def _saving(folder: Path) -> Iterator[None]:
    """Make what goes wrong while checkpoints are written an error to read.

    Raises:
        WorkbenchError: They cannot be written.
    """
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, SafetensorError, RuntimeError) as error:
        # PyTorch's writer has no error of its own.
        if isinstance(error, RuntimeError) and "write" not in str(error):
            raise
        why = (str(error) or type(error).__name__).splitlines()[0]
        raise WorkbenchError(
            "Model not saved",
            f"{folder} cannot be written: {why}",
            "Make room there, then give the same command: it goes on from the last checkpoint.",
        ) from error


def _save(
    model: Any,
    prompts: Mapping[Role, str],
    found: Trained,
    settings: TrainingSettings,
    *,
    folder: Path,
    output: Path,
    card: Mapping[str, Any],
) -> None:
    """Write the model beside its checkpoints, and then give it its name."""
    made = folder / "model"
    shutil.rmtree(made, ignore_errors=True)
    if any(prompts.values()):
        model.prompts = {"query": prompts["query"], "document": prompts["code"]}
    model.save(str(made), create_model_card=False)
    facts = {
        **card,
        "settings": asdict(settings),
        "trained": asdict(found),
        "versions": {name: version(name) for name in _PACKAGES},
    }
    (made / CARD).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (made / "README.md").write_text(_card_text(output.name, facts, found), encoding="utf-8")
    os.replace(made, output)


def _card_text(name: str, facts: Mapping[str, Any], found: Trained) -> str:
    """Return the card of a model as people read it."""
    settings = facts["settings"]
    versions = ", ".join(f"{package} {number}" for package, number in facts["versions"].items())
    loss = "" if found.dev_loss is None else f", loss on the dev part {found.dev_loss:.4f}"
    return (
        f"# {name}\n\n"
        f"An encoder for code search: {facts['base']}, trained on {pluralize(found.pairs, 'pair')} of "
        f"{facts['data']}.\n\n"
        f"- Labels: {facts['labels']} (a digest of texts and labels)\n"
        f"- Negatives: {settings['negatives']}; batches of {settings['batch']}, rate {settings['rate']:g}, "
        f"seed {settings['seed']}\n"
        f"- Steps: {found.steps[0]:,} of {found.steps[1]:,}; these weights are of step {found.best:,}{loss}\n"
        f"- {versions}\n\n"
        f"Use it by its folder, wherever a model is named: `--models {name}`.\n"
    )
