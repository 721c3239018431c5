"""Stores what the product does, as files that `diff -r` compares: before a redesign, and after it.

    python benchmarks/baseline.py FOLDER [--data DATA] [--python PYTHON]

FOLDER gets what each command prints and every file that it writes: of the demo's workspace, and, with DATA (a
folder of real data sets), of a workspace for each of them. What differs from run to run is left out: ids of the
record, times, seconds, and the folder itself. Of real data only digests are stored. PYTHON is the interpreter of
another checkout's environment, whose product is asked instead of this one's; this file is all that it needs.

    git worktree add ../before COMMIT       # with an environment of its own
    python benchmarks/baseline.py /tmp/before --data DATA --python ../before/.venv/bin/python
    python benchmarks/baseline.py /tmp/after --data DATA
    diff -r /tmp/before /tmp/after
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

FORMATS = (
    *("jsonl", "judgments", "csv", "parquet", "labels", "cosqa", "cosqa-plus"),
    *("crosscodeeval", "predictions", "questions", "answers", "mt-bench"),
    *("matrix", "matrix-long", "label-studio", "argilla", "prodigy", "traces"),
)
REPORTS = (
    *("progress", "pipeline", "agreement", "accuracy", "figures", "preference"),
    *("raters", "confusion", "labels", "time", "retrieval"),
)
QUESTIONS = ("pair.match", "completion.keep", "answer.accuracy")
DATA_SETS = {
    "cosqa": ["cosqa-pairs/cosqa-dev.part.json"],
    "crosscodeeval": ["crosscodeeval/python_sample.jsonl.gz", "crosscodeeval/results"],
    "swe-qa": ["swe-qa"],
    "threads": ["codeassistbench/cab_recent.part.jsonl.gz"],
    "mt-bench": ["japanese-mtbench/gpt-4_single.part.jsonl.gz"],
}
"""Workspaces, and the files and folders that are imported into each."""

JUDGED = {
    "pair.match": ("1", "0", "1"),
    "completion.keep": ("2", "3", "1"),
    "completion.cross_file": ("1", "2", "1"),
    "answer.accuracy@pretended-model-a[retrieval]": ("7", "2", "9"),
}
"""Questions, and the values of the first three items of each one's kind."""

LINES = """
import s.duckdb {sample}/pairs.jsonl {sample}/labels.csv
import s.duckdb {sample}/completions.jsonl {sample}/predictions.jsonl {sample}/questions.jsonl {sample}/answers.jsonl
import s.duckdb {sample}/comparisons.jsonl {sample}/comparison-labels.csv
import s.duckdb {sample}/corpus.jsonl
import s.duckdb {sample}/queries.txt --format queries --dry-run
annotate s.duckdb --model scripted:{sample}/replies.jsonl --no-repairs --limit 8 --estimate
annotate s.duckdb --model scripted:{sample}/replies.jsonl --no-repairs --limit 8
replies s.duckdb --limit 0
items s.duckdb --kind pair --limit 5
items s.duckdb --sample-pairs 5 --seed 3
views s.duckdb --save todo --kind pair --status open
views s.duckdb
items s.duckdb --view todo --limit 5
sql s.duckdb "SELECT kind, count(*) FROM items GROUP BY kind ORDER BY kind"
judge s.duckdb empty-file/1 1 --rater ana --comment "as asked"
judge s.duckdb empty-file/1 0 --rater ben
judge s.duckdb empty-file/3 1 --rater ana
judge s.duckdb empty-file/3 --cannot-decide --comment "no query" --rater ben
adjudicate s.duckdb --rater eve
adjudicate s.duckdb --rater eve --names --question pair.match
rule s.duckdb empty-file/1 1 --rater eve --comment "the file is empty" --question pair.match
report s.duckdb progress
report s.duckdb pipeline
report s.duckdb agreement
report s.duckdb agreement --bootstrap 200 --by-item
report s.duckdb agreement --question answer.accuracy --bootstrap 200
report s.duckdb agreement --raters sample-ana,sample-ben
report s.duckdb accuracy
report s.duckdb accuracy --policy sample-ana --bootstrap 200
report s.duckdb accuracy --policy adjudicated --with-revealed
report s.duckdb figures
report s.duckdb preference --bootstrap 200
report s.duckdb confusion --bootstrap 200
report s.duckdb labels
report s.duckdb time
report s.duckdb plan --alpha 0.8 --rater-count 3 --prevalence 0.4 --correlation 0.2
split s.duckdb v1 --ratios 8:1:1 --policy majority --panel sample-ana,sample-ben,sample-chi
split s.duckdb hers --ratios 1:1 --rater sample-ana --disjoint query,code --stratify
splits s.duckdb
splits s.duckdb v1
splits s.duckdb v1 --leaks
splits s.duckdb v1 --now
report s.duckdb agreement --split v1 --part train
report s.duckdb retrieval --rater sample-ana
evaluate retrieval s.duckdb --methods bm25,bow --rater sample-ana --run-out runs
report s.duckdb retrieval --rater sample-ben
report s.duckdb retrieval --rater sample-ana --compare bm25,bow --bootstrap 200
export s.duckdb matrix.csv --format matrix --split v1
export s.duckdb out --format hugging-face --split v1
measure ranking runs/qrels.txt runs/bm25.run runs/bow.run --preset trec
measure agreement matrix.csv --cluster query
measure preference {sample}/comparisons.jsonl
candidates s.duckdb --models bm25,bow --combine z --top 3
study new s.duckdb rq2 --raters ana,ben,chi --items {work}/items.txt --conditions blind,revealed --repeats 1 --seed 7
study list s.duckdb
study show s.duckdb rq2
study freeze s.duckdb rq2
study status s.duckdb rq2
study manifest s.duckdb rq2 methods.md
packet make s.duckdb rq2 chi chi.duckdb
packet merge s.duckdb chi.duckdb --dry-run
items s.duckdb --rater ana
judge s.duckdb chunk-list/2 1 --rater ana
judge s.duckdb chunk-list/2 0 --rater ben
study close s.duckdb rq2
report s.duckdb agreement --study rq2
report s.duckdb accuracy --study rq2 --policy ana --with-revealed
report s.duckdb raters --study rq2
report s.duckdb time --study rq2
adjudicate s.duckdb --study rq2 --rater eve
compare new s.duckdb rq1 --codes-from "pairs:candidates bm25 bow, z, top 3" --raters ana,ben --scale forced --seed 7
copy s.duckdb copy.duckdb
merge s.duckdb copy.duckdb --dry-run
recover s.duckdb
export s.duckdb bundle --format bundle --pseudonyms --without-replies
agents
sandbox snapshots
"""
"""Commands on a workspace of the sample, each with `--json`; some are refused, which is stored as well."""

