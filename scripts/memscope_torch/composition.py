# SPDX-License-Identifier: GPL-3.0-or-later
"""What is alive at the peak of a step: PyTorch's own list of allocations is played again, and tensors are named by address."""
import torch

BLOCK_BYTES = 512
MOST_EVENTS = 2_000_000


def storages(tensors):
    """By address: bytes of the device's memory that the tensors are in."""
    found = {}
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor):
            for inner in _inner(tensor):
                if inner.is_cuda and inner.untyped_storage().nbytes():
                    found[inner.untyped_storage().data_ptr()] = inner.untyped_storage().nbytes()
    return found


def _inner(tensor):
    """A tensor that wraps others (sharded, quantised) is those."""
    names = getattr(tensor, "__tensor_flatten__", None)
    if not names:
        return [tensor]
    return [part for name in names()[0] for part in _inner(getattr(tensor, name))]


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


class Composition:
    """Follows one step."""

    def __init__(self):
        device = torch.cuda.current_device()
        self.names = []  # (how many events had been, category by address)
        self.start = {}
        for segment in torch.cuda.memory._snapshot()["segments"]:
            if segment["device"] != device:
                continue
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    self.start[address] = block["size"]
                address += block["size"]
        torch.cuda.memory._record_memory_history(context=None, stacks="all", max_entries=MOST_EVENTS)

    def name(self, event, categories):
        self.names.append((event, categories))

    def events(self):
        trace = torch.cuda.memory._snapshot()["device_traces"][torch.cuda.current_device()]
        torch.cuda.memory._record_memory_history(enabled=None)
        return [(e["action"] == "alloc", e["addr"], e["size"]) for e in trace if e["action"] in ("alloc", "free_requested")]

    def at_peak(self, start_event, forward_ends, peak_bytes):
        """Categories at the peak, their sum the allocator's own figure, and the timeline in bytes after each event."""
        live, blocks, order = dict(self.start), [], self.events()
        by_address = {}
        for address, size in self.start.items():
            by_address[address] = len(blocks)
            blocks.append([size, 0, len(order) + 1, None])  # bytes, born, gone, category
        used = sum(live.values())
        timeline, top, top_at = [used], used, 0
        marks = sorted(((at - start_event, categories) for at, categories in self.names), key=lambda mark: mark[0])
        for index in range(len(order) + 1):
            while marks and marks[0][0] <= index:
                for address, category in marks.pop(0)[1].items():
                    if address in by_address:
                        blocks[by_address[address]][3] = category
            if index == len(order):
                break
            is_new, address, size = order[index]
            if is_new:
                size = -(-size // BLOCK_BYTES) * BLOCK_BYTES
                by_address[address] = len(blocks)
                blocks.append([size, index + 1, len(order) + 1, None])
                used += size
            elif address in by_address:
                block = blocks[by_address.pop(address)]
                block[2] = index + 1
                used -= block[0]
            timeline.append(used)
            if used > top:
                top, top_at = used, index + 1
        ends = [end - start_event for end in forward_ends]
        found = {}
        for size, born, gone, category in blocks:
            if born <= top_at < gone:
                if category is None:
                    kept = any(born <= end < gone for end in ends)
                    category = "input" if born == 0 else "activation" if kept else "temporary"
                row = found.setdefault(category, [0, 0])
                row[0] += 1
                row[1] += size
        if peak_bytes != top:  # ends of blocks that were too small to be split off
            found["rounding"] = [0, peak_bytes - top]
        return found, timeline, top_at
