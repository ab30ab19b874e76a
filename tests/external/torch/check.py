#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures programs with `memscope capture` and holds what it says against what is expected.

usage: check.py MEMSCOPE PYTHON [programs [SUBSTRING[,SUBSTRING...]] | cases [FILE [SUBSTRING]] | traces [FILE [SUBSTRING]] | overhead]

With RESULTS=FILE in the environment, FILE gets a line of JSON for each program and case: what tables are made of.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

try:
    import jsonschema
except ImportError:
    jsonschema = None

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
SCHEMA = json.load(open(os.path.join(HERE, "..", "..", "..", "schemas", "runtime_report.schema.json")))
KEPT = {"runtime_report.json", "memory_snapshot.pickle", "runtime_events.txt", "runtime_trace.jsonl"}
FIGURES = [("peak_bytes", "peak_allocated_bytes"), ("end_bytes", "end_allocated_bytes"),
           ("peak_requested_bytes", "peak_requested_bytes"), ("end_requested_bytes", "end_requested_bytes"),
           ("peak_reserved_bytes", "peak_reserved_bytes"), ("end_reserved_bytes", "end_reserved_bytes")]


def capture(memscope, options, program, folder, environment=None):
    """Exit status, messages, report or None."""
    out = os.path.join(folder, "out")
    command = [memscope, "capture", "--out", out, *options, "--", *program]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, **(environment or {})})
    path = os.path.join(out, "runtime_report.json")
    report = json.load(open(path)) if os.path.exists(path) else None
    beside = sorted(set(os.listdir(folder)) - {"out", "trainer", "memory"}) + sorted(set(os.listdir(out)) - KEPT if os.path.isdir(out) else [])
    assert not beside, f"files beside the report: {beside}"
    return run.returncode, run.stdout, run.stderr, report


# Program, options, settings of the environment and words for the program (+), exit status, outcome in the report (None: no report), words of the message, steps where it matters.
CASES = [
    ("loop", [], 0, "stepped", ""),
    ("loop", ["--device", "rtx-4090", "--steps", "1"], 0, "stepped", ""),
    ("looks_first", ["--steps", "1"], 0, "stepped", ""),
    ("trainer", [], 0, "stepped", ""),
    ("out_of_memory", [], 1, "out_of_memory", "ran out of the device's memory: OutOfMemoryError: CUDA out of memory. Tried to allocate 16.00 GiB"),
    ("crash", [], 2, "crashed", "the capture is incomplete: the program was ended by signal 11", 0),
    ("crash_late", [], 2, "crashed", "was ended by signal 11", 1),
    ("uncovered", ["--trace-calls"], 2, "failed", "it needs linear algebra of cuSOLVER at uncovered.py:6: cusolverDn"),
    *[("operators", ["--device", name], 0, "stepped", "") for name in ("a100-80gb", "rtx-4090", "h100-80gb", "b200", "rtx-5090")],
    ("asks_for_cudnn", ["--device", "h100-80gb"], 0, "stepped", ""),
    ("fails", [], 2, "failed", "failed before it finished its steps: RuntimeError"),
    ("never_steps", ["--time-limit", "20"], 2, "time_limit", "did not take 3 optimizer steps in 20 s"),
    ("inference", [], 2, "no_step", "ended without an optimizer step"),
    ("no_torch", [], 2, "no_torch", "ended without importing torch"),
    ("lora", [], 0, "stepped", ""),
    ("sft", [], 0, "stepped", ""),
    ("lightning_fit", [], 0, "stepped", ""),
    ("checkpointed", [], 0, "stepped", ""),
    ("loop", ["PYTORCH_ALLOC_CONF=expandable_segments:True"], 0, "stepped", ""),
    ("stops_on_nan", [], 2, "failed", "ZeroDivisionError"),
    ("stops_on_nan", ["--answer-loss", "2.5"], 0, "stepped", "perplexity 1.4918"),
    ("reads_sizes", ["+fails"], 2, "failed", "reads_sizes.py:46 reads values from the device, which are not there"),
    ("reads_sizes", ["+full"], 1, "out_of_memory", "sizes that depend on values are upper bounds (reads_sizes.py:49): a real run may need less"),
    ("workers", [], 0, "stepped", ""),
    ("labels", [], 0, "stepped", "alike 13"),
    ("main_parameters", [], 0, "stepped", ""),
    ("generates", [], 0, "stepped", "generated 40"),
    ("managed", [], 0, "stepped", ""),
    ("fused_attention", ["--device", "b200"], 0, "stepped", ""),
    ("module_info", [], 0, "stepped", ""),
    ("only_modules", [], 0, "modules", ""),
    ("library", [], 0, "stepped", "went on"),
    ("compiled", ["+whole"], 0, "stepped", "1 graphs, 0 breaks"),
    ("compiled", ["+layer"], 0, "stepped", "1 graphs, 0 breaks"),
    ("compiled", ["+function"], 0, "stepped", "1 graphs, 0 breaks"),
    ("compiled", ["+whole", "TORCHDYNAMO_DISABLE=1"], 0, "stepped", "0 graphs"),
    ("graphs", ["+whole", "--steps", "6"], 0, "stepped", "pools hold"),
    ("graphs", ["+callables"], 0, "stepped", "pools hold"),
    ("graphs", ["+compiled", "--steps", "6"], 0, "stepped", "pools hold"),
    ("uncompiled", [], 2, "failed", "with TORCHDYNAMO_DISABLE=1 in its environment the program runs eagerly"),
    ("triton_kernel", [], 0, "stepped", ""),
    ("scripted", [], 0, "stepped", ""),
    ("loop", ["--no-paths"], 0, "stepped", ""),
    ("docs/capture.md", [], 0, "stepped", "peak 0.17 GiB in optimizer"),
]


