"""`workbench sql` as a command, and pipes between commands."""

import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from judging import Desk
from review_bench import CASES, bench
from several_kinds import SCORED, three_kinds
from small_workspace import pairs_workspace

from store.policy.scope import EVERYTHING
from store.sql_views.running import SqlRun
from store.workspace.duckdb import Workspace

PAIRS = [
    (f"q{number}/1", f"query {number}", f"def f{number}():\n    return {number}\n") for number in range(1, 6)
]


@pytest.fixture
def path(tmp_path):
    with pairs_workspace(tmp_path, PAIRS) as made:
        return made.path


@pytest.fixture
def kinds(tmp_path):
    with three_kinds(tmp_path) as made:
        return made.path


@pytest.fixture
def typed(monkeypatch):
    """Puts a text on standard input."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def values(workbench, path, rater="dana"):
    found = workbench("sql", path, f"SELECT item, value FROM labels WHERE rater = '{rater}'", "--json")
    return {row["item"]: row["value"] for row in found.json()["rows"]}


def test_rows_for_people_and_for_programs(workbench, path, typed):
    statement = "SELECT item, title, 0.5::DECIMAL(3, 1) AS half FROM items ORDER BY number"
    found = workbench("sql", path, statement, "--json", "--limit", 2).json()
    assert found == {
        "columns": ["item", "title", "half"],
        "rows": [{"item": f"q{n}/1", "title": f"query {n}", "half": 0.5} for n in (1, 2)],
        "more": True,
    }
    shown = workbench("sql", path, statement, "--limit", 2)
    assert "q2/1" in shown.out
    assert "The first 2 rows" in shown.err
    assert "5 rows." in workbench("sql", path, statement).err
    typed("SELECT code, NULL AS nothing, [1, 2] AS both\nFROM pairs LIMIT 1")
    printed = workbench("sql", path, "-", "--csv").out
    assert printed == 'code,nothing,both\n"def f1():\n    return 1\n",,"[1, 2]"\n'
    assert workbench("sql", path, "SELECT 'nan'::DOUBLE AS n", "--json").json()["rows"] == [{"n": None}]
    assert "\x1b" not in workbench("sql", path, 'SELECT 1 AS "\x1b[31m[red]"').out
    # What Python has no value for, DuckDB writes.
    strange = "SELECT 'infinity'::DATE AS a, '0044-03-15 (BC)'::TIMESTAMP AS b, INTERVAL 14 MONTH AS c"
    assert workbench("sql", path, strange, "--json").json()["rows"] == [
        {"a": "infinity", "b": "0044-03-15 (BC) 00:00:00", "c": "1 year 2 months"}
    ]


def test_rows_are_written_to_a_file_and_two_columns_drawn(workbench, path, in_folder):
    statement = "SELECT number, title, length(title) AS letters FROM items ORDER BY number"
    told = workbench("sql", path, statement, "--output", "rows.md")
    assert (told.code, told.out, "5 rows written to rows.md" in told.err) == (0, "", True)
    lines = Path("rows.md").read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["| number | title | letters |", "| ---: | ---: | ---: |", "| 1 | query 1 | 7 |"]
    assert workbench("sql", path, statement, "--output", "rows.parquet").code == 0
    assert "already there" in workbench("sql", path, statement, "--output", "rows.md").err
    assert workbench("sql", path, statement, "--output", "a.csv", "--csv").says("exclude each other")

    counts = "SELECT title, number * 10 AS n FROM items ORDER BY number"
    for ending in ("svg", "pdf", "png"):
        assert workbench("sql", path, counts, "--output", f"chart.{ending}").code == 0
    drawn = Path("chart.svg").read_text(encoding="utf-8")
    assert all(text in drawn for text in ("query 5", ">n<", "SELECT title"))
    # Bars begin at 0; with numbers below there are points.
    assert drawn.count("<path d=") > 5
    below = "SELECT number, number - 3 AS n FROM items ORDER BY number"
    assert workbench("sql", path, below, "--output", "points.svg").code == 0
    for statement, why in (
        ("SELECT number FROM items", "this has 1 and 5"),
        ("SELECT number, title FROM items", "title holds no numbers"),
        ("SELECT title, NULL AS n FROM items", "n holds no numbers"),
        ("SELECT range, range FROM range(500)", "this has 2 and 500"),
        ("SELECT title, number FROM items WHERE false", "this has 2 and 0"),
    ):
        refused = workbench("sql", path, statement, "--output", "no.svg")
        assert (refused.code, refused.says(why)) == (2, True), statement
        assert not Path("no.svg").exists()


def test_the_views_are_listed(workbench, path):
    listed = workbench("sql", path, "--views", "--json").json()["views"]
    items = next(view for view in listed if view["name"] == "items")
    assert items["columns"][0] == {
        "name": "item",
        "type": "VARCHAR",
        "about": "The item's id: that of the imported file, of a comparison one of its own.",
    }
    assert "items: An item, with your label and the agents'." in workbench("sql", path, "--views").out


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (["COPY items TO 'x'"], "Not a SELECT"),
        (["FROM itms"], "Unknown view"),
        (["FROM range(1000000000000)", "--seconds", "1"], "Stopped"),
        (["SELECT 1", "--rater", "nobody-here"], "Unknown rater"),
        ([], "No statement"),
    ],
)
def test_what_is_wrong_is_said(workbench, path, arguments, title):
    done = workbench("sql", path, *arguments, "--json")
    assert (done.code, done.json()["error"]["title"]) == (2, title)


def test_the_statements_of_the_page_work(repository, tmp_path):
    page = (repository / "docs" / "sql.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    statements = [*block.split("\n\n"), *re.findall(r"`(PIVOT [^`]+)`", page)]
    assert len(statements) == 5
    with bench(tmp_path) as workspace:
        Desk(workspace, "dana").judge(1, 1.0)
        Desk(workspace, "lee").judge(1, 0.0)
        counts = [SqlRun(workspace, EVERYTHING, one).result().rows.num_rows for one in statements]
    assert counts[:3] == [1, 2, 2]
    assert counts[4] == len(CASES)


# -- judgments from standard input --------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"item": "q1/1", "value": 1}\n\n{"item": 2, "value": "no match", "comment": "off", "rank": 3}\n',
        '[{"item": "q1/1", "value": "match"}, {"item": "q2/1", "value": 0.0, "comment": "off"}]',
        '{"items": [{"item": "q1/1", "value": 1}, {"item": "q2/1", "value": 0, "comment": "off"}]}',
        '{"rows": [{"item": "q1/1", "value": 1}, {"item": "q2/1", "value": 0, "comment": "off"}]}',
        '{"item": "q1/1", "value": 1, "code": "a\u2028b\x85c"}\r\n{"item": 2, "value": 0, "comment": "off"}\r\n',
    ],
)
def test_judgments_are_read_from_standard_input(workbench, path, typed, text):
    typed(text)
    found = workbench("judge", path, "--from-stdin", "--rater", "dana", "--json").json()["judgments"]
    assert [(one["item"], one["value"], one["comment"]) for one in found] == [
        ("q1/1", 1.0, ""),
        ("q2/1", 0.0, "off"),
    ]
    assert values(workbench, path) == {"q1/1": 1.0, "q2/1": 0.0}
    with Workspace.open(path) as opened, opened.native() as cursor:
        # An undo takes back one of them.
        assert cursor.execute("SELECT count(DISTINCT action) FROM judgment").fetchone() == (2,)
    assert len(path.with_name(f"{path.name}.journal.jsonl").read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", ["no judgment"]),
        (
            f'{{"item": "q1/1", "value": 1}}\nnonsense\n[1]\n{"[" * 100_000}\n',
            ["line 2: this is not JSON", "line 3: this is not", "line 4: this is not JSON"],
        ),
        (
            '{"item": "q1/1", "value": 1}\n{"item": "q9/1", "value": 1}\n',
            ["line 2: No item is called 'q9/1'"],
        ),
        ('{"item": "q1/1", "value": 1}\n{"item": "q2/1", "value": 7}\n', ["line 2: "]),
        ('{"item": "q1/1", "value": 1}\n{"item": "q2/1"}\n', ["line 2: value is missing"]),
        ('[{"item": "q1/1", "value": 1}, {"value": 1}]', ["object 2: item is missing"]),
        (
            '{"item": "q1/1", "value": 1}\n{"item": "q1/1", "value": 0}\n',
            ["line 2: it answers the same question of the same item as line 1"],
        ),
        (
            '{"item": "q1/1", "value": 1}\n{"item": "q2/1", "value": 1, "question": "rank"}\n',
            ["line 2: It is not asked 'rank'."],
        ),
    ],
)
def test_all_are_recorded_or_none(workbench, path, typed, text, problems):
    typed(text)
    done = workbench("judge", path, "--from-stdin", "--rater", "dana", "--json")
    error = done.json()["error"]
    assert (done.code, error["title"]) == (2, "Nothing was recorded")
    assert all(problem in error["message"] for problem in problems), error
    with Workspace.open(path) as opened, opened.native() as cursor:
        assert cursor.execute("SELECT count(*) FROM judgment").fetchone() == (0,)


def test_input_that_is_no_text_or_has_no_end_is_refused(workbench, path, monkeypatch):
    binary = io.TextIOWrapper(io.BytesIO(b'{"item": "q1/1", "value": "\xff"}'), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", binary)
    done = workbench("judge", path, "--from-stdin", "--rater", "dana", "--json")
    assert (done.code, "no UTF-8" in done.json()["error"]["message"]) == (2, True)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"SELECT '\xff'"), encoding="utf-8"))
    assert workbench("sql", path, "-", "--json").json()["error"]["title"] == "SQL error"
    monkeypatch.setattr("workbench.judgment_lines.MOST_CHARACTERS", 1_000)
    with Path("/dev/zero").open(encoding="utf-8") as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        done = workbench("judge", path, "--from-stdin", "--rater", "dana", "--json")
    assert (done.code, "give it in parts" in done.json()["error"]["message"]) == (2, True)


def test_a_failure_of_the_disk_leaves_none(workbench, path, typed, monkeypatch):
    typed("\n".join(json.dumps({"item": name, "value": 1}) for name, *_ in PAIRS))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("store.workspace.journal.Journal.append", full)
    assert workbench("judge", path, "--from-stdin", "--rater", "dana").code == 2
    assert values(workbench, path) == {}


def test_questions_about_responses(workbench, kinds, typed):
    typed(json.dumps({"item": SCORED, "value": 4, "question": "accuracy@two%23"}))
    done = workbench("judge", kinds, "--from-stdin", "--rater", "dana", "--json")
    assert done.json()["judgments"][0]["value"] == 4.0
    (row,) = workbench("sql", kinds, "SELECT model, question FROM labels", "--json").json()["rows"]
    assert row == {"model": "two#", "question": "answer.accuracy"}


def test_what_cannot_be_combined(workbench, path, typed):
    typed("[]")
    for arguments in (["q1/1", "1", "--from-stdin"], ["--from-stdin", "--evidence", "code:1"], ["q1/1"], []):
        assert workbench("judge", path, *arguments).code == 2


def test_a_pipe_from_items_through_a_filter_to_judge(path):
    """In a real shell: all three commands run at once, and one at a time has the workspace open."""
    workbench = f"{shlex.quote(sys.executable)} -m workbench"
    chosen = (
        "import json, sys\n"
        "for one in json.load(sys.stdin)['items']:\n"
        "    if one['title'] < 'query 4': print(json.dumps({'item': one['item'], 'value': 1}))"
    )
    keep = f"{shlex.quote(sys.executable)} -c {shlex.quote(chosen)}"
    file = shlex.quote(str(path))
    line = f"{workbench} items {file} --json | {keep} | {workbench} judge {file} --from-stdin --rater dana"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("● 3 judgments recorded · rater dana\n", "")
    statement = "SELECT item, 0 AS value FROM labels WHERE item != 'q3/1'"
    line = f'{workbench} sql {file} "{statement}" --json | {workbench} judge {file} --from-stdin --rater lee'
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.stdout == "● 2 judgments recorded · rater lee\n", done.stderr
