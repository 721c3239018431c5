"""The package index for a repair: this machine's settings of pip, its certificates, and pip itself.

None of it is mounted, and no key goes along: of pip's settings only where the index is and how it is
reached, an address that holds a user's name or password is left out, and so is every file of this machine.
"""

from __future__ import annotations

import importlib.util
import io
import os
import ssl
import subprocess
import sys
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from agents.sandbox.errors import SandboxError

# pip's settings that say where the index is; each may hold several addresses.
_ADDRESSES = ("index-url", "extra-index-url", "find-links")
_HOSTS = ("trusted-host",)
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
_SECONDS = 60


@cache
def packed_pip() -> bytes:
    """Return the pip of the workbench's own environment as a zip file.

    Raises:
        SandboxError: There is none.
    """
    found = importlib.util.find_spec("pip")
    if found is None or found.origin is None:
        raise SandboxError(
            "pip is not installed",
            "Repairs install packages with the pip of the workbench's own environment, and it has none.",
            "Install it there: python -m ensurepip, or uv pip install pip. Without repairs: --no-repairs.",
        )
    folder, content = Path(found.origin).parent, io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                # Of a fixed moment: files older than 1980 have no place in a zip file.
                entry = zipfile.ZipInfo(f"pip/{path.relative_to(folder)}", (2000, 1, 1, 0, 0, 0))
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()


@cache
def pip_settings() -> bytes:
    """Return the settings of the index for a repair's pip, as a file; empty where all is as usual."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
        stdin=subprocess.DEVNULL,
    ).stdout
    return allowed_settings(listed).encode()


def allowed_settings(listed: str) -> str:
    """Return those of pip's settings that a repair may see.

    Args:
        listed: The output of `pip config list`: lines of the form SECTION.NAME='VALUE', the strongest last.

    Returns:
        A file of settings for pip; empty where nothing is left.
    """
    kept: dict[str, str] = {}
    for line in listed.splitlines():
        place, _, value = line.partition("=")
        section, _, name = place.rpartition(".")
        if section not in ("global", "install", ":env:"):
            continue
        words = value.strip().strip("'\"").replace("\\n", " ").split()
        if name in _ADDRESSES:
            words = [word for word in words if _is_open(word)]
        elif name not in _HOSTS:
            continue
        if words:
            kept[name] = "\n    ".join(words)
    return "".join(["[global]\n", *(f"{name} = {value}\n" for name, value in kept.items())]) if kept else ""


def proxies() -> dict[str, str]:
    """Return the variables that name this machine's proxies, without one that holds a name or password."""
    found = {}
    for name in _PROXIES:
        value = os.environ.get(name) or os.environ.get(name.upper(), "")
        if value and (name == "no_proxy" or _is_open(value)):
            found[name] = value
    return found


@cache
def certificates() -> bytes:
    """Return the certificates of the authorities that this machine trusts; empty where they are not found."""
    usual = ssl.get_default_verify_paths()
    named = (os.environ.get("PIP_CERT"), os.environ.get("SSL_CERT_FILE"), usual.cafile, usual.openssl_cafile)
    for path in named:
        with suppress(OSError):
            if path:
                return _without_keys(Path(path).read_bytes())
    return b""


def _without_keys(content: bytes) -> bytes:
    """Keep the certificates of a file, and nothing else between them."""
    first, last = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
    pieces = [piece.partition(last)[0] for piece in content.split(first)[1:]]
    return b"".join(first + piece + last + b"\n" for piece in pieces)


def _is_open(address: str) -> bool:
    """Tell whether an address leads over the network and holds no name and no password."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and "@" not in parts.netloc
