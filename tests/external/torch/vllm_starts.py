#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts vLLM under `memscope capture` and holds what is reported against what was measured.

usage: vllm_starts.py MEMSCOPE PYTHON RESULTS [SUBSTRING]     starts the cases of vllm_starts.json for this vLLM
       vllm_starts.py --table RESULTS...                      reports/vllm.md, to standard output

RESULTS gets a line of JSON for each case; one that is there already is not started again. Models are configs of this
project, without weights.
"""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
CASES = os.path.join(HERE, "vllm_starts.json")
WORKER = ("weights_bytes", "buffers_bytes", "activation_bytes")
GIB = 1 << 30
START = "import json, sys; from vllm import LLM\nif __name__ == '__main__': LLM('model', **json.loads(sys.argv[1]))\n"


def name(case):
    return json.dumps([case[key] for key in ("vllm", "config", "device", "options", "environment", "world")])


def load():
    cases = json.load(open(CASES))
    for case in cases:
        case.setdefault("world", 1)
    return cases


def capture(memscope, python, case):
    """What the report says, or how the capture failed."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "model"))
        shutil.copy(
            os.path.join(TOP, "configs", case["config"] + ".json"), os.path.join(folder, "model", "config.json")
        )
        with open(os.path.join(folder, "start.py"), "w") as file:
            file.write(START)
        options = {"enforce_eager": True, **case["options"]}
        command = [
            memscope,
            "capture",
            "--device",
            case["device"],
            "--out",
            "out",
            "--time-limit",
            "1800",
            "--device-count",
            str(case["world"]),
            "--",
            python,
            "start.py",
            json.dumps(options),
        ]
        begun = time.monotonic()
        run = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "HF_HUB_OFFLINE": "1", **case["environment"]},
        )
        path = os.path.join(folder, "out", "runtime_report.json")
        report = json.load(open(path)) if os.path.exists(path) else {}
        return {
            "name": name(case),
            "status": run.returncode,
            "seconds": round(time.monotonic() - begun),
            "outcome": report.get("outcome"),
            "message": report.get("message"),
            "engine": report.get("engine"),
            "summary": report.get("summary"),
            "not_covered": report.get("not_covered"),
            "said": run.stderr[-1500:] if run.returncode else "",
        }


def figures(result):
    """By the names of what is expected."""
    engine = result["engine"] or {}
    cache, worker = engine.get("cache") or {}, (engine.get("workers") or [{}])[0]
    out = {key: worker.get(key) for key in WORKER}
    out.update(
        blocks=cache.get("blocks"),
        tokens=cache.get("tokens"),
        available_bytes=worker.get("available_cache_bytes"),
        concurrency=f"{cache['max_concurrency']:.2f}" if cache else None,
    )
    return out


def adjusted(case, result):
    """Figures as on the device that others measured on, which has another size."""
    found = figures(result)
    if case.get("device_bytes") and found["available_bytes"] is not None:
        budget = math.ceil(case["device_bytes"] * case["options"]["gpu_memory_utilization"])
        found["available_bytes"] += budget - result["engine"]["workers"][0]["requested_bytes"]
    return found


def differences(case, result):
    found, out = adjusted(case, result), []
    for key, value in case.get("expected", {}).items():
        if found.get(key) != value:
            apart = f" ({found[key] - value:+d})" if isinstance(value, int) and isinstance(found.get(key), int) else ""
            out.append(f"{key} {found.get(key)}, expected {value}{apart}")
    if result["status"] != case.get("status", 0):
        out.append(f"exit status {result['status']}: {result['message'] or result['said'][-300:]}")
    return out


def results(path):
    return {row["name"]: row for row in map(json.loads, open(path))} if os.path.exists(path) else {}


