"""Workspaces of comparisons that differ in the names of sets and the order of import alone show a rater the same.

The texts are the same, and on the same sides. Ids of the files name the sets, as those of many files do.
"""

import json
import re

import pytest
from sealed_bench import plain, session_of

from screens.home.facts import read_facts
from screens.items.views import review_part
from store.ingest.importing import import_files
from store.kinds.comparison import AS_LISTED, COMPARISON, SWAPPED
from store.queries.item import item_texts, load_item
from store.queries.progress import progress
from store.queries.queue import queue_ids, queue_rows
from store.queries.rows import QueueFilter, QueueSort
from store.queries.studies import ChosenItem
from store.record.protocol import StudyProtocol
from store.record.raters import register_kinds
from store.sql_views.views import views
from store.studies.packets import make_packet
from store.studies.studies import freeze_study, new_study
from store.tables.columns import table_of
from store.tables.imported import Item
from store.workspace.duckdb import Workspace

FILE = "duels.duckdb"
NAMES = ("alpha", "omega")


def duels(folder, *, exchanged, backwards):
    """A workspace with a study; with the names of the sets exchanged, or imported from behind."""
    folder.mkdir()
    one, other = NAMES[::-1] if exchanged else NAMES
    records = [
        {
            "id": f"{one}-against-{other}/{number}", "prompt": f"do the thing {number // 2}", "language": "python",
            "first": f"def one_{number}(): return {number}", "second": f"def other_{number}():\n    return {number}\n",
            "first_name": one, "second_name": other, "first_ref": f"{one}:{number}", "second_ref": f"{other}:{number}",
            "seed": "1", "winner_by_length": one,
        }
        for number in range(12)
    ]  # fmt: skip
    half = records[:6], records[6:]
    with Workspace.create(folder / FILE) as workspace:
        register_kinds(workspace)
        for place, part in enumerate(half[::-1] if backwards else half):
            file = folder / f"{part[0]['first_name']}-{place}.jsonl"
            file.write_text("\n".join(map(json.dumps, part[::-1] if backwards else part)))
            import_files(workspace, [file])
        with workspace.reading() as connection:
            ids = [one for (one,) in connection.exec_driver_sql("SELECT id FROM item ORDER BY id").fetchall()]
        protocol = StudyProtocol(
            COMPARISON.name, conditions=("blind",), seed=3, scale="tie", repeats=2, overlap=1,
            texts=("masked-names", "formatted"),
        )  # fmt: skip
        new_study(workspace, "duel", protocol, [ChosenItem(one) for one in ids], ("ana", "ben"))
        freeze_study(workspace, "duel")
    return folder / FILE


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blind")
    return [
        duels(folder / name, exchanged=exchanged, backwards=exchanged)
        for name, exchanged in (("a", False), ("b", True))
    ]


def numberless(text):
    """A text without the numbers of items, which no screen has."""
    return re.sub(r"item_id=\d+|UUID\('[^']+'\)", "N", text)


def queried(workspace):
    """What the queries return of the rater's sitting, each in the order in which it is shown."""
    scope = session_of(workspace).scope
    ids = [int(number) for number in queue_ids(workspace, scope)]
    filters = [QueueFilter(text=text) for text in ("alpha", "omega", "c-", "one_1", "thing 2")]
    with workspace.reading() as connection:
        part = review_part(COMPARISON.name)
        yield [load_item(connection, scope, COMPARISON, one) for one in ids]
        yield [part.load(connection, scope, one) for one in ids]
        yield [item_texts(connection, [one], scope)[one] for one in ids]
        yield progress(connection, scope).to_dict()
    yield queue_rows(workspace, scope, ids)
    yield [[ids.index(int(one)) for one in queue_ids(workspace, scope, wanted)] for wanted in filters]
    for key in ("title", "label", "status", "position"):
        yield [ids.index(int(one)) for one in queue_ids(workspace, scope, QueueFilter(), QueueSort(key))]
    yield read_facts(workspace, scope, sample=False)


def test_every_query_returns_the_same(both):
    found = []
    for path in both:
        with Workspace.open(path) as workspace:
            found.append([numberless(repr(one)) for one in queried(workspace)])
    for one, other in zip(*found, strict=True):
        # The details of an item hold names, which no screen shows; see `hidden` of its kind.
        strip = re.compile(r"'(first|second)_(name|ref)': '[^']*'|extra=\{[^}]*\}|source='[^']*'")
        assert strip.sub("", one) == strip.sub("", other)


def test_every_view_of_sql_has_the_same_rows(both):
    found = []
    for path in both:
        with Workspace.open(path) as workspace, workspace.reading() as connection:
            scope = session_of(workspace).scope
            found.append(
                {
                    name: connection.execute(view.select(connection, scope)).all()
                    for name, view in views().items()
                    # These say when the workspace was made.
                    if name not in ("raters", "studies")
                }
            )
            ids = [int(number) for number in queue_ids(workspace, scope)]
            texts = item_texts(connection, ids, scope)
    assert found[0] == found[1]
    assert {row.file_order for row in found[0]["comparisons"]} == {None}
    shown = {(row.first, row.second) for row in found[1]["comparisons"]}
    assert shown == {(one["first"], one["second"]) for one in texts.values()}
    assert not any(name in str(found[0]) for name in NAMES)


