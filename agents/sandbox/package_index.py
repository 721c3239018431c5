"""The source of a repair's packages: the package index as this machine reaches it, and a folder of wheels.

No key goes along: of pip's settings only where the index is and how it is reached; an address that holds a
user's name or password is left out. Pip, its settings and the certificates are copied. Of this machine's
files nothing is mounted but the folder of wheels, read-only, where the user named one.
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
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agents.sandbox.errors import SandboxError
from agents.sandbox.settings import NO_NETWORK

if TYPE_CHECKING:
    from agents.sandbox.settings import SandboxSettings

WHEELS = "/opt/wheels"
"""Where a repair sees the folder of wheels."""
# pip's settings that say where the index is; each may hold several addresses.
_ADDRESSES = ("index-url", "extra-index-url", "find-links")
_HOSTS = ("trusted-host",)
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class PackageSource:
    """Where a repair's packages come from.

    Attributes:
        wheels: A folder of wheels on this machine; None for none.
        network: Whether the repair has a network, and so the package index.
    """

    wheels: Path | None
    network: bool

    @classmethod
    def of(cls, settings: SandboxSettings) -> PackageSource:
        """Read the settings.

        Raises:
            SandboxError: The folder of wheels does not exist.
        """
        wheels = Path(settings.wheels).expanduser().absolute() if settings.wheels else None
        if wheels is not None and not wheels.is_dir():
            raise SandboxError(
                "Folder of wheels not found",
                f"{wheels} is no folder, and sandbox.wheels names it as the place that repairs install from.",
                "Put wheels there (pip download -d FOLDER NAME), or leave sandbox.wheels empty.",
            )
        return cls(wheels, settings.repair_network != NO_NETWORK)

    @property
    def key(self) -> str:
        """A part of a snapshot's base: other wheels make other snapshots. Empty for the index alone."""
        if self.wheels is None and self.network:
            return ""
        files = () if self.wheels is None else self.wheels.glob("*.whl")
        return f" {sorted((path.name, path.stat().st_size) for path in files)} network={self.network}"


def describe_reach(settings: SandboxSettings) -> str:
    """Tell the bug fixer in half a sentence what a repair reaches."""
    if settings.repair_network != NO_NETWORK:
        return "that has the network" + (", and a folder of wheels that pip finds" if settings.wheels else "")
    return "without a network" + (", where pip installs from a folder of wheels" if settings.wheels else "")


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


def pip_settings(source: PackageSource) -> bytes:
    """Return the settings for a repair's pip, as a file; empty where all is as usual."""
    wheels = "" if source.wheels is None else WHEELS
    text = allowed_settings(listed_settings() if source.network else "", wheels)
    if not source.network:
        text = (text or "[global]\n") + "no-index = true\n"
    return text.encode()


@cache
def listed_settings() -> str:
    """Return the settings of this machine's pip, as pip lists them."""
    return subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
        stdin=subprocess.DEVNULL,
    ).stdout


def allowed_settings(listed: str, wheels: str = "") -> str:
    """Return those of pip's settings that a repair may see.

    Args:
        listed: The output of `pip config list`: lines of the form SECTION.NAME='VALUE', the strongest last.
        wheels: The folder of wheels as the repair sees it; empty for none.

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
    if wheels:
        kept["find-links"] = "\n    ".join(filter(None, (kept.get("find-links"), wheels)))
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
