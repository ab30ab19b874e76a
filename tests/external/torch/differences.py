#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures the deliberate differences of tests/golden/cli/compare/causes*, and holds the causes that `memscope compare`
names against those of the reports that are kept there.

usage: differences.py MEMSCOPE PYTHON [--write]

--write keeps the new reports, without what is not compared there.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = sorted((HERE.parents[1] / "golden" / "cli" / "compare").glob("causes*"))
KEPT = ("schema_version", "outcome", "message", "hint", "metadata", "summary", "step", "phases", "peak", "modules")


def rows_of(case):
    for line in (case / "files" / "rows").read_text().splitlines():
        yield [word.strip() for word in line.split("|")]


def capture(memscope, python, model, words, options, folder):
    program = [python, HERE / "programs" / "differs.py", model]
    command = [memscope, "capture", "-q", "--device", "a100-80gb", "--out", folder, *options.split(), "--", *program]
    subprocess.run([*map(str, command), *words.split()], check=True, stderr=subprocess.DEVNULL)
    report = json.loads((pathlib.Path(folder) / "runtime_report.json").read_text())
    report["peak"]["allocations"] = []
    report["metadata"]["command"] = ["python", "differs.py", *words.split()]
    return {key: report[key] for key in KEPT}


def causes(memscope, model, options, report, folder):
    static = os.path.join(folder, "static.json")
    run = ["analyze", "--config", model, "--device", "a100-80gb", *options.split(), "-q", "--output", f"json={static}"]
    subprocess.run([memscope, *run], check=True)
    done = subprocess.run([memscope, "compare", static, report, "--format", "json"], check=True, capture_output=True)
    return json.loads(done.stdout)["verdict"]["causes"]


def written(report):
    """A line for each row."""
    sys.path.insert(0, str(HERE.parents[2] / "scripts"))
    from memscope_torch.report import rows_on_lines
    return rows_on_lines(json.dumps(report, indent=1)) + "\n"


def main():
    memscope, python, bad = os.path.abspath(sys.argv[1]), sys.argv[2], 0
    for case in CASES:
        model = case / "files" / "model.json"
        for name, options, words, more in rows_of(case):
            kept = case / "files" / f"{name}.json"
            with tempfile.TemporaryDirectory() as folder:
                report = written(capture(memscope, python, model, words, more, folder))
                if "--write" in sys.argv:
                    kept.write_text(report)
                new = os.path.join(folder, "new.json")
                pathlib.Path(new).write_text(report)
                found, expected = (causes(memscope, model, options, path, folder) for path in (new, kept))
            print(f"{name}: {'as expected' if found == expected else f'{found}, expected {expected}'}", flush=True)
            bad += found != expected
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
