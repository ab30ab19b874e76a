#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare memscope's allocations and frees with PyTorch's, event by event.

usage: compare_events.py OURS TRACE         two event files
       compare_events.py [--only SUBSTR]    every trace of traces/, with the cases of *_step.json, families/*.json and
                                            parallel/event_cases.json; a trace that no case has is a failure
       compare_events.py --cases FILE.json --traces DIR     the cases of a file, with the event
                                            lists of `measure_step.py --events DIR --stacks`

Both sides have the columns of show_events.py: number, + or -, bytes asked, bytes live, tensor,
operator, autograd node, frame or module; a trace may also be an event list (.json.gz). The ordered lists of (+ or -, bytes, which tensor) over
4 KiB must be equal: of two tensors of one size the right one must go first. Where the lists part is shown with its surroundings. The last line
is "N passed, M failed".
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
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))
import oracle  # noqa: E402

LARGE = 4096
CONTEXT = 6
EVENT = re.compile(r"\s*\d+ ([+-])\s+(\d+)\s+\d+\s+(t\S+)")


def lines_of(path):
    if path.endswith(".gz"):
        show_events = os.path.join(HERE, "show_events.py")
        return subprocess.run([sys.executable, show_events, path], capture_output=True, text=True,
                              check=True).stdout.splitlines()
    with open(path) as f:
        return f.read().splitlines()


def events_of(path):
    """[(sign, bytes, tensor, text)] of the events over 4 KiB; a tensor is counted among those, 0 = older than the step."""
    events, number_of, count = [], {}, 0
    for line in lines_of(path):
        m = EVENT.match(line)
        if not m or int(m.group(2)) <= LARGE:
            continue
        if m.group(1) == "+":
            count += 1
            number_of[m.group(3)] = count
        events.append((m.group(1), int(m.group(2)), number_of.get(m.group(3), 0), line.rstrip()))
    return events


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
    if not theirs or [e[:3] for e in ours] == [e[:3] for e in theirs]:
        print("%-28s %s" % (name, "%d events equal" % len(theirs) if theirs else "no events to compare with"))
        return bool(theirs)
    at = next((i for i, (o, t) in enumerate(zip(ours, theirs)) if o[:3] != t[:3]), min(len(ours), len(theirs)))
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
    if done.returncode not in (0, 1) or not os.path.exists(events):
        print("%-28s exit %d: %s" % (case["id"], done.returncode, done.stderr.strip()))
        return False
    return compare(case["id"], events, trace_path)


def trace_of(case, folder):
    """The case's trace in the folder, or None."""
    stem = os.path.join(folder, case["id"].replace("/", "_"))
    return next((stem + end for end in (".txt", ".json.gz") if os.path.exists(stem + end)), None)


CASE_FILES = ("*_step.json", "families/*.json", "parallel/event_cases.json")


def without_case(cases, args):
    """The traces that belong to no case: they would never be compared."""
    named = {trace_of(c, args.traces) for c in cases}
    return [path for path in sorted(glob.glob(os.path.join(args.traces, "*"))) if path not in named]


def run_all(args):
    cases = {}
    for path in args.cases or sorted(path for names in CASE_FILES for path in glob.glob(os.path.join(HERE, names))):
        with open(path) as f:
            file = json.load(f)
        for case in file if isinstance(file, list) else file["cases"]:
            cases.setdefault(case["id"], case)
    cases = cases.values()
    chosen = [c for c in cases if args.only in c["id"] and trace_of(c, args.traces) and not c.get("lora")]
    lost = [] if args.cases or args.only else without_case(cases, args)
    for path in lost:
        print("%-28s no case has this trace" % os.path.basename(path))
    with tempfile.TemporaryDirectory() as folder:
        return [False for _ in lost] + [run_case(c, trace_of(c, args.traces), args, folder) for c in chosen]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="*", metavar="FILE")
    ap.add_argument("--binary", default=os.environ.get("MEMSCOPE", "build/release/memscope"))
    ap.add_argument("--only", default="", help="only cases whose id contains this")
    ap.add_argument("--cases", action="append", help="instead of all cases that have a trace")
    ap.add_argument("--traces", default=os.path.join(HERE, "traces"))
    args = ap.parse_args()
    args.device, args.cuda = "", True
    verdicts = [compare(args.files[0], *args.files)] if len(args.files) == 2 else run_all(args)
    print("%d passed, %d failed" % (sum(verdicts), len(verdicts) - sum(verdicts)))
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
