# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases of `memscope infer` for oracle.py: which command a case is, and which of its figures are compared.

Of llama.cpp a case has a "backend"; its figures are buffers by place, as llama.cpp names them:

  model     weights
  kv        caches and recurrent states
  output    logits and embeddings that the caller reads
  compute   the buffers of intermediate results
  pool      scratch memory of kernels, and the workspace of cuBLAS
"""
import json
import os

import gguf_header

GROUPS = ("model", "kv", "output", "compute", "pool")
HERE = os.path.dirname(os.path.abspath(__file__))
PRESETS = {"tinyllama": "tinyllama-1.1b"}
DEVICES = {"cpu": "cpu", "cuda-cc80": "a100-80gb", "cuda-cc86": "rtx-3090", "cuda-cc89": "rtx-4090", "cuda-cc90": "h100-80gb"}
FLASH = {-1: "auto", 0: "off", 1: "on"}
YES = {"kv_unified": "kv-unified", "swa_full": "swa-full", "offload_kqv": "kv-offload", "op_offload": "op-offload",
       "embeddings": "embeddings"}


def is_one(case):
    return "backend" in case and "n_gpu_layers" in case


def config_of(case):
    with open(os.path.join(HERE, "..", "configs", PRESETS.get(case["model"], case["model"]) + ".json")) as f:
        config = json.load(f)
    if "layers" in case:
        inner = config.get("text_config", config)
        inner["n_layer" if "n_layer" in inner else "num_hidden_layers"] = case["layers"]
        if "layer_types" in inner:
            inner["layer_types"] = inner["layer_types"][:case["layers"]]
    return config


def write_model(case, path):
    """A config.json, or the header of a GGUF file where there is no config.json that is converted; returns its path."""
    if case["model"] in gguf_header.MODELS:
        path += ".gguf"
        gguf_header.write(path, *gguf_header.MODELS[case["model"]](case["quant"]))
        return path
    with open(path, "w") as f:
        json.dump(config_of(case), f)
    return path


def command_of(case, path, args):
    options = case["options"]
    command = [args.binary, "infer", path, "--engine", "llama.cpp", "--device", DEVICES[case["backend"]], "--budget", "4000GiB",
               "--ctx-size", str(options["n_ctx"]), "--concurrency", str(options["n_seq_max"]),
               "--batch-size", str(options["n_batch"]), "--ubatch-size", str(options["n_ubatch"]),
               "--cache-type-k", options["type_k"], "--cache-type-v", options["type_v"],
               "--flash-attn", FLASH[options["flash_attn"]], "--mmap", "yes" if case["load"] == "mmap" else "no"]
    if not path.endswith(".gguf"):
        command += ["--quant", case["quant"]]
    for key, option in YES.items():
        command += ["--" + option, "yes" if options[key] else "no"]
    if case["backend"] != "cpu":
        command += ["--gpu-layers", str(case["n_gpu_layers"]), "--gpus", str(case.get("gpus", 1)),
                    "--split-mode", "none" if case.get("split_mode", 1) == 0 else "layer"]
    if options["n_outputs_max"]:
        command += ["--outputs", str(options["n_outputs_max"])]
    if "extra_bufts" in case:
        command += ["--repack", "yes" if case["extra_bufts"] else "no"]
    if "decode_tokens" in case:
        command += ["--prompt", str(case["decode_tokens"])]
    return command


def sums(report, *parts):
    out = {}
    for b in report["buffers"]:
        if b["part"] in parts:
            out[b["place"]] = out.get(b["place"], 0) + b["bytes"]
    return out


def figures_of(report, measured):
    """(group, figure, ours, measured); a part that the report does not have at all is not compared."""
    for group, part in (("model", "weights"), ("output", "output"), ("compute", "compute")):
        ours = sums(report, part)
        if ours or group != "compute":
            for place in sorted(set(ours) | set(measured[group])):
                yield group, place, ours.get(place, 0), measured[group].get(place, 0)
    ours, theirs = {}, {}  # layers with a window and the others may have as many cells
    for buffers, out, place in ((report["buffers"], ours, "place"), (measured["kv"], theirs, "buffer")):
        for b in buffers:
            if b.get("part", "cache") == "cache":
                name = "%s %d cells" % (b[place], b["cells"])
                out[name] = out.get(name, 0) + b["bytes"]
    for name in sorted(set(ours) | set(theirs)):
        yield "kv", name, ours.get(name, 0), theirs.get(name, 0)
    states, theirs = sums(report, "state"), {b["buffer"]: b["bytes"] for b in measured["rs"]}
    for place in sorted(set(states) | set(theirs)):
        yield "kv", "state " + place, states.get(place, 0), theirs.get(place, 0)
    for name, part in (("pool_bytes", "pool"), ("cublas_workspace", "workspace")):
        if name in measured and sums(report, "pool"):
            yield "pool", name, sum(sums(report, part).values()), measured[name]
