"""Signals end a command like Ctrl-C does: files are closed on the way, whatever is at work."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from workbench.stopping import Stopped, exit_code, ignore_further_signals, stopped_by_signals

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_unwinds_like_ctrl_c_and_handlers_are_put_back(number):
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt) as caught, stopped_by_signals() as came:
        os.kill(os.getpid(), number)
    assert came == [number]
    assert exit_code(caught.value) == 128 + number
    assert signal.getsignal(number) == before


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopped_by_signals() as came:
            os.kill(os.getpid(), signal.SIGHUP)
        assert came == []
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", ENDING)
def test_while_closing_nothing_disturbs_and_handlers_are_put_back(number):
    before = signal.getsignal(number)
    with stopped_by_signals() as came:
        ignore_further_signals()
        os.kill(os.getpid(), number)
    assert came == []
    assert signal.getsignal(number) == before


def test_an_error_of_its_own_stays_what_it_is():
    with pytest.raises(ValueError, match="mine"), stopped_by_signals():
        raise ValueError("mine")


def test_outside_the_main_thread_nothing_is_changed():
    came = []

    def work():
        with stopped_by_signals() as signals:
            came.append(signals)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert came == [[]]


def test_a_plain_interrupt_counts_as_ctrl_c():
    assert exit_code(KeyboardInterrupt()) == 130
    assert exit_code(Stopped(signal.SIGTERM)) == 143


def test_a_query_at_work_is_interrupted():
    code = """if True:
        import duckdb
        from workbench.stopping import Stopped, stopped_by_signals
        connection = duckdb.connect()
        try:
            with stopped_by_signals():
                print("at work", flush=True)
                connection.execute("SELECT max(a.range * b.range) FROM range(10000000) a, range(10000000) b")
        except Stopped as stop:
            print("stopped by", stop.number, flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "at work\n"
        process.terminate()
        assert process.communicate(timeout=60)[0] == f"stopped by {signal.SIGTERM:d}\n"
