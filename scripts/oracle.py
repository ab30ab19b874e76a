#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare memscope with measured training steps.

A case file holds {"cases": [{"id", "config", "batch", "seq", "weights", ..., "measured": {...}}]},
as tests/oracle/measure_step.py writes it, on a CPU or on a GPU. Each case is run through the binary;
figures that differ are printed, then a summary of each group of figures. A file whose "device" is a GPU's name was measured with cuDNN's
attention, unless it has "cudnn_attention": false. Groups:

  static    parameters, weights, gradients, optimizer states, memory of the host
  saved     what autograd keeps from forward for backward
  phases    CPU: peak and end of every phase of the step
  steady    CUDA: allocated at the start, and at peak and end of every phase, steady step
  first     the same of the first step
  reserved  CUDA: the most the allocator reserved in a steady step
  slow      CUDA, several ranks: the same on a device whose events complete only when the host waits
  evaluation  CUDA: allocated, requested and reserved of an evaluation, at peak and end
  requested on a real GPU: requested, before the allocator rounds, at peak and end of every phase of both steps
  detail    CUDA: requested and reserved at peak and end of every phase of both steps

A case of a real GPU says which way its driver's "addresses" go, and what the process held "beside" the model, which is taken
off what was measured. A case is exact in a group when all its figures of the group are equal. The last line is
"N passed, M failed", where a test is one requirement (--require, or "require" in the file), and all the cases
that the program must refuse: those whose "refused" says a part of the sentence it refuses them with.

Suggestions take as long as the figures that are compared; one case of ADVICE_EVERY is asked for them too,
as they must not fail.
"""
import argparse
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import tempfile

import oracle_engine_fit
import oracle_hf
import oracle_infer
import oracle_vllm

STATIC = {"local_weight_bytes": "weight_memory_bytes", "local_optimizer_state_bytes": "optimizer_memory_bytes",
          "parameters": "param_count", "trainable_parameters": "trainable_param_count",
          "active_parameters": "active_param_count", "weight_bytes": "weight_memory_bytes", "gradient_bytes": "grad_memory_bytes",
          "optimizer_state_bytes": "optimizer_memory_bytes", "host_bytes": "host_memory_bytes"}
ENGINES = (oracle_engine_fit, oracle_infer, oracle_hf, oracle_vllm)  # formats of `memscope infer`
GROUPS = tuple(dict.fromkeys(("static", "saved", "phases", "steady", "first", "loaded", "prefill", "decode", "reserved", "slow", "requested", "detail",
                              "evaluation") + sum((engine.GROUPS for engine in ENGINES), ())))


ADVICE_EVERY = 16

# ---- from a case to a command ----

DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
EXPERTS = {"eager": "eager", "grouped_mm": "grouped"}
BACKENDS = {"MATH": "math", "EFFICIENT_ATTENTION": "efficient", "FLASH_ATTENTION": "flash"}


def device_options(case, args):
    if args.device:
        return ["--device", args.device]
    if case.get("device"):
        return ["--device", case["device"]]
    if "peak_reserved_bytes" in case.get("measured", {}) or args.cuda:
        return ["--device", case.get("device", "a100-80gb")]
    return ["--device", "cpu"]


def optimizer_of(case):
    """("adamw", "fused") of "adamw_fused"; an implementation that is not named is the usual one, of SGD foreach."""
    name, _, implementation = case.get("optimizer", "adamw_fused").partition("_")
    if name == "sgd":
        return ("sgd-momentum" if implementation else "sgd"), "foreach"
    return ("adam" if case.get("adam") else name), implementation


def lora_text(lora):
    targets = lora["targets"]
    text = f"r={lora['r']}"
    if targets is not None:  # else PEFT's defaults
        text += f",targets={targets if isinstance(targets, str) else '+'.join(targets)}"
    return text + (f",dropout={lora['dropout']}" if lora.get("dropout") else "")


METHODS = {"nf4": {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
           "int8": {"quant_method": "bitsandbytes", "load_in_8bit": True}, "awq": {"quant_method": "awq"},
           "fp8-block": {"quant_method": "fp8", "weight_block_size": [128, 128]}}


def config_of(case):
    """Modules that are not converted stand in the config alone."""
    if "skip" not in case:
        return case["config"]
    kind, *settings = case["quantize"].split(":")
    key = "llm_int8_skip_modules" if kind in ("nf4", "int8") else "modules_to_not_convert"
    said = {**METHODS[kind], key: case["skip"]}
    if kind == "nf4":
        said.update(bnb_4bit_compute_dtype=DTYPES[case["weights"]], bnb_4bit_use_double_quant=settings == ["double"])
    if kind == "awq":
        said.update(bits=int(settings[0]), group_size=int(settings[1]))
    return {**case["config"], "quantization_config": said}


LAYOUTS = {"ddp": "dp={world}", "fsdp2": "fsdp={world}", "fsdp1": "fsdp1={world}", "zero_optimizer": "dp={world}",
           "tp": "tp={tp}", "tp_fsdp2": "tp={tp},fsdp={shards}", "cp_fsdp2": "cp={cp},fsdp={shards}"}
KNOWN = {"strategy", "world", "rank", "param_dtype", "reduce_dtype", "reshard_after_forward", "replicate", "sync", "bucket_cap_mb",
         "gradient_as_bucket_view", "static_graph", "find_unused_parameters", "outputs", "no_sync", "init_sync", "forward_prefetch", "backward_prefetch",
         "use_orig_params", "limit_all_gathers", "sharding", "reshard_after_backward", "root_reshard", "units", "init", "offload",
         "parameters_as_bucket_view", "load_dtype", "cp", "rotate", "tp", "sequence_parallel", "loss_parallel"}


def fsdp1_options(p):
    """What only FullyShardedDataParallel's constructor has."""
    command = ["--reshard-after-forward", "no"] if p.get("sharding") in ("SHARD_GRAD_OP", "_HYBRID_SHARD_ZERO2") else []
    for key in ("use_orig_params", "limit_all_gathers", "forward_prefetch"):
        command += ["--" + key.replace("_", "-"), "yes" if p[key] else "no"] if key in p else []
    return command + (["--backward-prefetch", p["backward_prefetch"] or "none"] if "backward_prefetch" in p else [])


