#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts SGLang under `memscope capture` and holds what is reported against what SGLang itself prints as it starts.

usage: sglang_starts.py MEMSCOPE PYTHON RESULTS [SUBSTRING]     starts the cases
       sglang_starts.py --table RESULTS                         reports/sglang.md, to standard output

RESULTS gets a line of JSON for each case; one that is there already is not started again. Models are configs of this
project, without weights.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
GIB = 1 << 30
ENGINE = "import json, sys; import sglang\nif __name__ == '__main__': sglang.Engine(model_path='model', **json.loads(sys.argv[1]))\n"

# Model, device, devices, options of launch_server, or keywords of Engine, exit status, what a failure says.
CASES = [
    ("llama-3.2-1b", "h100-80gb", 1, "--disable-cuda-graph", 0, None),
    ("llama-3.2-1b", "h100-80gb", 1, "", 0, None),
    ("llama-3.1-8b", "h100-80gb", 1, "", 0, None),
    ("llama-3.1-8b", "h100-80gb", 1, {"mem_fraction_static": 0.8, "context_length": 8192, "log_level": "info"}, 0, None),
    ("qwen3-8b", "h100-80gb", 1, "--context-length 16384 --chunked-prefill-size 4096", 0, None),
    ("llama-3.1-8b", "h100-80gb", 1, "--kv-cache-dtype fp8_e4m3", 0, None),
    ("llama-3.1-8b", "h100-80gb", 2, "--tp-size 2", 0, None),
    ("qwen3-30b-a3b", "h100-80gb", 1, "--disable-cuda-graph", 0, None),
    ("llama-3.1-8b", "a100-80gb", 1, "--attention-backend triton", 0, None),
    ("llama-3.1-8b", "rtx-4090", 1, "--attention-backend triton", 0, None),
    ("llama-3.1-70b", "h100-80gb", 1, "", 1, "CUDA out of memory"),
]

# What SGLang prints, in GiB with two decimals, or tokens.
LOG = {
    "weights": r"Load weight end\..*mem usage=([\d.]+) GB",
    "cache": r"KV Cache is allocated\..*?#tokens: (\d+),(?: KV size: ([\d.]+) GB| K size: ([\d.]+) GB, V size: ([\d.]+) GB)",
    "graphs": r"Capture target \w+ CUDA graph end\..*mem usage=(-?[\d.]+) GB",
    "ready": r"max_total_num_tokens=(\d+),.*available_gpu_mem=([\d.]+) GB",
}

TABLE = """\
# SGLang as it starts

`memscope capture` of SGLang 0.5.23 on a machine without a GPU, with dummy weights: GiB of rank 0,
and beside them in brackets what SGLang itself printed in the same start. It counts weights by the
memory that is free, in whole segments of the allocator. No figure of a GPU is compared here. Made
by `tests/external/torch/sglang_starts.py --table`.

| model | device | options | weights | cache | tokens | graphs | free when ready |
|---|---|---|---|---|---|---|---|
"""


def name(case):
    return json.dumps(case[:4])


def said(log):
    """SGLang's figures, of rank 0."""
    lines = [line for line in log.splitlines() if not re.search(r" TP[1-9]", line[:60])]
    found = {key: [m for line in lines for m in re.findall(pattern, line)] for key, pattern in LOG.items()}
    out = {"weights": float(found["weights"][0])} if found["weights"] else {}
    if found["cache"]:
        out["cache"] = round(sum(float(part) for part in found["cache"][0][1:] if part), 2)
    out["graphs"] = round(sum(float(part) for part in found["graphs"]), 2)
    if found["ready"]:
        out["tokens"], out["free"] = int(found["ready"][-1][0]), float(found["ready"][-1][1])
    return out


