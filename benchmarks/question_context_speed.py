"""Retrieving the context of questions about a repository, against bm25s alone over the same chunks.

    python benchmarks/question_context_speed.py QUESTIONS REPOSITORY [--rounds N]

QUESTIONS is a file of questions (SWE-QA), REPOSITORY a folder or an archive. bm25s alone reads the terms of chunks and
questions, weighs them and finds the best ten of each; retrieving also reads the repository, cuts it into chunks, looks for
the files that answers name, and writes what it finds. Prints seconds and their ratio.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from time import perf_counter

from bm25s import BM25

from agents.jobs.runner import run_work
from agents.jobs.work import WorkSettings
from agents.llm.settings import ModelSettings
from agents.questions.chunks import Chunking
from agents.questions.context import TOP, QuestionContextRequest, QuestionContextRetrieval
from agents.repositories.reading import read_repository
from agents.retrieval.lexical import term_reader
from agents.retrieval.settings import RetrievalSettings
from store.ingest.importing import import_files
from store.ingest.plain_files import plain_files
from store.workspace.duckdb import Workspace


def bm25s_alone(questions: list[str], chunks: list[str]) -> float:
    """Return the seconds of bm25s, its terms included."""
    started = perf_counter()
    terms = term_reader()
    index = BM25(method="lucene", k1=1.5, b=0.75)
    index.index([terms(chunk) for chunk in chunks], show_progress=False)
    index.retrieve([terms(question) for question in questions], k=TOP, show_progress=False)
    return perf_counter() - started


def retrieved(workspace: Workspace, repository: str, setting: str) -> float:
    """Return the seconds of a retrieval."""
    request = QuestionContextRequest(repository, "bm25", setting)
    work = QuestionContextRetrieval(request, WorkSettings(ModelSettings(), RetrievalSettings()))
    started = perf_counter()
    job = run_work(workspace, work, lambda _: None)
    if job.error is not None:
        raise SystemExit(str(job.error))
    return perf_counter() - started


def main() -> None:
    """Measure in turn, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", type=Path)
    parser.add_argument("repository")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    tree = read_repository(given.repository, lambda _: True)
    chunks = [chunk for file in tree.files for chunk in Chunking().chunks(file.path, file.text)]
    with plain_files([given.questions], "questions") as files:
        questions = [
            entity.fields["question"] for _, _, made in files for entity in made if entity.sort == "answer"
        ]
    ours, alone = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        Workspace.create(Path(folder, "bench.duckdb")) as workspace,
    ):
        import_files(workspace, [given.questions], format="questions")
        # What is loaded once is loaded by both.
        bm25s_alone(questions, chunks)
        retrieved(workspace, given.repository, "warm")
        for number in range(given.rounds):
            alone.append(bm25s_alone(questions, chunks))
            ours.append(retrieved(workspace, given.repository, f"round {number}"))
    middle, of = statistics.median(ours), statistics.median(alone)
    print(f"{len(questions)} questions, {len(chunks)} chunks of {len(tree.files)} files")
    print(f"retrieving {middle:.3f} s, bm25s alone {of:.3f} s, ratio {middle / of:.2f}")


if __name__ == "__main__":
    main()
