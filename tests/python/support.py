# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the Python package on what was just built, without pip. A program of tests ends with
support.main(), which prints "N passed, M failed"."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ.get("MEMSCOPE") or TOP / "build/release/memscope")
BUILD = pathlib.Path(PROGRAM).parent
sys.path.insert(0, str(TOP / "python"))
os.environ.update(MEMSCOPE_PROGRAM=PROGRAM, MEMSCOPE_LIBRARY=str(BUILD / "libmemscope.so"),
                  PYTHONPATH=str(TOP / "python"), LC_ALL="C", COLUMNS="80")

import memscope  # noqa: E402

PRICES = TOP / "tests/golden/cli/analyze/prices/files/prices.json"
FAMILY = TOP / "tests/golden/cli/analyze/family/files/nova.family"
CALIBRATION = TOP / "tests/golden/cli/analyze/calibration/files/calibration.json"


def said_by(*words, codes=(0,), columns=80):
    """What the command prints."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, check=False, env=os.environ | {"COLUMNS": str(columns)})
    assert done.returncode in codes, (words, done.stderr.decode())
    return done.stdout


def json_of(*words, codes=(0, 1)):
    return said_by(*words, "--format", "json", "-o", "-", "--quiet", codes=codes)


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield pathlib.Path(name)


@contextlib.contextmanager
def interrupted_after(seconds):
    """Ctrl-C, once."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Case(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", memscope.Note)

    def fails(self, kind, text, call):
        """Fails with one sentence on one line, of that class, which has the text."""
        with self.assertRaises(kind) as caught:
            call()
        said = str(caught.exception)
        self.assertIn(text, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        return caught.exception


def main():
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    bad = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    if result.skipped:
        print("skipped: " + "; ".join(f"{test}: {why}" for test, why in result.skipped))
    print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed")
    sys.exit(bad > 0)