if not os.path.exists("/dev/nvidiactl"):
    CASES.append(("loop", ["--real"], 2, "no_gpu", "PyTorch finds no GPU here"))


# Two runs of a program and by how much the peak of the first is above that of the second: where values decide, it is that of
# a run that is given what a device would say.
PAIRS = [
    ("padded", ["+decoder", "+0"], ["+decoder", "+0", "+whole"], 0),
    ("padded", ["+decoder", "+56"], ["+decoder", "+56", "+padded"], 0),
    ("padded", ["+encoder", "+0"], ["+encoder", "+0", "+whole"], 0),
    ("padded", ["+encoder", "+56"], ["+encoder", "+56", "+padded"], 0),
    ("sft", [], ["+constructed"], 512),  # the mask of 2 x 255
    # Sizes that depend on values: all rows, those that the program copied to the device, an even share of a router's.
    ("reads_sizes", ["+mask"], ["+mask", "+constructed"], 0),
    ("reads_sizes", ["+own"], ["+own", "+constructed"], 0),
    ("reads_sizes", ["+experts"], ["+experts", "+constructed"], 0),
    # Constants that Inductor computes. On a CPU, where it has their values, it leaves out the first scaling and keeps the second.
    ("folded", ["+ones"], ["+plain"], 0),
    ("folded", ["+halves"], ["+plain"], 2048 * 1024 * 4),
]


# Figures of a program's summary that its sizes give. main_parameters.py: four bf16 weights of 1024 x 1024; gradients in fp32 and
# a placeholder in bf16; fp32 copies with two moments.
SUMMARIES = {"main_parameters": {"param_count": 4 << 20, "weight_memory_bytes": 8 << 20, "grad_memory_bytes": (16 + 2) << 20,
                                 "optimizer_memory_bytes": 48 << 20},
             "managed": {"managed_memory_bytes": 4 << 20}}


# What programs import besides torch and transformers.
NEEDS = {"trainer": "accelerate", "lora": "peft", "sft": "trl", "lightning_fit": "lightning"}


