"""Fine-tuning as a work: stopped or killed, it goes on from its last checkpoint."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.jobs.limits import held
from agents.jobs.work import WorkPart, WorkSettings, aside
from agents.retrieval.encoders import API_PREFIX, LocalEncoder, open_encoders
from agents.retrieval.evaluation import Benchmark, read_beir
from agents.training.pairs import LEVEL, TrainingPairs, training_pairs
from agents.training.training import CARD, WHOLE, Trained, TrainingSettings, require_trainer, train
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.splits.similar_texts import normalized

if TYPE_CHECKING:
    from agents.jobs.control import Control
    from agents.jobs.work_progress import ReportWork

KIND = "fine-tuning"
DEV = ("dev", "validation", "valid", "val")
"""The names of parts by which training ends early."""
TEST = "test"
REQUEST = "request.json"
"""The file beside the checkpoints that says of which training they are."""


@dataclass(frozen=True, slots=True)
class FineTuningRequest:
    """The request of a fine-tuning.

    Attributes:
        data: The BEIR folder with the pairs.
        source: What the pairs are of, for people: a file, and its split.
        model: The base model, as `--models` names it.
        output: The folder of the trained model.
        part: The part that it is trained on.
        settings: How it is trained.
        titles: Whether titles of codes are read, too.
    """

    data: str
    source: str
    model: str
    output: str
    part: str = "train"
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    titles: bool = True

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> FineTuningRequest:
        """Return the request of a description, which is its fields as JSON."""
        return cls(**{**description, "settings": TrainingSettings(**description["settings"])})

    @property
    def folder(self) -> Path:
        """Where checkpoints are until the model is whole."""
        return checkpoints_of(Path(self.output))


def checkpoints_of(output: Path) -> Path:
    """Return the folder of a model's checkpoints, beside it."""
    return output.with_name(f"{output.name}.training")


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The pairs of a training.

    Attributes:
        dev: Those by which it ends early; None where no part has any.
    """

    train: TrainingPairs
    dev: TrainingPairs | None
    dev_part: str

    @property
    def digest(self) -> str:
        """A digest of all texts and labels."""
        return "+".join(one.digest for one in (self.train, self.dev) if one is not None)


def read_training(
    folder: Path, part: str, settings: TrainingSettings, *, titles: bool = True
) -> TrainingData:
    """Read the pairs of a BEIR folder.

    Raises:
        ImportFailed: The folder cannot be read, or has no such part.
        WorkbenchError: The part has no match, or queries that its test part has, too.
    """
    parts = {path.stem for path in (folder / "qrels").glob("*.tsv")}
    if part == TEST and len(parts) > 1:
        raise WorkbenchError(
            "Queries of the test",
            "What is trained on the part test cannot be tested by it.",
            "Name another part: --part train",
        )
    of = read_beir(folder, part=part, titles=titles)
    if TEST in parts and part != TEST:
        _refuse_shared(of, read_beir(folder, part=TEST, titles=titles))
    dev_part = next((name for name in DEV if name in parts and name != part), "")
    if not dev_part:
        return TrainingData(training_pairs(of, settings.negatives, settings.seed), None, "")
    aside_of = read_beir(folder, part=dev_part, titles=titles)
    pairs = training_pairs(of, settings.negatives, settings.seed, [aside_of])
    if not any(grade >= LEVEL for grades in aside_of.qrels.values() for grade in grades.values()):
        return TrainingData(pairs, None, "")
    return TrainingData(pairs, training_pairs(aside_of, others=[of]), dev_part)


def _refuse_shared(part: Benchmark, test: Benchmark) -> None:
    tested = {normalized(query): query for query in test.queries.values()}
    shared = [query for query in part.queries.values() if normalized(query) in tested]
    if shared:
        raise WorkbenchError(
            "Queries of the test",
            f"The part test has queries of the part {part.part} ({len(shared):,}), such as {shared[0]!r}.",
            "Split so that no two parts share a query: workbench split WORKSPACE NAME",
        )


@dataclass(slots=True)
class FineTuned:
    """The result of a fine-tuning; None until the model is saved."""

    trained: Trained | None = None


@dataclass(frozen=True, slots=True)
class FineTuning:
    """The training of an encoder (`agents.jobs.work.Work`); its result is a `FineTuned`."""

    request: FineTuningRequest
    settings: WorkSettings

    @property
    def kind(self) -> str:
        """The name of its part."""
        return KIND

    @property
    def name(self) -> str:
        """Its name in lists: that of the trained model."""
        return f"training {Path(self.request.output).name}"

    def description(self) -> Mapping[str, Any]:
        """Return the request."""
        return asdict(self.request)

    async def run(self, control: Control) -> str:
        """Train, or go on.

        Raises:
            Halted: It was stopped; its checkpoints are kept.
            WorkbenchError: The data or the model cannot be used, or the model not be saved.
        """
        control.result = result = FineTuned()
        async with held(control.limits.gpu, control.gate):
            result.trained = found = await aside(control, partial(fine_tune, self.request, self.settings))
        return f"{Path(self.request.output).name}: {sentence(found)}"


def sentence(found: Trained) -> str:
    """Return what came of a training."""
    loss = "" if found.loss is None else f", loss {found.loss:.3f}"
    dev = "" if found.dev_loss is None else f", {found.dev_loss:.3f} on the dev part"
    early = ", ended early" if found.stopped_early else ""
    return f"{pluralize(found.pairs, 'pair')}, {found.steps[0]:,} steps{early}{loss}{dev}"


def fine_tune(request: FineTuningRequest, settings: WorkSettings, report: ReportWork) -> Trained:
    """Train a model, go on with it, or return what came of the same training before.

    Raises:
        WorkbenchError: The data or the model cannot be used, another model or training is in its place, or
            the model cannot be saved.
    """
    require_trainer()
    output = Path(request.output)
    data = read_training(Path(request.data), request.part, request.settings, titles=request.titles)
    encoder = base_encoder(request.model, settings.retrieval.batch_size)
    same = {
        "base": request.model,
        "data": f"{request.source}, part {request.part}",
        "labels": data.train.digest,
        "dev": data.dev_part or None,
        "queries": len(data.train.queries),
        "digest": data.digest,
        "settings": asdict(request.settings),
        "files": dict(encoder.identity("code")),
    }
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        before = _trained_before(output, same)
        shutil.rmtree(request.folder, ignore_errors=True)
        return before
    _begin(request.folder, same)
    with _alone(request.folder):
        found = train(
            encoder,
            data.train,
            data.dev,
            request.settings,
            folder=request.folder,
            output=output,
            card=same,
            report=report,
        )
    shutil.rmtree(request.folder, ignore_errors=True)
    return found


def base_encoder(model: str, batch_size: int = 32) -> LocalEncoder:
    """Return the encoder of a base model, which is loaded when it is used.

    Raises:
        UnknownName: There is no such model.
        WorkbenchError: It runs at a service.
    """
    if model.startswith(API_PREFIX):
        raise WorkbenchError(
            "Not trained here",
            f"{model} runs at a service.",
            "Name a model on this machine, such as minilm, or LAYOUT=FOLDER.",
        )
    (encoder,) = open_encoders([model], batch_size=batch_size)
    assert isinstance(encoder, LocalEncoder)
    return encoder


def _trained_before(output: Path, same: Mapping[str, Any]) -> Trained:
    """Return what came of the same training.

    Raises:
        WorkbenchError: Something else is in the folder.
    """
    try:
        card = json.loads((output / CARD).read_text(encoding="utf-8"))
        if all(card.get(name) == value for name, value in same.items()):
            fields = card["trained"]
            return Trained(
                **{**fields, "truncated": tuple(fields["truncated"]), "steps": tuple(fields["steps"])}
            )
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise WorkbenchError(
        "Folder taken",
        f"{output} is there, and is not the model of this training.",
        "Name another folder: --output DIR",
    )


def _begin(folder: Path, same: Mapping[str, Any]) -> None:
    """Make the folder of the checkpoints, or find it as the same training left it.

    Raises:
        WorkbenchError: It is of another training, or cannot be made.
    """
    written = json.dumps(same, indent=2, sort_keys=True, ensure_ascii=False)
    path = folder / REQUEST
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_other = path.is_file() and path.read_text(encoding="utf-8") != written
        if is_other and any(folder.glob(f"checkpoint-*/{WHOLE}")):
            raise WorkbenchError(
                "Another training",
                f"{folder} has checkpoints of a training with other labels, settings or models.",
                f"To start over, delete it: rm -r {folder}; or name another --output.",
            )
        if is_other or not path.is_file():
            made = path.with_suffix(".part")
            made.write_text(written, encoding="utf-8")
            made.replace(path)
    except OSError as error:
        raise WorkbenchError(
            "Model not saved", f"{folder}: {error.strerror}.", "Name another folder: --output DIR"
        ) from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder of the checkpoints, which goes free where the process ends in any way.

    Raises:
        WorkbenchError: Another process trains there.
    """
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise WorkbenchError(
                "Trained already",
                f"Another process trains in {folder}.",
                "Wait for it, or name another folder: --output DIR",
            ) from error
        yield


def _open(description: Mapping[str, Any], settings: WorkSettings) -> FineTuning:
    return FineTuning(FineTuningRequest.of(description), settings)


PART = WorkPart(
    KIND,
    "training of an encoder",
    "Trains an encoder on the labelled pairs of a split (CoSQA+, RQ1).",
    _open,
    asks=True,
)
