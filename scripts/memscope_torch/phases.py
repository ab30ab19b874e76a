# SPDX-License-Identifier: GPL-3.0-or-later
"""Phases of a step and the allocator's figures in each; and the program's own peaks, which stay what they would be."""
import torch
from torch.cuda import memory

STATS = {"allocated": "allocated_bytes", "requested": "requested_bytes", "reserved": "reserved_bytes"}


def stats():
    if not torch.cuda.is_initialized():
        return None
    return torch._C._cuda_memoryStats(torch.cuda.current_device())


def current(figures, name):
    return figures[STATS[name]]["all"]["current"] if figures else 0


def peak(figures, name):
    return figures[STATS[name]]["all"]["peak"] if figures else 0


def events(figures):
    """Allocations and frees so far."""
    return figures["allocation"]["all"]["allocated"] + figures["allocation"]["all"]["freed"] if figures else 0


def row(name, start_bytes, highest, figures, micro_step=0):
    """Of a phase that ends with these figures; `highest(size)`: the peak in it."""
    out = {"phase": name, "micro_step": micro_step, "repeats": 1, "start_bytes": start_bytes,
           "peak_bytes": highest("allocated"), "end_bytes": current(figures, "allocated")}
    for size in ("requested", "reserved"):
        out[f"peak_{size}_bytes"], out[f"end_{size}_bytes"] = highest(size), current(figures, size)
    return out


def levels(figures, path=()):
    """Each current level and peak, by its names: most are of pools, a few of none, those of private pools of both (torch 2.15)."""
    if not isinstance(figures, dict):
        return
    if "peak" in figures:
        yield path, figures
        return
    for name, value in figures.items():
        yield from levels(value, (*path, name))


class Peaks:
    """Resets the allocator's peaks at every phase; what the program asks for is put together again."""

    def __init__(self, patch):
        self.of_program, self.before_reset = {}, {}
        self.nested, self.reset = memory.memory_stats_as_nested_dict, memory.reset_peak_memory_stats
        for module in (memory, torch.cuda):
            patch(module, "memory_stats_as_nested_dict", self.stats_for_program)
            patch(module, "reset_peak_memory_stats", self.reset_by_program)

    def fold(self, into):
        for path, level in levels(stats()):
            into[path] = max(into.get(path, 0), level["peak"])

    def begin(self):
        if torch.cuda.is_initialized():
            self.fold(self.of_program)
            torch._C._cuda_resetPeakMemoryStats(torch.cuda.current_device())
        self.before_reset = {}

    def peak(self, figures, name):
        return max(peak(figures, name), self.before_reset.get((STATS[name], "all"), 0))

    def stats_for_program(self, device=None):
        figures = self.nested(device)
        for path, level in levels(figures):
            level["peak"] = max(level["peak"], self.of_program.get(path, 0))
        return figures

    def reset_by_program(self, device=None):
        self.fold(self.before_reset)
        self.of_program = {}
        return self.reset(device)


class Phases:
    """The phases of one step, one after the other; `ended(name)` is called when one has ended."""

    def __init__(self, peaks, ended):
        self.peaks, self.ended = peaks, ended
        self.rows, self.name, self.micro_step = [], None, 0
        self.begin("between")

    def begin(self, name):
        if name == self.name:
            return
        self.end()
        if name == "forward" and any(row["phase"] == "backward" for row in self.rows):
            self.micro_step += 1
        self.name, figures = name, stats()
        self.start_bytes, self.start_event = current(figures, "allocated"), events(figures)
        self.peaks.begin()

    def end(self):
        if not self.name:
            return
        figures = stats()
        found = row(self.name, self.start_bytes, lambda size: self.peaks.peak(figures, size), figures, self.micro_step)
        if self.name != "between" or found["peak_bytes"] > found["start_bytes"]:
            found["_events"] = self.start_event, events(figures)
            self.rows.append(found)
        self.ended(self.name)
        self.name = None
