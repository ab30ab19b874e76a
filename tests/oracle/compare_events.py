#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare memscope's allocations and frees with PyTorch's, event by event.

usage: compare_events.py OURS TRACE.txt     two event files
       compare_events.py [--only SUBSTR]    every trace of traces/, run through the binary

Both sides have the columns of show_events.py: number, + or -, bytes asked, bytes live, tensor,
operator, autograd node, frame or module. The ordered lists of (+ or -, bytes) over 4 KiB must be
equal; where they part first is shown with its surroundings. The last line is "N passed, M failed".
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
import oracle  # noqa: E402

LARGE = 4096
CONTEXT = 6
EVENT = re.compile(r"\s*\d+ ([+-])\s+(\d+)\s")


def events_of(path):
    """[(sign, bytes, line number, text)] of the events over 4 KiB."""
    with open(path) as f:
        found = [(EVENT.match(line), n, line.rstrip()) for n, line in enumerate(f, 1)]
    return [(m.group(1), int(m.group(2)), n, text) for m, n, text in found if m and int(m.group(2)) > LARGE]


def show(title, events, at):
    print("  %s" % title)
    for i in range(max(0, at - CONTEXT), at + CONTEXT):
        mark = ">" if i == at else " "
        print("  %s %s" % (mark, events[i][3][:150] if i < len(events) else "(end)"))
        if i >= len(events):
            break


def compare(name, ours_path, trace_path):
    """Prints the verdict; returns whether the lists are equal."""
    ours, theirs = events_of(ours_path), events_of(trace_path)
    if not theirs or [e[:2] for e in ours] == [e[:2] for e in theirs]:
        print("%-28s %d events equal" % (name, len(theirs)))
        return bool(theirs)
    at = next((i for i, (o, t) in enumerate(zip(ours, theirs)) if o[:2] != t[:2]), min(len(ours), len(theirs)))
    print("%-28s parts at event %d of %d (ours has %d)" % (name, at, len(theirs), len(ours)))
    show("memscope:", ours, at)
    show("PyTorch:", theirs, at)
    return False


def run_case(case, trace_path, args, folder):
    """Runs the case as the trace was recorded: on a CUDA device."""
    config, events = os.path.join(folder, "config.json"), os.path.join(folder, "events.txt")
    with open(config, "w") as f:
        json.dump(case["config"], f)
    command = oracle.command_of(case, config, args) + ["--events", events, "--format", "csv", "-o", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        print("%-28s exit %d: %s" % (case["id"], done.returncode, done.stderr.strip()))
        return False
    return compare(case["id"], events, trace_path)


def run_all(args):
    with open(os.path.join(HERE, "cpu_step.json")) as f:
        cases = {c["id"].replace("/", "_"): c for c in json.load(f)["cases"]}
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(glob.glob(os.path.join(HERE, "traces", "*.txt"))):
            name = os.path.basename(path)[:-4]
            if args.only in name:
                verdicts.append(run_case(cases[name], path, args, folder))
    return verdicts


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="*", metavar="FILE")
    ap.add_argument("--binary", default=os.environ.get("MEMSCOPE", "build/release/memscope"))
    ap.add_argument("--only", default="")
    args = ap.parse_args()
    args.device, args.cuda = "", True
    verdicts = [compare(args.files[0], *args.files)] if len(args.files) == 2 else run_all(args)
    print("%d passed, %d failed" % (sum(verdicts), len(verdicts) - sum(verdicts)))
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
