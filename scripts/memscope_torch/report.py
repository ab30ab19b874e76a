# SPDX-License-Identifier: GPL-3.0-or-later
"""runtime_report.json; schemas/runtime_report.schema.json says what it holds. And the files beside it."""
import ctypes
import json
import os
import pickle
import platform
import re
import sys
from collections import namedtuple

from . import hints, shown, world
from .collecting import without_collecting

SCHEMA_VERSION = "1.5"
HEAD = 4  # members that say how the program ended
# The best outcome of several processes sorts first.
OUTCOMES = ["stepped", "out_of_memory", "failed", "few_steps", "modules", "no_step", "no_device", "no_gpu", "no_torch"]
LIBRARIES = ("transformers", "peft", "trl", "accelerate", "lightning", "deepspeed", "bitsandbytes", "transformer_engine", "megatron.core", "vllm", "sglang")

# `failure`: kind and value of the exception that ended the program, or None; `message`: in place of what that says.
Source = namedtuple("Source", "tracer outcome failure reads answers message", defaults=(None,))


def outcome(tracer, failure, gave_modules=False):
    torch = sys.modules.get("torch") if tracer else None
    if failure and issubclass(failure[0], KeyboardInterrupt):
        return "interrupted"
    if failure:
        return "out_of_memory" if torch and issubclass(failure[0], torch.OutOfMemoryError) else "failed"
    if not torch:
        return "no_torch"
    if len(tracer.steps) >= tracer.wanted:
        return "stepped"
    if gave_modules and not tracer.steps:
        return "modules"
    if not torch.cuda.is_initialized():
        return "no_device"
    return "few_steps" if tracer.steps else "no_step"


def message(failure):
    return shown.text(hints.line_of(*failure))[:400] if failure else None


def hint(source):
    """What the program was doing, what it needs, and what can be done."""
    if not source.failure:
        return None
    read = source.reads.rows if source.reads else {}
    reads = [place for place, (count, _, played_back) in read.items() if played_back < count]
    bounds = source.answers.bounds if source.answers else ()
    if source.outcome == "out_of_memory":
        return hints.of_bounds(bounds, shown.path)
    why = hints.of(*source.failure) or (source.reads and hints.of_uncovered(source.reads.uncovered, shown.path)) or \
        hints.after_reads(source.failure[1], reads, bounds, shown.path)
    return "; ".join(part for part in (hints.doing(source.tracer), why) if part) or None


@without_collecting
def write(source, folder, stem="runtime_report", beside=None):
    """The report comes last, whole or not at all; `beside`: stems of the snapshot, the list of events and the trace."""
    snapshot, listed, traced = beside or (stem, stem, stem)
    out, replay, entries = document(source)
    if replay:
        with open(os.path.join(folder, snapshot + ".pickle"), "wb") as file:
            pickle.dump(shown.snapshot(source.tracer.recording.snapshot), file)
        from . import rows
        with open(os.path.join(folder, listed + ".txt"), "w") as file:
            file.writelines(line + "\n" for line in rows.events(replay, _phase_at(source.tracer)))
        if entries:
            from . import trace_file
            with open(os.path.join(folder, traced + ".jsonl"), "w") as file:
                trace_file.write(file, source.tracer, replay, entries, " ".join(out["metadata"]["command"]))
    put(os.path.join(folder, stem + ".json"), out)
    return out


def write_rest(source, folder, stem):
    """The report but for its version, outcome, message and hint, which whoever sees the program end puts before it."""
    out = dict(list(document(source)[0].items())[HEAD:])
    path = os.path.join(folder, stem + ".rest")
    put(path, out, "{\n")
    return path


def put(path, out, skip=""):
    """Whole or not at all, without the text that it begins with."""
    with open(path + ".part", "w") as file:
        file.write(rows_on_lines(json.dumps(out, indent=1)).removeprefix(skip) + "\n")
    os.rename(path + ".part", path)


def _entries(tracer):
    """What a trace is made of; None: none is wanted, or something is missing."""
    recording = tracer.recording
    return tracer.history.until(recording) if tracer.history and recording and recording.snapshot else None


def rows_on_lines(text):
    """An object that holds no other stays on one line."""
    return re.sub(r"\{\n[^{}\[\]]*\n *\}", lambda match: re.sub(r"\n *", " ", match.group()), text)


def document(source):
    """The report, the step played again where it was recorded, and what a trace is made of where one is wanted."""
    tracer = source.tracer
    out = {"schema_version": SCHEMA_VERSION, "outcome": source.outcome, "message": source.message or message(source.failure),
           "hint": hint(source), "metadata": metadata(tracer)}
    if tracer is None or not is_used():
        return out, None, None
    from . import capture, compiled, cudnn, rows
    steady = tracer.steady()
    replay = _replay(tracer)
    highest = max(steady, key=lambda row: row["peak_bytes"], default=None)
    peak = rows.peak(replay, highest, highest["peak_bytes"]) if replay else None
    out["summary"] = summary(tracer, steady, highest, peak, replay)
    out["step"] = (tracer.told or tracer.setting).report(list(tracer.roots), list(tracer.optimizers), tracer.counts, tracer.paths.classes)
    out["phases"] = [public(row) for row in steady]
    found = compiled.report(tracer)
    if found:
        out["compiled"] = found
    out["first_step_phases"] = [public(row) for row in (tracer.steps or [steady])[0]]
    if replay:
        out["peak"], out["timeline"] = peak, rows.timeline(replay, _phase_at(tracer))
        out["modules"] = rows.modules(replay, tracer.paths.classes)
    out.update(seen(source.reads, source.answers, source.reads.calls() if os.environ.get("MEMSCOPE_NULL_CALLS") else None))
    if capture.is_null():
        out["answers"] += cudnn.replaced(sys.modules["torch"], tracer.roots)
    entries = _entries(tracer)
    out["notes"] = notes(source, steady, replay, entries)
    return out, replay, entries