STUDIED = ["chunk-list/2", "chunk-list/5", "flatten/2", "flatten/4"]

_ACTIONS = """
from screens.commands import all_commands
for one in sorted(all_commands(), key=lambda one: one.id):
    print(one.id, one.key, one.label, one.help, sep=" | ")
"""
_ROWS = """
import json, sys, pyarrow.parquet
for row in pyarrow.parquet.read_table(sys.argv[1]).to_pylist():
    print(json.dumps(row, default=str))
"""
_VARIES = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b2[0-9]{3}-[01][0-9]-[0-3][0-9][T ][0-9:.]{8,15}(Z|[+-][0-9:]{4,6})?"), "TIME"),
    (re.compile(r'("[a-z_]*seconds[a-z_]*": )[0-9.e-]+'), r"\1SECONDS"),
    (re.compile(r'("(total|mean|median|longest)": )[0-9]+\.[0-9e-]{4,}'), r"\1SECONDS"),
    (re.compile(r'("last_minute": )[0-9]+'), r"\1NUMBER"),
    (re.compile(r'("_timestamp": )[0-9]+'), r"\1TIME"),
    (re.compile(r'("assignments_sha256": ")[0-9a-f]{64}'), r"\1DIGEST"),
    (re.compile(r"\b[0-9.]+ s\b"), "SECONDS"),
)


