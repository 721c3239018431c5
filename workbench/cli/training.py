"""`workbench finetune` and `evaluate training`: encoders trained on labelled pairs, and their worth."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import WorkbenchError
from store.policy.scope import Shows
from workbench.cli.evaluating import evaluate_commands, export_benchmark
from workbench.cli.options import Answer, ConfigFile, command, in_shell, names_in, session, settings
from workbench.cli.ranking import Resamples
from workbench.cli.searching import adding_to, carried_out, workspace_for_a_while

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_WORKSPACE = b"DUCK"
"""The signature of a DuckDB file, its bytes 9 to 12."""
RATIOS = "8:1:1"
"""The split of files: as in the paper."""


class NegativesName(StrEnum):
    """The negatives of a query."""

    in_batch = "in-batch"
    labelled = "labelled"


Epochs = Annotated[
    int, typer.Option("--epochs", min=1, max=1000, metavar="N", help="Times that each pair is seen at most.")
]
Batch = Annotated[int, typer.Option("--batch", min=2, max=4096, metavar="N", help="Pairs of a batch.")]
Rate = Annotated[
    float, typer.Option("--rate", min=1e-9, max=1.0, metavar="R", help="The highest learning rate.")
]
NegativesOption = Annotated[
    NegativesName,
    typer.Option("--negatives", help="The other codes of a batch alone, or labelled non-matches, too."),
]
Part = Annotated[str, typer.Option("--part", metavar="NAME", help="The part that is trained on.")]


@command
def finetune_command(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="WS|FILE...",
            help="A workspace with a split, a BEIR folder, or files of labelled pairs.",
            show_default=False,
        ),
    ],
    *,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="M",
            help="The base model: minilm, a folder, or LAYOUT=FOLDER, as for `candidates --models`.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", metavar="DIR", help="The folder of the trained model.", show_default=False),
    ],
    split: Annotated[
        str | None,
        # Of files it named the shares of the parts, and still does.
        typer.Option("--split", metavar="NAME", help="The split of a workspace."),
    ] = None,
    ratios: Annotated[
        str | None,
        typer.Option("--ratios", metavar="R", help="Of files: shares of train, dev and test, 8:1:1."),
    ] = None,
    part: Part = "train",
    epochs: Epochs = 3,
    batch: Batch = 32,
    rate: Rate = 2e-5,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="S", help="The seed.")] = 0,
    negatives: NegativesOption = NegativesName.in_batch,
    config: ConfigFile = None,
) -> Answer:
    """Train an encoder on labelled pairs: `workbench finetune WS --split v1 --model minilm --output DIR`.

    A part called dev ends the training once its loss falls no more. Stopped or killed, it goes on when the
    same command is given again. The output is a model for every --models.
    """
    from agents.training.training import TrainingSettings, require_trainer
    from agents.training.work import FineTuning, FineTuningRequest, checkpoints_of, sentence
    from store.json_fields import json_fields
    from workbench.job_settings import work_settings

    require_trainer()
    loaded = settings(config)
    if len(sources) == 1 and split is None:
        path, split = _at_split(str(sources[0]))
        sources = [path]
    if ratios is not None:
        if split is not None or sources[0].is_dir() or _is_workspace(sources[0]):
            raise WorkbenchError(
                "Parts and ratios",
                f"{sources[0]} has its parts, or --split names them; --ratios is for files.",
                "Leave --ratios out.",
            )
        split = ratios
    place = output.expanduser().absolute()
    asked = TrainingSettings(epochs, batch, rate, seed, negatives.value)
    with ExitStack() as stack:
        # Kept beside the checkpoints, so that the Jobs screen can go on with it.
        folder, name, titles = _benchmark(sources, split, config, checkpoints_of(place) / "data")
        request = FineTuningRequest(str(folder), name, model, str(place), part, asked, titles)
        work = FineTuning(request, work_settings(loaded))
        if _is_workspace(sources[0]):
            opened = stack.enter_context(session(sources[0], loaded, Shows.OTHERS, "A training uses"))
        else:
            opened = stack.enter_context(workspace_for_a_while())
        result, code, notes = carried_out(opened, work, "training")
    found = result.trained
    if found is None:
        stopped = "Stopped. The same command goes on from the last checkpoint."
        return Answer({"output": place, "trained": None}, code=code, notes=[stopped])
    left = [f"{found.unused:,} pairs were in no batch"] if found.unused else []
    left += (
        [f"{found.drawn:,} pairs have no labelled non-match, and a code of another query"]
        if found.drawn
        else []
    )
    long, of = found.truncated
    left += (
        [f"{long:,} of {of:,} texts are longer than the model reads: their beginning counts"] if long else []
    )
    return Answer(
        {"output": place, **json_fields(found)},
        f"{place}: {sentence(found)}.",
        *(f"  {line}" for line in left),
        f"Use it where a model is named: {in_shell('evaluate', 'retrieval', 'WS', '--methods', place)}",
        code=code,
        notes=notes,
    )


@evaluate_commands.command("training", short_help="Measure what a corpus is worth to train on.")
@command
def evaluate_training(
    *,
    models: Annotated[
        str,
        typer.Option(
            "--models", metavar="M,...", help="The base models, as for `finetune`.", show_default=False
        ),
    ],
    train: Annotated[
        str,
        typer.Option(
            "--train",
            metavar="A,B",
            help="What they are trained on, each by itself: WS@SPLIT, a BEIR folder, or a file.",
            show_default=False,
        ),
    ],
    test: Annotated[
        str,
        typer.Option(
            "--test",
            metavar="C",
            help="What they are tested on: WS@SPLIT, a BEIR folder, or annotations of CodeSearchNet.",
            show_default=False,
        ),
    ],
    codes: Annotated[
        list[Path] | None,
        typer.Option(
            "--codes", metavar="FILE", help="CodeSearchNet's codes of these annotations; repeatable."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=100, metavar="N", help="Trainings of each, by other seeds.")
    ] = 3,
    part: Part = "train",
    epochs: Epochs = 3,
    batch: Batch = 32,
    rate: Rate = 2e-5,
    negatives: NegativesOption = NegativesName.in_batch,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Keep the trained models in this folder.")
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into", metavar="WORKSPACE", help="Keep the figures in a workspace, for `report WS training`."
        ),
    ] = None,
    bootstrap: Resamples = 1000,
    config: ConfigFile = None,
) -> Answer:
    """Train models on corpora, and test them on another: `evaluate training --train A,B --test C --models M`.

    Each model is tested as it is, and trained on each corpus with each seed. Queries of the test that are
    near-duplicates of queries of a training are left out, and counted.
    """
    from agents.training.csn99 import is_annotations
    from agents.training.evaluation import Corpus, TrainingEvaluation, TrainingEvaluationRequest
    from agents.training.training import TrainingSettings, require_trainer
    from store.reports.options import Options
    from store.reports.training import training_fields, training_report, trainings
    from workbench.job_settings import work_settings
    from workbench.output import print_report

    require_trainer()
    loaded, names = settings(config), names_in(train)
    if not names or not names_in(models):
        raise WorkbenchError(
            "Nothing to train", "Neither --models nor --train can be empty.", "Name some: --train A,B"
        )
    asked = TrainingSettings(epochs, batch, rate, 0, negatives.value)
    with ExitStack() as stack:
        kept = "" if output is None else str(output.expanduser().absolute())
        apart = Path(kept or stack.enter_context(tempfile.TemporaryDirectory(prefix="workbench-pairs-")))

        def corpus(given: str) -> Corpus:
            path, split = _at_split(given)
            folder = apart / "corpora" / f"{path.stem}@{split}"
            made, called, titles = _benchmark([path], split, config, folder)
            return Corpus(called, str(made), titles)

        corpora = [corpus(one) for one in names]
        called = [one.name for one in corpora]
        if twice := next((one for one in called if called.count(one) > 1), ""):
            raise WorkbenchError("One name twice", f"Two corpora are called {twice}.", "Name each once.")
        path, _ = _at_split(test)
        if path.is_file() and is_annotations(path):
            if not codes:
                raise WorkbenchError(
                    "No code",
                    f"{path} has addresses of codes, and no codes.",
                    "Name CodeSearchNet's files of Python: --codes FILE.jsonl.gz",
                )
            of = tuple(str(one.absolute()) for one in codes)
            tested = Corpus(path.stem, str(path.absolute()), False, of)
        elif codes:
            raise WorkbenchError(
                "Codes of no annotations",
                f"{test} has codes of its own; --codes is for annotations of CodeSearchNet.",
                "Leave --codes out.",
            )
        else:
            tested = corpus(test)
        request = TrainingEvaluationRequest(
            tuple(names_in(models)), tuple(corpora), tested, seeds, asked, part, kept
        )
        work = TrainingEvaluation(request, work_settings(loaded))
        opened = stack.enter_context(workspace_for_a_while() if into is None else adding_to(into, loaded))
        found, code, notes = carried_out(opened, work, "training", lambda found: bool(found.rows))
    if not found.rows:
        return Answer({"scores": []}, code=code, notes=notes)
    options = Options(bootstrap=bootstrap)
    done = trainings(asdict(found), options.resampling)
    return Answer(
        training_fields(done, options),
        partial(print_report, "What the corpora are worth", training_report(done, options)),
        code=code,
        notes=notes,
    )


def _is_workspace(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(12)[8:] == _WORKSPACE
    except OSError:
        return False


def _at_split(given: str) -> tuple[Path, str | None]:
    """Return the path and the split of WS@SPLIT; a path that has an @ of its own is one."""
    path, at, split = given.rpartition("@")
    return (Path(path), split) if at and not Path(given).exists() else (Path(given), None)


def _benchmark(
    sources: Sequence[Path], split: str | None, config: Path | None, made: Path
) -> tuple[Path, str, bool]:
    """Return the BEIR folder of a source, its name, and whether titles of codes are read.

    What is in a workspace or in files is written into the folder `made`, in place of what is there.

    Raises:
        WorkbenchError: A split is missing or too much, or there are no labels.
    """
    first = sources[0]
    if len(sources) > 1 and any(one.is_dir() or _is_workspace(one) for one in sources):
        raise WorkbenchError(
            "Several sources",
            "A workspace or a folder is trained on by itself; only files are read together.",
            "Name one of them, or files alone.",
        )
    if first.is_dir():
        if split is not None:
            raise WorkbenchError(
                "Parts of a folder",
                f"{first} is a BEIR folder, whose parts are in it.",
                "Leave the split out; --part names the part that is trained on.",
            )
        return first.absolute(), first.absolute().name, True
    if _is_workspace(first):
        if split is None:
            raise WorkbenchError(
                "No split",
                f"{first} needs a split: which of its pairs are trained on, and which are not.",
                f"Name one: {first}@NAME; make one: workbench split {first} NAME",
            )
        with _replacing(made):
            export_benchmark(first, made, split=split, config=config)
        return made, f"{first.stem}@{split}", False
    with _replacing(made):
        _write_files(sources, made, split or RATIOS)
    return made, first.stem if len(sources) == 1 else f"{first.stem} and {len(sources) - 1} more", False


@contextmanager
def _replacing(folder: Path) -> Iterator[None]:
    """Remove a folder that is written again, and what was written of it where that fails."""
    shutil.rmtree(folder, ignore_errors=True)
    is_new = not folder.parent.exists()
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder.parent if is_new else folder, ignore_errors=True)
        raise


def _write_files(sources: Sequence[Path], folder: Path, ratios: str) -> None:
    """Write the labelled pairs of files, split so that parts share no query, as a BEIR folder.

    Raises:
        ImportFailed: A file cannot be read.
        WorkbenchError: The files have no labels, or these are no shares of parts.
    """
    from store.analysis.labels import question_labels, question_of_items
    from store.export.exporting import export
    from store.ingest.importing import import_files
    from store.splits.allocation import parse_ratios
    from store.splits.splits import SplitPlan, default_disjoint, make_split

    parts = parse_ratios(ratios)
    with workspace_for_a_while() as opened:
        import_files(opened, [*sources])
        with opened.reading() as connection:
            asked = question_of_items(connection)
            # Labels of a file without a rater are of one that is no person.
            panel = tuple(one.name for one in question_labels(connection, asked).raters)
        if not panel:
            raise WorkbenchError(
                "No labels",
                f"{sources[0]} has no labelled pairs.",
                "Name files with labels, such as CoSQA's, or a workspace with a split.",
            )
        # One seed draws the parts, whatever trains on them, so that their tests are the same.
        plan = SplitPlan(asked, "majority", parts, default_disjoint(asked), panel=panel)
        make_split(opened, _SPLIT, plan)
        export(opened, folder, "beir", split=_SPLIT, corpus="all")


_SPLIT = "training"
