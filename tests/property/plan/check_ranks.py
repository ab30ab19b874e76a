#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_ranks.py MEMSCOPE

Plans for layers of several ranks. A file that a plan prints for a trainer is read back by --training-args as the same
layout, with the same figures. No way to keep and checkpoint the layers of a small model that fits is faster than the
bound that a plan prints, and the plan's figures are those that analyze has for it.
"""
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile

SMALL = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 512, "intermediate_size": 2816,
    "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 1024,
    "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
}
DEVICE = ["--device", "h100-80gb"]

# ---- files of trainers ----

ACCELERATE = ["--fsdp-units", "accelerate", "--build", "broadcast"]
TITAN = ["--fsdp-units", "torchtitan"]
MIXED = ["--dtype", "fp32", "--param-dtype", "bf16", "--reduce-dtype"]
# The trainer, and the options of the run; what a file of the trainer says, it says alone.
FILES = [
    ("hf", ["--parallel", "dp=8"]),
    ("hf", ["--parallel", "dp=8", "--accumulate", "4", "--no-sync", "yes"]),
    ("hf", ["--parallel", "fsdp=8", *ACCELERATE]),
    ("hf", ["--parallel", "hsdp=2x4", "--fsdp-units", "accelerate", "--build", "host"]),
    ("hf", ["--parallel", "fsdp=8", *ACCELERATE, *MIXED, "bf16"]),
    ("hf", ["--parallel", "fsdp=8", *ACCELERATE, "--reshard-after-forward", "no"]),
    ("hf", ["--parallel", "fsdp=8", *ACCELERATE, "--fsdp-offload", "yes"]),
    ("hf", ["--parallel", "fsdp=8", *ACCELERATE, "--accumulate", "3", "--no-sync", "yes"]),
    ("hf", ["--parallel", "fsdp1=8"]),
    ("hf", ["--parallel", "hsdp1=2x4"]),
    ("hf", ["--parallel", "fsdp1=8", "--backward-prefetch", "post", "--forward-prefetch", "yes", "--use-orig-params", "no", "--reshard-after-forward", "no"]),
    ("torchtitan", ["--parallel", "fsdp=8", *TITAN]),
    ("torchtitan", ["--parallel", "hsdp=2x4", *TITAN]),
    ("torchtitan", ["--parallel", "fsdp=8", *TITAN, *MIXED, "fp32", "--accumulate", "2"]),
    ("torchtitan", ["--parallel", "fsdp=8", *TITAN, "--reshard-after-forward", "no", "--fsdp-offload", "yes"]),
    ("torchtune", ["--parallel", "fsdp=8"]),
    ("torchtune", ["--parallel", "hsdp=2x4"]),
    ("torchtune", ["--parallel", "fsdp=8", "--reshard-after-forward", "no", "--fsdp-offload", "yes"]),
    ("deepspeed", ["--parallel", "zero=2,dp=8"]),
    ("deepspeed", ["--parallel", "zero=1,dp=8", "--accumulate", "2", "--clip", "1"]),
    ("deepspeed", ["--parallel", "zero=2,dp=8", "--overlap-comm", "yes", "--reduce-bucket-size", "200000000", "--optimizer-device", "host"]),
]
# What a trainer cannot say, and words of the refusal.
REFUSED = [
    ("hf", ["--parallel", "fsdp=8"], "--fsdp-units accelerate --build broadcast"),
    ("hf", ["--parallel", "tp=4"], "tensor parallelism"),
    ("hf", ["--parallel", "zero=2,dp=8"], "ZeRO-2"),
    ("hf", ["--parallel", "dp=8", "--accumulate", "2"], "--no-sync yes"),
    ("torchtitan", ["--parallel", "fsdp=8"], "--fsdp-units torchtitan"),
    ("torchtitan", ["--parallel", "fsdp1=8"], "FSDP1"),
    ("torchtune", ["--parallel", "dp=8"], "DistributedDataParallel"),
    ("torchtune", ["--parallel", "fsdp=8", *MIXED, "fp32"], "--dtype bf16"),
    ("deepspeed", ["--parallel", "fsdp=8"], "FSDP2"),
    ("pytorch", ["--parallel", "zero=2,dp=8"], "ZeRO-2"),
    ("megatron", ["--parallel", "fsdp=8"], "not predicted"),
    ("nemo", ["--parallel", "fsdp=8"], "not predicted"),
    ("axolotl", ["--parallel", "fsdp=8"], "several ranks"),
    ("free", ["--parallel", "pp=2,microbatches=4"], "pipeline parallelism has no plans"),
    ("free", ["--parallel", "zero=3,dp=4"], "ZeRO-3 has no plans"),
]
# Options that no file says.
KEPT = {"hf": ("--accumulate",)}
SAME = (
    "parallel", "rank", "dtype", "param_dtype", "reduce_dtype", "load_dtype", "fsdp_units", "build", "fsdp_offload",
    "reshard_after_forward", "accumulate", "no_sync", "optimizer", "optimizer_impl", "batch", "seq", "autocast", "clip",
    "reduce_bucket_size", "grad_accumulation_dtype", "overlap_comm", "contiguous_gradients", "backward_prefetch",
    "forward_prefetch", "use_orig_params", "limit_all_gathers", "optimizer_device", "bucket_cap_mb",
)


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def answer(done, what):
    if done.returncode not in (0, 1, 3):
        raise AssertionError(f"{what}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def check_file(program, folder, number, case):
    target, options = case
    base = ["llama-3.1-8b", *DEVICE, "--batch", "2", "--seq", "2048"]
    plan = answer(run(program, "plan", *base, "--target", target, "--budget", "1000GiB", "--format", "json", *options), case)
    text = plan["target"]["text"]
    head = re.search(r"^# (\S+\.(yaml|toml|json)), [^\n]*\n", text, re.M)
    assert head, (case, text)
    path = os.path.join(folder, f"{number}-{head.group(1)}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[head.end():] + "\n")
    kept = [o for i in range(0, len(options), 2) if options[i] in KEPT.get(target, ()) for o in options[i:i + 2]]
    dtype = ["--dtype", "bf16"] if "--dtype" not in options else []
    more = ["--padding", "no", "--loop", "fixed", *(["--world", "8"] if target == "deepspeed" else ["--clip", "none"])]
    more += ["--allocator", "cuda"] if target == "torchtune" else []  # which expands its segments by itself
    more += ["--build", "device"] if target == "hf" and "dp=8" in options else []  # Trainer's model is built on the host
    read = answer(run(program, "analyze", "--no-advice", *base, "--budget", "1000GiB", "--format", "json", "-o", "-", "--training-args", path, *kept, *dtype,
                      *more, "--weight-decay", "0.01", "--optimizer-impl", "fused", "--treat", plan["treat"] or "all=keep"), (case, text))
    differ = {k: (plan["metadata"].get(k), read["metadata"].get(k)) for k in SAME if plan["metadata"].get(k) != read["metadata"].get(k)}
    assert not differ, (case, differ)
    assert read["summary"]["peak_memory_bytes"] == plan["peak_memory_bytes"], case
    assert read["summary"]["reserved_memory_bytes"] == plan["reserved_memory_bytes"], case


def check_refusal(program, case):
    target, options, words = case
    done = run(program, "plan", "llama-3.1-8b", *DEVICE, "--target", target, *options)
    assert done.returncode == 2 and words in done.stderr, (case, done.returncode, done.stderr)


# ---- bounds ----

LAYOUTS = [
    ["--parallel", "fsdp=8"],
    ["--parallel", "fsdp=8", "--seq", "128", *MIXED, "fp32"],
    ["--parallel", "hsdp=2x4", "--accumulate", "2", *MIXED, "fp32"],
    ["--parallel", "fsdp=8", "--reshard-after-forward", "no"],
    ["--parallel", "fsdp1=8"],
    ["--parallel", "dp=4"],
    ["--parallel", "tp=4"],
    ["--parallel", "tp=2,fsdp=4"],
    ["--parallel", "cp=2,fsdp=2"],
    ["--parallel", "zero=2,dp=4", "--reduce-bucket-size", "8000000"],
]


def check_bounds(program, path, options):
    base = ["--config", path, *DEVICE, "--batch", "2", *([] if "--seq" in options else ["--seq", "2048"]), *options]

    def simulate(treat, budget):
        return answer(run(program, "analyze", "--no-advice", *base, "--budget", budget, "--format", "json", "-o", "-", "--treat", treat), (options, treat))["summary"]

    least, most = (simulate(t, "1000GiB")["expected_device_bytes"] for t in ("all=checkpoint", "all=keep"))
    chance = random.Random(7)
    for share in (0.3, 0.7):
        budget = f"{int(least + share * (most - least))}B"
        plan = answer(run(program, "plan", *base, "--budget", budget, "--format", "json"), options)
        if not plan["fits"]:
            continue
        own = simulate(plan["treat"] or "all=keep", budget)
        assert own["peak_memory_bytes"] == plan["peak_memory_bytes"] and abs(own["step_time_ms"] - plan["step_ms"]) < 1e-3, (options, budget)
        kinds = sorted({row["treatment"] for row in plan["treatments"]} | {"keep", "checkpoint"})
        mixes = [["checkpoint" if n >> i & 1 else "keep" for i in range(6)] for n in range(1, 64, 3)]
        mixes += [[chance.choice(kinds) for _ in range(6)] for _ in range(9 if len(kinds) > 2 else 0)]
        for mix in mixes:
            found = simulate(",".join(f"{i}={t}" for i, t in enumerate(mix)), budget)
            fits = found["verdict"] != "no"
            assert not fits or found["step_time_ms"] >= plan["bound_ms"] - 1e-3, (options, budget, mix, found["step_time_ms"], plan["bound_ms"])


def main():
    program, passed, failed = sys.argv[1], 0, 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(SMALL, file)
        waiting = [pool.submit(check_file, program, folder, i, case) for i, case in enumerate(FILES)]
        waiting += [pool.submit(check_refusal, program, case) for case in REFUSED]
        waiting += [pool.submit(check_bounds, program, path, options) for options in LAYOUTS]
        for done in waiting:
            if done.exception():
                print(f"FAILED: {done.exception()!r}")
                failed += 1
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