class Baseline:
    """Runs the commands of one product, and stores what they print and write.

    Args:
        folder: Where the files are written.
        work: An empty folder in which the commands run.
        python: The interpreter of the product's environment.
    """

    def __init__(self, folder: Path, work: Path, python: str) -> None:
        self._folder, self._work, self._python = folder, work, python

    def run(self, *words: str) -> str:
        """Run a command of the product; return what it printed, objects sorted, and its exit code if not 0."""
        printed = self._python_says("-m", "workbench", *words)
        if "--json" in words:
            with suppress(json.JSONDecodeError):
                return json.dumps(json.loads(printed), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        return printed

    def keep(self, name: str, text: str, kept: Callable[[str], str] = lambda text: text) -> None:
        """Store a text without what differs from run to run."""
        text = text.replace(str(self._work), "WORK")
        for pattern, instead in _VARIES:
            text = pattern.sub(instead, text)
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(kept(text), encoding="utf-8")

    def product(self) -> None:
        """Store what the product offers: commands, settings, actions."""
        told = self.run("--help")
        self.keep("product/help.txt", told)
        for command in re.findall(r"^  ([a-z][a-z-]*)  +[A-Z]", told, re.MULTILINE):
            self.keep(f"product/{command}.txt", self.run(command, "--help"))
        told = json.loads(self.run("doctor", "--json"))
        settings = [f"{one['name']} = {one['value']}\n" for one in told["configuration"]["settings"]]
        self.keep("product/settings.txt", "".join(settings))
        self.keep("product/actions.txt", self._python_says("-c", _ACTIONS))

    def judge(self, name: str, rater: str) -> None:
        """Judge the first items of each kind, and rewrite a question."""
        path = f"{name}.duckdb"
        for question, values in JUDGED.items():
            listed = self.run("items", path, "--kind", question.partition(".")[0], "--limit", "3", "--json")
            items = [one["item"] for one in json.loads(listed)["items"]]
            for item, value in zip(items, values, strict=True):
                told = self.run(
                    "judge", path, item, value, "--question", question, "--rater", rater, "--json"
                )
                self.keep(f"{name}/judge {question} {value}.txt", told)
        (self._work / "question.md").write_text("And why?\n", encoding="utf-8")
        words = ("--part", "question", "--file", "question.md", "--rater", rater)
        told = self.run("revise", path, items[0], *words, "--json")
        self.keep(f"{name}/revise.txt", told)

    def commands(self) -> None:
        """Store what each of LINES prints."""
        sample = Path(__file__).resolve().parent.parent / "sample_data"
        (self._work / "items.txt").write_text("\n".join(STUDIED) + "\n", encoding="utf-8")
        for number, line in enumerate(LINES.strip().splitlines()):
            words = [word.format(sample=sample, work=self._work) for word in shlex.split(line)]
            form = () if "manifest" in words else ("--json",)
            told = self.run(*words, *form).replace(str(sample), "SAMPLE")
            name = re.sub(r"[^a-z0-9-]+", " ", line.replace("{sample}", "").replace("s.duckdb", "")).strip()
            self.keep(f"commands/{number:02} {name[:60].strip()}.json", told)

    def workspace(self, name: str, kept: Callable[[str], str] = lambda text: text, rater: str = "") -> None:
        """Store what is read and written of a workspace, NAME.duckdb in the folder of work."""
        path = f"{name}.duckdb"
        self.keep(f"{name}/items.json", self.run("items", path, "--json"), kept)
        for report in REPORTS:
            self.keep(f"{name}/{report}.json", self.run("report", path, report, "--json"), kept)
        for question in QUESTIONS:
            told = self.run("report", path, "agreement", "--question", question, "--json")
            self.keep(f"{name}/agreement {question}.json", told, kept)
        for form in FORMATS:
            where = self._work / f"{name}-{form}"
            # Formats that hold one label of a pair take one rater's.
            whose = ("--rater", rater) if rater and form in {"cosqa", "cosqa-plus"} else ()
            told = self.run("export", path, where.name, "--format", form, *whose)
            self.keep(f"{name}/export {form}.txt", told)
            for file in _files(where):
                inside = file.relative_to(self._work).as_posix()
                is_rows = form == "parquet"
                text = self._python_says("-c", _ROWS, str(file)) if is_rows else file.read_text("utf-8")
                self.keep(f"{name}/{inside}", text, kept)

    def _python_says(self, *words: str) -> str:
        done = subprocess.run(
            [self._python, *words], cwd=self._work, capture_output=True, text=True, check=False, timeout=600
        )
        return done.stdout + (f"exit code {done.returncode}\n{done.stderr}" if done.returncode else "")


def digest(text: str) -> str:
    """Return what is stored of real data: the number of lines, and a digest."""
    return f"{text.count(chr(10))} lines, sha256 {hashlib.sha256(text.encode()).hexdigest()}\n"


def _files(path: Path) -> Iterator[Path]:
    yield from (
        sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path] * path.exists()
    )


def main() -> None:
    """Store what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        baseline = Baseline(options.folder, Path(work).resolve(), str(Path(options.python).absolute()))
        baseline.product()
        told = baseline.run("demo", "--at", "demo.duckdb", "--headless", "--json")
        baseline.keep("demo/demo.json", told)
        baseline.judge("demo", "dana")
        baseline.workspace("demo", rater="dana")
        baseline.commands()
        for name, places in DATA_SETS.items() if options.data else ():
            files = [str((options.data / place).resolve()) for place in places]
            told = baseline.run("import", f"{name}.duckdb", *files, "--json")
            baseline.keep(f"{name}/import.json", told)
            baseline.workspace(name, digest)


if __name__ == "__main__":
    main()
