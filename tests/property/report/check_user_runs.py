#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_user_runs.py MEMSCOPE

Runs as users write them (tests/oracle/users/runs.json, measured by user_runs.py) against the program: how many of each kind are equal to
the byte in peak and reserved, and how far the others may be below. SFTTrainer's that are padded have batches of other lengths,
which the options do not say.
"""
import concurrent.futures
import os
import sys

sys.dont_write_bytecode = True
USERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "oracle", "users")
sys.path.insert(0, USERS)
import user_runs  # noqa: E402

EVERY = int(os.environ.get("CHECK_EVERY", "1"))
# Of all runs of the kind: how many are equal, and the most that a peak is too low.
HELD = {"loop": (63, 0.013), "trainer": (85, 0.005), "sft": (11, 0.005)}


def check(rows, kind, is_whole):
    equal, low = HELD[kind]
    known = [row for row in rows if row["id"].split("-")[2] == kind and "run" in row]
    found = sum(map(user_runs.is_equal, known))
    worst = min((row["peak_off"] / row["peak"] for row in known), default=0)
    print(f"{kind}: {found} of {len(known)} equal, peaks {worst:+.4%} at the lowest")
    return worst >= -low and (not is_whole or found >= equal)


def main():
    records = user_runs.records_of(os.path.join(USERS, "runs.json"))[::EVERY]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda record: user_runs.compared(sys.argv[1], record), records))
    passed = [check(rows, kind, EVERY == 1) for kind in HELD]
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    return not all(passed)


if __name__ == "__main__":
    sys.exit(main())