ZERO = {"reduce_bucket_size", "overlap_comm", "contiguous_gradients", "stage3_prefetch_bucket_size",
        "stage3_max_live_parameters", "stage3_max_reuse_distance", "stage3_param_persistence_threshold"}
ZERO_UNSEEN = {"stage", "allgather_bucket_size"}  # of no consequence for memory
HOST = {"offload_optimizer": ["--optimizer-device", "host"], "offload_param": ["--offload-param", "yes"]}


def zero_options(p):
    """DeepSpeed's configuration of a case."""
    zero, options = p["config"]["zero_optimization"], []
    unknown = set(zero) - ZERO - ZERO_UNSEEN - set(HOST)
    unknown |= set(p["config"]) - {"zero_optimization", "bf16", "fp16", "data_types"}
    if unknown:
        return ["--parallel", "zero=" + "+".join(sorted(unknown))]
    for key in sorted(ZERO & set(zero)):
        value = zero[key]
        options += ["--" + key.replace("_", "-"), ("no", "yes")[value] if isinstance(value, bool) else str(value)]
    accumulated = p["config"].get("data_types", {}).get("grad_accum_dtype")
    options += ["--grad-accumulation-dtype", accumulated] if accumulated else []
    options += ["--decay-groups", "yes"] if p.get("decay_groups") else []
    options += ["--zero-init", "no"] if p.get("zero_init") is False else []
    for key in sorted(set(HOST) & set(zero)):
        options += HOST[key]
    return ["--parallel", f"zero={zero['stage']},dp={p['world']}", "--rank", str(p.get("rank", 0)), *options]


def tensor_options(p):
    return [part for key in ("sequence_parallel", "loss_parallel") if p.get(key) for part in ("--" + key.replace("_", "-"), "yes")]


SCHEDULES = {"loop_bfs": "loopedbfs", "interleaved_zb": "interleavedzb"}


def pipeline_options(p):
    """A pipeline, alone or with tensor parallelism and FSDP2 in each stage."""
    layout = f"pp={p['pp']},schedule={SCHEDULES.get(p['schedule'], p['schedule'])},microbatches={p['microbatches']}"
    layout += f",stages_per_rank={p['stages_per_rank']}" if p.get("stages_per_rank", 1) > 1 else ""
    tensor = p.get("tp", 1)
    shards = p["world"] // (p["pp"] * tensor)
    layout += f",tp={tensor}" if tensor > 1 else ""
    layout += f",fsdp={shards}" if shards > 1 or p.get("fsdp") else ""
    command = ["--parallel", layout, "--rank", str(p.get("rank", 0)), *tensor_options(p)]
    for key in ("param_dtype", "reduce_dtype"):
        command += ["--" + key.replace("_", "-"), p[key]] if p.get(key) else []
    return command


