# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps in a `with` block."""
import os

import torch

from . import capture, reads, report, tracer

GIB = 1 << 30
NAMES = {"stem": "runtime_report", "beside": ("memory_snapshot", "runtime_events", "runtime_trace")}


class Trace:
    """`done` once `steps` optimizer steps are over and a further forward pass began, or the block ended. Then `report` is
    what runtime_report.json holds, and `save` writes it with the snapshot and the list of events. Under `memscope capture`
    the block is what is captured, and the program goes on behind it."""

    def __init__(self, model, optimizer, steps):
        self.tracer = tracer.Tracer(steps, self._ended)
        self.model, self.optimizers = model, optimizer if isinstance(optimizer, (list, tuple)) else [optimizer] if optimizer else []
        self.host, self.done, self.source, self.report, self.reads = capture.current(), False, None, None, None

    def __enter__(self):
        if not torch.cuda.is_available():
            raise RuntimeError("memscope_torch.trace: PyTorch finds no CUDA device; `memscope capture -- python ...` gives a program a simulated one")
        if self.host:
            self.host.hand_over()
        self.reads = self.host.reads if self.host else reads.Reads()
        self.tracer.history = self.host.tracer.history if self.host else None
        self.tracer.install()
        self.tracer.watch(self.model)
        for optimizer in self.optimizers:
            self.tracer.optimizers.add(optimizer)
        return self

    def _ended(self):
        self.done = True

    def __exit__(self, kind, value, _trace):
        self.tracer.finish(failed=kind is not None)
        self.tracer.remove()
        self.done = True
        failure = (kind, value) if kind else None
        answers = self.host.answers if self.host else None
        self.source = report.Source(self.tracer, report.outcome(self.tracer, failure), failure, self.reads, answers)
        self.report = report.document(self.source)[0]
        if self.host:
            self.host.take(self.source)

    def save(self, folder):
        """Writes runtime_report.json, memory_snapshot.pickle and runtime_events.txt; with `memscope capture --trace` runtime_trace.jsonl."""
        os.makedirs(folder, exist_ok=True)
        report.write(self.source, folder, **NAMES)

    def __str__(self):
        if not self.report or "summary" not in self.report:
            return "nothing was traced yet"
        summary, peak = self.report["summary"], self.report.get("peak", {})
        place = "".join(", " + word for word in (peak.get("module"), f"{peak['file']}:{peak['line']}" if peak.get("line") else "") if word)
        return (f"peak {summary['peak_memory_bytes'] / GIB:.2f} GiB in {summary['peak_stage'] or 'no step'}, "
                f"{summary['peak_memory_bytes']} bytes{place}; reserved by the allocator {summary['reserved_memory_bytes'] / GIB:.2f} GiB")
