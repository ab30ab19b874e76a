# SPDX-License-Identifier: GPL-3.0-or-later
"""Killed at any point, a check and an update of baselines leave each file as it was or as it will
be, whole."""

import json
import random
import signal
import subprocess
import time

from support import CONFIG, PROGRAM, main, run, write

KILLS = 100


def files_of(folder, names):
    return [open(f"{folder}/{name}").read() for name in names]


def test_killed_while_writing(folder):
    names = ["check.json", "check.xml", "check.sarif", "base/b.json"]
    words = ["check", "-q"] + [w for f, n in zip(("json", "junit", "sarif"), names) for w in ("--output", f"{f}={n}")]
    entry = {"name": "b", "config": "config.json", "device": "l4", "limits": {"max": "20 GiB"}, "baseline": "base/*.json"}
    write(folder, "memscope.budgets.json", {"budgets": [entry]})
    versions, configs = [], (CONFIG, {**CONFIG, "num_hidden_layers": 12})
    for config in configs:
        write(folder, "config.json", config)
        assert run("baseline", "--update", cwd=folder)[0] == 0
        assert run(*words, cwd=folder)[0] == 0
        versions.append(files_of(folder, names))
    assert all(a != b for a, b in zip(versions[0], versions[1]) if "sarif" not in a)
    started = time.monotonic()
    run(*words, cwd=folder)
    takes = time.monotonic() - started
    chance = random.Random(7)
    for i in range(KILLS):
        write(folder, "config.json", configs[i % 2])
        command = ["baseline", "--update"] if i % 3 else words
        with subprocess.Popen([PROGRAM, *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
            time.sleep(chance.uniform(0, 1.2 * takes))
            program.send_signal(signal.SIGKILL)
        report, suite, sarif, baseline = files_of(folder, names)
        assert json.loads(report)["budgets"] and json.loads(sarif)["runs"] and suite.endswith("</testsuites>\n")
        assert baseline in (versions[0][3], versions[1][3])


main(globals())
