#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_infer.py MEMSCOPE

Asks `memscope infer` about the neighbours of what `--fit` answers: the value must fit, the next one and larger ones must not, nor may
larger ones than the safe value do so with the highest figures; the figures are those of the value. And each row of a table is what
`infer` says of its settings alone.
"""
import itertools
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
QUANTS = ["F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_K_S", "Q4_0", "Q3_K_M", "Q2_K"]
OPEN_END = 1 << 20  # of the search, not of the engine
FITS = [  # a deployment; what is looked for; the distance of values (a list: all values, the largest first); the largest value
    ("llama-3.1-8b --quant Q8_0 --device rtx-4090", "context", 256, None),
    ("llama-3.1-8b --quant Q8_0 --device rtx-4090", "concurrency", 1, 256),
    ("llama-3.1-8b --quant Q8_0 --device rtx-4090", "gpu-layers", 1, 33),
    ("llama-3.1-70b --quant Q4_K_M --device rtx-4090", "gpu-layers", 1, 81),
    ("llama-3.1-70b --device h100-80gb", "quant", QUANTS, None),
    ("llama-3.1-70b --device t4", "quant", QUANTS, None),  # none fits
    ("llama-3.1-8b --device rtx-4090 --context 131072", "quant", QUANTS, None),
    ("llama-3.1-8b --device b200 --gpus 2 --quant Q4_K_M", "context", 256, OPEN_END),
    ("llama-3.1-8b --device rtx-4090 --quant Q4_K_M --cache-type-k q8_0 --cache-type-v q8_0 --concurrency 8", "context", 256, None),
    ("gemma-2-9b --device rtx-4090 --quant Q8_0", "context", 256, None),
    ("mixtral-8x7b --quant Q4_K_M --device rtx-4090 --gpus 2", "context", 256, None),
    ("qwen3-30b-a3b --quant Q4_K_M --device rtx-4090", "concurrency", 1, 256),
    ("gpt2 --device cpu --budget 1GiB", "concurrency", 1, 256),
    ("gpt2 --device cpu --budget 600MiB", "context", 256, None),
    ("llama-3.1-8b --quant Q4_K_M --device t4 --budget 1GiB", "context", 256, None),  # none fits
]
STARTS = [  # of vLLM, which fills its budget whatever is asked for; the first value that it refuses, where the answer ends there
    ("qwen3-0.6b --engine vllm --device h100-80gb --context 512", "concurrency", 1, None),
    ("qwen3-0.6b --engine vllm --device h100-80gb --context 512 --max-num-seqs 4096", "concurrency", 1, None),
    ("llama-3.1-8b --engine vllm --device h100-80gb --concurrency 8", "context", 16, None),
    ("qwen3-0.6b --engine vllm --device h100-80gb", "context", 16, 40960),
]
TABLES = [
    ("llama-3.1-70b --quant Q4_K_M", {"device": ["t4", "rtx-4090", "a100-80gb", "h200"]}),
    ("llama-3.1-8b --device rtx-4090", {"quant": ["Q8_0", "Q4_K_M"], "context": ["4096", "65536", "262144"], "concurrency": ["1", "4"]}),
    ("gpt2 --device rtx-4090", {"flash-attn": ["on", "off"], "cache-type-v": ["f16", "q8_0"]}),  # one pair is refused
    ("gpt2 --engine hf --prompt 64 --context 80", {"device": ["t4", "rtx-4090"], "concurrency": ["1", "4"]}),
    ("llama-3.1-8b --quant Q8_0 --fit context", {"device": ["t4", "rtx-4090"], "concurrency": ["1", "8"]}),
]
NEIGHBOURS = 6


def run(binary, words):
    done = subprocess.run([binary, "infer", *words, "--format", "json"], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout) if done.returncode in (0, 1) else None, done.stderr


def peaks(answer):
    """By place that counts: the largest phase's expected bytes with its highest."""
    best = {}
    for phase in answer["phases"]:
        for place in phase["places"]:
            if place["device"] is None and answer["device"] != "cpu":
                continue
            known = best.get(place["device"])
            if known is None or place["bytes"] > known[0]:
                best[place["device"]] = (place["bytes"], place["high_bytes"])
    return best.values()


def fits(answer, which):
    return all(peak[which] <= answer["budget_bytes"] for peak in peaks(answer))


