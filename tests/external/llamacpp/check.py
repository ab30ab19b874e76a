# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures llama-completion on files without weights, and compares what the device saw with what llama.cpp prints and
with measured buffers.

    python3 check.py MEMSCOPE BIN WORK > reports/llamacpp.md     BIN: llama.cpp's programs; WORK: a folder for files
"""

import json
import os
import re
import subprocess
import sys

import gguf

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICES = {"cuda-cc80": "a100-80gb", "cuda-cc86": "rtx-3090", "cuda-cc89": "rtx-4090", "cuda-cc90": "h100-80gb"}
FLASH = {-1: "auto", 0: "off", 1: "on"}
KINDS = ("model", "kv", "compute")  # of what llama.cpp accounts for
SECONDS = 600
MIB = 1 << 20
ROUNDING = 0.0051 * MIB * 4  # of up to four printed sizes
LINE = re.compile(r"\b(CUDA\d+|CUDA_Host)\s+(model|KV|RS|compute|output) buffer size =\s+([\d.]+) MiB")
LOGGED = {"model": "model", "KV": "kv", "RS": "state", "compute": "compute", "output": "output"}
BREAKDOWN = re.compile(r"- CUDA(\d+) .*\(\s*(\d+) =\s*(\d+) \+\s*(\d+) \+\s*(\d+)\)")


def prompt(work, tokens):
    """A text of so many tokens: one begins it, and each byte is one."""
    path = os.path.join(work, f"prompt-{tokens}.txt")
    with open(path, "w") as file:
        file.write("a" * (tokens - 1))
    return path


def model(work, case):
    layers = case.get("layers")
    path = os.path.join(work, "-".join([case["model"], case["quant"]] + ([str(layers)] if layers else [])) + ".gguf")
    if not os.path.exists(path):
        gguf.write(case["model"], case["quant"], path, layers)
    return path


def arguments(work, case):
    o = case["options"]
    words = [
        "-m",
        model(work, case),
        "-f",
        prompt(work, case.get("decode_tokens", 8)),
        "-n",
        "2",
        "-no-cnv",
        "--no-warmup",
        "-lv",
        "4",
        "-fit",
        "off",
        "-lm",
        "dio",
        "-ngl",
        str(case["n_gpu_layers"]),
        "-c",
        str(o["n_ctx"]),
        "-b",
        str(o["n_batch"]),
        "-ub",
        str(o["n_ubatch"]),
        "-ctk",
        o["type_k"],
        "-ctv",
        o["type_v"],
        "-fa",
        FLASH[o["flash_attn"]],
        "-np",
        str(o["n_seq_max"]),
        "--ignore-eos",
        "--temp",
        "0",
    ]
    words += ["--swa-full"] if o["swa_full"] else []
    words += [] if o["offload_kqv"] else ["-nkvo"]
    words += [] if o["op_offload"] else ["--no-op-offload"]
    if "split_mode" in case:
        words += ["-sm", "layer" if case["split_mode"] else "none"]
    return words


def capture(memscope, programs, work, case):
    out = os.path.join(work, "out")
    command = [
        memscope,
        "capture",
        "--quiet",
        "--out",
        out,
        "--device",
        DEVICES[case["backend"]],
        "--time-limit",
        str(SECONDS),
    ]
    command += ["--device-count", str(case["gpus"])] if case.get("gpus") else []
    path = os.path.join(out, "runtime_report.json")
    if os.path.exists(path):
        os.remove(path)
    command += ["--", os.path.join(programs, "llama-completion")] + arguments(work, case)
    run = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        env={**os.environ, **case.get("environment", {})},
    )
    text = run.stdout.decode(errors="replace")
    with open(os.path.join(work, case["id"] + ".log"), "w") as file:
        file.write(" ".join(command) + "\n" + text)
    report = None
    if os.path.exists(path):
        with open(path) as file:
            report = json.load(file)
    return run.returncode, report, text


# ---- three accounts of the same buffers: {(device, kind): bytes} ----


def seen(report):
    """By the null device."""
    found = {}
    for row in report["ledger"]["buffers"]:
        place = "CUDA_Host" if row["device"] is None else f"CUDA{row['device']}"
        found[place, row["kind"]] = row["most_bytes"] if row["device"] is None else row["bytes"]
    return found


def logged(text):
    """By llama.cpp, in MiB with two decimals."""
    found = {}
    for place, kind, size in LINE.findall(text):
        # A cache may have several buffers; a graph that is reserved again has the same one.
        before = 0 if kind == "compute" else found.get((place, LOGGED[kind]), 0)
        found[place, LOGGED[kind]] = before + float(size)
    return found


def measured(case):
    m, found = case["measured"], {}
    for kind in ("model", "compute"):
        found.update({(place, kind): size for place, size in m[kind].items() if place.startswith("CUDA")})
    for rows, kind in ((m["kv"], "kv"), (m["rs"], "state")):
        for row in rows:
            if row["buffer"].startswith("CUDA"):
                found[row["buffer"], kind] = found.get((row["buffer"], kind), 0) + row["bytes"]
    return found


def on_devices(account, kinds=KINDS + ("state",)):
    return {key: size for key, size in account.items() if key[0] != "CUDA_Host" and key[1] in kinds and size}


def pinned(account):
    """What is not there while a file is read only."""
    return {key: size for key, size in account.items() if key[0] == "CUDA_Host" and key[1] != "staging" and size}


def differences(ours, theirs, step):
    """Keys whose sizes differ by more than the rounding of what was printed."""
    return sorted(key for key in set(ours) | set(theirs) if abs(ours.get(key, 0) - theirs.get(key, 0)) > step)


def breakdown(text):
    """llama.cpp's own table as it ends, in whole MiB: model + context + compute of each device."""
    return {f"CUDA{number}": tuple(map(int, parts)) for number, _, *parts in BREAKDOWN.findall(text)}


