"""Tables of a user's own: each is imported by the command that the program proposes, as the file has it."""

import json
import re
import shlex

import openpyxl
import pytest
from own_tables import CHOSEN, ROWS, SHAPES, VALUE, excel, marked, proposed, semicolons, table, words

from store.workspace.duckdb import Workspace


def stored(path):
    statement = (
        "SELECT external_id, q.text, c.text, j.value FROM item i JOIN pair p ON p.item_id = i.id "
        "JOIN query q ON q.id = query_id JOIN code c ON c.id = code_id "
        "LEFT JOIN judgment j ON j.item_id = i.id ORDER BY i.id"
    )
    with Workspace.open(path) as opened:
        cursor = opened.native()
        try:
            return cursor.execute(statement).fetchall()
        finally:
            cursor.close()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_table_is_imported_as_it_is_by_the_command_that_is_proposed(shape, tmp_path, workbench):
    path, target = shape(tmp_path), tmp_path / "own.duckdb"
    done = workbench("import", target, path)
    if done.code and shape in CHOSEN:
        assert all(len(line) <= 100 for line in done.err.splitlines()[:-1])
        done = workbench("import", target, path, *(word for one in CHOSEN[shape] for word in ("--map", one)))
    elif done.code:
        done = workbench(*proposed(done.err))

    assert done.code == 0, done.err
    assert stored(target) == [(*row[:3], VALUE[row[3]]) for row in ROWS]


def test_usual_names_are_taken_at_once_and_said_in_a_line(tmp_path, workbench):
    path, target = marked(tmp_path), tmp_path / "own.duckdb"
    done = workbench("import", target, path)
    assert (
        "csv (detected: query from 'QUESTION', code from 'SNIPPET', label from 'RELEVANT', id from 'NUMBER'), "
        "6 records; 6 items added"
    ) in done.out


def test_without_ids_they_are_made_of_the_texts_and_the_row_is_kept(tmp_path, workbench):
    path, target = tmp_path / "mine.csv", tmp_path / "own.duckdb"
    rows = [(row[1], row[2]) for row in (*ROWS, ROWS[2])]
    path.write_text(table(("question", "code"), rows), encoding="utf-8")
    assert "6 items added; 1 item already there" in workbench("import", target, path).out
    ids = [row[0] for row in stored(target)]
    assert len(set(ids)) == 6
    assert all(re.fullmatch("mine-[0-9a-f]{12}", each) for each in ids)
    with Workspace.open(target) as opened:
        cursor = opened.native()
        kept = [json.loads(extra)["row"] for (extra,) in cursor.execute("SELECT extra FROM item").fetchall()]
        cursor.close()
    assert kept == [1, 2, 3, 4, 5, 6]

    # The same file adds nothing, wherever its rows stand; a row that was changed is a new item.
    path.write_text(table(("code", "question"), [row[::-1] for row in rows[::-1]]), encoding="utf-8")
    assert "no item added; 7 items already there" in workbench("import", target, path).out
    rows[0] = (rows[0][0], "sorted(d)")
    path.write_text(table(("question", "code"), rows), encoding="utf-8")
    assert "1 item added; 6 items already there" in workbench("import", target, path).out


def test_what_is_only_likely_is_proposed_and_nothing_is_imported(tmp_path, workbench):
    path, target = semicolons(tmp_path), tmp_path / "own.duckdb"
    refused = workbench("import", target, path, "--prefix", "mine/", "--label-as", "dana")
    assert refused.code == 2
    assert not target.exists()
    shown = " ".join(refused.err.replace("│", " ").split())
    assert "names no column that is surely the query and code" in shown
    assert "query search text how to sort a dict by" in shown
    assert "label gold label yes · no" in shown
    assert "id nr 007 · 1 · 2" in shown
    assert len(refused.err.splitlines()) <= 24
    chosen = ["--map", "query=search text", "--map", "code=my snippet", "--map", "label=gold label"]
    further = ["--label-as", "dana", "--prefix", "mine/"]
    assert proposed(refused.err) == ["import", str(target), str(path), *chosen, *further]
    error = json.loads(workbench("import", target, path, "--json").out)["error"]
    assert error["command"] == shlex.join(["workbench", "import", str(target), str(path), *chosen])


