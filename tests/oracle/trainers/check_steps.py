#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare steps of trainers, captured on the null device, with what memscope predicts of the trainer's own file.

Of each case of steps.json the model and the file are written to a folder, and `analyze` gets the launch with the options of
the case, which say what the data decided; a case without a launch is a loop of its own, all in options. Equal are what is
allocated when a step starts, its peak and what is reserved, as far as the case has it. The last line is "N passed, M failed".
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MEMSCOPE = os.environ.get("MEMSCOPE", "build/release/memscope")
FIGURES = ("start_bytes", "peak_memory_bytes", "reserved_memory_bytes")


def predicted(case, common, folder):
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(case["model"], file)
    path = os.path.join(folder, "args.json")
    given = ["--config", os.path.join(folder, "config.json")]
    if "command" in case:
        with open(path, "w") as file:
            json.dump(case["args"], file)
        given = ["--launch", f"{case['command']} --model_name_or_path {folder} --config {path}"]
    words = [MEMSCOPE, "analyze", *common, *case["options"], "--format", "json", *given]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if not ran.stdout:
        return {"error": ran.stderr.strip()}
    return json.loads(ran.stdout)["summary"]


def main():
    with open(os.path.join(HERE, "steps.json")) as file:
        steps = json.load(file)
    failed = 0
    for case in steps["cases"]:
        with tempfile.TemporaryDirectory() as folder:
            summary = predicted(case, steps["options"], folder)
        wrong = [f"{figure} {summary.get(figure)}, measured {case['measured'][figure]}"
                 for figure in FIGURES if summary.get(figure) != case["measured"].get(figure, summary.get(figure))]
        failed += bool(wrong)
        if wrong:
            print(f"{case['id']}: {'; '.join(wrong)} {summary.get('error', '')}".rstrip())
    print(f"{len(steps['cases']) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
