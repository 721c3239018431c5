"""The settings of sandboxes: the `[sandbox]` table of the configuration file."""

from __future__ import annotations

from dataclasses import fields

from pydantic import BaseModel, ConfigDict, Field

from agents.sandbox.protocol import Limits
from agents.sandbox.repair import RepairLimits

NO_NETWORK = "none"
"""The value of `repair_network` that gives repairs no network."""

_DEFAULT = Limits()


class SandboxSettings(BaseModel):
    """Limits of test programs, and where the tools that contain them are."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    wall_seconds: float = Field(default=_DEFAULT.wall_seconds, gt=0)
    """Seconds that one execution may take by the clock."""

    cpu_seconds: int = Field(default=_DEFAULT.cpu_seconds, ge=1)
    """Seconds of processor time that one process of it may take."""

    memory_bytes: int = Field(default=_DEFAULT.memory_bytes, ge=64 * 1024 * 1024)
    """Bytes of address space of each process; with a control group, and in Docker, bytes of memory of all
    processes together. Python itself needs about 64 MiB."""

    processes: int = Field(default=_DEFAULT.processes, ge=1)
    """Processes and threads at one time (bubblewrap and Docker only)."""

    output_bytes: int = Field(default=_DEFAULT.output_bytes, ge=1)
    """Bytes that a program may write to stdout, and as many to stderr."""

    kept_bytes: int = Field(default=_DEFAULT.kept_bytes, ge=1)
    """Bytes kept of stdout, and as many of stderr: half from the beginning, half from the end."""

    file_bytes: int = Field(default=_DEFAULT.file_bytes, ge=1)
    """Bytes of the largest file a program may write."""

    open_files: int = Field(default=_DEFAULT.open_files, ge=16)
    """Files that one process may have open."""

    python: str = ""
    """Path of the interpreter that runs test programs; empty for the one that runs the workbench. Only
    its standard library is used. It needs Python 3.8 or newer."""

    bwrap: str = "bwrap"
    """Name or path of the bubblewrap program, version 0.8 or newer."""

    docker_host: str = ""
    """Where the Docker Engine listens, such as `unix:///run/podman/podman.sock`; empty for DOCKER_HOST or
    the usual socket."""

    image: str = "workbench-sandbox"
    """Name of the image that test programs run in; `workbench sandbox build` makes it."""

    base_image: str = ""
    """Image with Python that `workbench sandbox build` puts its own on, such as `python:3.12-slim`; empty for
    the official one of the version that runs the workbench."""

    ready_containers: int = Field(default=8, ge=0)
    """Containers that are kept started before their programs come (Docker only): as many as a job runs
    programs at the same time, but no more than this. An idle one takes about 20 MB; 0 for none."""

    trust_checks: bool = True
    """Whether a program is run again to see how far its tests can be trusted: against stubs of the candidate,
    and under another hash seed. That takes up to three further runs."""

    repairs: bool = True
    """Whether a program that misses something in its environment is repaired and run again. Repairs reach the
    package index."""

    max_try_time: int = Field(default=3, ge=0)
    """The bug fixer's tries, as Algorithm 1 of CoSQA+ counts them: a program is repaired at most once more
    than this, and so executed at most twice more than this."""

    repair_seconds: float = Field(default=300.0, gt=0)
    """Seconds that one repair may take by the clock."""

    repair_bytes: int = Field(default=1024 * 1024 * 1024, ge=1024 * 1024)
    """Bytes that a repaired environment may take; with bubblewrap they are memory while it is made."""

    repair_network: str = "bridge"
    """The engine's network that a repair in Docker reaches the package index through. `host` shares the
    machine's own, with every service that listens on it: for CI alone, where the engine has no other. With
    `none` repairs have no network, in bubblewrap and in Docker, and install from `sandbox.wheels` alone."""

    wheels: str = ""
    """Folder of wheels that repairs install from besides the package index, or instead of it where
    `sandbox.repair_network` is `none`. Repairs can read it, and not write to it. A relative path counts from
    the current folder."""

    snapshots: str = ""
    """Folder in which bubblewrap keeps repaired environments; empty for `workbench/snapshots` in the user's
    cache."""

    @property
    def repair_limits(self) -> RepairLimits:
        """Limits of one repair."""
        return RepairLimits(wall_seconds=self.repair_seconds, bytes=self.repair_bytes)

    @property
    def limits(self) -> Limits:
        """The limits as the value that sandboxes take."""
        return Limits(**{one.name: getattr(self, one.name) for one in fields(Limits)})