def test_words_that_nothing_explains_are_in_the_command(tmp_path, workbench):
    path, target = tmp_path / "pairs.csv", tmp_path / "own.duckdb"
    words_of = {"yes": "passt", "no": "passt nicht"}
    rows = [(*row[:3], words_of[row[3]]) for row in ROWS]
    path.write_text(table(("Nr", "Suchtext", "Programm", "Urteil"), rows), encoding="utf-8")
    refused = workbench("import", target, path)
    assert refused.says("Put 1, 0 or nothing in place of each ? in the command below.")
    command = proposed(refused.err)
    assert command[-2:] == ["--label-words", "passt=?,passt nicht=?"]
    assert workbench(*command).says("'passt=?' is not WORD=1, WORD=0 or WORD=")
    assert workbench(*command[:-1], "passt=1,passt nicht=0").code == 0
    assert stored(target) == [(*row[:3], VALUE[row[3]]) for row in ROWS]


def test_two_columns_that_fit_are_both_named(tmp_path, workbench):
    path = tmp_path / "pairs.csv"
    path.write_text("question,search,code\nhow to add,add numbers,a + b\n")
    refused = workbench("import", tmp_path / "own.duckdb", path)
    assert "question and search fit: choose one" in refused.err
    assert refused.err.splitlines()[-1].endswith("--map query=COLUMN")
    done = workbench("import", tmp_path / "own.duckdb", path, "--map", "query=search")
    assert "kept as extra: question, row" in done.out


def test_a_column_that_is_not_there_names_the_nearest(tmp_path, workbench):
    refused = workbench("import", tmp_path / "own.duckdb", semicolons(tmp_path), "--map", "query=serch text")
    shown = " ".join(refused.err.replace("│", " ").split())
    assert "has no column for --map query=serch text" in shown
    assert "the nearest is 'search text'" in shown


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.jsonl"])
def test_words_of_labels_are_explained_or_refused_with_what_was_seen(name, tmp_path, workbench):
    path, target = tmp_path / name, tmp_path / "own.duckdb"
    rows = [(*row[:3], {"yes": "Good", "no": "bad"}[row[3]]) for row in ROWS]
    header = ("id", "query", "code", "label")
    records = (json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in rows)
    path.write_text(table(header, rows) if name == "pairs.csv" else "".join(records), encoding="utf-8")
    refused = workbench("import", target, path)
    shown = " ".join(refused.err.replace("│", " ").split())
    assert "'label' is 'Good', which is none of match, no match, 1, 0, yes, no, true, false" in shown
    assert "--label-words good=1 (or 0, or nothing) says what it means" in shown
    # Each word is told once, with the lines that have it.
    assert shown.count("'label' is 'Good'") == shown.count("'label' is 'bad'") == 1
    assert ("(also 6, 8)" if name == "pairs.csv" else "(also 3, 5)") in shown

    assert workbench("import", target, path, "--label-words", "good=1,bad=0").code == 0
    assert [row[3] for row in stored(target)] == [VALUE[row[3]] for row in ROWS]


def test_what_has_no_label_is_an_item_without_one(tmp_path, workbench):
    path, target = tmp_path / "pairs.csv", tmp_path / "own.duckdb"
    rows = [
        (row[1], row[2], label)
        for row, label in zip(ROWS, ("yes", "", "NO_MATCH", "n/a", "0", "No"), strict=True)
    ]
    path.write_text(table(("question", "code", "gold"), rows), encoding="utf-8")
    done = workbench("import", target, path, "--map", "label=gold", "--label-words", "n/a=")
    assert done.code == 0, done.err
    assert [row[3] for row in stored(target)] == [1.0, None, 0.0, None, 0.0, 0.0]


