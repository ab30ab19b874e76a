# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases of `memscope infer --engine vllm` for oracle.py: starts of vLLM's own engine.

Such a case has "vllm", its version, and "usage"; its figures are

  weights    bytes that the engine says it loaded
  buffers    of its runner, before the profile run
  profile    the peak of the profile run above what was there
  kv_tokens  of the cache of keys and values, and its blocks
"""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = ("weights", "buffers", "profile", "kv_tokens")
# Where the report has what was measured: the place of buffers on the first device, or a figure.
PLACES = (("weights", "model", "weights_bytes"), ("buffers", "runner", "runner_buffers_bytes"), ("profile", "profile run", "peak_activation_bytes"))
FIGURES = (("kv_tokens", "num_gpu_blocks", "num_gpu_blocks"), ("kv_tokens", "kv_cache_tokens", "kv_tokens"))
OPTIONS = {"max_num_batched_tokens": "--max-num-batched-tokens", "max_num_seqs": "--max-num-seqs", "max_model_len": "--context", "dtype": "--dtype",
           "gpu_memory_utilization": "--gpu-memory-utilization", "kv_cache_dtype": "--kv-cache-dtype"}


def is_one(case):
    return "vllm" in case and "usage" in case


def write_model(case, _path):
    return os.path.join(HERE, "..", "configs", case["config"] + ".json")


def command_of(case, path, args):
    command = [args.binary, "infer", path, "--engine", "vllm", "--vllm-version", case["vllm"], "--usage", case["usage"], "--device", case["device"],
               "--budget", "%dB" % case["device_bytes"], "--model-runner", case["runner"], "--flashinfer-sampler", "yes" if case["sampler"] == "flashinfer" else "no",
               "--enforce-eager", "yes" if case["enforce_eager"] else "no", "--non-torch-memory", "%dB" % case["non_torch_bytes"]]
    for name, value in case["options"].items():
        command += [OPTIONS[name], str(value)]
    return command if "gpu_memory_utilization" in case["options"] else command + ["--gpu-memory-utilization", "0.9"]


def figures_of(report, measured):
    """(group, figure, ours, measured)."""
    for group, place, name in PLACES:
        ours = sum(b["bytes"] for b in report["buffers"] if b["place"] == place and b.get("device") == 0)
        yield group, name, ours, measured[name]
    for group, name, key in FIGURES:
        yield group, name, report["figures"].get(name), measured[key]
