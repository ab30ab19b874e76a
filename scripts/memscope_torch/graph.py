# SPDX-License-Identifier: GPL-3.0-or-later
"""What each module of a model keeps, needs and takes: PyTorch's ModuleInfo, which `memscope plan --graph` reads.

Memory is the allocator's own, in one run of the step; times are roofline times of the operators, counted in another.
"""
import os

import torch

from . import owners, phases, recording
from .operators import Operators
from .paths import Paths
from .replay import Replay
from .tensors import storages, tensors_in


class _Visit:
    """A module's first call: numbers of events, and what it was given and gave back."""

    def __init__(self, fqn, module, depth):
        self.fqn, self.module, self.depth, self.is_leaf = fqn, module, depth, True
        self.entered = self.left = 0
        self.backward_entered = self.backward_left = None
        self.inputs, self.outputs = {}, {}


class _Borders:
    """Where modules begin and end in forward and backward. One that is called before, or not from within the module
    that its name says, is part of what calls it: the names have to make a tree."""

    def __init__(self, model, count_events):
        self.count, self.root = count_events, type(model).__name__
        self.names = {module: self.root + ("." + name if name else "") for name, module in model.named_modules()}
        self.visits, self.left, self.stack = {}, [], []
        self.call = torch.nn.Module.__call__

    def __enter__(self):
        borders, call = self, self.call

        def counted(module, *args, **kwargs):
            visit = borders.enter(module, (args, kwargs))
            try:
                result = call(module, *args, **kwargs)
                if visit:
                    borders.leave(visit, result)
                return result
            finally:
                if visit:
                    borders.stack.pop()

        torch.nn.Module.__call__ = counted
        return self

    def __exit__(self, *_):
        torch.nn.Module.__call__ = self.call

    def _is_in_place(self, fqn):
        if not self.stack:
            return fqn == self.root and not self.visits
        parts = fqn.split(".")
        known = (".".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
        return next((name for name in known if name in self.visits), None) == self.stack[-1].fqn

    def enter(self, module, given):
        fqn = self.names.get(module)
        if fqn is None or fqn in self.visits or not self._is_in_place(fqn):
            return None
        visit = self.visits[fqn] = _Visit(fqn, module, len(self.stack))
        if self.stack:
            self.stack[-1].is_leaf = False
        visit.inputs, visit.entered = storages(tensors_in(given)), self.count()
        self._hook(given, lambda at: setattr(visit, "backward_left", at))
        self.stack.append(visit)
        return visit

    def leave(self, visit, result):
        visit.outputs, visit.left = storages(tensors_in(result)), self.count()
        self.left.append(visit.fqn)

        def enter(at):
            visit.backward_entered = at if visit.backward_entered is None else min(at, visit.backward_entered)

        self._hook(result, enter)

    def _hook(self, value, reached):
        for tensor in tensors_in(value):
            if tensor.grad_fn is not None:
                tensor.grad_fn.register_prehook(lambda *_: reached(self.count()))


def _events():
    return phases.events(phases.stats())


def _run(model, step, gradients):
    """One step, recorded: its visits and the step played again; `gradients` gets bytes by event."""
    start = _events()
    record = recording.Recording(start)
    paths = Paths(_events)
    paths.name(model)
    record.name(start, owners.find([model], [], paths.of_parameters([model]))[0])

    def landed(parameter):
        so_far = gradients[-1][1] if gradients else 0
        gradients.append((_events() - start, so_far + sum(storages([parameter.grad]).values())))

    hooks = [p.register_post_accumulate_grad_hook(landed) for p in model.parameters() if p.requires_grad]
    try:
        with _Borders(model, lambda: _events() - start) as borders:
            step()
        end = _events() - start
        record.name(_events(), owners.find([model], [], paths.of_parameters([model]))[0])
    finally:
        record.stop()
        for hook in hooks:
            hook.remove()
    forward = 0, max((visit.left for visit in borders.visits.values()), default=0)
    return borders, Replay(record, [forward], paths.labels.changes), end


def _at(levels, event):
    """The last of (event, bytes) that is not behind the event."""
    return next((size for at, size in reversed(levels) if at <= event), 0)


def _memory(visit, replay, base, gradients, end):
    """The fields of one module that are bytes."""
    parameters = list(visit.module.parameters())
    held = sum(storages(parameters).values())
    outputs = sum(size for address, size in visit.outputs.items() if address not in visit.inputs)
    total = replay.timeline[visit.left] - base
    begin, last = visit.backward_entered, visit.backward_left
    if visit.depth == 0:
        begin, last = visit.left, end
    elif begin is None:  # nothing in it has a gradient
        begin = last = visit.left
    elif last is None or last < begin:
        last = end
    top = max(range(begin, last + 1), key=replay.timeline.__getitem__)
    landed = _at(gradients, begin)
    return {
        "param_per_module": held,
        "grad_per_module": sum(storages([p for p in parameters if p.requires_grad]).values()),
        "grad_total": landed,
        "act_fw_per_module": max(0, replay.timeline[visit.left] - replay.timeline[visit.entered] - outputs),
        "act_bw_per_module": sum(block.bytes for block in replay.alive(top) if block.category == "activation"),
        "act_grad_per_module": max(0, replay.timeline[top] - base - landed - total),
        "act_total": total,
        "input_per_module": sum(visit.inputs.values()),
        "output_per_module": sum(visit.outputs.values()),
    }


def rates(flops_per_s, bytes_per_s):
    """As told, else of the device that `memscope capture` stands in for."""
    told = [float(word) for word in os.environ.get("MEMSCOPE_CAPTURE_RATES", "0 0").split()]
    flops_per_s, bytes_per_s = flops_per_s or told[0], bytes_per_s or told[1]
    if not (flops_per_s > 0 and bytes_per_s > 0):
        raise ValueError("memscope_torch.module_info: flops_per_s and bytes_per_s of the device are not known; `memscope devices` lists them")
    return flops_per_s, bytes_per_s


def module_info(model, step, flops_per_s=None, bytes_per_s=None):
    """`step()` runs the model forward and backward, as often as it is called. Parameters' gradients are gone afterwards."""
    flops_per_s, bytes_per_s = rates(flops_per_s, bytes_per_s)
    if not storages(model.parameters()):
        raise ValueError("memscope_torch.module_info: the model is not on a CUDA device; `memscope capture -- python ...` gives a program a simulated one")
    step()  # what libraries allocate once is there
    model.zero_grad(set_to_none=True)
    gradients = []
    borders, replay, end = _run(model, step, gradients)
    model.zero_grad(set_to_none=True)
    with _Borders(model, lambda: 0) as counted, Operators(counted, flops_per_s, bytes_per_s) as operators:
        step()
    model.zero_grad(set_to_none=True)
    base = replay.timeline[0]
    visits = borders.visits
    backward = sorted(visits.values(), key=lambda visit: (end if visit.backward_entered is None else visit.backward_entered, visit.depth))
    closed = sorted(visits.values(), key=lambda visit: (end if visit.backward_left is None else visit.backward_left, -visit.depth))
    order = {"fw_pre_order": list(visits), "bw_pre_order": [visit.fqn for visit in backward],
             "fw_post_order": borders.left, "bw_post_order": [visit.fqn for visit in closed]}
    stats = [{"fqn": fqn, **_memory(visit, replay, base, gradients, end), **operators.stats(fqn, visit.is_leaf)} for fqn, visit in visits.items()]
    return {"mod_order": order, "mod_stats": stats}