@pytest.mark.parametrize("header", ["id,query,code,gold", "id,query,code,Label", "ID,Query,Code,Relevant"])
def test_a_label_with_a_usual_name_is_taken_beside_our_columns(header, tmp_path, workbench):
    path, target = tmp_path / "pairs.csv", tmp_path / "own.duckdb"
    path.write_text(table(header.split(",")), encoding="utf-8")
    assert "label from" in workbench("import", target, path).out
    assert [row[3] for row in stored(target)] == [VALUE[row[3]] for row in ROWS]


@pytest.mark.parametrize("header", ["id,query,code,label", "id,query,code,gold", "nr,Question,Snippet,Label"])
def test_a_table_can_go_without_its_labels(header, tmp_path, workbench):
    path, target = tmp_path / "pairs.csv", tmp_path / "own.duckdb"
    path.write_text(table(header.split(",")), encoding="utf-8")
    done = workbench("import", target, path, "--map", "label=")
    assert done.code == 0, done.err
    assert f"kept as extra: {header.split(',')[-1]}" in done.out
    assert [row[3] for row in stored(target)] == [None] * 6


def test_a_column_of_labels_that_is_not_there_is_refused(tmp_path, workbench):
    path = tmp_path / "pairs.csv"
    path.write_text(table(("id", "query", "code", "label")), encoding="utf-8")
    refused = workbench("import", tmp_path / "own.duckdb", path, "--map", "label=lable")
    assert refused.says("has no column for --map label=lable")
    assert refused.says("the nearest is 'label'")


def test_grades_in_the_column_of_labels_are_kept(tmp_path, workbench):
    path, target = tmp_path / "pairs.csv", tmp_path / "own.duckdb"
    path.write_text(
        table(("id", "query", "code", "label"), [(*row[:3], "2") for row in ROWS]), encoding="utf-8"
    )
    assert workbench("import", target, path).says("--map relevance=label")
    assert workbench("import", target, path, "--map", "relevance=label").code == 0
    assert [row[3] for row in stored(target)] == [2.0] * 6


def test_ids_that_repeat_give_way_to_ids_of_the_content(tmp_path, workbench):
    path, target = tmp_path / "pairs.csv", tmp_path / "own.duckdb"
    path.write_text(table(("id", "query", "code"), [("7", *row[1:3]) for row in ROWS]), encoding="utf-8")
    assert workbench("import", target, path).code == 2
    assert workbench("import", target, path, "--map", "id=").code == 0
    assert len({row[0] for row in stored(target)}) == 6


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("question;source;snippet_text", "how to add;github;add(a, b)"),
        ("text;code", "def add(a):\\n    return a;E001"),
        ("doc;code", "doc1.pdf;add(a, b)"),
    ],
)
def test_a_usual_name_over_other_values_is_not_taken(header, row, tmp_path, workbench):
    path = tmp_path / "pairs.csv"
    path.write_text(f"{header}\n{row}\n{row}\n")
    assert workbench("import", tmp_path / "own.duckdb", path).says("names no column that is surely")


def test_json_with_codes_is_no_file_of_repository_questions(tmp_path, workbench):
    path, target = tmp_path / "pairs.jsonl", tmp_path / "own.duckdb"
    records = [dict(zip(("question", "code", "label"), row[1:], strict=True)) for row in ROWS]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert workbench("import", target, path).code == 0
    assert [row[1:] for row in stored(target)] == [(*row[1:3], VALUE[row[3]]) for row in ROWS]


@pytest.mark.parametrize("given", ["good", "good=2", "good=1,GOOD=0", "=1", ""])
def test_words_that_are_no_explanation_are_refused(given, tmp_path, workbench):
    refused = workbench("import", tmp_path / "own.duckdb", words(tmp_path), "--label-words", given)
    assert refused.code == 2
    assert "good=1,bad=0" in refused.err


def test_the_formats_are_listed_where_they_are_asked_for(tmp_path, workbench):
    listed = workbench("import", "--formats").out
    assert "\n  cosqa-plus " in listed
    path = tmp_path / "one.csv"
    path.write_text("word\nalone\n")
    refused = workbench("import", tmp_path / "own.duckdb", path)
    assert refused.says("is of no known format")
    assert len(refused.err.splitlines()) <= 24