def start(memscope, python, path, part=""):
    version = subprocess.run(
        [python, "-c", "from importlib.metadata import version; print(version('vllm'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    failed = passed = 0
    done = results(path)
    for case in load():
        if case["vllm"] != version or part not in name(case):
            continue
        result = done.get(name(case))
        if not result:
            result = capture(os.path.abspath(memscope), shutil.which(python), case)
            with open(path, "a") as file:
                file.write(json.dumps(result) + "\n")
        wrong = differences(case, result)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {name(case)} {result['seconds']} s", *wrong, sep="\n    ", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


# ---- the report ----

HEAD = """# vLLM as it starts

`memscope capture` of `LLM(...)` on a machine without a GPU, eager, with dummy weights. Bytes of
rank 0; the cache is what is left for it, as the engine counts it. T: `max_num_batched_tokens`, S:
`max_num_seqs`, L: `max_model_len`; the budget is 0.9 of the device unless `util` says otherwise.
*As measured*: weights, buffers, activations, blocks, tokens and requests beside those that the same
vLLM said, with another null device, when nothing followed it. Made by
`tests/external/torch/vllm_starts.py --table`.
"""

AFTER = """
`deep_gemm=0` is there because the wheel of 0.20.2 has DeepGEMM for Python 3.12 alone, and with
another Python cannot import it while it warms up. Starts without a verdict were not measured
elsewhere.

## Beside a real H100

Ours (vLLM 0.20.2, null device) / what others printed of vLLM 0.19.0 on an H100 of 79.19 GiB with
CUDA graphs, in GiB. The cache and its tokens are ours on a device of that size, less the 0.24 or
0.25 GiB that their GPU held outside PyTorch, where they say.
"""

END = """
What differs, and why:

- Granite-3.3-8B: the MLP decides the peak, which torch.compile makes lower than eager execution.
- Llama-3.1-8B with fp8 weights: they do not say what was outside PyTorch; with the 0.25 GiB of their
  other starts of this model ours is 64.60.
- Qwen2.5-7B: our config is the base model's, with 131,072 positions in its rotary table, theirs
  the Instruct one with 32,768: 0.02 GiB, in the weights and in the cache.
"""


def options(case):
    short = {"max_num_batched_tokens": "T", "max_num_seqs": "S", "max_model_len": "L", "gpu_memory_utilization": "util"}
    words = [
        f"{short.get(key, key)}={value}"
        for key, value in case["options"].items()
        if (key, value) != ("gpu_memory_utilization", 0.9)
    ]
    words += [re.sub("^VLLM_USE_", "", key).lower() + "=" + value for key, value in case["environment"].items()]
    return ", ".join(words) or "defaults"


def gib(count):
    return f"{count / GIB:.2f}" if count is not None else ""


def table(paths):
    done = {}
    for path in paths:
        done.update(results(path))
    told = [case for case in load() if name(case) in done]
    measured = [case for case in told if case.get("expected")]
    equal = sum(not differences(case, done[name(case)]) for case in measured)
    models = len({case["config"] for case in told})
    print(f"{len(told)} starts of {models} models; {equal} of {len(measured)} that were measured are equal.\n")
    heads = ["vLLM", "model", "device", "options", "runner", "weights", "activations", "buffers", "cache, GiB"]
    heads += ["tokens", "requests at once", "as measured"]
    print("| " + " | ".join(heads) + " |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for case in told:
        result = done[name(case)]
        engine = result["engine"] or {}
        worker, cache = (engine.get("workers") or [{}])[0], engine.get("cache") or {}
        wrong = differences(case, result)
        verdict = "; ".join(wrong) if wrong else "to the byte" if case.get("expected") else ""
        verdict = "; ".join(filter(None, [verdict, case.get("note")]))
        cells = [
            case["vllm"],
            case["config"],
            case["device"] + (f" x {case['world']}" if case["world"] > 1 else ""),
            options(case),
            worker.get("runner", ""),
            *(
                f"{worker[key]:,}" if worker.get(key) is not None else ""
                for key in ("weights_bytes", "activation_bytes", "buffers_bytes")
            ),
            gib(worker.get("available_cache_bytes")),
            f"{cache['tokens']:,}" if cache else "does not fit" if result["outcome"] == "out_of_memory" else "",
            f"{cache['max_concurrency']:.2f}" if cache else "",
            verdict,
        ]
        print("| " + " | ".join(cells) + " |")


def beside(own, theirs):
    return "" if theirs is None or own is None else f"{own / GIB:.2f} / {theirs:.2f}"


def published(paths):
    """What others printed for vLLM 0.19 on an H100; the cache is ours less what they had outside PyTorch."""
    done = {}
    for path in paths:
        done.update(results(path))
    print("| model | options | weights | activations | cache | tokens |")
    print("|---|---|---|---|---|---|")
    for case in load():
        result, theirs = done.get(name(case)), case.get("published")
        if not result or not theirs:
            continue
        found = adjusted(case, result)
        cache = None if found["available_bytes"] is None else found["available_bytes"] - theirs.get("outside", 0) * GIB
        tokens = ""
        if "tokens" in theirs and cache is not None:
            own = found["tokens"] * cache / figures(result)["available_bytes"]
            tokens = f"{int(own):,} / {theirs['tokens']:,}"
        cells = [case["config"], options(case), beside(found["weights_bytes"], theirs.get("weights"))]
        cells += [beside(found["activation_bytes"], theirs.get("activation")), beside(cache, theirs.get("cache"))]
        cells += [tokens]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        print(HEAD)
        table(sys.argv[2:])
        print(AFTER)
        published(sys.argv[2:])
        print(END, end="")
    else:
        sys.exit(start(*sys.argv[1:]))
