"""Tables as people have them: twelve shapes of the same six pairs."""

import csv
import io
import json
import shlex

import openpyxl
import pyarrow
import pyarrow.parquet

ROWS = [
    ("007", "how to sort a dict by value", "def by_value(d):\n    return sorted(d, key=d.get)", "yes"),
    ("1", "read a file line by line", "for line in open(path):\n    print(line)", "no"),
    ("2", 'make a "list" unique', "unique = list(dict.fromkeys(xs))", "yes"),
    ("3", "join strings; with a comma", "', '.join(words)", "no"),
    ("4", "größte Zahl finden", "def größte(zahlen):\n    return max(zahlen)", "yes"),
    ("5", "flatten a nested list", "[x for xs in xss for x in xs]", "no"),
]
VALUE = {"yes": 1.0, "no": 0.0}


def table(header, rows=ROWS, **dialect):
    """A table as text; its columns are id, query, code and label."""
    text = io.StringIO()
    writer = csv.writer(text, **dialect)
    if header:
        writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def excel(path, header, rows):
    book = openpyxl.Workbook()
    for row in (header, *rows):
        book.active.append(row)
    book.save(path)


def parquet(path, header, rows):
    pyarrow.parquet.write_table(pyarrow.table(dict(zip(header, zip(*rows, strict=True), strict=True))), path)


OWN = ("nr", "search text", "my snippet", "gold label")


def semicolons(folder):
    path = folder / "pairs.csv"
    path.write_text(table(OWN, delimiter=";"), encoding="utf-8")
    return path


def tabs(folder):
    path = folder / "pairs.tsv"
    path.write_text(table(("Idx", "Doc", "Function", "Gold"), delimiter="\t"), encoding="utf-8")
    return path


def marked(folder):
    path = folder / "pairs.csv"
    path.write_text(table(("NUMBER", "QUESTION", "SNIPPET", "RELEVANT")), encoding="utf-8-sig")
    return path


def wide(folder):
    path = folder / "pairs.txt"
    path.write_text(table(OWN, delimiter="\t"), encoding="utf-16")
    return path


def sheet(folder):
    path = folder / "pairs.xlsx"
    numbered = [(float(row[0]) if row[0] != "007" else row[0], *row[1:]) for row in ROWS]
    excel(path, OWN, numbered)
    return path


def headless(folder):
    path = folder / "pairs.csv"
    path.write_text(table(()), encoding="utf-8")
    return path


def doubled(folder):
    path = folder / "pairs.csv"
    rows = [(row[0], row[1], "note", row[2], row[3]) for row in ROWS]
    path.write_text(table(("id", "text", "text", "code", "label"), rows), encoding="utf-8")
    return path


def lines(folder):
    path = folder / "pairs.jsonl"
    names = ("id", "intent", "snippet", "match")
    records = [dict(zip(names, (*row[:3], row[3] == "yes"), strict=True)) for row in ROWS]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def shards(folder):
    for number in range(2):
        path = folder / "set" / "data" / f"train-0000{number}-of-00002.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet(path, ("idx", "nl", "source", "label"), ROWS[3 * number : 3 * number + 3])
    return folder / "set"


def bars(folder):
    path = folder / "pairs.csv"
    path.write_text(
        table(("ID", "NL", "Code", "Match"), delimiter="|", lineterminator="\r", quoting=csv.QUOTE_ALL),
        encoding="utf-8",
        newline="",
    )
    return path


def array(folder):
    path = folder / "pairs.json"
    names = ("key", "Intent of the user", "solution", "correct")
    path.write_text(json.dumps([dict(zip(names, row, strict=True)) for row in ROWS], indent=1))
    return path


def words(folder):
    path = folder / "pairs.csv"
    rows = [(*row[:3], {"yes": "Match", "no": "no match"}[row[3]]) for row in ROWS]
    path.write_text(table(("id", "query", "code", "label"), rows), encoding="utf-8")
    return path


SHAPES = [semicolons, tabs, marked, wide, sheet, headless, doubled, lines, shards, bars, array, words]

CHOSEN = {
    array: ["id=key", "query=Intent of the user", "code=solution", "label=correct"],
    headless: ["id=1", "query=2", "code=3", "label=4"],
    doubled: ["query=text (2)"],
}
"""What the user has to say where the program cannot know it."""


def proposed(error):
    """The words of the command below an error, after the program's name."""
    command = next(line for line in error.splitlines() if line.startswith("workbench import "))
    return shlex.split(command)[1:]