def parallel_options(case):
    """The layout of a case of several ranks; one that cannot be said ends in a refusal."""
    p = case.get("parallel")
    if not p:
        return []
    if p["strategy"] == "deepspeed":
        return zero_options(p)
    if p["strategy"] == "pp":
        return pipeline_options(p)
    if p["strategy"] not in LAYOUTS or set(p) - KNOWN or p.get("sync", "every") not in ("every", "last", "last_allreduce") or p.get("rotate", "allgather") != "allgather":
        return ["--parallel", p["strategy"] + "=" + "+".join(sorted(set(p) - KNOWN))]
    copies, first, ranks = p.get("replicate", 1), "1" if p["strategy"] == "fsdp1" else "", p["world"] // p.get("tp", p.get("cp", 1))
    layout = f"hsdp{first}={copies}x{ranks // copies}" if copies > 1 else LAYOUTS[p["strategy"]].format(shards=ranks, **p)
    layout = f"tp={p['tp']}," + layout if copies > 1 and p.get("tp") else layout
    command = ["--parallel", layout, "--rank", str(p.get("rank", 0))]
    command += ["--param-dtype", p["param_dtype"]] if p.get("param_dtype") else []
    widens = first and case.get("accelerate") and p.get("param_dtype")  # accelerate, also from fp32
    command += ["--load-dtype", p.get("load_dtype") or case["weights"]] if p.get("load_dtype") or widens else []
    command += ["--reduce-dtype", p["reduce_dtype"]] if p.get("reduce_dtype") else []
    if isinstance(p.get("reshard_after_forward"), bool):
        command += ["--reshard-after-forward", "yes" if p["reshard_after_forward"] else "no"]
    elif p.get("reshard_after_forward"):
        command += ["--reshard-ranks", str(p["reshard_after_forward"])]
    command += ["--fsdp-units", p["units"]] if p.get("units") else []
    command += ["--build", {"cuda": "device"}.get(p["init"], p["init"])] if p.get("init") else []
    command += ["--reshard-root", "yes"] if p.get("root_reshard") else []
    command += ["--reshard-after-backward", "no"] if p.get("reshard_after_backward") is False else []
    command += ["--fsdp-offload", "yes"] if p.get("offload") else []
    command += fsdp1_options(p) if first else []
    command += ["--zero-optimizer", "yes"] if p["strategy"] == "zero_optimizer" else []
    command += ["--parameters-as-bucket-view", "yes"] if p.get("parameters_as_bucket_view") else []
    command += tensor_options(p)
    command += ["--bucket-cap-mb", str(p["bucket_cap_mb"])] if p.get("bucket_cap_mb") else []
    command += ["--gradient-as-bucket-view", "yes"] if p.get("gradient_as_bucket_view") else []
    command += ["--static-graph", "yes"] if p.get("static_graph") else []
    command += ["--find-unused-parameters", "yes"] if p.get("find_unused_parameters") else []
    command += ["--init-sync", "no"] if p.get("init_sync") is False else []
    command += ["--no-all-reduce", "yes"] if p.get("sync") == "last_allreduce" else []
    return command + (["--no-sync", "yes"] if p.get("no_sync") or p.get("sync") == "last" else [])


