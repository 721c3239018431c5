"""One epoch of an encoder on CoSQA's retrieval data: minutes, and how well codes are found before and after.

    python benchmarks/training_speed.py FOLDER [--model minilm] [--epochs N] [--seed S]

FOLDER has queries.json and code_idx_map.part.json as CoSQA's search data has them. Its queries are split 8:1:1, so
that no two parts share a near-duplicate; those of the test are searched among all codes, before and after.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from random import Random
from time import perf_counter

from agents.jobs.work import WorkSettings
from agents.jobs.work_progress import WorkProgress
from agents.llm.settings import ModelSettings
from agents.retrieval.evaluation import rank_codes, read_beir, run_of
from agents.retrieval.methods import open_retriever
from agents.retrieval.settings import RetrievalSettings
from agents.training.training import TrainingSettings
from agents.training.work import FineTuningRequest, fine_tune
from store.measures.ranking import PRESETS
from store.splits.similar_texts import duplicate_groups


def write_beir(folder: Path, made: Path, seed: int) -> None:
    """Write the queries with their codes as a BEIR folder of three parts."""
    queries = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    codes = json.loads((folder / "code_idx_map.part.json").read_text(encoding="utf-8"))
    by_row = {row: code for code, row in codes.items()}
    queries = [one for one in queries if one["retrieval_idx"] in by_row]
    groups = duplicate_groups([one["doc"] for one in queries])
    order = sorted(set(groups))
    Random(seed).shuffle(order)
    part_of = {group: ("dev", "test")[at % 10] if at % 10 < 2 else "train" for at, group in enumerate(order)}
    (made / "qrels").mkdir(parents=True)
    with (made / "corpus.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"_id": str(row), "text": code}) + "\n" for row, code in by_row.items())
    with (made / "queries.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"_id": one["idx"], "text": one["doc"]}) + "\n" for one in queries)
    for part in ("train", "dev", "test"):
        rows = [
            f"{one['idx']}\t{one['retrieval_idx']}\t1"
            for one, group in zip(queries, groups, strict=True)
            if part_of[group] == part
        ]
        (made / "qrels" / f"{part}.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    preset = PRESETS["cosqa-plus"]
    with tempfile.TemporaryDirectory() as apart:
        data, out = Path(apart, "data"), Path(apart, "trained")
        write_beir(given.folder, data, given.seed)
        test = read_beir(data, part="test")
        settings = WorkSettings(ModelSettings(), RetrievalSettings(vectors=Path(apart, "vectors")))

        def measured(model: str) -> str:
            started = perf_counter()
            ranking = rank_codes(test, open_retriever(model, settings.retrieval, settings.models), preset.top)
            means = preset.scores(test.qrels, run_of(test, ranking), level=1, complete=True).means()
            seconds = perf_counter() - started
            return f"NDCG@10 {means['ndcg@10']:.3f}, MRR@10 {means['mrr@10']:.3f} ({seconds:.0f} s)"

        print(f"{len(test.queries)} queries among {len(test.codes.ids):,} codes")
        print(f"before: {measured(given.model)}")
        asked = TrainingSettings(epochs=given.epochs, seed=given.seed)
        request = FineTuningRequest(str(data), "cosqa-retrieval", given.model, str(out), settings=asked)
        started = perf_counter()

        def report(progress: WorkProgress) -> None:
            if progress.total:
                print(f"\r{progress.stage}, step {progress.done} of {progress.total}", end="", flush=True)

        found = fine_tune(request, settings, report)
        minutes = (perf_counter() - started) / 60
        print(f"\n{found.pairs} pairs, {found.steps[0]} steps, {minutes:.1f} minutes")
        print(f"after: {measured(str(out))}")


if __name__ == "__main__":
    main()
