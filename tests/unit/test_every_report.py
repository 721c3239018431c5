"""Every report in every form, from the demo's data; a report of another package; a study's paper."""

import csv
import io
import json
import math
import re
import shutil
import subprocess
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest
import tiny_models
import typer.main
from construction_projects import write_project
from learnable import learnable, write_beir
from scopes import scope

from screens.items.reader import ItemReader
from screens.reports.drawing import draw, plain
from screens.review.outcomes import outcomes
from store.analysis.agreement import rater_agreement
from store.errors import WorkbenchError
from store.record.raters import ensure_rater
from store.reports.catalogue import reports
from store.reports.figure import FIGURES, charts
from store.reports.options import Options
from store.reports.spec import ReportSpec
from store.reports.value import Cell, Report, text_of
from store.workspace.duckdb import Workspace
from workbench.cli.program import program
from workbench.output import _plain

NAMES = (
    *("agreement", "confusion", "accuracy", "labels", "time", "raters", "figures", "table-2", "figure-3"),
    *(
        "figure-4",
        "figure-7",
        "retrieval",
        "training",
        "completion",
        "construction",
        "collection",
        "answers",
        "preference",
        "ratings",
        "wins",
        "position",
        "votes",
        "plan",
    ),
    *("pipeline", "progress"),
)
NEEDS = {"raters": ("--study", "pilot"), "retrieval": ("--rater", "sample-ana")}
"""What a command must be told."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's workspace, with rankings of two methods, constructed tasks and an evaluation of training."""
    path: Path = tmp_path_factory.mktemp("every") / "demo.duckdb"
    project = write_project(path.parent / "till-shop", "python")
    corpus = write_beir(path.parent / "corpus", learnable({"train": 20, "test": 10}))
    model = tiny_models.bert(path.parent / "tiny")
    run = typer.main.get_command(program)
    for arguments in (
        ("demo", "--headless", "--at", path),
        ("evaluate", "retrieval", path, "--methods", "bm25,bow", "--rater", "sample-ana"),
        ("construct", path, project, "--language", "python"),
        (
            *("evaluate", "training", "--models", model, "--train", corpus, "--test", corpus),
            *("--epochs", "1", "--seeds", "2", "--into", path),
        ),
    ):
        run.main([str(word) for word in arguments], standalone_mode=False)
    return path


def read(path: Path, name: str) -> tuple[ReportSpec, Any, Options, Report]:
    spec = reports()[name]
    asked = Options(study="pilot") if name == "raters" else Options()
    with Workspace.open(path) as opened, opened.reading() as connection:
        options = spec.start(connection, asked)
        found = spec.read(connection, options)
    return spec, found, options, spec.report(found, options)


