"""Compares training corpora: encoders are trained on each and tested on a third (CoSQA+, Table III)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.jobs.limits import held
from agents.jobs.work import WorkPart, WorkSettings, aside
from agents.jobs.work_progress import ReportWork, WorkProgress
from agents.retrieval.encoders import refuse_twice, shown_name
from agents.retrieval.evaluation import Benchmark, rank_codes, read_beir, run_of
from agents.retrieval.methods import open_retriever
from agents.training.csn99 import csn99
from agents.training.pairs import LEVEL
from agents.training.training import TrainingSettings, require_trainer
from agents.training.work import FineTuningRequest, base_encoder, fine_tune, read_training
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.measures.ranking import PRESETS
from store.reports.training import EVALUATION
from store.splits.leakage import PlacedText, leaks
from store.splits.similar_texts import normalized

if TYPE_CHECKING:
    from agents.jobs.control import Control

TESTED = ("ndcg@10", "mrr@10")
"""The measures that are compared query by query: those of Table III."""
_PRESET = PRESETS["cosqa-plus"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus of labelled pairs.

    Attributes:
        name: What tables call it.
        folder: The BEIR folder with it; of CSN99 its file of annotations.
        titles: Whether titles of codes are read, too.
        codes: The files with the codes of CSN99; none for others.
    """

    name: str
    folder: str
    titles: bool = True
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrainingEvaluationRequest:
    """Which models are trained on what, and tested on what.

    Attributes:
        models: The base models, as `--models` names them.
        trains: The corpora that they are trained on.
        test: The corpus that they are tested on.
        seeds: Trainings of each model on each corpus, with the seeds from 0.
        settings: How they are trained; its seed does not count.
        part: The part of the corpora that they are trained on.
        output: The folder that keeps the trained models; empty for none.
    """

    models: tuple[str, ...]
    trains: tuple[Corpus, ...]
    test: Corpus
    seeds: int = 3
    settings: TrainingSettings = field(default_factory=TrainingSettings)
    part: str = "train"
    output: str = ""

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> TrainingEvaluationRequest:
        """Return the request of a description, which is its fields as JSON."""

        def corpus(fields: Mapping[str, Any]) -> Corpus:
            return Corpus(**{**fields, "codes": tuple(fields["codes"])})

        return cls(
            **{
                **description,
                "models": tuple(description["models"]),
                "trains": tuple(map(corpus, description["trains"])),
                "test": corpus(description["test"]),
                "settings": TrainingSettings(**description["settings"]),
            }
        )


@dataclass(slots=True)
class TrainingEvaluated:
    """The results of an evaluation so far.

    Attributes:
        models: The names of the base models.
        trains: The names of the corpora that they are trained on.
        test: The name of the test.
        queries: Its queries that count.
        codes: How many codes are ranked.
        pairs: How many of their pairs are a match.
        left_out: Queries that are near-duplicates of queries that some model was trained on.
        lost: Matches of CSN99 whose code is in none of the files.
        digest: A digest of all labels.
        rows: What each training gave: `model`, `data` and `seed` (None for the untrained model), the `means`
            of all measures, and the `values` of each query in the measures that are compared.
    """

    models: Sequence[str]
    trains: Sequence[str]
    test: str
    queries: Sequence[str]
    codes: int
    pairs: int
    left_out: int
    lost: int
    seeds: int
    digest: str
    rows: list[dict[str, Any]] = field(default_factory=list)

    def has(self, model: str, data: str | None, seed: int | None) -> bool:
        """Return whether a training is there."""
        return any((one["model"], one["data"], one["seed"]) == (model, data, seed) for one in self.rows)


@dataclass(frozen=True, slots=True)
class TrainingEvaluation:
    """The evaluation (`agents.jobs.work.Work`); its result is a `TrainingEvaluated`.

    Begun again, it goes on with the trainings that are not done.
    """

    request: TrainingEvaluationRequest
    settings: WorkSettings

    @property
    def kind(self) -> str:
        """The name of its part."""
        return EVALUATION

    @property
    def name(self) -> str:
        """Its name in lists."""
        return f"training on {' and '.join(one.name for one in self.request.trains)}"

    def description(self) -> Mapping[str, Any]:
        """Return the request."""
        return asdict(self.request)

    async def run(self, control: Control) -> str:
        """Train and test, one model after another.

        Raises:
            Halted: It was stopped; what is done is kept.
            WorkbenchError: Data or a model cannot be used, or a model not be saved.
        """
        require_trainer()
        async with held(control.limits.gpu, control.gate):
            found = await aside(control, partial(_Evaluating(self, control).run))
        return (
            f"{pluralize(len(found.rows), 'ranking')} of {pluralize(len(found.queries), 'query', 'queries')}"
        )