WIDE = ";".join(f"a rather long name of a column {number}" for number in range(200))
ERRORS = {
    "many records": ("id;query;code;label\n" + "1;q;c;" + "something that is no label at all " * 3 + "\n")
    * 50,
    "many columns": f"{WIDE}\n{WIDE}\n",
    "many candidates": ";".join(["text", *["question", "search", "intent"] * 30, "code"]) + f"\n{';' * 91}\n",
    "one column": "word\nalone\n",
}


@pytest.mark.parametrize("options", [[], ["--format", "no-such"], ["--map", "query=nowhere"]])
@pytest.mark.parametrize("error", ERRORS)
def test_every_error_fits_a_small_terminal(error, options, tmp_path, workbench, monkeypatch):
    monkeypatch.setattr("workbench.output.PANEL_WIDTH", 80)
    path = tmp_path / "a-file-with-a-longer-name.csv"
    path.write_text(ERRORS[error])
    refused = workbench("import", tmp_path / "own.duckdb", path, *options)
    assert refused.code == 2
    lines = refused.err.splitlines()
    rows = sum(-(-max(1, len(line)) // 80) for line in lines)
    assert rows <= 24, refused.err


@pytest.mark.parametrize(("written", "value"), [("0,75", 0.75), ("-12,5", -12.5), ("0,8125", 0.8125)])
def test_a_decimal_comma_is_read(written, value, tmp_path, workbench):
    path, target = tmp_path / "pairs.csv", tmp_path / "own.duckdb"
    path.write_text(f"id;query;code;similarity\n1;add;a + b;{written}\n")
    assert workbench("import", target, path).code == 0
    with Workspace.open(target) as opened:
        cursor = opened.native()
        found = cursor.execute("SELECT value FROM similarity").fetchall()
        cursor.close()
    assert found == [(value,)]


def test_a_comma_that_may_part_thousands_is_refused(tmp_path, workbench):
    path = tmp_path / "pairs.csv"
    path.write_text("id;query;code;similarity\n1;add;a + b;1,234\n")
    refused = workbench("import", tmp_path / "own.duckdb", path)
    assert refused.says("('1,234') where a number is expected")


def test_a_row_of_a_spreadsheet_is_named_by_its_number(tmp_path, workbench):
    path, target = tmp_path / "pairs.xlsx", tmp_path / "own.duckdb"
    header = ("id", "query", "code", "label")
    excel(path, header, [*ROWS, ("9", "q", "c\nd", "perhaps"), (10.5, "q", "c", True)])
    assert workbench("import", target, path).says("pairs.xlsx:8: 'label' is 'perhaps'")
    done = workbench("import", target, path, "--label-words", "perhaps=0")
    assert done.code == 0, done.err
    assert stored(target)[6:] == [("9", "q", "c\nd", 0.0), ("10.5", "q", "c", 1.0)]


def test_sheets_and_files_that_are_none_are_refused(tmp_path, workbench):
    path, target = tmp_path / "pairs.xlsx", tmp_path / "own.duckdb"
    book = openpyxl.Workbook()
    book.save(path)
    assert workbench("import", target, path).says("no sheet holds anything")
    for name in ("One", "Two"):
        book.create_sheet(name).append(["id", "query", "code"])
    book.save(path)
    assert workbench("import", target, path).says("2 sheets with content: One, Two")
    path.write_bytes(path.read_bytes()[:400])
    assert workbench("import", target, path).says("Damaged spreadsheet")


@pytest.mark.parametrize("lines", ["how to add\nread, then write\n", "word\nalone\n"])
def test_a_text_is_a_query_a_line(lines, tmp_path, workbench):
    path, target = tmp_path / "asked.txt", tmp_path / "own.duckdb"
    path.write_text(lines)
    assert "queries (detected: a text, a query a line), 2 records; 2 queries added" in (
        workbench("import", target, path).out
    )
    with Workspace.open(target) as opened:
        cursor = opened.native()
        assert cursor.execute("SELECT text FROM query ORDER BY id").fetchall() == [
            (each,) for each in lines.splitlines()
        ]
        cursor.close()


def test_labels_of_several_raters_do_not_become_those_of_one(tmp_path, workbench):
    path = tmp_path / "pairs.csv"
    rows = [(*ROWS[0], "ann"), (*ROWS[0][:3], "no", "bob"), (*ROWS[1], "ann")]
    path.write_text(table(("nr", "question", "code", "label", "annotator_id"), rows))
    refused = workbench("import", tmp_path / "own.duckdb", path)
    assert refused.says("'annotator_id' names raters (ann, bob)")
    # One rater's name is a column like any other.
    path.write_text(table(("nr", "question", "code", "label", "annotator_id"), [rows[0], rows[2]]))
    assert workbench("import", tmp_path / "own.duckdb", path).code == 0


def test_grades_stay_grades(tmp_path, workbench):
    path, target = tmp_path / "pairs.csv", tmp_path / "own.duckdb"
    rows = [(row[1], row[2], str(place % 4)) for place, row in enumerate(ROWS)]
    path.write_text(table(("question", "snippet", "Relevance"), rows), encoding="utf-8")
    assert workbench("import", target, path).code == 0
    assert [row[3] for row in stored(target)] == [0, 1, 2, 3, 0, 1]


def test_a_beir_folder_is_pairs_with_grades(tmp_path, workbench):
    """The folder that an export of the pairs writes: codes, queries, and their grades in parts."""
    source, target, folder = tmp_path / "own.duckdb", tmp_path / "again.duckdb", tmp_path / "bench"
    assert workbench("import", source, words(tmp_path), "--label-as", "gold").code == 0
    assert workbench("split", source, "v", "--rater", "gold", "--ratios", "1:1").code == 0
    assert workbench("export", source, folder, "--format", "beir", "--split", "v").code == 0
    (folder / "corpus.jsonl").open("a").write(
        '{"_id": "spare", "title": "", "text": "def spare(x): return x"}\n'
    )
    done = workbench("import", target, folder, "--match-from", "1")
    assert done.code == 0, done.err
    assert "qrels/train.tsv: beir (detected: CSV with the fields corpus-id, query-id, score)" in done.out
    assert "judgments of 'bench labels'" in done.out
    texts = {row[1:] for row in stored(target)}
    assert texts == {(query, code, grade) for _, query, code, label in ROWS for grade in (VALUE[label],)}
    ids = [number for number, *_ in stored(target)]
    assert all(re.fullmatch("[0-9a-f]{32}/[0-9a-f]{32}", number) for number in ids)
    assert "Nothing of it is new" in workbench("import", target, folder).out

    # Alone each file of texts is a corpus, and qrels need theirs.
    assert "1 code added" in workbench("import", target, folder / "corpus.jsonl").out
    alone = workbench("import", tmp_path / "x.duckdb", folder / "qrels" / "train.tsv")
    assert alone.says("is in none of the files imported with it")


def test_what_stands_above_the_names_is_said(tmp_path, workbench):
    path = tmp_path / "pairs.csv"
    path.write_text("My pairs,,\n,,\nid,query,code\n1,add,a + b\n")
    refused = workbench("import", tmp_path / "own.duckdb", path)
    assert refused.says("the first line names 'My pairs', and 2 more have no name")
    assert refused.says("Delete what stands above the names of the columns")
    path.write_text('"id" ,"query","code"\n1,add,a + b\n')
    assert workbench("import", tmp_path / "own.duckdb", path).says("malformed CSV")


def test_ratings_are_not_proposed_as_labels(tmp_path, workbench):
    path = tmp_path / "pairs.csv"
    path.write_text(
        "id,Question,snippet,rating\n" + "".join(f"{n},add {n},a + {n},{n % 3}\n" for n in range(6))
    )
    done = workbench("import", tmp_path / "own.duckdb", path)
    assert "label" not in done.out
    assert "kept as extra: rating" in done.out


def test_a_column_of_another_meaning_is_a_further_one(tmp_path, workbench):
    path = tmp_path / "pairs.csv"
    path.write_text("id,query,code,rank,extra\n1,add,a + b,first,see below\n")
    done = workbench("import", tmp_path / "own.duckdb", path)
    assert "kept as extra: rank, extra" in done.out
