#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of devices: every row is what the command answers for that device alone.

usage: check_devices.py MEMSCOPE
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]

# A command, and its devices.
RUNS = [
    ("analyze llama-3.1-8b --checkpointing all", "all"),
    ("analyze gpt2 --batch 64 --attention eager", "all"),
    ("analyze llama-3.2-1b --parallel fsdp=4 --batch 4", "t4,l4,rtx-4090,h100-80gb"),
    ("analyze gpt2 --batch 4 --quantize fp8-block", "t4,h100-80gb"),
    ("fit llama-3.2-1b --checkpointing all", "l4,rtx-4090,h200,t4"),
    ("fit llama-3.1-8b --what seq --step 512 --budget 70GiB", "h100-80gb,a100-80gb"),
    ("fit llama-3.1-8b --what gpus --step 2 --checkpointing all", "l40s,a100-40gb"),
    ("plan llama-3.2-1b --seq 8192", "l4,t4,a100-40gb"),
    ("plan llama-3.2-1b --seq 8192 --planner uniform --budget 12GiB", "rtx-4090,a100-80gb"),
]


def run(binary, words):
    words = [*words, *(["--no-advice"] if words[0] == "analyze" else [])]
    done = subprocess.run([binary, *words, "-q", "--format", "json"], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def figures_alone(command, code, alone):
    """Verdict, needed bytes, and what the command adds."""
    if command == "analyze":
        summary = alone["summary"]
        return {"verdict": summary["verdict"], "needed_bytes": summary["expected_device_bytes"], "budget_bytes": summary["budget_bytes"]}
    if command == "fit":
        step = alone["largest"] or alone["fewest"]
        return {"value": alone["value"], "safe_value": alone["safe_value"], "stopped_by": alone["stopped_by"],
                "verdict": step["verdict"] if step else "no", "needed_bytes": step["expected_device_bytes"] if step else None}
    needed = alone["least_budget_bytes"] if code == 3 else alone["device_bytes"]
    return {"treat": alone["treat"], "verdict": "no" if code == 3 else alone["verdict"], "needed_bytes": needed}


def check_row(binary, words, row):
    code, alone, stderr = run(binary, [*words, "--device", row["device"]])
    if row["verdict"] == "error":
        assert code == 2 and row["error"] in stderr, (code, stderr)
        return
    for key, value in figures_alone(words[0], code, alone).items():
        assert row[key] == value, (row["device"], key, row[key], value)
    assert row["fits"] == (code == 0), (row["device"], code)


def group(row):
    safe = row["verdict"] == "fits" or row.get("safe_value", 0) > 0
    return 0 if safe else {"tight": 1, "no": 2, "error": 3}[row["verdict"]]


def check(binary, settings, devices, validate):
    words = settings.split()
    code, table, stderr = run(binary, [*words, "--device", devices])
    assert table, stderr
    validate(table)
    rows = table["devices"]
    assert len(rows) == table["device_count"] and len({row["device"] for row in rows}) == len(rows)
    assert devices == "all" or {row["device"] for row in rows} == set(devices.split(","))
    fitting = [row["device"] for row in rows if row.get("fits")]
    assert table["fit_count"] == len(fitting) and table["smallest"] == (fitting[0] if fitting else None)
    assert code == (0 if fitting else 3 if words[0] == "plan" else 1), code
    order = [(group(row), row.get("budget_bytes", 0)) for row in rows]
    assert "--budget" in words or order == sorted(order), order
    for row in rows:
        check_row(binary, words, row)


def validator():
    try:
        import jsonschema
    except ImportError:
        print("python3-jsonschema is not there: tables are not validated")
        return lambda table: None
    return jsonschema.Draft7Validator(json.loads((ROOT / "schemas/devices.schema.json").read_text())).validate


def main():
    binary, passed, failed, validate = sys.argv[1], 0, 0, validator()
    for settings, devices in RUNS:
        try:
            check(binary, settings, devices, validate)
            passed += 1
        except Exception as e:
            failed += 1
            print(f"{settings} --device {devices}: {type(e).__name__}: {e}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