class _Evaluating:
    """The evaluation, as it works, in a thread."""

    def __init__(self, work: TrainingEvaluation, control: Control) -> None:
        self._request, self._settings, self._control = work.request, work.settings, control

    def run(self, report: ReportWork) -> TrainingEvaluated:
        request = self._request
        names = [shown_name(model) for model in request.models]
        refuse_twice(names)
        # Before hours of work on the others.
        for model in request.models:
            base_encoder(model)
        self._control.result = TrainingEvaluated([], [], "", [], 0, 0, 0, 0, request.seeds, "")
        test, found = self._read(names, report)
        kept = self._control.kept
        if kept and kept["digest"] == found.digest and list(kept["queries"]) == list(found.queries):
            found.rows = list(kept["rows"])
        self._control.result = found
        every: list[tuple[str, str, Corpus | None, int | None]] = []
        for name, model in zip(names, request.models, strict=True):
            every.append((name, model, None, None))
            every += [
                (name, model, corpus, seed) for corpus in request.trains for seed in range(request.seeds)
            ]
        for number, (name, model, corpus, seed) in enumerate(every, start=1):
            data = None if corpus is None else corpus.name
            if found.has(name, data, seed):
                continue
            on = "" if corpus is None else f" on {corpus.name}, seed {seed}"
            stage = f"{number} of {len(every)} · {name}{on} · "

            def tell(progress: WorkProgress, stage: str = stage) -> None:
                report(replace(progress, stage=stage + progress.stage))

            with self._trained(model, corpus, seed, tell) as given:
                found.rows.append(
                    {"model": name, "data": data, "seed": seed, **self._tested(given, test, tell)}
                )
            self._control.keep(asdict(found))
        return found

    def _read(self, names: Sequence[str], report: ReportWork) -> tuple[Benchmark, TrainingEvaluated]:
        """Read the test, without queries that are near to those of a training."""
        request = self._request
        report(WorkProgress("reading the corpora", 0, 0))
        lost = 0
        if request.test.codes:
            whole, lost = csn99(Path(request.test.folder), [Path(one) for one in request.test.codes])
        else:
            whole = read_beir(Path(request.test.folder), titles=request.test.titles)
        trained, digests = set[str](), []
        for corpus in request.trains:
            data = read_training(Path(corpus.folder), request.part, request.settings, titles=corpus.titles)
            trained.update(data.train.queries, [] if data.dev is None else data.dev.queries)
            digests.append(data.digest)
        test, left_out = without_near(whole, trained)
        if not test.queries:
            raise WorkbenchError(
                "No query to test",
                f"Every query of {request.test.name} is near one that a model is trained on.",
                "Name another test: --test C",
            )
        return test, TrainingEvaluated(
            names,
            [one.name for one in request.trains],
            request.test.name,
            [*test.queries],
            len(test.codes.ids),
            sum(grade >= LEVEL for grades in test.qrels.values() for grade in grades.values()),
            left_out,
            lost,
            request.seeds,
            " ".join(digests),
        )

    @contextmanager
    def _trained(
        self, model: str, corpus: Corpus | None, seed: int | None, report: ReportWork
    ) -> Iterator[str]:
        """Give a model as it is, or trained on a corpus."""
        if corpus is None or seed is None:
            yield model
            return
        with tempfile.TemporaryDirectory(prefix="workbench-training-") as apart:
            folder = Path(
                self._request.output or apart, f"{_plain(shown_name(model))}-{_plain(corpus.name)}-{seed}"
            )
            settings = replace(self._request.settings, seed=seed)
            request = FineTuningRequest(
                corpus.folder, corpus.name, model, str(folder), self._request.part, settings, corpus.titles
            )
            fine_tune(request, self._settings, report)
            yield str(folder)

    def _tested(self, model: str, test: Benchmark, report: ReportWork) -> dict[str, Any]:
        """Return the measures of a model on the test."""
        with tempfile.TemporaryDirectory(prefix="workbench-vectors-") as vectors:
            retrieval = self._settings.retrieval.model_copy(update={"vectors": Path(vectors)})
            retriever = open_retriever(model, retrieval, self._settings.models)
            run = run_of(test, rank_codes(test, retriever, _PRESET.top, report))
        scores = _PRESET.scores(test.qrels, run, level=LEVEL, complete=True)
        places = {query: place for place, query in enumerate(scores.queries)}
        return {
            "means": scores.means(),
            "values": {
                name: [float(scores.values[name][places[query]]) for query in test.queries if query in places]
                for name in TESTED
            },
        }


def _plain(name: str) -> str:
    """Return a name as a part of the name of a folder."""
    return "".join(sign if sign.isalnum() or sign in "._" else "_" for sign in name)


def without_near(test: Benchmark, trained: set[str]) -> tuple[Benchmark, int]:
    """Return a test without the queries that are the same as, or near to, queries of a training.

    Returns:
        The test, whose codes stay, and how many queries were left out.
    """
    placed = [PlacedText("train", "", text) for text in sorted(trained)]
    placed += [PlacedText("test", "", text) for text in test.queries.values()]
    near = {normalized(leak.texts[1]) for leak in leaks(("train", "test"), placed, (), ())}
    judged = [
        query for query, grades in test.qrels.items() if any(grade >= LEVEL for grade in grades.values())
    ]
    stay = [query for query in judged if normalized(test.queries[query]) not in near]
    queries = {query: test.queries[query] for query in stay}
    return replace(test, queries=queries, qrels={query: test.qrels[query] for query in stay}), len(
        judged
    ) - len(stay)


def _open(description: Mapping[str, Any], settings: WorkSettings) -> TrainingEvaluation:
    return TrainingEvaluation(TrainingEvaluationRequest.of(description), settings)


PART = WorkPart(
    EVALUATION,
    "evaluation of training",
    "Trains encoders on two corpora, and tests them on a third (CoSQA+, Table III).",
    _open,
    asks=True,
)