def whole_mib(ours, place):
    return (
        ours.get((place, "model"), 0) // MIB,
        (ours.get((place, "kv"), 0) + ours.get((place, "state"), 0)) // MIB,
        ours.get((place, "compute"), 0) // MIB,
    )


# ---- the table ----


def sum_of(account, kind):
    return sum(size for key, size in account.items() if key[0] != "CUDA_Host" and key[1] == kind)


def settings(case):
    o, words = case["options"], []
    words.append(f"ngl {case['n_gpu_layers']}")
    words.append(f"c {o['n_ctx']}")
    words += [f"ub {o['n_ubatch']}"] if o["n_ubatch"] != 512 else []
    words += [f"{o['type_k']}/{o['type_v']}"] if (o["type_k"], o["type_v"]) != ("f16", "f16") else []
    words += [f"fa {FLASH[o['flash_attn']]}"] if o["flash_attn"] >= 0 else []
    words += [f"np {o['n_seq_max']}"] if o["n_seq_max"] > 1 else []
    words += ["swa-full"] if o["swa_full"] else []
    words += ["nkvo"] if not o["offload_kqv"] else []
    words += ["no op offload"] if not o["op_offload"] else []
    words += [f"{case['gpus']} GPUs, split {'layer' if case['split_mode'] else 'none'}"] if case.get("gpus") else []
    words += [f"{case['decode_tokens']} tokens"] if case.get("decode_tokens") else []
    words += [case["backend"][5:]] if case["backend"] != "cuda-cc80" else []
    words += [f"{name}={value}" for name, value in case.get("environment", {}).items()]
    return ", ".join(words)


