# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators of a step by module: roofline times, what they make, and what it costs to make it again."""
from collections import defaultdict

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from .tensors import storages, tensors_in

SEGMENTS = 8


class Operators(TorchDispatchMode):
    """`borders.stack` says which modules run; in backward, where it is empty, only the whole is counted."""

    def __init__(self, borders, flops_per_s, bytes_per_s):
        super().__init__()
        self.borders, self.flops_per_s, self.bytes_per_s = borders, flops_per_s, bytes_per_s
        self.forward_ms, self.made = defaultdict(float), defaultdict(list)  # bytes and ms of each operator

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        stack = self.borders.stack
        if stack:
            given = storages(tensors_in((args, kwargs or {})))
            made = sum(size for address, size in storages(tensors_in(result)).items() if address not in given)
            ms = self._ms(function, args, kwargs or {}, result)
            for visit in stack:
                self.forward_ms[visit.fqn] += ms
                self.made[visit.fqn].append((made, ms))
        return result

    def _ms(self, function, args, kwargs, result):
        if function.is_view:
            return 0.0
        packet = function._overloadpacket
        flops = flop_registry[packet](*args, **kwargs, out_val=result) if packet in flop_registry else 0
        moved = sum(t.numel() * t.element_size() for t in tensors_in((args, kwargs, result)) if t.is_cuda)
        return 1e3 * max(flops / self.flops_per_s, moved / self.bytes_per_s)

    def stats(self, fqn, is_leaf):
        """Backward computes the gradients of weights and inputs, each as dear as forward."""
        ms = self.forward_ms[fqn]
        out = {"fw_runtime_per_module": ms, "bw_runtime_per_module": 2 * ms, "is_leaf": is_leaf,
               "sac_runtime": ms, "sac_memory": sum(size for size, _ in self.made[fqn])}
        points = curve(self.made[fqn])
        pieces = [(b, a) for a, b in zip(points, points[1:]) if b[0] > a[0]]
        slopes = [(b[1] - a[1]) / (b[0] - a[0]) for b, a in pieces]
        return {**out, "n_segments": len(slopes), "slopes": slopes, "intercepts": [a[1] - slope * a[0] for (_, a), slope in zip(pieces, slopes)],
                "breakpoints": [x for x, _ in points], "tradeoff_curve": {f"{x:.6f}": y for x, y in points}}


def curve(made):
    """From the share of memory that is discarded to the share of the time that it costs: the cheapest first, joined to a
    few pieces. Lines between its points lie above it, so no plan counts on less time."""
    rows, waiting = [], 0.0
    for size, ms in made:
        waiting += ms
        if size:
            rows.append((size, waiting))  # with what views and changes in place cost before it
            waiting = 0.0
    memory, time = sum(size for size, _ in rows), sum(ms for _, ms in made)
    if not memory or not time:
        return [(0.0, 0.0), (1.0, 1.0)]
    points, used, spent = [(0.0, 0.0)], 0, 0.0
    for size, ms in sorted(rows, key=lambda row: row[1] / row[0]):
        used, spent = used + size, spent + ms
        points.append((used / memory, spent / time))
    points[-1] = (1.0, 1.0)
    step = max(1, -(-(len(points) - 1) // SEGMENTS))
    return [*points[:-1:step], points[-1]]
