# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases of `memscope infer --engine hf` for oracle_infer.py: transformers with a cache of keys and values.

Of such a case "cache" names the kind of cache; its figures are

  loaded    allocated after loading, and parameters
  prefill   allocated, at the peak and at the end of the prompt's pass
  decode    allocated, at the highest peak and at the end of the other passes
  reserved  by PyTorch's allocator, after loading, the prompt and the last token
"""
import json

GROUPS = ("loaded", "prefill", "decode", "reserved")
FIGURES = (("loaded", "parameters", ("parameters",)), ("loaded", "load_allocated_bytes", ("loaded", "allocated")),
           ("prefill", "prefill_peak_allocated_bytes", ("prefill", "peak_allocated")),
           ("prefill", "prefill_end_allocated_bytes", ("prefill", "allocated")),
           ("decode", "decode_peak_allocated_bytes", ("decode_peak_allocated",)),
           ("decode", "decode_end_allocated_bytes", ("end", "allocated")),
           ("reserved", "load_reserved_bytes", ("loaded", "reserved")), ("reserved", "prefill_reserved_bytes", ("prefill", "reserved")),
           ("reserved", "decode_reserved_bytes", ("end", "reserved")))

OPTIONS = (("--quantize", "quantize"), ("--compute-dtype", "compute_dtype"), ("--gpu-layers", "gpu_layers"), ("--loop", "loop"), ("--allocator", "allocator"), ("--addresses", "addresses"), ("--cache-bits", "cache_bits"),
           ("--cache-group", "cache_group"), ("--residual-length", "residual_length"))  # of a case that has the key


def is_one(case):
    return "cache" in case and "generate" in case


def write_model(case, path):
    with open(path, "w") as f:
        json.dump(case["config"], f)
    return path


def command_of(case, path, args):
    given = [word for option, key in OPTIONS if key in case and case[key] != "read" and not (key == "quantize" and "quantization_config" in case["config"]) for word in (option, str(case[key]))]
    return [args.binary, "infer", path, "--engine", "hf", "--device", case.get("device", "a100-80gb"), "--budget", "4000GiB",
            "--batch", str(case["batch"]), "--prompt", str(case["prompt"]), "--generate", str(case["generate"]),
            "--cache", case["cache"], "--attention", case["attn"], "--dtype", case["weights"], "--torch", "2.11", *given]


def figures_of(report, measured):
    """(group, figure, ours, measured)."""
    for group, name, path in FIGURES:
        value = measured
        for key in path:
            value = value.get(key) if value else None
        if value is not None:
            yield group, name, report["figures"].get(name), value
