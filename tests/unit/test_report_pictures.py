"""Pictures of reports as PNG: with the library and a font, and what is said without either."""

import builtins
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
import resvg_py

from screens.reports.page import Page
from screens.reports.saving import as_png, as_svg, save
from store.errors import ExportFailed


def page() -> Page:
    """A report without tables."""
    return Page(caption=("12 units of 2 raters",), command=())


def test_a_png_is_the_svg_at_twice_its_size():
    picture = as_svg(page(), "Agreement", "workbench report study.duckdb agreement")
    png = as_png(picture)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    box = picture.partition('viewBox="0 0 ')[2].partition('"')[0]
    assert [width, height] == [pytest.approx(2 * float(side), abs=2) for side in box.split()]


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name == "resvg_py":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ExportFailed, match="not installed") as refused:
        save(page(), "Agreement", "workbench report study.duckdb agreement", tmp_path / "a.png")
    assert "workbench[png]" in refused.value.hint
    assert not list(tmp_path.iterdir())


def test_without_a_font_no_empty_picture_is_written(monkeypatch):
    drawn = resvg_py.svg_to_bytes

    def without_fonts(text, **options):
        return drawn(text, skip_system_fonts=True, **options)

    monkeypatch.setattr(resvg_py, "svg_to_bytes", without_fonts)
    with pytest.raises(ExportFailed, match="no monospaced font"):
        as_png(as_svg(page(), "Agreement", "workbench report study.duckdb agreement"))


def test_no_name_makes_a_picture_that_cannot_be_read():
    hostile = "a\x00\x1b[31m\x01\u202e\ufffe\udce9<b>&]]>"
    told = Page(caption=(hostile,), command=())
    picture = as_svg(told, f"of {hostile}", f"workbench report {hostile}.duckdb agreement")
    drawn = "".join(ElementTree.fromstring(picture.encode()).itertext())
    assert "<U+202E>" in drawn
    assert "\u202e" not in drawn
    assert as_png(picture).startswith(b"\x89PNG")


def test_what_could_not_be_written_leaves_no_file(monkeypatch, tmp_path):
    real = Path.open

    def full(self, mode="r", *rest, **options):
        file = real(self, mode, *rest, **options)
        if mode != "xb":
            return file
        file.close()
        return Path("/dev/full").open("wb", buffering=0)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(ExportFailed, match="No space left"):
        save(page(), "Agreement", "workbench report study.duckdb agreement", tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())
