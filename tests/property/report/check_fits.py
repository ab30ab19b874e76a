#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_fits.py MEMSCOPE

Holds `memscope fit` to `memscope analyze`: the largest value fits there and the next one does not,
with the same figures, and the schema (where python3-jsonschema is there) accepts the answer.
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
RUNS = [  # of a run, and what is searched
    ("llama-3.2-1b --checkpointing all --device rtx-4090", "batch", ""),
    ("llama-3.2-1b --budget 12GiB", "batch", ""),
    ("llama-3.2-1b --device rtx-4090", "seq", "--step 500"),
    ("gpt2 --device rtx-4090", "seq", ""),
    ("smollm2-135m --batch 2 --budget 3GiB --allocator cuda-expandable --treat loss=chunk:8", "batch", ""),
    ("llama-3.2-1b --lora targets=all-linear --device rtx-4090 --seq 1024", "rank", "--step 16"),
    ("llama-3.1-8b --budget 60GiB", "batch", ""),
    ("llama-3.1-8b --lora targets=all-linear --quantize nf4 --autocast bf16 --checkpointing all --device rtx-4090", "rank", "--step 8"),
    ("llama-3.2-1b --budget 14.30GiB --seq 1024", "batch", ""),
    ("gpt2 --device a100-40gb --seq 128 --optimizer sgd", "batch", ""),  # 262 does not fit, 281 does
    ("llama-3.2-1b --device l4 --accumulate 2", "seq", ""),  # 3264 is tight, 3520 is safe
]
SOME = 12  # values that are tried where none may be better


def run(binary, *words):
    done = subprocess.run([binary, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def without(words, option):
    """An option is given once."""
    at = words.index(f"--{option}") if f"--{option}" in words else len(words)
    return words[:at] + words[at + 2:]


def analyzed(binary, settings, what, value):
    words = settings.split()
    if what == "rank":
        words[words.index("--lora") + 1] += f",r={value}"
    else:
        words = without(words, what) + [f"--{what}", str(value)]
    code, out, err = run(binary, "analyze", "--no-advice", *words, "--format", "json", "-o", "-")
    assert code in (0, 1), err
    return code, json.loads(out)["summary"]


def check(binary, settings, what, more, validate):
    code, out, err = run(binary, "fit", *settings.split(), "--what", what, *more.split(), "--format", "json", "-o", "-")
    assert code in (0, 1), err
    answer = json.loads(out)
    validate(answer)
    assert (code == 0) == (answer["value"] > 0)
    assert answer["value"] % answer["step"] == 0
    assert 0 <= answer["safe_value"] <= answer["value"]
    for part, fits in (("safe", True), ("largest", True), ("next", False)):
        figures = answer[part]
        if figures is None:
            continue
        code, summary = analyzed(binary, settings, what, figures["value"])
        assert all(summary[k] == figures[k] for k in ("verdict", "verdict_reason"))
        assert part != "safe" or summary["verdict"] == "fits"
        assert (code == 0) == fits == figures["fits"], (part, figures["value"], code)
        for key in ("peak_memory_bytes", "reserved_memory_bytes", "expected_device_bytes", "peak_stage"):
            assert summary[key] == figures[key], (part, key, summary[key], figures[key])
        assert sum(figures["peak_composition"].values()) == figures["peak_memory_bytes"]
    check_others(binary, settings, what, answer)
    assert (answer["safe"] is None) == (answer["safe_value"] == 0)
    if answer["stopped_by"] == "memory":
        assert answer["next"]["value"] == answer["value"] + answer["step"]
        assert answer["largest"] is not None or answer["value"] == 0
    else:
        assert answer["next"] is None


def check_others(binary, settings, what, answer):
    """No value past the largest fits, and none past the safe one is safe."""
    value, safe, step = answer["value"], answer["safe_value"], answer["step"]

    def verdicts(begin, end):
        return [analyzed(binary, settings, what, v)[1]["verdict"] for v in range(begin, end, step)][:SOME]

    if answer["larger_excluded"]:
        assert "fits" not in verdicts(safe + step, min(value, safe + SOME * step) + 1), "a safe value past the safe one"
        if answer["stopped_by"] == "memory":
            assert set(verdicts(value + step, value + (SOME + 1) * step)) == {"no"}, "a value past the largest fits"
    if answer["first_gap"]:
        assert verdicts(answer["first_gap"], answer["first_gap"] + 1) == ["no"], "the gap fits"


def validator():
    try:
        import jsonschema
    except ImportError:
        print("python3-jsonschema is not there: answers are not validated")
        return lambda answer: None
    return jsonschema.Draft7Validator(json.loads((ROOT / "schemas/fit.schema.json").read_text())).validate


def main():
    binary, passed, failed, validate = sys.argv[1], 0, 0, validator()
    for settings, what, more in RUNS:
        try:
            check(binary, settings, what, more, validate)
            passed += 1
        except Exception as e:
            failed += 1
            print(f"fit {settings} --what {what}: {type(e).__name__}: {e}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
