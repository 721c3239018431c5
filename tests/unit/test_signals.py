"""Signals end a command like Ctrl-C does: files are closed on the way, whatever is at work."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from workbench.signals import Stopped, exit_code, handle_signals, ignore_further_signals, raise_if_stopped

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_unwinds_like_ctrl_c_and_handlers_are_put_back(number):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt) as caught, handle_signals() as came:
        os.kill(os.getpid(), number)
    assert came == [number]
    assert exit_code(caught.value) == 128 + number
    assert signal.getsignal(number) == before


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with handle_signals() as came:
            os.kill(os.getpid(), signal.SIGHUP)
        assert came == []
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", ENDING)
def test_while_closing_nothing_disturbs_and_handlers_are_put_back(number):
    before = signal.getsignal(number)
    with handle_signals() as came:
        ignore_further_signals()
        os.kill(os.getpid(), number)
    assert came == []
    assert signal.getsignal(number) == before


def test_an_error_of_its_own_stays_what_it_is():
    with pytest.raises(ValueError, match="mine"), handle_signals():
        raise ValueError("mine")


def test_outside_the_main_thread_nothing_is_changed():
    came = []

    def work():
        with handle_signals() as signals:
            came.append(signals)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert came == [[]]


def test_a_plain_interrupt_counts_as_ctrl_c():
    assert exit_code(KeyboardInterrupt()) == 130
    assert exit_code(Stopped(signal.SIGTERM)) == 143


def test_an_exception_that_got_lost_is_raised_again():
    with handle_signals():
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Stopped):
            raise_if_stopped()
    with handle_signals():
        raise_if_stopped()


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see a process at work")
def test_a_query_at_work_is_interrupted():
    code = """if True:
        import duckdb
        from workbench.signals import Stopped, handle_signals
        # One thread: with more, closing waits for the others to end their part, here for years.
        connection = duckdb.connect(config={"threads": 1})
        try:
            with handle_signals():
                print("at work", flush=True)
                connection.execute("SELECT max(a.range * b.range) FROM range(10000000) a, range(10000000) b")
        except Stopped as stop:
            print("stopped by", stop.number, flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "at work\n"
        began = cpu_seconds(process.pid)
        while cpu_seconds(process.pid) < began + 0.2:
            assert process.poll() is None
        process.terminate()
        try:
            printed, _ = process.communicate(timeout=60)
        finally:
            process.kill()
        assert printed == f"stopped by {signal.SIGTERM:d}\n"