def capture(memscope, python, case):
    config, device, devices, options, _, _ = case
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "model"))
        shutil.copy(os.path.join(TOP, "configs", config + ".json"), os.path.join(folder, "model", "config.json"))
        with open(os.path.join(folder, "start.py"), "w") as file:
            file.write(ENGINE)
        words = ["-m", "sglang.launch_server", "--model-path", "model"]
        words = words + options.split() if isinstance(options, str) else ["start.py", json.dumps(options)]
        command = [memscope, "capture", "--device", device, "--device-count", str(devices), "--out", "out"]
        begun = time.monotonic()
        run = subprocess.run([*command, "--time-limit", "1800", "--", python, *words], capture_output=True, text=True, cwd=folder,
                             env={**os.environ, "HF_HUB_OFFLINE": "1"})
        path = os.path.join(folder, "out", "runtime_report.json")
        report = json.load(open(path)) if os.path.exists(path) else {}
        return {"name": name(case), "status": run.returncode, "seconds": round(time.monotonic() - begun), "said": said(run.stderr),
                "report": report, "console": run.stdout, "log": "" if run.returncode == 0 else run.stderr[-6000:]}


def reported(report):
    engine = report.get("engine") or {}
    worker, cache = (engine.get("workers") or [{}])[0], engine.get("cache") or {}
    return {"weights": worker.get("weights_bytes"), "cache": cache.get("bytes"), "graphs": worker.get("graphs_bytes"),
            "tokens": cache.get("tokens"), "free": worker.get("free_bytes")}


def differences(case, result):
    """SGLang's weights are what the device lost, in whole segments of the allocator; the rest is equal to what it prints."""
    status, words = case[4:]
    out = [] if result["status"] == status else [f"exit status {result['status']}: {result['report'].get('message')}"]
    if status:
        return out + ([] if words in (result["report"].get("message") or "") else [f"it says {result['report'].get('message')}"])
    figures, printed = reported(result["report"]), result["said"]
    for key in ("weights", "cache", "graphs", "tokens", "free"):
        found, room = figures.get(key), {"weights": 0.03, "cache": 0.011, "graphs": 0.011}.get(key, 0.0051)
        if key == "tokens":
            if found != printed.get(key):
                out.append(f"{found} tokens, SGLang says {printed.get(key)}")
        elif found is None or key not in printed or abs(found / GIB - printed[key]) > room:
            out.append(f"{key} {found}, SGLang says {printed.get(key)} GB")
    return out


def results(path):
    return {row["name"]: row for row in map(json.loads, open(path))} if os.path.exists(path) else {}


def start(memscope, python, path, part=""):
    bad, done = 0, results(path)
    for case in CASES:
        if part not in name(case):
            continue
        result = done.get(name(case))
        if result is None:
            result = capture(os.path.abspath(memscope), python, case)
            with open(path, "a") as file:
                file.write(json.dumps(result) + "\n")
        faults = differences(case, result)
        print(f"{name(case)}: {'; '.join(faults) or 'as expected'} ({result['seconds']} s)", flush=True)
        bad += bool(faults)
    return 1 if bad else 0


def gib(count):
    return f"{count / GIB:.2f}" if count is not None else "-"


def table(path):
    done = results(path)
    print(TABLE, end="")
    for case in CASES:
        result = done.get(name(case))
        if not result or case[4]:
            continue
        figures, printed, (config, device, devices, options) = reported(result["report"]), result["said"], case[:4]
        options = options or "defaults" if isinstance(options, str) else ", ".join(f"{key}={value}" for key, value in options.items())
        cells = [config, f"{devices} x {device}" if devices > 1 else device, options]
        cells += [f"{gib(figures[key])} ({printed[key]:.2f})" for key in ("weights", "cache")]
        cells += [f"{figures['tokens']:,} ({printed['tokens']:,})"]
        cells += [f"{gib(figures[key])} ({printed[key]:.2f})" for key in ("graphs", "free")]
        print("| " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(table(sys.argv[2]) if sys.argv[1] == "--table" else start(*sys.argv[1:]))
