# SPDX-License-Identifier: GPL-3.0-or-later
"""What the checks of runs on the host backend share: the program, its reports by their schemas, Ctrl-C, counting."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

try:
    import jsonschema
except ImportError:
    jsonschema = None

MEMSCOPE = os.path.abspath(sys.argv[1])
TOP = pathlib.Path(__file__).resolve().parents[2]
TINY = TOP / "tests" / "oom" / "llama.json"
counts = {True: 0, False: 0}


def run(words, expected=0):
    done = subprocess.run([MEMSCOPE, *words.split()], capture_output=True, text=True, check=False)
    assert done.returncode == expected, f"{words}: exit {done.returncode}: {done.stderr}"
    return done


def report_of(path, schema):
    report = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    if jsonschema:
        jsonschema.validate(report, json.loads((TOP / "schemas" / f"{schema}.schema.json").read_text(encoding="utf-8")))
    return report


def take_interrupts():
    """What is started in the background ignores them, and so would the program."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(words, meanwhile=lambda: None):
    """Ctrl-C after a second; what was given to the streams is passed over, so the program soon ends."""
    with subprocess.Popen([MEMSCOPE, *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=take_interrupts) as program:
        time.sleep(1)
        meanwhile()
        program.send_signal(signal.SIGINT)
        begin = time.monotonic()
        shown, message = program.communicate(timeout=300)
    assert program.returncode == 130 and "stopped" in message, (program.returncode, message)
    assert time.monotonic() - begin < 20, "the program goes on"
    return shown, message


def check(name, test):
    failure = None
    try:
        test()
    except (AssertionError, KeyError, ValueError) as error:
        failure = error
        print(f"{name}: {error}")
    counts[failure is None] += 1


def finish():
    print(f"{counts[True]} passed, {counts[False]} failed")
    sys.exit(counts[False] > 0)