def seen(reads, answers, calls=None):
    """What the program read, what is not covered, and what was answered; `reads` is None before torch is imported."""
    uncovered = sorted(reads.uncovered.items()) if reads else []
    out = {"reads": reads.report() if reads else [], "moved_to_host_bytes": reads.moved_bytes if reads else 0,
           "not_covered": [{"call": name, "file": shown.path(place[0]), "line": place[1]} for name, place in uncovered]}
    if calls is not None:
        out["calls"] = calls
    out["answers"] = answers.report() if answers else []
    return out


def is_used():
    import torch
    return torch.cuda.is_initialized()


def public(row):
    return {key: value for key, value in row.items() if not key.startswith("_")}


def metadata(tracer):
    torch = sys.modules.get("torch") if tracer else None
    out = {"mode": os.environ.get("MEMSCOPE_CAPTURE_MODE", "cuda"), "device": os.environ.get("MEMSCOPE_CAPTURE_DEVICE"),
           "steps": len(tracer.steps) if tracer else 0, "python": platform.python_version(),
           "torch": str(torch.__version__) if torch else None, "command": shown.command(getattr(sys, "orig_argv", [sys.executable, *sys.argv])),
           "allocator": os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF") or "",
           "libraries": {name: str(sys.modules[name].__version__) for name in LIBRARIES if hasattr(sys.modules.get(name), "__version__")}}
    if world.size():
        out["world_size"], out["rank"] = world.size(), world.rank()
    if torch is not None and torch.cuda.is_initialized():
        out["device_count"] = torch.cuda.device_count()
        device = torch.cuda.get_device_properties(torch.cuda.current_device())
        out["device_title"], out["device_bytes"] = device.name, device.total_memory
        out["compute_capability"], out["multiprocessors"] = f"{device.major}.{device.minor}", device.multi_processor_count
    return out


def _replay(tracer):
    """None where the step that is told was not recorded."""
    recording = tracer.recording
    if not (tracer.recorded and recording and recording.snapshot and recording.is_whole):
        return None
    from . import sharing
    from .replay import Replay
    forwards = [[event - recording.start_event for event in row["_events"]] for row in tracer.recorded if row["phase"] == "forward"]
    return Replay(recording, forwards, tracer.paths.labels.changes, sharing.buckets(list(tracer.roots)))


def _phase_at(tracer):
    """The phase by the number of an event."""
    starts = sorted((row["_events"][0] - tracer.recording.start_event, row["phase"]) for row in tracer.recorded)

    def phase_at(event):
        return next((phase for start, phase in reversed(starts) if start < max(event, 1)), starts[0][1])

    return phase_at


def summary(tracer, steady, highest, peak, replay):
    from . import phases
    figures, counts = phases.stats(), tracer.counts
    at_peak = {row["category"]: row["bytes"] for row in peak["categories"]} if peak else {}
    out = {
        "param_count": counts.get("parameters", 0),
        "trainable_param_count": counts.get("trainable", 0),
        "weight_memory_bytes": counts.get("weight", 0),
        "buffer_memory_bytes": counts.get("buffer", 0),
        "grad_memory_bytes": at_peak.get("gradient", 0),
        "optimizer_memory_bytes": counts.get("optimizer_state", 0),
        "activation_memory_bytes": at_peak.get("activation", 0) + at_peak.get("input", 0),
        "temporary_memory_bytes": at_peak.get("temporary", 0),
    }
    out["persistent_memory_bytes"] = sum(out[name + "_memory_bytes"] for name in ("weight", "buffer", "grad", "optimizer"))
    return {
        **out,
        "saved_bytes": sum(block.bytes for block in replay.saved()) if replay else 0,
        "after_build_bytes": tracer.build_bytes,
        "start_bytes": steady[0]["start_bytes"] if steady else 0,
        "peak_memory_bytes": highest["peak_bytes"] if highest else tracer.peaks.peak(figures, "allocated"),
        "reserved_memory_bytes": max((row["peak_reserved_bytes"] for row in steady), default=tracer.peaks.peak(figures, "reserved")),
        "allocator_retries": figures["num_alloc_retries"],
        **managed(),
        "peak_stage": highest["phase"] if highest else None,
    }


def managed():
    """What the program has had of memory that host and device share, in a member of the summary; nothing where it had none."""
    most = getattr(ctypes.CDLL(None), "memscope_null_managed_bytes", None)
    if not most:
        return {}
    most.restype = ctypes.c_uint64
    return {"managed_memory_bytes": most()} if most() else {}


def notes(source, steady, replay, entries):
    from . import capture
    out = list(source.answers.notes) if source.answers else []
    if source.answers and source.answers.bounds:
        out.append("sizes that depend on values: upper bound (see answers)")
    if steady and not replay:
        out.append("memory by module is not reported: the step was cut off, has too many allocations, or the allocator keeps no list of them")
    if os.environ.get("MEMSCOPE_CAPTURE_TRACE") == "1" and not entries:
        out.append("no trace was written: the list of all allocations and frees is not complete")
    if capture.is_null():
        out.append("cuDNN is not available: attention and convolutions use PyTorch's own kernels, whose workspaces differ from cuDNN's")
        if world.size():
            out.append(f"rank {world.rank()} of {world.size()} was run, the others are assumed to do the same; NCCL's own buffers are not in these figures")
        out.append("values on the device are not real; where a size or a choice depends on one, the figures may be wrong (see reads)")
    return out
