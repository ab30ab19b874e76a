# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's own list of the allocations and frees of one step."""
import contextlib
import types

import torch

from . import frames
from .collecting import without_collecting

MOST_EVENTS = 1_000_000
_record = torch.cuda.memory._record_memory_history


def is_possible():
    """Only PyTorch's own allocator keeps a list."""
    return hasattr(torch._C, "_cuda_getAllocatorBackend") and torch.cuda.get_allocator_backend() == "native"


class Recording:
    """Begins as it is made. `snapshot` is what PyTorch's memory viewer opens, once `stop` was called."""

    @without_collecting
    def __init__(self, start_event):
        self.start_event, self.snapshot = start_event, None
        self.names = []  # (how many events had been, (category, module) by address)
        _record(enabled=None)
        self.start = {}  # bytes, line and bytes that were asked by address
        for segment in _snapshot()["segments"]:
            if segment["device"] == torch.cuda.current_device():
                address = segment["address"]
                for block in segment["blocks"]:
                    if block["state"] == "active_allocated":
                        self.start[address] = block["size"], frames.top(block.get("frames")), block.get("requested_size", block["size"])
                    address += block["size"]
        _record("all", context="alloc", stacks="python", max_entries=MOST_EVENTS)

    def name(self, event, owners):
        self.names.append((event - self.start_event, owners))

    @without_collecting
    def stop(self):
        if self.snapshot is None:
            self.snapshot = _snapshot()
            _record(enabled=None)

    @property
    def is_whole(self):
        return len(self.snapshot["device_traces"][torch.cuda.current_device()]) < MOST_EVENTS

    def events(self):
        """Allocations and frees, in order."""
        trace = self.snapshot["device_traces"][torch.cuda.current_device()]
        return [entry for entry in trace if entry["action"] in ("alloc", "free_requested")]


class History:
    """Every allocation and free since the device was first used, for a trace; (action, address, bytes, stream) each."""

    def __init__(self):
        self.entries, self.is_whole = [], True
        torch.cuda._lazy_call(self._begin)

    def _begin(self):
        """Called as the device is first used."""
        _record("all", context=None, stacks="python", max_entries=MOST_EVENTS)

    @without_collecting
    def take(self):
        """What came since the last time. A recording that begins clears the list."""
        trace = _snapshot()["device_traces"][torch.cuda.current_device()]
        self.is_whole = self.is_whole and len(trace) < MOST_EVENTS
        self.entries += _short(trace)

    def until(self, recording):
        """All up to the end of a recording; None where some are missing."""
        count = sum(action in ("alloc", "free_requested") for action, *_ in self.entries)
        if not (self.is_whole and recording.is_whole and count == recording.start_event):
            return None
        return self.entries + _short(recording.snapshot["device_traces"][torch.cuda.current_device()])


def _short(trace):
    return [(entry["action"], entry.get("addr", 0), entry["size"], entry["stream"]) for entry in trace]  # "oom" has no address


def _snapshot():
    with _without_compiler():
        return torch.cuda.memory._snapshot()


@contextlib.contextmanager
def _without_compiler():
    """A snapshot asks the compiler for its frames and would import it for that, which takes seconds."""
    is_ours = "_inductor" not in torch.__dict__
    if is_ours:
        torch._inductor = types.SimpleNamespace()
    try:
        yield
    finally:
        if is_ours:
            del torch._inductor
