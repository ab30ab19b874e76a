#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_gpus.py MEMSCOPE

Compares `memscope fit --what gpus` with `memscope analyze`, which is asked about every number of GPUs up to the answer:
none that is smaller may fit, or be safe; and the figures of the answer are those of the rank that needs most.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
ALL = "--checkpointing all"
RUNS = [  # of a run; the layout, "" for none; GPUs that are added together; the first number there can be
    (f"llama-3.2-1b {ALL} --seq 1024 --budget 5GiB", "", 1, 1),
    ("llama-3.2-1b --device rtx-4090 --seq 1024", "", 1, 1),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 3500MiB", "fsdp=2", 1, 2),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 3500MiB --reshard-after-forward no", "fsdp=64", 1, 2),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 5GiB", "hsdp=2x4", 2, 4),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 5GiB", "fsdp1=4", 1, 2),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 10GiB", "fsdp1=2", 1, 2),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 10GiB", "zero=3,dp=4", 1, 2),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 14GiB", "zero=1,dp=2", 1, 2),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 6GiB", "cp=2", 2, 2),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 10500MiB", "zero=1,dp=4", 1, 2),
    (f"llama-3.1-8b {ALL} --seq 512 --budget 20GiB", "tp=2,fsdp=2", 2, 4),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 4GiB", "cp=2", 2, 2),
    (f"llama-3.2-1b {ALL} --seq 512 --budget 4GiB", "pp=2,schedule=1f1b,microbatches=2,fsdp=2", 2, 4),
    ("gpt2 --seq 256 --budget 1100MiB", "", 1, 1),
    ("gpt2 --seq 256 --budget 600MiB", "", 1, 1),  # nothing fits
    (f"qwen3-0.6b {ALL} --seq 512 --budget 3GiB --dtype fp32 --param-dtype bf16 --reduce-dtype fp32", "fsdp=2", 1, 2),
]
SLOW = {("5GiB", "fsdp1=4"), ("10500MiB", "zero=1,dp=4"), ("4GiB", "cp=2")}  # seconds each, as the answer is tens of GPUs: only where CHECK_EVERY is 1
MOST = 6  # numbers that are asked about where nothing fits


def run(binary, *words):
    done = subprocess.run([binary, *words], capture_output=True, text=True)
    assert done.returncode in (0, 1), (words, done.stderr)
    return done.returncode, json.loads(done.stdout)


def layout_of(layout, gpus, unit, first):
    """The layout with so many GPUs, written here anew."""
    if gpus == 1:
        return "none"
    groups = gpus // unit
    if layout.startswith("cp"):
        return layout if groups == 1 else f"{layout},fsdp={groups}"
    if not layout:
        return f"fsdp={gpus}"
    return re.sub(r"(fsdp1?|dp)=\d+$|(hsdp=\d+x)\d+$", lambda found: f"{found[1]}={groups}" if found[1] else f"{found[2]}{groups}", layout)


def analyzed(binary, settings, layout):
    more = ["--parallel", layout, "--rank", "worst"] if layout != "none" else []
    return run(binary, "analyze", "--no-advice", *settings.split(), *more, "--format", "json", "-o", "-")[1]["summary"]


def check(binary, settings, layout, unit, first, validate):
    given = ["--parallel", layout] if layout else []
    code, answer = run(binary, "fit", *settings.split(), *given, "--what", "gpus", "--format", "json", "-o", "-")
    validate(answer)
    value, safe = answer["value"], answer["safe_value"]
    assert (code == 0) == (value > 0) and answer["step"] == unit and answer["largest"] is None
    assert value == 0 or value >= first
    for gpus in range(first, (min(max(value, safe), value + 2 * unit) if value else MOST) + 1, unit):
        verdict = analyzed(binary, settings, layout_of(layout, gpus, unit, first))["verdict"]
        assert gpus > value > 0 or (verdict == "no") == (gpus != value), (gpus, verdict)
        assert (verdict == "fits") == (safe > 0 and gpus == safe), (gpus, verdict)
    for part in ("fewest", "safe", "next"):
        figures = answer[part]
        if figures is None:
            continue
        assert figures["parallel"] == layout_of(layout, figures["value"], unit, first), figures["parallel"]
        summary = analyzed(binary, settings, figures["parallel"])
        for key in ("verdict", "verdict_reason", "peak_memory_bytes", "reserved_memory_bytes", "expected_device_bytes"):
            assert summary[key] == figures[key], (part, key, summary[key], figures[key])
    assert answer["stopped_by"] == ("least" if value == first else "memory")
    assert answer["fewer_excluded"] or safe > 100


def validator():
    try:
        import jsonschema
    except ImportError:
        return lambda answer: None
    schema = json.loads((ROOT / "schemas" / "fit.schema.json").read_text(encoding="utf-8"))
    return lambda answer: jsonschema.validate(answer, schema)


def main():
    binary, validate, failed = sys.argv[1], validator(), 0
    runs = [run for run in RUNS if (run[0].split()[-1], run[1]) not in SLOW] if int(os.environ.get("CHECK_EVERY", "1")) > 1 else RUNS
    for settings, layout, unit, first in runs:
        try:
            check(binary, settings, layout, unit, first, validate)
        except Exception as error:
            failed += 1
            print(f"fit {settings} {layout} --what gpus: {type(error).__name__}: {error}")
    print(f"{len(runs) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