def command_of(case, config_path, args):
    """The command line that describes the case's run."""
    device = device_options(case, args)
    cpu = device[1] == "cpu"
    expandable = "expandable_segments:True" in case.get("alloc_conf", "")
    optimizer, implementation = optimizer_of(case)
    command = [args.binary, "analyze", "--config", config_path]
    command += ["--batch", str(case.get("batch", 1))]
    if case["config"]["model_type"] != "vit":  # there the sequence follows from the image
        command += ["--seq", str(case.get("seq", 128))]
    command += ["--source-length", str(case["source"])] if case.get("source") else []
    if case.get("images"):
        command += ["--images", str(case["images"])]
        command += ["--image-size", "{}x{}".format(*case["image_size"])] if case.get("image_size") else []
        command += ["--freeze-vision", "yes"] if case.get("freeze_vision") else []
    if case.get("lora"):
        command += ["--lora", lora_text(case["lora"])]
        if case["lora"].get("autocast_adapter_dtype") is False:
            command += ["--adapter-dtype", case.get("weights", "bf16")]
        elif case["lora"].get("adapter_dtype"):
            command += ["--adapter-dtype", case["lora"]["adapter_dtype"]]
    if case.get("quantize") and "skip" not in case:
        command += ["--quantize", case["quantize"]]
    command += ["--upcast", "yes" if case["upcast"] else "no"] if "upcast" in case else []
    command += ["--dtype", case.get("weights", "bf16"), "--autocast", case.get("autocast") or "none"]
    command += ["--attention", BACKENDS.get(case.get("backend"), "eager" if case.get("attn") == "eager" else "auto")]
    command += ["--padding", case["padding"]] if case.get("padding", "no") != "no" else []
    command += ["--optimizer", optimizer] + (["--optimizer-impl", implementation] if implementation else [])
    command += ["--weight-decay", str(case["weight_decay"])] if "weight_decay" in case else []
    command += ["--optimizer-in-backward", "yes"] if case.get("in_backward") else []
    command += ["--optimizer-device", case["optimizer_device"]] if case.get("optimizer_device") else []
    command += ["--parameter-device", case["parameter_device"]] if case.get("parameter_device") else []
    micro_batches = case.get("parallel", {}).get("microbatches")  # of a pipeline: its layout says so
    command += [] if micro_batches else ["--accumulate", str(case.get("accumulate", 1))]
    command += ["--clip", "1.0"] if case.get("clip") else []
    command += ["--grad-accumulation-dtype", case["grad_accumulation_dtype"]] if case.get("grad_accumulation_dtype") else []
    for key in ("empty_cache_steps", "eval_batch", "eval_logits"):
        command += ["--" + key.replace("_", "-"), str(case[key])] if case.get(key) else []
    command += ["--label-smoothing", str(case["label_smoothing"])] if case.get("label_smoothing") else []
    command += ["--liger", "all"] if case.get("liger") else []
    command += ["--logits-to-keep", str(case["logits_to_keep"])] if case.get("logits_to_keep") else []
    command += ["--checkpointing", "all"] if case.get("checkpointing") else []
    if case.get("experts"):
        command += ["--experts", EXPERTS[case["experts"]]]
    if case.get("routing"):
        command += ["--routing", case["routing"]]
    command += ["--treat", case["treat"]] if case.get("treat") else []
    command += ["--build", case["build"]] if case.get("build") else []
    command += parallel_options(case)
    command += ["--checkpoint-kind", "reentrant"] if case.get("reentrant") else []
    command += ["--addresses", case["addresses"]] if "addresses" in case and not expandable else []
    command += ["--allocator", "raw" if cpu else "cuda-expandable" if expandable else "cuda"]
    measured_on = case.get("measured", {}).get("device_total_bytes")  # where less is left, the cache is emptied and asked again
    command += ["--budget", "%dB" % measured_on] if measured_on and not cpu else []
    return command + device + ["--torch", getattr(args, "torch", "2.11")]


def adapter_options(case, folder):
    """The adapter_config.json of the case, written for the command to read."""
    if not case.get("adapter"):
        return []
    path = os.path.join(folder, case["id"].replace("/", "_") + ".adapter.json")
    with open(path, "w") as f:
        json.dump(case["adapter"], f)
    return ["--adapter", path, "--adapter-dtype", case.get("adapter_dtype", "fp32")]


def engine_of(case):
    """The module of a case of inference, or None."""
    return next((engine for engine in ENGINES if engine.is_one(case)), None)


# Until a back end accepts the model: PyTorch's order without cuDNN.
WITHOUT_CUDNN = ("flash", "efficient", "auto")


def attentions_of(command, args):
    """The settings of --attention to try: a null device has no cuDNN, so that its auto is the first of the others."""
    at, device = command.index("--attention") + 1, command[command.index("--device") + 1]
    is_auto = command[at] in ("auto", "sdpa")
    return at, WITHOUT_CUDNN if is_auto and device[:2] in ("h1", "h2", "b2", "b3") and not args.has_cudnn else (command[at],)


