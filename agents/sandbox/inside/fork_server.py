"""Inside bubblewrap: forks this interpreter for each program, in namespaces of its own.

Bubblewrap isolates the server: a read-only system, no network, nobody's files. Every program is isolated in
there as a bubblewrap of its own would do it: a process namespace, in which it sees itself alone and which
ends with all processes that it started, mounts with empty memory to write to, a network with nothing but a
loopback, an IPC namespace, a user of its own, no capabilities, and the filter of system calls. A fork takes a
small part of the time in which bubblewrap and an interpreter start, and inherits the imported modules.

Standard library only, Python 3.8 or newer. No line of a program runs in this process, which alone has rights.

Commands and answers are packets of a socket:

    run NUMBER USER SCRATCH SOURCES DESCRIPTORS
                                        with four descriptors: the program (`interpreter.program_input`),
                                        the targets of its stdout, its stderr and the harness's records; then
                                        the files that admit to its control group; USER is - without root
    kill NUMBER                         end it and all that it started
    ready                               the first answer: a trial went well
    ended NUMBER STATUS                 as waitpid reports it; all of its processes have ended
    failed NUMBER WHY                   no process could be made

The server's programs end with it, being in its process namespace; it ends when its socket closes.
"""

from __future__ import annotations

import _ctypes
import _socket
import fcntl
import gc
import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING or __package__:
    from agents.sandbox.inside import supervisor
else:
    import supervisor
if TYPE_CHECKING:
    import signal
    from typing import Any
else:  # see `supervisor.py`: every program starts with these imports
    import _signal as signal

PACKET = 4096
DESCRIPTORS = 4
MOST_DESCRIPTORS = DESCRIPTORS + 2
NOBODY = 65534
NO_CHANGE_OF_USER = "no change of user"
"""The first words of the error when the process cannot change to another user."""
_MOUNTS, _IPC, _USERS, _PROCESSES, _NETWORK = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_NO_SET_UID, _NO_DEVICES, _NO_EXECUTION, _BIND, _EVERYWHERE, _PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_DROP_BOUND, _AMBIENT, _CLEAR_AMBIENT = 24, 47, 4
_CAPABILITIES_VERSION = 0x20080522
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
SMALL_FOLDER_BYTES = 4096
"""The size of each folder that stays empty."""

_library = _ctypes.dlopen(None, 2)  # type: ignore[arg-type]


