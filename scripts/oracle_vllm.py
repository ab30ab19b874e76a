# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases of `memscope infer --engine vllm` for oracle.py: starts of vLLM's own engine, measured or published.

Such a case has "vllm", the version whose rules count, and "usage". Its model is a file of configs/, "config", with some keys
changed, "changes". Its figures are

  weights    bytes that the engine says it loaded
  buffers    of its runner, before the profile run
  profile    the peak of the profile run above what was there
  kv_tokens  of the cache of keys and values, and its blocks

and of real GPUs, as a log or a table has them (GiB with two decimals)

  published_cache  what is left for the cache, and its tokens
  published_parts  weights and the profile run's peak
"""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = ("weights", "buffers", "profile", "kv_tokens", "published_cache", "published_parts")
GIB = 1 << 30
DEVICES = {"NVIDIA H100 80GB HBM3": "h100-80gb"}
OLDEST = "0.20.2"  # whose rules are known; stands for those before it
# Where the report has what was measured: the place of buffers on the first device (or the last), or a figure.
PLACES = (("weights", "model", "weights_bytes"), ("buffers", "runner", "runner_buffers_bytes"), ("profile", "profile run", "peak_activation_bytes"))
FIGURES = (("kv_tokens", "num_gpu_blocks", "num_gpu_blocks"), ("kv_tokens", "kv_cache_tokens", "kv_tokens"))
PUBLISHED = {"weights_gib": ("published_parts", "model"), "activation_gib": ("published_parts", "profile run"),
             "available_kv_gib": ("published_cache", "available_kv_cache_bytes"), "kv_tokens": ("published_cache", "kv_cache_tokens")}


def is_one(case):
    return "vllm" in case and "usage" in case


def from_measuring(file):
    """The same cases from a file as the measuring script writes it: starts under "cases", what others printed under "published"."""
    cases = []
    for number, raw in enumerate(file["cases"]):
        kept = ("weights_bytes", "runner_buffers_bytes", "peak_activation_bytes", "num_gpu_blocks")
        measured = {name: raw[name] for name in kept if raw.get(name) is not None}
        if (raw.get("log") or {}).get("kv_tokens"):
            measured["kv_tokens"] = int(raw["log"]["kv_tokens"].replace(",", ""))
        if raw.get("error"):
            measured["error"] = raw["error"]
        skipped = ("enforce_eager", "compilation_config")  # the case says it
        cases.append({"id": "%s-%s-%02d" % (raw["vllm"], raw["config"], number), "usage": "llm", "device": DEVICES[raw["device"]["name"]],
                      "device_bytes": raw["device"]["cuda_bytes"], "options": {k: v for k, v in raw["options"].items() if k not in skipped},
                      "measured": measured, **{k: raw[k] for k in ("config", "vllm", "runner", "sampler", "enforce_eager", "non_torch_bytes")}})
    for number, raw in enumerate(file.get("published", [])):
        if raw.get("gpu") != "H100-80GB":
            continue
        renamed = {"tp": "tensor_parallel_size", "pp": "pipeline_parallel_size", "kv_cache_dtype": "kv_cache_dtype", "quantization": "quantization"}
        told = {k: int(raw[k].replace(",", "")) if k == "kv_tokens" else raw[k] for k in PUBLISHED if k in raw}
        cases.append({"id": "published-%s-%02d" % (raw["config"], number), "config": raw["config"], "usage": "serve", "device": "h100-80gb",
                      "vllm": OLDEST, "device_bytes": round(79.19 * GIB), "measured": {"published": told},
                      "options": {"gpu_memory_utilization": raw["util"], "max_model_len": 8192,
                                  **{to: raw[name] for name, to in renamed.items() if name in raw}}})
    return {**file, "cases": cases}


def write_model(case, path):
    source = os.path.join(HERE, "..", "configs", case["config"] + ".json")
    if "changes" not in case:
        return source
    with open(source) as f:
        config = json.load(f)
    with open(path, "w") as f:
        json.dump({**config, **case["changes"]}, f)
    return path


def command_of(case, path, args):
    options = {"vllm-version": case["vllm"], "usage": case["usage"], "device": case["device"], "gpu-memory-utilization": 0.9}
    if "device_bytes" in case:
        options["budget"] = "%dB" % case["device_bytes"]
    if "non_torch_bytes" in case:
        options["non-torch-memory"] = "%dB" % case["non_torch_bytes"]
    if "enforce_eager" in case:
        options["enforce-eager"] = "yes" if case["enforce_eager"] else "no"
    if "runner" in case:
        options["model-runner"] = case["runner"]
    if case.get("sampler") == "native":
        options["flashinfer-sampler"] = "no"
    for name, value in case["options"].items():
        options["context" if name == "max_model_len" else name.replace("_", "-")] = value
    return [args.binary, "infer", path, "--engine", "vllm"] + [word for name, value in options.items() for word in ("--" + name, str(value))]


def figures_of(report, measured):
    """(group, figure, ours, measured)."""
    places, last = ({b["place"]: b["bytes"] for b in report["buffers"] if b.get("device") == device} for device in (0, report["devices"] - 1))
    for group, place, name in PLACES:
        if name in measured:
            yield group, name, places[place], measured[name]
        if "last_" + name in measured:
            yield group, "last_" + name, last[place], measured["last_" + name]
    for group, name, key in FIGURES:
        if key in measured:
            yield group, name, report["figures"].get(name), measured[key]
    for name, value in measured.get("published", {}).items():
        group, key = PUBLISHED[name]
        yield group, name, {**report["figures"], **places}[key], round(value * GIB) if name.endswith("_gib") else value