def run_case(case, args, folder, is_advised=False):
    """Returns (report, None) or (None, why not)."""
    engine = engine_of(case)
    path = os.path.join(folder, case["id"].replace("/", "_") + ".json")
    if engine:
        path = engine.write_model(case, path)
        command = engine.command_of(case, path, args) + ["--format", "json"]
    else:
        with open(path, "w") as f:
            json.dump(config_of(case), f)
        command = command_of(case, path, args) + adapter_options(case, folder) + ["--format", "json", "-o", "-"]
        command += [] if is_advised else ["--no-advice"]
    at, attentions = attentions_of(command, args) if "--attention" in command else (0, command[:1])
    for attention in attentions:
        command[at] = attention
        if args.commands:
            print(shlex.join(command), flush=True)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 2 or "%s attention" % attention not in done.stderr:
            break
    if done.returncode not in (0, 1):  # 1: over budget, the report is there all the same
        return None, "exit %d: %s" % (done.returncode, done.stderr.strip().split("\n")[0])
    try:
        return json.loads(done.stdout), None
    except json.JSONDecodeError as e:
        return None, "no JSON: %s" % e


# ---- from a report to figures ----

def phase_names(phases):
    """forward, backward, ... with the micro-step where a phase occurs more than once."""
    seen, names = {}, []
    many = {p["phase"] for p in phases if sum(q["phase"] == p["phase"] for q in phases) > 1}
    for p in phases:
        n = seen[p["phase"]] = seen.get(p["phase"], -1) + 1
        names.append("%s[%d]" % (p["phase"], n) if p["phase"] in many else p["phase"])
    return names


def as_measured(ours, measured):
    """Passes of a pipeline are one phase where they are measured together."""
    if not any(p["phase"] == "pipeline" for p in measured):
        return ours
    passes = [p for p in ours if p["phase"] in ("forward", "backward")]
    rest = [p for p in ours if p["phase"] not in ("forward", "backward")]
    if not passes:
        return ours
    whole = {k: max(p[k] for p in passes) for k in passes[0] if k.startswith("peak_")}
    return [{**passes[-1], **whole, "phase": "pipeline"}] + rest


def phase_rows(ours, measured, pairs, prefix="", base=0):
    """(figure, ours, measured) for each phase and pair of keys; phases are matched by name."""
    ours = as_measured(ours, measured)
    mine = dict(zip(phase_names(ours), ours))
    for name, m in zip(phase_names(measured), measured):
        if name.startswith("accumulate"):  # DeepSpeed's step() that does nothing
            continue
        for key, measured_key in pairs:
            o = mine.get(name, {}).get(key)
            yield prefix + name + "." + key.replace("_bytes", ""), None if o is None else o - base, m[measured_key]


def with_what_is_freed_between(phases):
    """Phases as the CPU's are measured: what is freed between two of them is still there when the second begins."""
    return [{**p, "peak_bytes": max(p["peak_bytes"], before.get("end_bytes", 0))} if "peak_bytes" in p else p
            for before, p in zip([{}] + phases, phases)]


def cpu_figures(report, measured):
    phases = with_what_is_freed_between(report.get("phases", []))
    base = phases[0].get("start_bytes", 0) if phases else 0
    yield from (("phases",) + row for row in phase_rows(
        phases, measured["phases"], [("peak_bytes", "peak_bytes"), ("end_bytes", "end_bytes")], base=base))


def cuda_figures(report, measured):
    summary = report["summary"]
    allocated = [("peak_bytes", "peak_allocated_bytes"), ("end_bytes", "end_allocated_bytes")]
    detail = [(a + b, a + b) for a in ("peak_", "end_") for b in ("requested_bytes", "reserved_bytes")]
    steps = (("steady", "start", "phases"), ("first", "after_build", "first_step_phases"))
    for group, start, key in steps:
        if key not in measured:
            continue
        ours, theirs = report.get(key, []), measured[key]
        yield group, start, summary.get(start + "_bytes"), measured[start + "_allocated_bytes"]
        yield from ((group,) + row for row in phase_rows(ours, theirs, allocated))
        kept = [pair for pair in detail if pair[1] in theirs[0]]
        yield from (("detail",) + row for row in phase_rows(ours, theirs, kept, group + " "))
    if "evaluation" in measured:
        of = lambda source: [{"phase": "evaluation", **source}]
        for keys in (allocated, detail):
            yield from (("evaluation",) + row for row in phase_rows(of(report.get("evaluation", {})), of(measured["evaluation"]), keys))
    reserved = summary.get("reserved_memory_bytes")
    yield "reserved", "peak", reserved, measured["peak_reserved_bytes"]
    if "slow_device" in measured:
        yield "slow", "peak", summary.get("slow_device_reserved_bytes", reserved), measured["slow_device"]["peak_reserved_bytes"]