@pytest.mark.parametrize("shown", ["store.queries.queue.shown_id", "store.queries.item.shown_id"])
def test_with_the_ids_of_the_files_they_would_differ(both, monkeypatch, shown):
    monkeypatch.setattr(shown, lambda: table_of(Item).c.external_id)
    found = []
    for path in both:
        with Workspace.open(path) as workspace:
            found.append([numberless(repr(one)) for one in queried(workspace)])
    assert found[0] != found[1]
    assert any("alpha-against-omega" in one for one in found[0])


COMMANDS = (
    "items WS", "items WS --json", "items WS --text alpha", "items WS --text omega --json", "items WS --status open",
    "report WS", "report WS --json", "study list WS", "report WS preference", "export WS out.jsonl --format jsonl",
    "judge WS ITEM 1", "judge WS ITEM better --json", "judge WS alpha-against-nobody/1 1", "items WS --json",
)  # fmt: skip


def test_every_command_prints_the_same(both, workbench, monkeypatch):
    monkeypatch.setenv("WORKBENCH_RATER", "ana")
    printed = []
    for path in both:
        monkeypatch.chdir(path.parent)
        first = json.loads(workbench("items", FILE, "--json").out)["items"][0]["item"]
        assert re.fullmatch(r"c-[0-9a-f]{10}", first)
        of_path = []
        for line in COMMANDS:
            words = {"WS": FILE, "ITEM": first}
            done = workbench(*(words.get(word, word) for word in line.split()))
            of_path.append((line, done.code, plain(done.out, path), plain(done.err, path)))
        printed.append(of_path)
    assert printed[0] == printed[1]
    text = str(
        [(out, err) for line, _, out, err in printed[0] if "alpha" not in line and "omega" not in line]
    )
    assert not any(name in text for name in NAMES)


BLIND_COMMANDS = (
    "items WS", "items WS --json", "items WS --text alpha --json", "report WS", "report WS --json", "report WS figures",
    "study list WS", "report WS preference", "report WS pipeline", "judge WS ITEM better --json",
    "judge-pairs WS --model scripted:replies.jsonl --estimate", "judge-pairs WS --model scripted:replies.jsonl --limit 1",
    "replies WS", "sql WS --json FROM/**/runs", "sql WS --json FROM/**/comparisons/**/ORDER/**/BY/**/item",
)  # fmt: skip


def test_a_blind_review_outside_a_study_prints_the_same(tmp_path, workbench, monkeypatch):
    """Numbers of items and their order are those of the import there."""
    monkeypatch.setenv("WORKBENCH_RATER", "cora")
    printed = []
    for exchanged in (False, True):
        path = duels(tmp_path / str(exchanged), exchanged=exchanged, backwards=False)
        monkeypatch.chdir(path.parent)
        (path.parent / "blind.toml").write_text("[screens]\nblind = true\n")
        # No verdict, so that the item fails.
        reply = {"role": "judge", "reply": "neither", "usage": {"tokens_in": 1, "tokens_out": 1}}
        subjects = [f"{one}-against-{other}/0" for one, other in (NAMES, NAMES[::-1])]
        replies = [json.dumps(reply | {"subject": subject}) for subject in subjects]
        (path.parent / "replies.jsonl").write_text("\n".join(replies))
        monkeypatch.setenv("WORKBENCH_CONFIG", str(path.parent / "blind.toml"))
        listed = json.loads(workbench("items", FILE, "--json").out)["items"]
        words = {"WS": FILE, "ITEM": min(one["item"] for one in listed)}
        for line in BLIND_COMMANDS:
            done = workbench(*(words.get(word, word) for word in line.split()))
            printed.append((line, done.code, plain(done.out, path), plain(done.err, path)))
    half = len(BLIND_COMMANDS)
    for one, other in zip(printed[:half], printed[half:], strict=True):
        assert one == other
        assert "alpha" in one[0] or not any(name in str(one) for name in NAMES)


def test_a_packet_is_the_same(both, tmp_path):
    packets = []
    for place, path in enumerate(both):
        with Workspace.open(path) as workspace:
            make_packet(workspace, "duel", "ben", tmp_path / f"{place}.duckdb", seed=5)
        with Workspace.open(tmp_path / f"{place}.duckdb") as packet, packet.native() as cursor:
            names = [name for (name,) in cursor.execute("SHOW TABLES").fetchall()]
            rows = {name: cursor.execute(f"FROM {name}").fetchall() for name in names}
        (fact,) = [json.loads(value) for key, value in rows.pop("workspace_fact") if key == "packet"]
        del rows["schema_version"]
        packets.append((rows, {name: value for name, value in fact.items() if name != "made_at"}))
    assert packets[0] == packets[1]
    assert not any(name in str(packets[0]) for name in NAMES)
    # A file may list one set first on every line.
    assert not {AS_LISTED, SWAPPED} & {value for row in packets[0][0]["comparison"] for value in row}