class Int(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """A C int, as most functions return it."""

    _type_ = "i"


class UnsignedLong(_ctypes._SimpleCData):  # type: ignore[type-arg]
    """A C unsigned long, the type of flags and options."""

    _type_ = "L"


class Function(_ctypes.CFuncPtr):
    """A function of the C library that sets errno."""

    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = Int


def call_libc(name: str, *values: Any) -> None:
    """Call a function of the C library; raises OSError when it is refused."""
    arguments = [UnsignedLong(value) if isinstance(value, int) else value for value in values]
    if Function(_ctypes.dlsym(_library, name))(*arguments) != 0:
        number = _ctypes.get_errno()
        raise OSError(number, name + ": " + os.strerror(number))


def mount(source: bytes, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None) -> None:
    """Mount something."""
    call_libc("mount", source, target, kind, flags, options)


class Server:
    """Forks a process for each program and reports its end.

    Args:
        control: The socket.
        seccomp: The filter of system calls, as the kernel takes it.
        user: The user of the trial fork.
    """

    def __init__(self, control: int, seccomp: bytes, user: str) -> None:
        self._socket = _socket.socket(fileno=control)
        self._seccomp = seccomp
        self._user = user
        self._own_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY)
        self._programs: dict[int, str] = {}

    def work(self) -> None:
        """Fork programs until the socket closes.

        Returns only in the process of a program, which is isolated then and reads its files from stdin. So a
        program starts no deeper in the stack than in an interpreter of its own, and can recurse as far.
        """
        awake, waker = os.pipe()
        os.set_blocking(awake, False)
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker)
        gc.collect()
        gc.freeze()  # so that collections do not touch, and so copy, the shared memory
        self._try_fork()
        self._send("ready")
        poll = select.poll()
        poll.register(self._socket.fileno(), select.POLLIN)
        poll.register(awake, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == awake:
                    os.read(awake, 512)
                    self._reap()
                elif self._receive():
                    return

    def _try_fork(self) -> None:
        """Isolate a trial fork; raises OSError where this machine does not allow it."""
        reading, writing = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        pid = self._fork()
        if pid == 0:
            descriptors = [nothing, nothing, writing, nothing]
            self._start_program(self._user, SMALL_FOLDER_BYTES, SMALL_FOLDER_BYTES, descriptors)
            os._exit(0)
        os.close(writing)
        os.close(nothing)
        _, status = os.waitpid(pid, 0)
        why = os.read(reading, 4096)
        os.close(reading)
        if status != 0:
            raise OSError(why.decode("utf-8", "replace").strip() or "a trial failed")

    def _receive(self) -> bool:
        """Carry out one command; True in the process of a program."""
        space = _socket.CMSG_SPACE(MOST_DESCRIPTORS * 4)
        command, further, _, _ = self._socket.recvmsg(PACKET, space, _socket.MSG_CMSG_CLOEXEC)
        if not command:
            os._exit(0)
        given = [
            int.from_bytes(content[at : at + 4], sys.byteorder)
            for _, _, content in further
            for at in range(0, len(content), 4)
        ]
        name, number, *words = command.decode().split()
        if name == "kill":
            for pid, known in self._programs.items():
                if known == number:
                    os.kill(pid, signal.SIGKILL)
            return False
        try:
            if len(given) != int(words[3]):  # the kernel leaves out what this process cannot have open
                raise OSError(str(len(given)) + " descriptors came instead of " + words[3])
            pid = self._fork()
            if pid == 0:
                self._start_program(words[0], int(words[1]), int(words[2]), given)
                return True
            self._programs[pid] = number
        except OSError as error:
            self._send("failed " + number + " " + str(error))
        for descriptor in given:
            os.close(descriptor)
        return False

    def _fork(self) -> int:
        """Fork the first process of a new namespace."""
        call_libc("unshare", _PROCESSES)
        pid = -1
        try:
            pid = os.fork()
        finally:
            if pid != 0:
                call_libc("setns", self._own_namespace, _PROCESSES)
        return pid

    def _start_program(self, user: str, scratch: int, sources: int, given: list[int]) -> None:
        """Isolate a fresh fork as the first process of a program, or end it."""
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            self._socket.detach()  # closed below, by its number alone
            for group in given[DESCRIPTORS:]:
                os.write(group, b"0")  # enters the control group before it starts anything
            place_descriptors(given[:DESCRIPTORS])
            isolate(user, scratch, sources)
            drop_privileges(user, self._seccomp)
        except BaseException as error:  # noqa: BLE001 - a fork must never go on as its parent
            try:
                os.write(2, (str(error) or type(error).__name__).encode("utf-8", "backslashreplace"))
            finally:
                os._exit(1)

    def _reap(self) -> None:
        while self._programs:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._send("ended " + self._programs.pop(pid) + " " + str(status))

    def _send(self, text: str) -> None:
        try:
            self._socket.send(text.encode("utf-8", "backslashreplace")[:PACKET])
        except OSError:
            os._exit(0)


def place_descriptors(given: list[int]) -> None:
    """Move the descriptors of a program to their numbers, and close all others."""
    copies = [fcntl.fcntl(one, fcntl.F_DUPFD, 16) for one in given]
    for number, one in enumerate(copies):  # stdin, stdout, stderr, and the channel
        os.dup2(one, number)
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= DESCRIPTORS:
            try:
                os.close(int(name))
            except OSError:  # the one that listed them
                pass


def isolate(user: str, scratch: int, sources: int) -> None:
    """Give this process namespaces, empty memory to write to, and a view of its own processes alone.

    Args:
        user: The user to become, as a number; - for no change.
        scratch: Bytes of each scratch folder.
        sources: Bytes of the program's own files.
    """
    call_libc("unshare", _MOUNTS | _IPC | _NETWORK)
    mount(b"none", b"/", None, _EVERYWHERE | _PRIVATE)
    for folder, size in ((b"/dev/shm", scratch), (b"/tmp", scratch), (b"/sandbox", sources)):
        # As `protocol.inodes_of`: an empty file takes memory too.
        options = b"mode=1777,size=%d,nr_inodes=%d" % (size, max(size // 4096, 16))
        mount(b"tmpfs", folder, b"tmpfs", _NO_SET_UID | _NO_DEVICES, options)
    # An ordinary user's program owns its supervisor's files there: it must not see processes that it cannot
    # trace.
    hidden = b"hidepid=1" if user == "-" else None
    mount(b"proc", b"/proc", b"proc", _NO_SET_UID | _NO_DEVICES | _NO_EXECUTION, hidden)
    terminals = b"newinstance,ptmxmode=0666,mode=620"
    mount(b"devpts", b"/dev/pts", b"devpts", _NO_SET_UID | _NO_EXECUTION, terminals)
    for path in (b"/proc/cmdline", b"/proc/sys/kernel/random/boot_id"):  # of the machine, not of the program
        mount(b"/harness/empty", path, None, _BIND)
    if user != "-":
        with open("/sandbox/passwd", "w") as file:
            file.write(f"tester:x:{user}:{user}::/tmp:/bin/sh\n")
        os.chmod("/sandbox/passwd", 0o444)
        mount(b"/sandbox/passwd", b"/etc/passwd", None, _BIND)
        os.unlink("/sandbox/passwd")
    enable_loopback()
    os.chdir("/tmp")


def enable_loopback() -> None:
    """Enable the loopback interface of this network."""
    end = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    try:
        asked = b"lo".ljust(16, b"\0") + bytes(24)
        flags = int.from_bytes(fcntl.ioctl(end.fileno(), _GET_FLAGS, asked)[16:18], sys.byteorder)
        said = b"lo".ljust(16, b"\0") + (flags | _UP).to_bytes(2, sys.byteorder) + bytes(22)
        fcntl.ioctl(end.fileno(), _SET_FLAGS, said)
    finally:
        end.close()


def drop_privileges(user: str, seccomp: bytes) -> None:
    """Drop every capability, and become another user, for good.

    Args:
        user: The user, as a number; - for an unprivileged user, who gets a user namespace of its own, for
            which the kernel counts its processes.
        seccomp: The filter of system calls.
    """
    if user == "-":
        call_libc("unshare", _USERS)
        one = f"{NOBODY} 0 1"
        for name, text in (
            ("/proc/self/setgroups", "deny"),
            ("/proc/self/uid_map", one),
            ("/proc/self/gid_map", one),
            ("/proc/sys/user/max_user_namespaces", "0"),  # none below it, as the filter says too
        ):
            with open(name, "w") as file:
                file.write(text)
    with open("/proc/sys/kernel/cap_last_cap") as file:
        last = int(file.read())
    for right in range(last + 1):
        call_libc("prctl", _DROP_BOUND, right, 0, 0, 0)
    if user != "-":
        number = int(user)
        try:
            os.setgroups([])
            os.setresgid(number, number, number)
            os.setresuid(number, number, number)
        except OSError as error:
            raise OSError(NO_CHANGE_OF_USER + ": " + str(error)) from None
    call_libc("prctl", _AMBIENT, _CLEAR_AMBIENT, 0, 0, 0)
    call_libc("capset", _CAPABILITIES_VERSION.to_bytes(4, sys.byteorder) + bytes(4), bytes(24))
    supervisor.filter_system_calls(seccomp)
