"""The system calls that test programs may not make, and the kernel's filter against them.

It is the same in bubblewrap and in Docker, so that a program ends in the same way in both. The filter is what
`bwrap --seccomp` takes too: a program of the classic Berkeley packet filter, which the kernel
runs before every system call. It is assembled here, since it is a list of numbers to refuse: a library for
it would need a C library beside it that not every system has.
"""

from __future__ import annotations

import errno
import platform
import struct
from functools import cache

from agents.sandbox.errors import SandboxError

# Calls by their numbers on x86-64 and on arm64.
# What holds memory that belongs to no process: no limit on an address space counts it.
_OUTSIDE: dict[str, tuple[int, int]] = {
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "semget": (64, 190),
    "shmget": (29, 194),
}
# What mounts, traces, loads code into the kernel, keeps keys, watches the machine, or makes namespaces.
_REFUSED: dict[str, tuple[int, int]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
_CLONE, _CLONE3, _IOCTL, _PRLIMIT = (56, 220), (435, 435), (16, 29), (302, 261)
_SOCKET, _VSOCK = (41, 198), 40
_X86_64, _ARM64 = (0, 0xC000003E), (1, 0xC00000B7)
_ARCHITECTURES = {"x86_64": _X86_64, "amd64": _X86_64, "aarch64": _ARM64, "arm64": _ARM64}

# Flags of clone() that make namespaces: mount, cgroup, UTS, IPC, user, PID, network.
_NAMESPACES = 0x7E020000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_X32 = 0x40000000

_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000


@cache
def seccomp_filter(machine: str | None = None) -> bytes:
    """Assemble the filter.

    Args:
        machine: The architecture, as `uname -m` or an image names it; by default this machine's.

    Returns:
        The filter's instructions.

    Raises:
        SandboxError: The numbers of this architecture are not known here.
    """
    name = machine or platform.machine()
    known = _ARCHITECTURES.get(name)
    if known is None:
        raise SandboxError(
            "No test program can be isolated on this processor",
            f"The system calls of {name} are not known to the filter that keeps a program in its limits.",
            "Use a machine with x86-64 or arm64.",
        )
    column, architecture = known
    refuse, unheard = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),  # a call by another architecture's numbers, which mean other things
        (_LOAD, 0, 0, _NUMBER),
    ]
    if column == 0:
        steps += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, refuse)]
    for numbers in (*_OUTSIDE.values(), *_REFUSED.values()):
        steps += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, refuse)]
    # clone3 hides its flags from a filter; a libc that learns that there is none takes clone.
    steps += [(_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, unheard)]
    steps += [
        (_EQUAL, 0, 4, _CLONE[column]),
        (_LOAD, 0, 0, _FIRST),
        (_ANY_OF, 0, 1, _NAMESPACES),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 0, 4, _PRLIMIT[column]),
        (_LOAD, 0, 0, _FIRST),
        (_EQUAL, 1, 0, 0),  # its own limits; those of its supervisor are not its to set
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 0, 4, _SOCKET[column]),
        (_LOAD, 0, 0, _FIRST),
        (_EQUAL, 0, 1, _VSOCK),  # to the host of a virtual machine, which is in no network namespace
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 0, 4, _IOCTL[column]),
        (_LOAD, 0, 0, _SECOND),
        (_EQUAL, 1, 0, _TIOCSTI),  # what types into a terminal
        (_EQUAL, 0, 1, _TIOCLINUX),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
