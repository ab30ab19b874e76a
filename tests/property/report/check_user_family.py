#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Families that memscope does not have, described by texts: their steps are equal to what PyTorch allocates.

usage: check_user_family.py MEMSCOPE

tests/oracle/user_family and user_functions have a text each, the program that was captured, and what the captures
show: one by memscope's functions, one by those of PyTorch.
"""
import json
import pathlib
import subprocess
import sys

ORACLES = pathlib.Path(__file__).resolve().parents[3] / "tests/oracle"
TOTALS = ["start_bytes", "peak_memory_bytes", "reserved_memory_bytes", "param_count"]


def words_of(case):
    words = ["--batch", case["batch"], "--seq", case["seq"], "--device", "a100-80gb", "--no-advice"]
    if case.get("attention"):
        words += ["--attention", case["attention"]]
    if case.get("checkpointing"):
        words += ["--checkpointing", "all"]
    if case.get("autocast"):
        words += ["--dtype", "fp32", "--autocast", "bf16"]
    if case.get("lora"):
        words += ["--lora", f"r={case['lora']},targets=all-linear"]
    return map(str, words)


def faults_of(binary, folder, case):
    done = subprocess.run([binary, "analyze", str(folder / "config.json"), "--family", str(next(folder.glob("*.family"))), *words_of(case),
                           "--format", "json", "-o", "-"], capture_output=True, text=True)
    if done.returncode:
        return [done.stderr]
    report = json.loads(done.stdout)
    found = {**{name: report["summary"][name] for name in TOTALS}, **{p["phase"]: p["peak_bytes"] for p in report["phases"]}}
    measured = {**{name: case[name] for name in TOTALS}, **case["phases"]}
    return [f"{name}: {found.get(name)}, measured {value}" for name, value in measured.items() if found.get(name) != value]


def main():
    passed = failed = 0
    for folder in (ORACLES / "user_family", ORACLES / "user_functions"):
        for case in json.loads((folder / "measured.json").read_text())["cases"]:
            faults = faults_of(sys.argv[1], folder, case)
            passed, failed = passed + (not faults), failed + bool(faults)
            for fault in faults:
                print(f"{folder.name} {case['id']}: {fault}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
