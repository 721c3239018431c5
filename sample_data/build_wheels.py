"""Builds the wheels of the packages beside it: `python sample_data/build_wheels.py`.

Two candidates of the sample import these packages, which were written for it. The same sources make the
same bytes on every machine: files are stored uncompressed, in a fixed order and with a fixed date. Standard
library only, so that it runs before anything is installed.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PACKAGES = {
    "sample_dates": ("sample-dates", "Reads dates as people write them, in English."),
    "latin_letters": ("sample-transliteration", "Writes letters of other scripts in the letters a to z."),
}
"""Module: the distribution's name, and its summary. One distribution is not called like its module."""
VERSION = "1.0"
_WHEEL = "Wheel-Version: 1.0\nGenerator: workbench-sample\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_METADATA = """\
Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: {summary}
License: Apache-2.0
Requires-Python: >=3.8
"""


def build(module: str) -> tuple[str, bytes]:
    """Build the wheel of a module.

    Args:
        module: A name in `PACKAGES`.

    Returns:
        The file's name and its content.
    """
    name, summary = PACKAGES[module]
    stem = f"{name.replace('-', '_')}-{VERSION}"
    metadata = _METADATA.format(name=name, version=VERSION, summary=summary)
    files = {
        f"{module}.py": (FOLDER / "packages" / f"{module}.py").read_bytes(),
        f"{stem}.dist-info/METADATA": metadata.encode(),
        f"{stem}.dist-info/WHEEL": _WHEEL.encode(),
    }
    record = f"{stem}.dist-info/RECORD"
    lines = [f"{path},sha256={_digest(content)},{len(content)}" for path, content in files.items()]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, (2000, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, content)
    return f"{stem}-py3-none-any.whl", packed.getvalue()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def main() -> None:
    """Write the wheels into the folder `wheels` beside this file."""
    folder = FOLDER / "wheels"
    folder.mkdir(exist_ok=True)
    for module in PACKAGES:
        name, content = build(module)
        (folder / name).write_bytes(content)
        print(f"wheels/{name}: {len(content)} bytes")


if __name__ == "__main__":
    main()
