"""Pictures of reports as PNG: with the library and a font, and what is said without either."""

import builtins
import struct

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