def lacks(python, name):
    return name in NEEDS and subprocess.run([python, "-c", f"import importlib.util as u; exit(u.find_spec('{NEEDS[name]}') is None)"]).returncode != 0


def program_of(name, folder):
    """The file of a program; of a text, its example that follows steps."""
    if not name.endswith(".md"):
        return os.path.join(PROGRAMS, name + ".py")
    blocks = open(os.path.join(HERE, "..", "..", "..", name)).read().split("```python\n")[1:]
    path = os.path.join(folder, "example.py")
    with open(path, "w") as file:
        file.write(next(block for block in blocks if "memscope_torch" in block).split("```")[0])
    return path


def run_program(memscope, python, name, options, folder):
    """Exit status, messages, report or None."""
    with tempfile.TemporaryDirectory() as sources:
        program = [python, program_of(name, sources), os.path.join(folder, "trainer"), *[word[1:] for word in options if word.startswith("+")]]
        settings = dict(word.split("=", 1) for word in options if not word.startswith("-") and "=" in word)
        rest = [word for word in options if word.split("=")[0] not in settings and not word.startswith("+")]
        code, _, messages, report = capture(memscope, rest, program, folder, settings)
    return code, messages, report


def graphed(report, messages):
    """Pools of CUDA graphs hold what the program itself says."""
    found = report.get("compiled", {})
    told = "pools hold {private_pool_bytes}, of which {private_pool_free_bytes} free".format_map({**dict.fromkeys(("private_pool_bytes", "private_pool_free_bytes")), **found})
    faults = [] if told in messages else [f"no \"{told}\" in: {messages[-200:]}"]
    return faults + ([] if found.get("cuda_graphs") and found.get("private_pool_bytes") else ["no CUDA graph, or no memory of one"])


def check_programs(memscope, python, only=""):
    bad = 0
    for name, options, code, outcome, words, *steps in CASES:
        if not is_chosen(name, only):
            continue
        if lacks(python, name):
            print(f"{name}: left out, there is no {NEEDS[name]}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            found, messages, report = run_program(memscope, python, name, options, folder)
            faults = []
            if found != code:
                faults.append(f"exit status {found}, expected {code}")
            if (report or {}).get("outcome") != outcome:
                faults.append(f"outcome {(report or {}).get('outcome')}, expected {outcome}")
            if steps and report and report["metadata"]["steps"] != steps[0]:
                faults.append(f"{report['metadata']['steps']} steps, expected {steps[0]}")
            if words not in messages:
                faults.append(f"no \"{words}\" in: {messages[-400:]}")
            if name == "graphs" and report:
                faults += graphed(report, messages)
            if name == "module_info" and report:
                faults += planned(memscope, os.path.join(folder, "trainer", "modules.json"), report)
            if outcome == "stepped" and report:
                faults += [f"{key} {report['summary'][key]}, expected {expected}" for key, expected in SUMMARIES.get(name, {}).items()
                           if report["summary"][key] != expected]
            if outcome in ("stepped", "out_of_memory"):
                faults += consistent(report, outcome) + viewed(python, os.path.join(folder, "out", "memory_snapshot.pickle"))
            elif report and jsonschema:
                faults += [error.message for error in jsonschema.Draft7Validator(SCHEMA).iter_errors(report)]
            if report:
                faults += private(python, os.path.join(folder, "out"), folder, "--no-paths" in options)
        keep_result({"program": " ".join([name, *options]), "faults": faults}, report)
        print(f"{name} {' '.join(options)}: {'; '.join(faults) or 'as expected'}", flush=True)
        bad += bool(faults)
    return bad + check_pairs(memscope, python, only)


def is_chosen(name, only):
    return any(part in name for part in only.split(","))


def check_pairs(memscope, python, only):
    bad = 0
    for name, first, second, expected in PAIRS:
        if not is_chosen(name, only) or lacks(python, name):
            continue
        peaks = []
        for options in (first, second):
            with tempfile.TemporaryDirectory() as folder:
                report = run_program(memscope, python, name, options, folder)[2] or {"outcome": "none"}
                peaks.append(report["summary"]["peak_memory_bytes"] if report["outcome"] == "stepped" else 0)
        good = min(peaks) > 0 and peaks[0] - peaks[1] == expected
        print(f"{name} {' '.join(first)}: peak {peaks[0]}, {peaks[1]} with {' '.join(second)}{'' if good else f', expected {expected} below: FAILED'}", flush=True)
        bad += not good
    return bad


def private(python, out, folder, by_name_alone):
    """No file tells where anything lies."""
    prefix = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True).stdout.strip()
    places = [os.path.realpath(place).encode() + b"/" for place in (HERE, folder, prefix, os.path.expanduser("~"))]
    faults = []
    for name in sorted(os.listdir(out)):
        with open(os.path.join(out, name), "rb") as file:
            words = file.read()
        faults += [f"{name} has {place.decode()}" for place in places if place in words]
        if by_name_alone and name.endswith(".json"):
            faults += [f"{name} has {line.strip()}" for line in words.decode().splitlines() if re.search(r'"file": "[^"]*/', line)]
    return faults


