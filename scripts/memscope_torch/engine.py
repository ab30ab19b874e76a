# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inference engine's processes found out, put together: one file for each worker and one for the engine's core,
in the folder of the capture. The process that the user started makes the report of them, and ends there."""

import glob
import json
import os
import signal
import sys

from . import phases, report, shown

READY = "0-ready"  # sorts before all other reports
UNFINISHED = "2-used"
NOT_TORCH = (
    "memory outside PyTorch is what the engine saw here: a GPU adds what the driver loads for kernels (0.02 to 0.3 GiB "
    "seen) and NCCL's buffers (about 2 GiB seen with 2 or 4 ranks), and so much less is left for the cache"
)
NO_GRAPHS = (
    "CUDA graphs are not covered here: with -cc.cudagraph_mode=NONE or --enforce-eager the engine starts without them, "
    "and what they take is not in its figures"
)
VALUES = "values on the device are not real, and nothing was generated"


class Phases:
    """The allocator's figures while the engine starts. Engines reset the peaks themselves: `fold` comes before."""

    def __init__(self):
        self.rows, self.name, self.most = [], None, {}

    def fold(self):
        figures = phases.stats()
        for size in phases.STATS:
            self.most[size] = max(self.most.get(size, 0), phases.peak(figures, size))

    def begin(self, name):
        import torch

        torch.cuda.init()
        torch._C._cuda_resetPeakMemoryStats(torch.cuda.current_device())
        self.name, self.most = name, {}
        self.start = phases.current(phases.stats(), "allocated")

    def end(self):
        self.fold()
        self.rows.append(phases.row(self.name, self.start, self.most.__getitem__, phases.stats()))

    def row(self, name):
        return next((row for row in reversed(self.rows) if row["phase"] == name), None)


# ---- what processes leave for each other ----


def put(folder, name, what):
    report.put(os.path.join(folder, name + ".engine"), {**what, "pid": os.getpid()})


def found(folder):
    """The core's file, or {}, and those of workers in the order of their ranks."""
    files = []
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.engine"))):
        with open(path) as file:
            files.append((os.path.basename(path), json.load(file)))
    workers = [file for name, file in files if name.startswith("worker")]
    core = next((file for name, file in files if name.startswith("core")), {})
    return core, sorted(workers, key=lambda file: file["worker"]["rank"])


def failure(error, is_too_large):
    return {
        "outcome": "out_of_memory" if is_too_large else "failed",
        "message": report.message((type(error), error)),
        "kind": type(error).__name__,
    }


def common(capture):
    """Members of a report that do not depend on what was measured."""
    return {**report.seen(capture.reads, capture.answers), "notes": list(capture.answers.notes)}


# ---- the report ----


def summary(worker, rows, parameters, buffers):
    highest = max(rows, key=lambda row: row["peak_bytes"])
    weights, rest = sum(size for _, size in parameters), sum(buffers)
    return {
        "param_count": sum(count for count, _ in parameters),
        "trainable_param_count": 0,
        "weight_memory_bytes": weights,
        "buffer_memory_bytes": rest,
        "grad_memory_bytes": 0,
        "optimizer_memory_bytes": 0,
        "activation_memory_bytes": worker.get("activation_bytes", 0),
        "temporary_memory_bytes": 0,
        "persistent_memory_bytes": weights + rest,
        "after_build_bytes": rows[0]["end_bytes"],
        "start_bytes": rows[0]["start_bytes"],
        "peak_memory_bytes": highest["peak_bytes"],
        "reserved_memory_bytes": max(row["peak_reserved_bytes"] for row in rows),
        "allocator_retries": phases.stats()["num_alloc_retries"],
        "peak_stage": highest["phase"],
    }


def totals(worker):
    """What serving takes: a request can need what the profile run did, with the cache there."""
    parts = ("weights_bytes", "buffers_bytes", "activation_bytes", "non_torch_bytes", "graphs_bytes", "cache_bytes")
    if all(part in worker for part in parts):
        worker["serving_bytes"] = sum(worker[part] for part in parts)
        worker["beyond_budget_bytes"] = max(0, worker["serving_bytes"] - worker["requested_bytes"])
    return worker


def document(folder, outcome, message, command=None):
    """The report, or None where no worker has come far enough."""
    core, workers = found(folder)
    workers = [file for file in workers if file["phases"]]
    if not workers:
        return None
    first = workers[0]
    if command:
        first["metadata"]["command"] = command
    notes = list(dict.fromkeys(core.get("notes", []) + first["common"]["notes"] + [NOT_TORCH, VALUES]))
    engine = {
        **first["engine"],
        "cache": core.get("cache"),
        "workers": [{**totals(file["worker"]), "phases": file["phases"]} for file in workers],
    }
    return {
        "schema_version": report.SCHEMA_VERSION,
        "outcome": outcome,
        "message": message,
        "hint": _hint(outcome, first["common"]["not_covered"]),
        "metadata": first["metadata"],
        "summary": first["summary"],
        "phases": first["phases"],
        "engine": engine,
        **first["common"],
        "notes": notes,
    }


def _hint(outcome, calls):
    return NO_GRAPHS if outcome == "failed" and any("Capture" in row["call"] for row in calls) else None


def write(capture, outcome, message, notes=()):
    """The whole report; False where there is nothing to tell."""
    out = document(
        capture.folder, outcome, message, shown.command(getattr(sys, "orig_argv", [sys.executable, *sys.argv]))
    )
    if out:
        out["notes"] = list(dict.fromkeys([*notes, *out["notes"]]))
        stem = READY if outcome == "ready" else f"{report.OUTCOMES.index(outcome)}-{outcome}"
        report.put(os.path.join(capture.folder, f"{stem}-00000-{os.getpid()}.json"), out)
    return out is not None


def write_rest(capture):
    """What is known so far, should the program be cut off."""
    out = document(capture.folder, None, None)
    if out:
        rest = dict(list(out.items())[report.HEAD :])
        report.put(os.path.join(capture.folder, UNFINISHED + "-00000-engine.rest"), rest, "{\n")


def write_failure(capture):
    """What made an engine fail is known in the process where it did. False where that left no figures: then the cause
    takes the place of the failure that came of it."""
    core, workers = found(capture.folder)
    causes = [file["failure"] for file in [*workers, core] if file.get("failure")]
    if not causes:
        return False
    cause = next((cause for cause in causes if cause["outcome"] == "out_of_memory"), causes[0])
    if write(capture, cause["outcome"], cause["message"]):
        return True
    kind = type(cause["kind"], (Exception,), {})
    capture.failure = kind, kind(cause["message"][len(cause["kind"]) + 2 :])
    return False


def end(capture):
    """Ends the program and the processes of its engine, which would go on for ever."""
    core, workers = found(capture.folder)
    for file in [core, *workers]:
        if file and file["pid"] != os.getpid():
            os.kill(file["pid"], signal.SIGKILL)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
