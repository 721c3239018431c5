"""Comparisons and their study are made from the Studies screen."""

from __future__ import annotations

import json
from pathlib import Path

from apps import app_of
from review_bench import screen_text
from settling import settled
from textual.widgets import Checkbox, Input, Select

from screens.studies.compare import NewComparisonsScreen
from screens.studies.list import StudiesScreen
from store.ingest.importing import import_files
from store.queries.studies import find_study
from store.record.raters import register_kinds
from store.workspace.duckdb import Workspace


def two_sets(folder: Path, queries: int = 6) -> Workspace:
    """A workspace of two imported sets of codes that share queries; each has a code that matches."""
    workspace = Workspace.create(folder / "sets.duckdb")
    register_kinds(workspace)
    for name in ("old", "new"):
        records = [
            {"id": f"{name}/{n}", "query": f"query {n}", "code": f"def {name}_{n}(): pass", "label": 1}
            for n in range(queries)
        ]
        file = folder / f"{name}.jsonl"
        file.write_text("\n".join(map(json.dumps, records)))
        import_files(workspace, [file])
    return workspace


async def test_a_study_of_comparisons_from_the_form(tmp_path: Path) -> None:
    with two_sets(tmp_path) as workspace:
        app = app_of(workspace)
        async with app.run_test(size=(100, 32)) as pilot:
            await pilot.press("s")
            assert "No study yet" in screen_text(app)
            await pilot.press("c")
            assert "Name two sets of codes" in screen_text(app)
            form = app.screen
            assert isinstance(form, NewComparisonsScreen)
            await settled(pilot.app)
            assert "old:new; or FIELD=VALUE" in screen_text(app)

            def fill(**values: str) -> None:
                for name, value in values.items():
                    form.query_one(f"#{name}", Input).value = value

            await pilot.press(*"rq1")
            fill(codes_from="old:other", raters="ana,ben,chi")
            await settled(pilot.app)
            assert "Files: old, new" in screen_text(app)
            fill(codes_from="old:new", overlap="2", most="3")
            await settled(pilot.app)
            assert "2 assignments for each rater in 1 sitting" in screen_text(app)
            assert "3 comparisons" in screen_text(app)
            # Other candidates have other fields.
            form.query_one("#compared", Select).value = "responses"
            await settled(pilot.app)
            assert "Name two models or more" in screen_text(app)
            assert all(not row.display for row in form.query(".only-codes"))
            form.query_one("#compared", Select).value = "codes"
            form.query_one("#scale", Select).value = "forced"
            for name in ("masked-names", "formatted"):
                form.query_one(f"#{name}", Checkbox).value = True
            fill(most="", repeats="1")
            await settled(pilot.app)
            assert "5 assignments for each rater in 2 sittings" in screen_text(app)
            await pilot.press("ctrl+s")
            assert isinstance(app.screen, StudiesScreen)
            assert "○ draft" in screen_text(app)
        with workspace.reading() as connection:
            study = find_study(connection, "rq1")
            sets = connection.exec_driver_sql("SELECT DISTINCT first_name FROM comparison").fetchall()
        assert study.items == {"item": 6}
        assert {name for (name,) in sets} <= {"old", "new"}
        given = study.protocol
        assert (given.kind, given.scale, given.overlap, given.repeats) == ("comparison", "forced", 2, 1)
        assert given.texts == ("masked-names", "formatted")
        assert given.coordinators == ("dana",)
        assert given.sample == "comparisons rq1, seed 0"