def consistent(report, outcome="stepped"):
    """What must hold in any report of steps."""
    faults = []
    if jsonschema:
        faults += [error.message for error in jsonschema.Draft7Validator(SCHEMA).iter_errors(report)]
    peak = max(row["peak_bytes"] for row in report["phases"])
    if report["summary"]["peak_memory_bytes"] != peak or report["peak"]["bytes"] != peak:
        faults.append("the peak is not that of the phases")
    if sum(row["bytes"] for row in report["peak"]["categories"]) != peak:
        faults.append("categories do not add up to the peak")
    rounding = sum(row["bytes"] for row in report["peak"]["categories"] if row["category"] == "rounding")
    if sum(row["peak_bytes"] for row in report["modules"]) != peak - rounding:
        faults.append("modules do not add up to the peak")
    for category in report["peak"]["categories"]:
        if category["category"] != "rounding" and sum(row[category["category"] + "_bytes"] for row in report["modules"]) != category["bytes"]:
            faults.append(f"{category['category']} of the modules does not add up")
    if sum(row["bytes"] for row in report["peak"]["allocations"]) + report["peak"]["other_allocations"]["bytes"] != peak:
        faults.append("allocations do not add up to the peak")
    if max(row["bytes"] for row in report["timeline"]) != peak - rounding:
        faults.append("the timeline does not reach the peak")
    names = [row["phase"] for row in report["phases"]]
    order = [names.index(name) if name in names else -1 for name in ("forward", "backward", "optimizer")]
    if outcome == "stepped" and (order != sorted(order) or -1 in order):
        faults.append(f"order of the phases: {names}")
    return faults


def viewed(python, snapshot):
    """PyTorch's own viewer makes a page of the snapshot."""
    page = os.path.join(os.path.dirname(snapshot), "page.html")
    run = subprocess.run([python, "-m", "torch.cuda._memory_viz", "trace_plot", snapshot, "-o", page], capture_output=True, text=True)
    if run.returncode or not os.path.getsize(page):
        return [f"the viewer does not open the snapshot: {run.stderr[-200:]}"]
    return []


