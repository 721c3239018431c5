"""A package index on the loopback interface, with one wheel that is made here."""

from __future__ import annotations

import base64
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from agents.sandbox.package_index import listed_settings

FILE = "workbench_greeting-1.0-py3-none-any.whl"


def greeting_wheel() -> bytes:
    """Return a wheel of the module `workbench_greeting`, whose `WORD` is "hello"."""
    name, packed = "workbench_greeting-1.0", io.BytesIO()
    files = {
        "workbench_greeting.py": b"WORD = 'hello'\n",
        f"{name}.dist-info/METADATA": b"Metadata-Version: 2.1\nName: workbench-greeting\nVersion: 1.0\n",
        f"{name}.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b'=').decode()},{len(text)}"
        for path, text in files.items()
    ]
    files[f"{name}.dist-info/RECORD"] = "\n".join([*record, f"{name}.dist-info/RECORD,,", ""]).encode()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return packed.getvalue()


@contextmanager
def package_index_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Serve the wheel to pip, in place of any other index; yields the paths that were asked for."""
    asked: list[str] = []
    pages = {
        "/index/workbench-greeting/": (f'<a href="/{FILE}">{FILE}</a>'.encode(), "text/html"),
        f"/{FILE}": (greeting_wheel(), "application/octet-stream"),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body, kind = pages.get(self.path, (b"", "text/plain"))
            self.send_response(200 if body else 404)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_address[1]}/index")
    listed_settings.cache_clear()
    try:
        yield asked
    finally:
        listed_settings.cache_clear()
        server.shutdown()
        server.server_close()
