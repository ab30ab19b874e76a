# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inference engine's processes found out, put together: one file for each worker and one for the engine's core,
in the folder of the capture. The process that the user started makes the report of them, and ends there."""

import glob
import json
import os
import signal
import sys

from . import report, shown

READY = "0-ready"  # sorts before all other reports
UNFINISHED = "2-used"
NO_GRAPHS = (
    "CUDA graphs are not covered here: with {} the engine starts without them, and what they take is not in its figures"
)
VALUES = "values on the device are not real, and nothing was generated"


def name_nccl(variable):
    """Engines open NCCL by name, where nothing that was loaded before stands in front of it."""
    for path in os.environ.get("LD_PRELOAD", "").split(":"):
        if path.endswith("libmemscope_null.so"):
            os.environ.setdefault(variable, path)


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


def description(name, model, has_dummy_weights, settings):
    """The report's `engine`, of whose package `name` is the name too, but for its cache and workers."""
    return {
        "name": name,
        "version": str(getattr(sys.modules.get(name), "__version__", "?")),
        "model": shown.path(os.path.abspath(model)) if os.path.exists(model) else shown.text(model),
        "dummy_weights": has_dummy_weights,
        "settings": settings,
    }


# ---- the report ----


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
    notes = list(dict.fromkeys(core.get("notes", []) + first["common"]["notes"] + [first["words"]["outside"], VALUES]))
    engine = {
        **first["engine"],
        "cache": core.get("cache"),
        "workers": [{**totals(file["worker"]), "phases": file["phases"]} for file in workers],
    }
    return {
        "schema_version": report.SCHEMA_VERSION,
        "outcome": outcome,
        "message": message,
        "hint": _hint(outcome, first),
        "metadata": first["metadata"],
        "summary": first["summary"],
        "phases": first["phases"],
        "engine": engine,
        **first["common"],
        "notes": notes,
    }


def _hint(outcome, worker):
    lacks_graphs = any("Capture" in row["call"] for row in worker["common"]["not_covered"])
    return NO_GRAPHS.format(worker["words"]["without_graphs"]) if outcome == "failed" and lacks_graphs else None


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


def ready(capture, notes):
    """In the process that the user started: the report is written, and the program is ended."""
    if write(capture, "ready", None, notes):
        capture.written = True
        print(
            "memscope: the engine is ready, and the program is ended here: it would wait for requests", file=sys.stderr
        )
        end(capture)


def end(capture):
    """Ends the program and the processes of its engine, which would go on for ever."""
    core, workers = found(capture.folder)
    for process in {file["pid"] for file in [core, *workers] if file} - {os.getpid()}:
        os.kill(process, signal.SIGKILL)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