def beyond(value, by, most):
    """The values after this one, the nearest first."""
    if isinstance(by, list):
        return by[:by.index(value)][::-1]
    values = [int(value) + by * i for i in range(1, NEIGHBOURS + 1)]
    return [str(v) for v in values if most is None or v <= most]


def check_fit(binary, settings, what, by, most, validate):
    words = settings.split()
    code, answer, _ = run(binary, [*words, "--fit", what])
    validate(answer, "infer")
    fit = answer["fit"]
    assert (code == 0) == (fit["value"] is not None) == answer["fits"], (code, fit)
    least = by[-1] if isinstance(by, list) else str(0 if what == "gpu-layers" else by)
    alone = run(binary, [*words, f"--{what}", fit["value"] or least])[1]
    for part in ("phases", "buffers", "figures", "fits", "context", "concurrency"):
        assert alone[part] == answer[part], part
    assert fits(alone, 0) == (fit["value"] is not None)
    if fit["value"] is None:
        assert fit["safe_value"] is None and fit["next"] is None
        return
    larger = beyond(fit["value"], by, most)
    assert fit["next"] == (larger[0] if larger else None), (fit["next"], larger)
    if not larger:
        assert fit["larger_excluded"] == (most != OPEN_END)
    else:
        assert fit["larger_excluded"] or any(b["part"] == "compute" and b["low_bytes"] != b["high_bytes"] for b in answer["buffers"])
    for value in larger:
        code, other, _ = run(binary, [*words, f"--{what}", value])
        assert code == 1 and not fits(other, 0), value
        if value == fit["next"]:
            assert max(peak[0] for peak in peaks(other)) == fit["next_bytes"]
    if fit["safe_value"] is None:
        return
    assert fits(run(binary, [*words, f"--{what}", fit["safe_value"]])[1], 1)
    for value in beyond(fit["safe_value"], by, most):
        assert not fits(run(binary, [*words, f"--{what}", value])[1], 1), value


def check_start(binary, settings, what, by, most, validate):
    words = settings.split()
    code, answer, _ = run(binary, [*words, "--fit", what])
    validate(answer, "infer")
    fit = answer["fit"]
    larger = beyond(fit["value"], by, most)
    assert code == 0 and answer["fits"] and run(binary, [*words, f"--{what}", fit["value"]])[1]["fits"]
    assert fit["next"] == (larger[0] if larger else None), (fit["next"], larger)
    assert fit["larger_excluded"] or larger
    for value in larger:
        code, _, _ = run(binary, [*words, f"--{what}", value])
        assert code == 1, value


def check_row(binary, words, row):
    for field, value in row["settings"].items():
        words = [*words, f"--{field}", value]
    code, alone, stderr = run(binary, words)
    if row["verdict"] == "error":
        assert code == 2 and row["error"] in stderr, (code, stderr)
        return
    assert row["fits"] == alone["fits"] == (code == 0)
    for part in ("device", "devices", "budget_bytes", "context", "concurrency", "most_that_fits"):
        assert row[part] == alone[part], (part, row[part], alone[part])
    assert row.get("fit") == alone.get("fit")
    assert (row["bytes"], row["high_bytes"]) in peaks(alone)
    assert row["verdict"] == ("no" if not fits(alone, 0) else "fits" if fits(alone, 1) else "tight")


def check_table(binary, settings, lists, validate):
    words = settings.split()
    given = [word for field, values in lists.items() for word in (f"--{field}", ",".join(values))]
    code, rows, _ = run(binary, [*words, *given])
    validate(rows, "infer_rows")
    wanted = [dict(zip(lists, values)) for values in itertools.product(*lists.values())]
    assert [row["settings"] for row in rows] == wanted
    for row in rows:
        check_row(binary, words, row)
    assert (code == 0) == any(row.get("fits") for row in rows)


def validator():
    try:
        import jsonschema
    except ImportError:
        return lambda answer, name: None
    def validate(answer, name):
        jsonschema.validate(answer, json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")))
    return validate


def main():
    binary, validate, failed = sys.argv[1], validator(), 0
    every = int(os.environ.get("CHECK_EVERY", "1"))
    step, start_step = (1, 1) if every == 1 else (3, 1) if every < 10 else (6, 2)  # the last for sanitizers
    checks = [(check_fit, row) for row in FITS[::step]] + [(check_start, row) for row in STARTS[::start_step]] + [(check_table, row) for row in TABLES]
    for check, row in checks:
        try:
            check(binary, *row, validate)
        except Exception as error:
            failed += 1
            print(f"infer {row}: {type(error).__name__}: {error}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