def planned(memscope, path, report):
    """The modules' own peak is the measured one; `memscope plan --graph` checkpoints layers until a budget holds."""
    faults, stats = [], {row["fqn"]: row for row in json.load(open(path))["mod_stats"]}
    weights = stats["Model"]["param_per_module"]
    peak = max(weights + row["grad_total"] + row["act_grad_per_module"] + row["act_total"] for row in stats.values())
    measured = max(row["peak_bytes"] for row in report["phases"] if row["phase"] == "backward") - report["summary"]["start_bytes"] + weights
    if peak != measured:
        faults.append(f"peak of the modules {peak}, measured {measured}")
    if stats["Model.layers.3"]["act_fw_per_module"] != 2 * 4096 * 8192 * 4:
        faults.append("a layer saves both results of 4096 x 8192 in fp32")
    if stats["Model.positions"]["act_grad_per_module"]:
        faults.append("a module without backward has gradients")
    for budget, code in (((peak + weights) // 2, 0), (weights, 3)):
        run = subprocess.run([memscope, "plan", "--graph", path, "--budget", f"{budget >> 10}KiB", "--format", "json", "-o", "-"], capture_output=True, text=True)
        if run.returncode != code:
            faults.append(f"plan in {budget} bytes: exit status {run.returncode}, {run.stderr}")
        elif code == 0 and '"Model.layers.' not in run.stdout:
            faults.append("no layer is checkpointed")
    return faults


def differences(ours, theirs):
    ours = [row for row in ours if row["phase"] != "between"]
    if [row["phase"] for row in ours] != [row["phase"] for row in theirs]:
        return [f"phases {[row['phase'] for row in ours]}, measured {[row['phase'] for row in theirs]}"]
    return [f"{row['phase']} {a}: {row[a]}, measured {other[b]}" for row, other in zip(ours, theirs) for a, b in FIGURES if row[a] != other[b]]


def check_cases(memscope, python, path, only):
    bad = done = 0
    measured = json.load(open(path))
    facts = measured.get("null_device")  # where the figures hang on more than the device's row has
    for case in measured["cases"]:
        if only not in case["id"] or "peak_allocated_bytes" not in case["measured"]:
            continue
        environment = {"PYTORCH_CUDA_ALLOC_CONF": case["alloc_conf"]} if case.get("alloc_conf") else {}
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as caches:
            if case.get("compile"):  # what the first step takes hangs on them
                environment.update(TORCHINDUCTOR_CACHE_DIR=caches, TRITON_CACHE_DIR=os.path.join(caches, "triton"))
            program = [*(["env", f"MEMSCOPE_NULL_DEVICE={facts}"] if facts else []), python, os.path.join(PROGRAMS, "case.py"), os.path.abspath(path), case["id"]]
            code, _, messages, report = capture(memscope, ["--device", "a100-80gb"], program, folder, environment)
        if code != 0:
            faults = [messages[-400:]]
        else:
            faults = differences(report["first_step_phases"], case["measured"]["first_step_phases"]) + \
                differences(report["phases"], case["measured"]["phases"]) + consistent(report)
        print(f"{case['id']}: {'; '.join(faults[:4]) or 'equal to the byte'}", flush=True)
        rows = len(case["measured"]["first_step_phases"]) + len(case["measured"]["phases"])
        keep_result({"case": case["id"], "figures": rows * len(FIGURES), "faults": faults, "seconds": round(time.monotonic() - begun, 1)}, report)
        done += 1
        bad += bool(faults)
    print(f"{done - bad} of {done} cases equal to the byte")
    return bad or not done


ALLOCATORS = {"expandable_segments:True": ["--allocator", "cuda-expandable"]}
TRACED = ("loop", "looks_first", "trainer", "lora", "sft", "checkpointed", "lightning_fit", "ddp", "fsdp2", "library")


def replayed(memscope, folder, report, allocator=()):
    """The trace of a capture, run by memscope's own allocator, against what PyTorch's counted."""
    path = os.path.join(folder, "replay.json")
    command = [memscope, "probe", "--trace", os.path.join(folder, "out", "runtime_trace.jsonl"), "--backend", "host", "--capacity", "4TiB",
               "--device", report["metadata"]["device"], *allocator, "-q", "-o", path]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        return [run.stderr[-400:]]
    replay = json.load(open(path))
    theirs = [row for row in report["phases"] if row["phase"] != "between"]
    faults = [error.message for error in jsonschema.Draft7Validator(SCHEMA).iter_errors(replay)] if jsonschema else []
    faults += ["predicted and replayed differ"] if replay["replay"]["disagrees_most"] else []
    if [row["phase"] for row in replay["phases"]] != [row["phase"] for row in theirs]:
        return faults + [f"phases {[row['phase'] for row in replay['phases']]}"]
    return faults + [f"{a['phase']} {key}: {a[key]}, PyTorch {b[key]}" for a, b in zip(replay["phases"], theirs) for key in b if a[key] != b[key]]


def check_traces(memscope, python, path, only):
    bad = done = 0
    names = [name for name in TRACED if only in name and not lacks(python, name)]
    measured = json.load(open(path))["cases"]
    runs = [(name, lambda sources, name=name: [program_of(name, sources), os.path.join(sources, "trainer")], "") for name in names]
    runs += [(case["id"], lambda _, case=case: [os.path.join(PROGRAMS, "case.py"), os.path.abspath(path), case["id"]], case.get("alloc_conf") or "")
             for case in measured if only in case["id"]]
    for name, words, conf in runs:
        if conf and conf not in ALLOCATORS:
            continue
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sources:
            options = ["--trace", "--device", "a100-80gb", *(["--world", "2"] if name in ("ddp", "fsdp2") else [])]
            code, _, messages, report = capture(memscope, options, [python, *words(sources)], folder, {"PYTORCH_CUDA_ALLOC_CONF": conf} if conf else {})
            faults = replayed(memscope, folder, report, ALLOCATORS.get(conf, ())) if code == 0 else [messages[-400:]]
        print(f"{name}: {'; '.join(faults[:4]) or 'equal to the byte'}", flush=True)
        done += 1
        bad += bool(faults)
    print(f"{done - bad} of {done} traces equal to the byte")
    return bad or not done


MOST_SECONDS = 0.25


def check_overhead(memscope, python):
    """Processor time of a step of Llama 3.1 8B while it is followed; the last one is recorded."""
    with tempfile.TemporaryDirectory() as folder:
        code, _, messages, _ = capture(memscope, ["--device", "h200", "--steps", "5"], [python, os.path.join(PROGRAMS, "llama_8b.py")], folder)
    seconds = [float(text) for text in re.findall(r"^step: (\S+) s$", messages, re.M)]
    good = code == 0 and len(seconds) == 5 and max(seconds) <= MOST_SECONDS
    print(f"overhead: steps of Llama 3.1 8B in {', '.join(f'{s:.3f}' for s in seconds)} s of processor time, at most {MOST_SECONDS} wanted" + ("" if good else ": FAILED"))
    return not good


def keep_result(row, report):
    """A line of the file that RESULTS names."""
    if not os.environ.get("RESULTS"):
        return
    for part, keys in (("metadata", ("torch", "python", "libraries")), ("summary", ("peak_memory_bytes", "reserved_memory_bytes"))):
        row.update({key: report[part][key] for key in keys if key in (report or {}).get(part, {})})
    with open(os.environ["RESULTS"], "a") as file:
        file.write(json.dumps(row) + "\n")


def main():
    memscope, python = os.path.abspath(sys.argv[1]), sys.argv[2]
    what = sys.argv[3] if len(sys.argv) > 3 else "programs"
    if what == "programs":
        bad = check_programs(memscope, python, sys.argv[4] if len(sys.argv) > 4 else "")
    elif what == "overhead":
        bad = check_overhead(memscope, python)
    else:
        path = sys.argv[4] if len(sys.argv) > 4 else os.path.join(HERE, "..", "..", "oracle", "cuda_step_sm80.json")
        check = check_traces if what == "traces" else check_cases
        bad = check(memscope, python, path, sys.argv[5] if len(sys.argv) > 5 else "")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
