# SPDX-License-Identifier: GPL-3.0-or-later
"""The allocator's figures while an inference engine starts, in the processes that allocate."""

import functools

import torch

from . import phases


class Phases:
    """The allocator's figures while the engine starts. Engines reset the peaks themselves: `fold` comes before."""

    def __init__(self):
        self.rows, self.name, self.most = [], None, {}

    def fold(self):
        figures = phases.stats()
        for size in phases.STATS:
            self.most[size] = max(self.most.get(size, 0), phases.peak(figures, size))

    def begin(self, name):
        """One that has ended last goes on."""
        torch.cuda.init()
        last = self.rows.pop() if self.rows and self.rows[-1]["phase"] == name else None
        most = ("peak_bytes", "peak_requested_bytes", "peak_reserved_bytes")
        self.name, self.most = name, dict(zip(phases.STATS, (last[key] for key in most))) if last else {}
        torch._C._cuda_resetPeakMemoryStats(torch.cuda.current_device())
        self.start = last["start_bytes"] if last else phases.current(phases.stats(), "allocated")

    def end(self):
        self.fold()
        self.rows.append(phases.row(self.name, self.start, self.most.__getitem__, phases.stats()))

    def row(self, name):
        return next((row for row in reversed(self.rows) if row["phase"] == name), None)


def follow_allocator(capture):
    """Phases, in place of the steps that `capture` follows."""
    if capture.tracer:
        capture.tracer.remove()
    followed = Phases()
    for module in (
        torch.cuda,
        torch.cuda.memory,
        getattr(torch, "accelerator", None),
        getattr(getattr(torch, "accelerator", None), "memory", None),
    ):
        reset = getattr(module, "reset_peak_memory_stats", None)
        if reset:
            module.reset_peak_memory_stats = _after(followed.fold, reset)
    return followed


def _after(first, function):
    @functools.wraps(function)
    def run(*args, **kwargs):
        first()
        return function(*args, **kwargs)

    return run


def sizes(model):
    """Elements and bytes of each parameter, and bytes of each buffer."""
    return (
        [(p.numel(), p.numel() * p.element_size()) for p in model.parameters()],
        [b.numel() * b.element_size() for b in model.buffers()],
    )


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