def row(case, code, report, text):
    """A line of the table, and what is not equal."""
    name = case["model"] + (f" ({case['layers']} layers)" if case.get("layers") else "")
    if not report or code != 0 or "ledger" not in report:
        return f"| {name} | {case['quant']} | {settings(case)} | | | | | | | failed |", ["failed"]
    ours, wrong = seen(report), []
    printed = {key: size * MIB for key, size in logged(text).items()}
    if differences(on_devices(ours), on_devices(printed), ROUNDING) or differences(
        pinned(ours), pinned(printed), ROUNDING
    ):
        wrong.append("log")
    parts = breakdown(text)
    if not parts or any(whole_mib(ours, place) != parts[place] for place in parts):
        wrong.append("breakdown")
    if differences(on_devices(ours), on_devices(measured(case)), 0):
        wrong.append("measured")
    for kind, member in (("pool", "pool_bytes"), ("workspace", "cublas_workspace")):
        if member in case["measured"] and sum_of(ours, kind) != case["measured"][member]:
            wrong.append(kind)
    sizes = [sum_of(ours, kind) for kind in KINDS[:1]] + [
        sum_of(ours, "kv") + sum_of(ours, "state"),
        sum_of(ours, "compute"),
    ]
    sizes += [sum_of(ours, kind) for kind in ("pool", "workspace")]
    sizes.append(sum(pinned(ours).values()))
    cells = " | ".join(f"{size:,}" if size else "" for size in sizes)
    return f"| {name} | {case['quant']} | {settings(case)} | {cells} | {', '.join(wrong) or 'equal'} |", wrong


HEAD = """# llama.cpp's programs, captured

`python3 tests/external/llamacpp/check.py MEMSCOPE BIN WORK` runs llama.cpp's `llama-completion`
({version}) under `memscope capture` on files without
weights, and compares what the null device saw with three other accounts of the same buffers:

- `log`: the sizes that llama.cpp prints as it allocates them (two decimals of a MiB),
- `breakdown`: its table of memory as it ends (whole MiB),
- `measured`: bytes that llama.cpp's own functions gave before, without memscope; and, for rows with
  a number of tokens, `pool` and `workspace`, which llama.cpp does not account for.

Bytes on all devices; pinned: of the host, without what a file is read through. A name in the last
column is an account that differs. `log` and `breakdown` are of the same run. `measured` comes from
a build of llama.cpp in which operators that need no memory were left out, so that some choices
between kernels differ:

- Mixtures whose operators are fused keep their routing longer. Without fusion
  (`GGML_CUDA_DISABLE_FUSION=1`) the compute buffer is the measured one.
- The rotation of a quantised cache runs a kernel of its own (`fwht.cu`), which was left out:
  cuBLAS, and so its workspace, stood in for it.
- Layers split over several devices run as a pipeline. llama.cpp's estimate without allocating
  (`no_alloc`), which was measured there, is then larger on all devices but the first than what it
  allocates: by 20 MiB for gemma-3-4b on two, and by 32 MiB each for llama-3.1-8b on four.
- The pool of a prompt with quantised weights grows with the number of multiprocessors. The device
  of compute capability 9.0 that was measured had 108, an H100 has 132.

| model | file | settings | model | KV, state | compute | pool | workspace | pinned | accounts |
|---|---|---|--:|--:|--:|--:|--:|--:|---|"""


def main(memscope, programs, work, *ids):
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(HERE, "cases.json")) as file:
        cases = [case for case in json.load(file) if not ids or case["id"] in ids]
    shown = subprocess.run(
        [os.path.join(programs, "llama-completion"), "--version"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        env=dict(os.environ, LD_LIBRARY_PATH=os.path.join(os.path.dirname(memscope), "nulldevice")),
    )
    version = next(
        (line for line in shown.stdout.decode(errors="replace").splitlines() if line.startswith("version")),
        "unknown version",
    )
    print(HEAD.format(version=version))
    counts = {}
    for case in cases:
        line, wrong = row(case, *capture(memscope, programs, work, case))
        print(line, flush=True)
        for name in wrong or ["equal"]:
            counts[name] = counts.get(name, 0) + 1
    print("\n" + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) + f", of {len(cases)}")
    return 0 if set(counts) <= {"equal"} else 1


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*[os.path.abspath(argument) for argument in sys.argv[1:4]], *sys.argv[4:]))