def figures_of(report, measured):
    """(group, figure, ours, measured); only what was measured."""
    summary = report["summary"]
    shards = summary.get("host_weight_memory_bytes")
    if shards and not summary.get("weight_memory_bytes"):  # the host has the shards, as many gradients, and the states
        trains_all = summary["trainable_param_count"] == summary["param_count"]
        states = summary["host_memory_bytes"] - 2 * shards if trains_all else 0
        summary = {**summary, "weight_memory_bytes": shards, "optimizer_memory_bytes": states}
    for key, ours in STATIC.items():
        # states that are on the host are none of the device's
        if key in measured and not (key.startswith("local_optimizer") and summary.get("optimizer_memory_bytes") == 0):
            yield "static", key, summary.get(ours), measured[key]
    if "saved_bytes" in measured:
        yield "saved", "saved_bytes", summary.get("saved_bytes"), measured["saved_bytes"]
    if "peak_reserved_bytes" in measured:
        yield from cuda_figures(report, measured)
    elif "phases" in measured:
        yield from cpu_figures(report, measured)


def without_beside(case):
    """What was measured, less the "allocated" and "requested" bytes that the process held beside the model."""
    measured, beside = case.get("measured", {}), case.get("beside")
    if not beside:
        return measured
    kind_of = lambda key: next((kind for kind in beside if key.endswith(kind + "_bytes")), None)
    less = lambda part: {key: value - beside[kind_of(key)] if kind_of(key) else value for key, value in part.items()}
    return {key: [less(phase) for phase in value] if isinstance(value, list) else value for key, value in less(measured).items()}


def requested_figures(report, measured):
    keys = [(end + "_requested_bytes", end + "_requested_bytes") for end in ("peak", "end")]
    for key in ("phases", "first_step_phases"):
        yield from (("requested",) + row for row in phase_rows(report.get(key, []), measured[key], keys, key + " "))


def error_of(ours, measured):
    """Relative difference; infinite when a figure is missing or should be 0."""
    if ours == measured:
        return 0.0
    return abs(ours - measured) / measured if ours is not None and measured else float("inf")


# ---- summary and requirements ----

def quantile(ordered, q):
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def summarize(results):
    """Per group: cases, exact ones, and the spread of each case's worst relative difference."""
    out = {}
    for group in GROUPS:
        worst = sorted(max(error_of(o, m) for _, o, m in r["figures"][group])
                       for r in results if group in r["figures"])
        if worst:
            out[group] = {"cases": len(worst), "exact": sum(w == 0 for w in worst),
                          "figures": sum(len(r["figures"].get(group, ())) for r in results),
                          "median": quantile(worst, 0.5), "p95": quantile(worst, 0.95),
                          "worst": worst[-1], "errors": worst}
    return out


def requirements(args, file):
    """Of every N-th case only what holds for all."""
    for group, text in file.get("require", {}).items():
        if args.every == 1 or text == "exact=1":
            yield group, text
    for item in args.require:
        yield item.partition(":")[::2]


def check(group, text, summary, is_part=False):
    """"exact=0.85,within=0.01@0.95": 85 % of the cases exact, 95 % of them within 1 %."""
    row = summary.get(group)
    if not row:
        return None if is_part else "no case has such figures"
    for part in text.split(","):
        name, _, value = part.partition("=")
        value, _, share = value.partition("@")
        if name == "exact" and row["exact"] < float(value) * row["cases"]:
            return "%d of %d exact" % (row["exact"], row["cases"])
        inside = sum(e <= float(value) for e in row["errors"])
        if name == "within" and inside < float(share or 1) * row["cases"]:
            return "%d of %d within %s" % (inside, row["cases"], value)
    return None


# ---- output ----

def percent(x):
    return "0" if x == 0 else "missing" if x == float("inf") else "%.4f %%" % (100 * x) if x >= 1e-6 else "< 0.0001 %"


