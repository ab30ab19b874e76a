# SPDX-License-Identifier: GPL-3.0-or-later
"""runtime_report.json; schemas/runtime_report.schema.json says what it holds."""
import json
import os
import platform
import re
import sys

SCHEMA_VERSION = "1.0"
MOST_POINTS = 2000
# The best outcome of several processes sorts first.
OUTCOMES = ["stepped", "out_of_memory", "failed", "few_steps", "no_step", "no_device", "no_torch"]


def write(capture, outcome):
    rank = int(os.environ.get("RANK", "0") or 0)
    name = f"{OUTCOMES.index(outcome)}-{outcome}-{rank:05}-{os.getpid()}.json"
    path = os.path.join(capture.folder, name)
    with open(path + ".part", "w") as file:
        file.write(rows_on_lines(json.dumps(document(capture, outcome), indent=1)) + "\n")
    os.rename(path + ".part", path)


def document(capture, outcome):
    out = {"schema_version": SCHEMA_VERSION, "outcome": outcome, "message": message(capture), "metadata": metadata(capture)}
    if capture.torch is None or not capture.torch.cuda.is_initialized():
        return out
    steady = capture.steps[-1] if capture.steps else capture.phases.rows if capture.phases else []
    peak = max(steady, key=lambda row: row["peak_bytes"], default=None)
    composed = compose(capture, steady, peak)
    out["summary"] = summary(capture, steady, peak, composed)
    out["phases"] = [public(row) for row in steady]
    out["first_step_phases"] = [public(row) for row in (capture.steps or [steady])[0]]
    if composed:
        out["peak"], out["timeline"] = composed
    out["reads"] = capture.reads.report()
    out["moved_to_host_bytes"] = capture.reads.moved_bytes
    out["not_covered"] = [{"call": name, "file": place[0], "line": place[1]} for name, place in sorted(capture.reads.uncovered.items())]
    out["notes"] = notes(capture)
    return out


def rows_on_lines(text):
    """An object that holds no other stays on one line."""
    return re.sub(r"\{\n[^{}\[\]]*\n *\}", lambda match: re.sub(r"\n *", " ", match.group()), text)


def public(row):
    return {key: value for key, value in row.items() if not key.startswith("_")}


def message(capture):
    if not capture.failure:
        return None
    kind, value = capture.failure
    return f"{kind.__name__}: {value}".splitlines()[0][:400]


def metadata(capture):
    torch = capture.torch
    out = {"mode": os.environ.get("MEMSCOPE_CAPTURE_MODE", "cuda"), "device": os.environ.get("MEMSCOPE_CAPTURE_DEVICE"),
           "steps": len(capture.steps), "python": platform.python_version(), "torch": str(torch.__version__) if torch else None,
           "command": list(getattr(sys, "orig_argv", sys.argv)),
           "allocator": os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF") or "",
           "libraries": {name: str(sys.modules[name].__version__)
                         for name in ("transformers", "peft", "trl", "accelerate", "lightning", "deepspeed", "bitsandbytes")
                         if hasattr(sys.modules.get(name), "__version__")}}
    if torch is not None and torch.cuda.is_initialized():
        device = torch.cuda.get_device_properties(torch.cuda.current_device())
        out["device_title"], out["device_bytes"] = device.name, device.total_memory
        out["compute_capability"], out["multiprocessors"] = f"{device.major}.{device.minor}", device.multi_processor_count
    return out


def compose(capture, steady, peak):
    """What is alive at the peak of the last step, and bytes by event; None where that was not followed."""
    if not capture.composition or not peak:
        return None
    forward_ends = [row["_events"][1] for row in steady if row["phase"] == "forward"]
    found, timeline, at = capture.composition.at_peak(capture.start_event, forward_ends, peak["peak_bytes"])
    starts = sorted((row["_events"][0] - capture.start_event, row["phase"]) for row in steady)
    stride = max(1, len(timeline) // MOST_POINTS)
    points, phase = [], 0
    for event, used in enumerate(timeline):
        while phase + 1 < len(starts) and starts[phase + 1][0] <= event:
            phase += 1
        if event % stride == 0 or event == at:
            points.append({"event": event, "phase": starts[phase][1], "bytes": used})
    categories = [{"category": name, "count": count, "bytes": size} for name, (count, size) in sorted(found.items(), key=lambda row: -row[1][1])]
    return {"bytes": peak["peak_bytes"], "phase": peak["phase"], "micro_step": peak["micro_step"], "event": at, "categories": categories}, points


def summary(capture, steady, peak, composed):
    from . import phases
    from .composition import storages
    figures, parameters = phases.stats(), capture.parameters()
    at_peak = {row["category"]: row["bytes"] for row in composed[0]["categories"]} if composed else {}
    weights, buffers = storages(parameters), storages(capture.buffers())
    return {
        "param_count": sum(p.numel() for p in parameters),
        "trainable_param_count": sum(p.numel() for p in parameters if p.requires_grad),
        "weight_memory_bytes": sum(weights.values()),
        "buffer_memory_bytes": sum(size for at, size in buffers.items() if at not in weights),
        "grad_memory_bytes": at_peak.get("gradient", 0),
        "optimizer_memory_bytes": sum(storages(capture.states()).values()),
        "activation_memory_bytes": at_peak.get("activation", 0) + at_peak.get("input", 0),
        "temporary_memory_bytes": at_peak.get("temporary", 0),
        "after_build_bytes": getattr(capture, "build_bytes", 0),
        "start_bytes": steady[0]["start_bytes"] if steady else 0,
        "peak_memory_bytes": peak["peak_bytes"] if peak else capture.peaks.peak(figures, "allocated"),
        "reserved_memory_bytes": max((row["peak_reserved_bytes"] for row in steady), default=capture.peaks.peak(figures, "reserved")),
        "allocator_retries": figures["num_alloc_retries"],
        "peak_stage": peak["phase"] if peak else None,
    }


def notes(capture):
    out = list(capture.answered)
    if os.environ.get("MEMSCOPE_CAPTURE_MODE") == "null":
        out.append("cuDNN is not there: attention and convolutions take PyTorch's own kernels, whose workspaces differ from cuDNN's")
        out.append("values on the device are not real; where a size or a choice hangs on one, the figures may be wrong (see reads)")
    return out
