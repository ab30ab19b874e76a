# SPDX-License-Identifier: GPL-3.0-or-later
"""What PyTorch compiled, what CUDA graphs hold, and the names of Inductor's kernels."""
import functools
import re
import sys

import torch

_KERNEL = re.compile(r"\b(?:extern_kernels\.(\w+)|(\w+)\.run|torch\.ops\.\w+\.(\w+)(?:\.\w+)?)\(")
_MADE = re.compile(r"\s*(\w+) = ")
_LINES_AHEAD = 40  # between an allocation and the kernel that it is for
_MOST_REASONS = 8


class Graphs:
    """Counts the CUDA graphs of a program."""

    def __init__(self, patch):
        self.count = 0
        kind = torch.cuda.CUDAGraph
        patch(kind, "capture_end", self._counted(kind.capture_end))

    def _counted(self, end):
        @functools.wraps(end)
        def counted(graph, *args, **kwargs):
            self.count += 1
            return end(graph, *args, **kwargs)

        return counted


def report(tracer):
    """None where nothing was compiled and nothing is in a graph."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    stats, inductor, breaks = (counters.get(name) or {} for name in ("stats", "inductor", "graph_break"))
    graphs, pools = stats.get("unique_graphs", 0), _pools(tracer.recording)
    if not (graphs or pools or tracer.graphs.count):
        return None
    return {
        "graphs": graphs,
        "graph_breaks": sum(breaks.values()),
        "break_reasons": sorted({_sentence(reason) for reason in breaks})[:_MOST_REASONS],
        "choices_by_time": inductor.get("pad_mm_bench", 0) + inductor.get("select_algorithm_autotune", 0),
        "cuda_graphs": tracer.graphs.count,
        "private_pools": len({segment["segment_pool_id"] for segment in pools}),
        "private_pool_bytes": sum(segment["total_size"] for segment in pools),
        "private_pool_free_bytes": sum(segment["total_size"] - segment["allocated_size"] for segment in pools),
    }


def _sentence(reason):
    """The first line: others name files, and what to read about it."""
    return str(reason).strip().splitlines()[0][:200] if str(reason).strip() else ""


def _pools(recording):
    """Segments of this device that belong to a graph, or to another pool that the program made."""
    snapshot = recording.snapshot if recording else None
    device = torch.cuda.current_device()
    return [segment for segment in (snapshot or {}).get("segments", ())
            if segment["device"] == device and tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0)]


@functools.lru_cache(maxsize=None)
def _lines(file):
    try:
        with open(file, encoding="utf-8") as source:
            return source.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return []


@functools.lru_cache(maxsize=None)
def kernel_at(file, line):
    """The kernel that is launched at a line of Inductor's code, or that first uses the memory allocated there; None: it
    is not known."""
    ahead = _lines(file)[line - 1:line - 1 + _LINES_AHEAD]
    made = _MADE.match(ahead[0]) if ahead else None
    for text in ahead:
        found = _KERNEL.search(text)
        if found and (text is ahead[0] or not made or re.search(rf"\b{made[1]}\b", text)):
            return next(name for name in found.groups() if name)
    return None