def print_case(result, args):
    if result["error"]:
        print("%-32s %s" % (result["id"], result["error"]))
    groups = [g for g in GROUPS if g in result["figures"] and (g != "detail" or args.detail)]
    for group in groups:
        for name, ours, measured in result["figures"][group]:
            if ours != measured:
                print("%-32s %-8s %-34s ours %-14s measured %-14d %s" % (
                    result["id"], group, name, ours, measured,
                    "missing" if ours is None else "%+d (%s)" % (ours - measured, percent(error_of(ours, measured)))))


def print_summary(summary, refused):
    print("%-9s %6s %7s %9s %12s %12s %12s" % ("group", "cases", "exact", "share", "median", "95th pct.", "worst"))
    for group, row in summary.items():
        print("%-9s %6d %7d %8.1f%% %12s %12s %12s" % (
            group, row["cases"], row["exact"], 100 * row["exact"] / row["cases"],
            percent(row["median"]), percent(row["p95"]), percent(row["worst"])))
    if refused:
        print("refused or failed: %d" % refused)


def parse_args():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("file", help="case file")
    ap.add_argument("--binary", default=os.environ.get("MEMSCOPE", "build/release/memscope"))
    ap.add_argument("--family", default="", help="only these model types, e.g. llama,gpt2")
    ap.add_argument("--only", default="", help="only cases whose id contains this")
    ap.add_argument("--every", type=int, default=int(os.environ.get("ORACLE_EVERY", "1")), help="every N-th case; only what must hold for each is required")
    ap.add_argument("--summary", action="store_true", help="no line per figure")
    ap.add_argument("--detail", action="store_true", help="figures of the group 'detail' too")
    ap.add_argument("--commands", action="store_true", help="print each command")
    ap.add_argument("--device", default="", help="instead of cpu or a100-80gb")
    ap.add_argument("--cuda", action="store_true", help="treat CPU cases as CUDA ones")
    ap.add_argument("--json", default="", help="write results here")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--require", action="append", default=[], metavar="GROUP:exact=X,within=Y[@SHARE]")
    return ap.parse_args()


def select(cases, args):
    families = set(filter(None, args.family.split(",")))
    chosen = [c for c in cases if args.only in c["id"] and "error" not in c.get("measured", {})
              and (not families or (c["model"] if oracle_infer.is_one(c) else c["config"]["model_type"]) in families)]
    return chosen[::args.every]


def compare(number, case, args, folder):
    report, error = run_case(case, args, folder, number % ADVICE_EVERY == 0)
    figures = {}
    if "refused" in case:
        is_refused = bool(error) and error.startswith("exit 2") and case["refused"] in error
        return {"id": case["id"], "error": None if is_refused else error or "not refused", "figures": {}, "is_refused": is_refused}
    if report:
        engine = engine_of(case)
        of, told = engine.figures_of if engine else figures_of, without_beside(case)
        for group, name, ours, measured in (*of(report, told), *(requested_figures(report, told) if "addresses" in case and "phases" in told else ())):
            figures.setdefault(group, []).append((name, ours, measured))
    return {"id": case["id"], "error": error, "figures": figures}


def main():
    args = parse_args()
    if not os.access(args.binary, os.X_OK):
        sys.exit("%s: no such program; build it with `make`, or name it with --binary" % args.binary)
    with open(args.file) as f:
        file = json.load(f)
    file = {"cases": file} if isinstance(file, list) else file
    if "published" in file:
        file = oracle_vllm.from_measuring(file)
    args.torch = ".".join((file.get("torch") or "2.11").split(".")[:2])
    args.has_cudnn = file.get("cudnn_attention", file.get("device", "").startswith("NVIDIA"))  # as measured
    cases = select(file["cases"], args)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda c: compare(*c, args, folder), enumerate(cases)))
    if not args.summary:
        for result in results:
            print_case(result, args)
    summary, refused = summarize(results), sum(bool(r["error"]) for r in results)
    print_summary(summary, refused)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"file": os.path.basename(args.file), "torch": file.get("torch"), "device": file.get("device"),
                       "refused": refused, "summary": summary, "cases": results}, f, indent=1)
    passed = failed = 0
    for group, text in requirements(args, file):
        fault = check(group, text, summary, args.every > 1)
        print("%s %s: %s" % (group, text, "FAILED, " + fault if fault else "ok"))
        passed, failed = passed + (not fault), failed + bool(fault)
    expected = sum(r.get("is_refused", False) for r in results)
    if expected:
        print("refused as the file says: %d" % expected)
    passed, failed = passed + bool(expected), failed + bool(refused)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