def leaves(value: Any) -> list[float]:
    """All numbers in what JSON holds."""
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in leaves(one)]
    if isinstance(value, list):
        return [leaf for one in value for leaf in leaves(one)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def sums(name: str, fields: dict[str, Any]) -> list[float]:
    """What a report adds up, or takes away, from the numbers of its JSON."""
    if name == "confusion":
        counts = fields["counts"]
        return [*map(sum, counts), *map(sum, zip(*counts, strict=True)), sum(map(sum, counts))]
    if name == "accuracy":
        return [round(one["n"] * (1 - one["accuracy"])) for one in fields["raters"]]
    if name == "labels":
        return [sum(fields["people"])]
    if name == "completion":
        sizes = [one["n"] for one in fields["completions"]]
        return [
            sum(sizes),
            len({one["model"] for one in fields["completions"]}),
            sum(one["n"] for one in fields["overlap"]),
        ]
    if name == "construction":
        return [
            part
            for one in fields["languages"]
            for part in (one["places"] - sum(one["left_out"].values()), one["tried"])
        ]
    if name == "pipeline":
        stages = [one for run in fields["runs"] for one in run.get("seconds_by_stage", {}).values()]
        return [sum(part["steps"] for part in one["stages"].values()) for one in stages]
    return []


def test_home_shows_what_the_report_on_agreement_has(demo: Path, workbench: Any) -> None:
    """Home leaves out labels of studies that are open, which are those of the phase `label`."""
    asked = ("--question", "pair.match", "--phase", "review", "--json")
    pairs = {
        tuple(one["raters"]): one for one in workbench("report", demo, "agreement", *asked).json()["by_pair"]
    }
    with Workspace.open(demo) as opened, opened.reading() as connection:
        found = rater_agreement(connection, "pair.match", ["review"])
    assert found
    for one in found:
        told = pairs[one.figures.raters]
        assert (one.figures.units, one.figures.cohen) == (told["units"], told["cohen"])


def test_the_names_are_those_of_the_list(workbench: Any) -> None:
    assert tuple(reports()) == NAMES
    listed = workbench("report", "--list").out.splitlines()
    assert [line.split()[0] for line in listed] == list(NAMES)
    assert any(line.endswith("(Figure 3 of CoSQA+)") for line in map(str.rstrip, listed))


@pytest.mark.parametrize("name", NAMES)
def test_what_a_screen_shows_is_what_json_has(demo: Path, name: str) -> None:
    spec, found, options, report = read(demo, name)
    fields = json.loads(json.dumps(spec.fields(found, options), default=_plain))
    known = [*leaves(fields), *sums(name, fields)]
    whole = {int(one) for one in known if float(one).is_integer()}
    shares = {one / of for one, of in permutations(whole, 2) if of > 0} | {1.0}
    drawn = "\n".join(map(plain, draw(report, 120).lines))
    seen = 0
    for table in report.tables:
        for row in table.rows:
            for cell in row.cells:
                if not isinstance(cell, Cell) or cell.value is None:
                    continue
                seen += 1
                value = cell.value
                there = any(math.isclose(value, one * by, abs_tol=1e-9) for one in known for by in (1, 0.01))
                assert there or any(
                    math.isclose(value, one, rel_tol=1e-12) for one in shares | {1 - one for one in known}
                ), (table.title, text_of(cell), value)
                assert cell.text in drawn or len(cell.text) > 40
                found = re.fullmatch(r"(?:± )?([+-]?[\d,]+(?:\.\d+)?)( %)?(?: \(.*\))?", cell.text)
                if found is None or table.title.startswith("Share of battles"):
                    # Words with a figure in them, and a matrix in percent without a sign for it.
                    continue
                number, percent = found.groups()
                places = len(number.partition(".")[2])
                shown = float(number.replace(",", "")) / (100 if percent else 1)
                error = 0.51 * 10**-places / (100 if percent else 1)
                assert shown == pytest.approx(value, abs=error), cell.text
    assert seen


@pytest.mark.parametrize("name", NAMES)
def test_every_form_of_every_report(demo: Path, workbench: Any, tmp_path: Path, name: str) -> None:
    asked = ("report", demo, name, *NEEDS.get(name, ()))
    given = workbench(*asked, "--format", "json")
    assert given.json() == workbench(*asked, "--json").json()
    assert given.json()["report"] == name
    text = workbench(*asked).out
    assert text.startswith(f"demo.duckdb: {reports()[name].title}")
    markdown = workbench(*asked, "--format", "markdown").out
    assert markdown.startswith(f"## {reports()[name].title}\n")
    assert "| --- |" in markdown
    table = workbench(*asked, "--format", "csv").out
    assert all(rows for block in table.split("\n\n") for rows in [list(csv.reader(io.StringIO(block)))])
    latex = workbench(*asked, "--format", "latex").out
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") > 0
    assert latex.startswith(f"% workbench report demo.duckdb {name}")
    has_chart = bool(charts(read(demo, name)[3]))
    for form in FIGURES:
        path = tmp_path / f"{name}.{form}"
        drawn = workbench(*asked, "--figure", path, "--width", "page")
        if not has_chart:
            assert (drawn.code, drawn.says("has no figure")) == (2, True)
            continue
        assert (drawn.code, drawn.out) == (0, "")
        if form == "svg":
            ElementTree.parse(path)
        before = path.read_bytes()
        assert workbench(*asked, "--figure", path, "--width", "page").code == 0
        assert path.read_bytes() == before


@pytest.mark.full
def test_latex_compiles(demo: Path, workbench: Any, tmp_path: Path) -> None:
    assert shutil.which("pdflatex"), "tests/setup --all installs it"
    lines = [
        "\\documentclass[twocolumn]{article}",
        "\\usepackage{textcomp}",
        "\\usepackage{booktabs,graphicx}",
    ]
    lines.append("\\begin{document}")
    for name in NAMES:
        text = workbench("report", demo, name, *NEEDS.get(name, ()), "--format", "latex").out
        (tmp_path / f"{name}.tex").write_text(text, encoding="utf-8")
        lines += [f"\\input{{{name}.tex}}", "\\clearpage"]
    (tmp_path / "all.tex").write_text("\n".join([*lines, "\\end{document}"]), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    # Nothing runs over the edge of the page by more than an inch.
    wide = [float(found) for found in re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
    assert max(wide, default=0) < 72


def test_help_names_the_options_of_one_report_and_no_others(workbench: Any, demo: Path) -> None:
    told = workbench("report", demo, "accuracy", "--help").out
    assert "--policy" in told
    assert "--half-width" not in told
    assert "--elo-k" not in told
    whole = workbench("report", demo, "--help").out
    assert all(name in whole for name in NAMES)
    # Options may stand before the name, as they always could.
    asked = ("--question", "pair.match", "--json")
    assert (
        workbench("report", demo, *asked, "agreement").json()
        == workbench("report", demo, "agreement", *asked).json()
    )
    unknown = workbench("report", demo, "nonsense")
    assert (unknown.code, "nonsense" in unknown.err) == (2, True)


def test_a_report_of_another_package_is_there_in_all_forms(
    demo: Path, workbench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site"
    info = package / "more_reports-1.0.dist-info"
    info.mkdir(parents=True)
    (package / "more_reports.py").write_text(
        "from store.reports.spec import ReportSpec\n"
        "from store.reports.value import Report, Row, Table, counted\n"
        "from store.analysis.labels import questions_of_items\n"
        "def read(connection, options):\n"
        "    return [(one, len(one)) for one in questions_of_items(connection)]\n"
        "def report(found, options):\n"
        "    rows = tuple(Row((name, counted(n)), n / 30) for name, n in found)\n"
        "    table = Table(('question', 'letters'), rows, drawn='letters', scale=(0.0, 30.0))\n"
        "    return Report(('Letters of questions',), ('letters',), (table,))\n"
        "def fields(found, options):\n"
        "    return {'letters': dict(found)}\n"
        "LETTERS = ReportSpec('letters', 'Letters', 'letters of questions', read, report, fields)\n"
    )
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more-reports\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[workbench.reports]\nletters = more_reports:LETTERS\n")
    monkeypatch.syspath_prepend(str(package))
    reports.cache_clear()
    try:
        assert workbench("report", demo, "letters", "--json").json()["letters"]["pair.match"] == 10
        assert "pair.match" in workbench("report", demo, "letters").out
        assert "| pair.match | 10 |" in workbench("report", demo, "letters", "--format", "markdown").out
        assert "pair.match,10" in workbench("report", demo, "letters", "--format", "csv").out
        assert "pair.match & 10" in workbench("report", demo, "letters", "--format", "latex").out
        assert workbench("report", demo, "letters", "--figure", tmp_path / "l.svg").code == 0
        assert "letters" in (tmp_path / "l.svg").read_text(encoding="utf-8")
        assert "letters" in workbench("report", "--list").out
    finally:
        reports.cache_clear()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("agreement", "--question", "all", "--blocks", "5"), "One question"),
        (("accuracy", "--rater", "sample-ana", "--raters", "sample-ben"), "Leave one of them out"),
        (("accurcy",), "did you mean accuracy?"),
        (("nothing-like-it",), "report --list"),
    ],
)
def test_what_would_have_no_effect_is_refused(
    demo: Path, workbench: Any, options: tuple[str, ...], says: str
) -> None:
    refused = workbench("report", demo, *options)
    assert (refused.code, says in " ".join(refused.err.replace("│", " ").split())) == (2, True)


def test_a_phase_counts_for_every_question_too(demo: Path, workbench: Any) -> None:
    """People judged the demo in a study alone, whose phase is `label`."""
    asked = ("report", demo, "agreement", "--question", "all", "--json", "--phase")
    assert workbench(*asked, "review").json()["questions"] == []
    assert [one["question"] for one in workbench(*asked, "label").json()["questions"]] == ["pair.match"]
    assert workbench("report", demo, "--list").out == workbench("report", "--list").out


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_paper_is_the_same_from_the_published_bundle(demo: Path, workbench: Any, tmp_path: Path) -> None:
    paper, again = tmp_path / "paper", tmp_path / "again"
    demo = Path(shutil.copy(demo, tmp_path / "theirs-before.duckdb"))
    (tmp_path / "bad.jsonl").write_text(
        '{"id": "n1", "query": "a", "code": "b"}\n{"id": 7}\n', encoding="utf-8"
    )
    assert workbench("import", demo, tmp_path / "bad.jsonl", "--rejects", tmp_path / "rejects").code == 0
    done = workbench("report", demo, "--all", "--study", "pilot", "--output", paper, "--json").json()
    assert sorted(done["files"]) == sorted(contents(paper))
    assert workbench("export", demo, tmp_path / "published", "--format", "bundle", "--pseudonyms").code == 0
    assert workbench("import", tmp_path / "theirs.duckdb", tmp_path / "published").code == 0
    told = workbench("report", tmp_path / "theirs.duckdb", "--all", "--study", "pilot", "--output", again)
    assert told.code == 0
    written = contents(paper)
    assert contents(again) == written
    # A table as LaTeX and as CSV, a figure where something can be drawn, and the methods.
    assert {"methods.md", "tables/methods.tex", "commands.sh"} <= written.keys()
    assert {"tables/accuracy.tex", "tables/accuracy.csv", "figures/accuracy.pdf"} <= written.keys()
    accuracy = written["tables/accuracy.tex"].decode()
    assert "R1 & human" in accuracy
    assert b"sample-dora" not in b"".join(written.values())
    # The commands make these files from the bundle.
    script = written["commands.sh"].decode()
    assert "rejected by imports (1 of 2 of bad.jsonl)" in accuracy
    (line,) = [one for one in script.splitlines() if one.endswith("> tables/accuracy.csv")]
    shutil.copy(tmp_path / "theirs.duckdb", tmp_path / "WORKSPACE")
    words = line.partition(" > ")[0].split()[1:]
    words[words.index("WORKSPACE")] = str(tmp_path / "WORKSPACE")
    assert workbench(*words).out.encode() == written["tables/accuracy.csv"]
    words[-1] = "latex"
    assert workbench(*words).out.encode() == written["tables/accuracy.tex"]


def test_of_a_study_only_its_items_count(demo: Path, workbench: Any) -> None:
    """Runs labelled other items, too."""
    with duckdb.connect(str(demo), read_only=True) as connection:
        labels = connection.execute(
            """
            SELECT u.name, v.item_id, arg_max(v.value, v.id) FROM verdict v JOIN run u ON u.id = v.run_id
            WHERE v.item_id IN (SELECT item_id FROM assignment a JOIN study s ON s.id = a.study_id
                WHERE s.name = 'pilot' AND a.phase IN ('label', 'review'))
            GROUP BY ALL HAVING arg_max(v.value, v.id) IS NOT NULL
            """
        ).fetchall()
        every = connection.execute("SELECT count(DISTINCT item_id) FROM verdict").fetchone()
    wanted = Counter(name for name, _, _ in labels)
    assert wanted
    assert every is not None
    assert max(wanted.values()) < every[0]
    asked = ("--question", "pair.match", "--study", "pilot", "--json")
    found = workbench("report", demo, "labels", *asked).json()
    assert {one["rater"]: one["labelled"] for one in found["raters"] if one["kind"] == "agent"} == wanted
    assert found["items"] >= max(wanted.values())
    with duckdb.connect(str(demo), read_only=True) as connection:
        executed = dict(
            connection.execute(
                """
                SELECT u.name, avg(e.executable::INT) FROM (
                    SELECT p.run_id, e.item_id, arg_max(e.executable, e.id) AS executable
                    FROM execution e JOIN step p ON p.id = e.step_id
                    WHERE e.exit_reason <> 'infrastructure' GROUP BY ALL
                ) e JOIN run u ON u.id = e.run_id WHERE e.item_id IN (SELECT item_id FROM assignment a
                    JOIN study s ON s.id = a.study_id WHERE s.name = 'pilot' AND a.phase IN ('label', 'review'))
                GROUP BY ALL
                """
            ).fetchall()
        )
    raters = workbench("report", demo, "accuracy", *asked).json()["raters"]
    rates = {one["rater"]: one["executable_rate"] for one in raters if one["kind"] == "agent"}
    assert rates == executed
    rows = workbench("report", demo, "agreement", *asked).json()["by_rater"]
    assert {one["name"]: one["labelled"] for one in rows if one["kind"] == "agent"} == wanted


def test_a_paper_is_of_a_study_and_overwrites_nothing(demo: Path, workbench: Any, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "draft.tex").write_text("mine", encoding="utf-8")
    refused = workbench("report", demo, "--all", "--study", "pilot", "--output", tmp_path / "full")
    assert (refused.code, refused.says("not an empty folder")) == (2, True)
    assert contents(tmp_path / "full") == {"draft.tex": b"mine"}
    unknown = workbench("report", demo, "--all", "--study", "nothing", "--output", tmp_path / "new", "--json")
    assert (unknown.code, "nothing" in unknown.json()["error"]["message"]) == (2, True)
    assert not (tmp_path / "new").exists()
    assert workbench("report", demo, "--all", "--output", tmp_path / "new").code == 2


@pytest.mark.parametrize("name", ["plan.txt", "figure.jpg", "w.duckdb"])
def test_a_figure_has_an_ending_that_says_its_form(
    demo: Path, workbench: Any, tmp_path: Path, name: str
) -> None:
    refused = workbench("report", demo, "accuracy", "--figure", tmp_path / name)
    assert (refused.code, refused.says("must end in one of")) == (2, True)
    assert not (tmp_path / name).exists()


def test_what_a_report_cannot_find_names_the_workspace(workbench: Any, in_folder: Path) -> None:
    (in_folder / "p.jsonl").write_text('{"id": "a", "query": "q", "code": "c"}\n', encoding="utf-8")
    assert workbench("import", "w.duckdb", "p.jsonl").code == 0
    refused = workbench("report", "w.duckdb", "retrieval", "--rater", "ana")
    assert (refused.code, refused.says("workbench evaluate retrieval w.duckdb")) == (2, True)
    with (
        Workspace.open(in_folder / "w.duckdb") as opened,
        opened.reading() as connection,
        pytest.raises(WorkbenchError, match="No labels of pairs"),
    ):
        reports()["retrieval"].start(connection, Options())


def test_what_a_run_showed_is_counted_alike_wherever_it_is_told(workbench: Any, demo: Path) -> None:
    """In the claim, the row of signs, the panes, JSON and SQL, of every run of the demo."""
    query = (
        "SELECT t.item, count(*) AS n, count(*) FILTER (outcome = 'passed') AS passed, "
        "count(*) FILTER (outcome = 'passed' AND NOT discriminates) AS weak FROM tests t "
        "JOIN verdicts v ON v.execution = t.execution AND v.shown GROUP BY ALL"
    )
    rows = {row["item"]: row for row in workbench("sql", demo, query, "--json").json()["rows"]}
    listed = workbench("items", demo, "--kind", "pair", "--json").json()["items"]
    facts = {one["item"]: one["execution"] for one in listed if (one["execution"] or {}).get("tests")}
    assert facts.keys() == rows.keys()
    assert {row["weak"] for row in rows.values()} >= {0, 1}
    with Workspace.open(demo) as opened:
        reader = ItemReader(opened, scope(ensure_rater(opened, "dana").id))
        for one in listed:
            if (row := rows.get(one["item"])) is None:
                continue
            seen = reader.read(one["number"])
            panes = {pane.id: pane.text for pane in seen.case}
            weak = row["weak"]
            does = "does" if weak == 1 else "do"
            words = [f"{row['passed']} of {row['n']} passed", f"{weak} {does} not discriminate"]
            steps = [line for line in panes["steps"].split("\n") if "ended: " in line][-1]
            strip = outcomes(seen.outcomes, 120).plain
            for told in (seen.claim.summary, panes["verdict"].split("\n")[0], strip, steps):
                assert words[0] in told
                assert (words[1] in told) == (weak > 0)
                assert ("discriminate" in told) == (weak > 0)
            assert strip.split("  ")[0].count("~") == weak
            for pane in ("verdict", "run"):
                assert panes[pane].count("(passes on a stub)") == weak
            told = facts[one["item"]]
            assert (told["passed"], told["not_discriminating"]) == (row["passed"], weak)
