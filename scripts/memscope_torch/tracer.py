# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows training steps: modules, backward, optimizers; and what PyTorch's allocator does in each."""
import functools
import importlib
import sys
import weakref

import torch

from . import compiled, owners, phases, recording, stepping, world
from .collecting import without_collecting
from .paths import Paths
from .setting import Setting
from .tracing import is_tracing, never_traced

_MISSING = object()


class Tracer:
    """Counts steps from the first forward pass after it was installed. `began()` is called in each, `ended()` when `wanted` are done."""

    def __init__(self, wanted, ended):
        self.wanted, self.ended, self.began = wanted, ended, lambda: None
        self.roots, self.optimizers = weakref.WeakSet(), weakref.WeakSet()
        self.paths = Paths(lambda: phases.events(phases.stats()))
        self.depth = self.inside = self.backwards = 0
        self.is_on = self.stepped = False
        self.steps, self.phases, self.recording, self.recorded = [], None, None, None
        self.setting, self.told = Setting(), None  # of this step, of the one that is told
        self.history = None  # a recording.History, where a trace is wanted
        self.build_bytes, self.counts, self.patches, self.handles = 0, {}, [], []

    # ---- hooks ----

    def install(self):
        self.is_on = True
        self.peaks = phases.Peaks(self._patch)
        self.graphs = compiled.Graphs(self._patch)
        optimizer = importlib.import_module("torch.optim.optimizer")
        self.handles = [optimizer.register_optimizer_step_pre_hook(never_traced(lambda *args: self.before_optimizer(*args))),
                        optimizer.register_optimizer_step_post_hook(never_traced(lambda *args: self.after_optimizer(*args)))]
        self._patch(torch.nn.Module, "__call__", self._calls(torch.nn.Module.__call__))
        self._patch(torch, "compile", self._compiles(torch.compile))
        self._patch(torch.autograd, "backward", self._backward(torch.autograd.backward))
        self._patch(torch.autograd.Variable, "_execution_engine", self._engine())
        for owner in (optimizer.Optimizer, torch.nn.Module):
            self._patch(owner, "zero_grad", self._around(owner.zero_grad, "zero_grad"))
        clip = self._around(torch.nn.utils.clip_grad_norm_, "clip")
        for module in (torch.nn.utils, importlib.import_module("torch.nn.utils.clip_grad")):
            self._patch(module, "clip_grad_norm_", clip)
        for name in stepping.FUNCTIONS:
            if name in sys.modules:
                stepping.follow_in(sys.modules[name], self.follow)

    def _patch(self, owner, name, value):
        self.patches.append((owner, name, owner.__dict__.get(name, _MISSING)))
        setattr(owner, name, value)

    def follow(self, owner, name, phase):
        """A library's own function, which is a phase as a whole."""
        self._patch(owner, name, self._around(getattr(owner, name), phase))

    def remove(self):
        self.is_on = False
        for owner, name, value in reversed(self.patches):
            delattr(owner, name) if value is _MISSING else setattr(owner, name, value)
        for handle in self.handles:
            handle.remove()
        self.patches, self.handles = [], []

    def _calls(self, call):
        @functools.wraps(call)
        def counted(module, *args, **kwargs):
            if is_tracing() or not self.is_on:
                return call(module, *args, **kwargs)
            if self.depth == 0 and not self.inside:
                self.forward_begins(module, args, kwargs)
            if self.phases:
                self.setting.called(module, self.paths, self.phases.name == "backward")
            self.depth += 1
            try:
                return self.paths.run(module, call, args, kwargs)
            finally:
                self.depth -= 1

        return counted

    def _compiles(self, compile_it):
        """What torch.compile makes of a module is one; of a function that calls modules it leaves no call of theirs."""

        @functools.wraps(compile_it)
        def compiles(model=None, *args, **kwargs):
            made = compile_it(model, *args, **kwargs)
            return self._compiled(model, made) if model is not None else lambda function: self._compiled(function, made(function))

        return compiles

    def _compiled(self, function, made):
        owner = getattr(function, "__self__", None)
        if isinstance(made, torch.nn.Module) or isinstance(owner, torch.optim.Optimizer):
            return made

        @functools.wraps(made)
        def run(*args, **kwargs):
            if is_tracing() or not self.may_begin_forward():
                return made(*args, **kwargs)
            self.forward_begins(owner if isinstance(owner, torch.nn.Module) else None, args, kwargs)
            self.depth += 1
            try:
                return made(*args, **kwargs)
            finally:
                self.depth -= 1

        return run

    def _backward(self, backward):
        inside = self._around(backward, "backward")

        @functools.wraps(backward)
        def begin(tensors, *args, **kwargs):
            if self.is_on and self.phases:
                self.paths.mark("", tensors)
                self.setting.backward(tensors, self.backwards > 0)
            self.backwards += 1
            try:
                return inside(tensors, *args, **kwargs)
            finally:
                self.backwards -= 1
                self.paths.labels.again()

        return never_traced(begin)

    def _engine(self):
        """Autograd's. Some programs call it themselves: Megatron does, for outputs that it has freed before."""
        tracer, enter = self, torch._C._ImperativeEngine.run_backward
        followed = self._backward(lambda tensors, engine, *args, **kwargs: enter(engine, tensors, *args, **kwargs))

        class Engine(torch._C._ImperativeEngine):
            def run_backward(self, tensors, *args, **kwargs):
                accumulates = kwargs.get("accumulate_grad", args[5] if len(args) > 5 else False)
                if tracer.inside or not accumulates:  # of torch.autograd.backward, or of torch.autograd.grad
                    return enter(self, tensors, *args, **kwargs)
                return followed(tensors, self, *args, **kwargs)

        return Engine()

    def _around(self, function, name):
        """As forward does, clipping lasts until the next phase: the norm that it returns goes before that, or stays."""
        @functools.wraps(function)
        def inside(*args, **kwargs):
            if is_tracing() or self.inside or self.phases is None or not self.is_on:
                return function(*args, **kwargs)
            self.inside += 1
            self.phases.begin(name)
            try:
                return function(*args, **kwargs)
            finally:
                self.inside -= 1
                if self.phases and name != "clip":
                    self.phases.begin("between")

        return inside

    # ---- steps ----

    def may_begin_forward(self):
        """For functions that may be something else."""
        is_between = self.phases is None or self.stepped or self.phases.name == "between"
        return self.is_on and not self.depth and not self.inside and is_between and torch.is_grad_enabled()

    def forward_begins(self, module, args=(), kwargs=None):
        if module is not None:
            self.watch(module)
        if self.phases is None:
            self.build_bytes = phases.current(phases.stats(), "allocated")
            self.step_begins()
        elif self.stepped:
            self.step_ends()
            if len(self.steps) >= self.wanted:
                self.is_on = False
                self.ended()
                return
            self.step_begins()
        self.phases.begin("forward")
        self.setting.given(module, args, kwargs)

    def watch(self, module):
        self.roots.add(module)
        self.paths.name(module)

    def before_optimizer(self, optimizer, _args, _kwargs):
        self.optimizers.add(optimizer)
        if self.is_on and self.phases and not self.inside:
            self.phases.begin("optimizer")

    def after_optimizer(self, _optimizer, _args, _kwargs):
        world.settle()
        self.stepped = self.is_on
        if self.is_on and self.phases and not self.inside:
            self.phases.begin("between")

    def step_begins(self):
        self.stepped, self.recorded = False, None
        self.setting = Setting()
        if torch.cuda.is_initialized() and recording.is_possible():
            if self.history:
                self.history.take()
            self.recording = recording.Recording(phases.events(phases.stats()))
            self.paths.labels.begin_step()
        self.phases = phases.Phases(self.peaks, self.phase_ended)
        if self.is_last():
            self.look()
        self.began()

    def step_ends(self):
        self.phases.end()
        self.steps.append(self.phases.rows)
        self.recorded, self.told = self.phases.rows, self.setting
        if self.is_last(0) and self.recording:
            self.recording.stop()

    def is_last(self, ahead=1):
        return len(self.steps) + ahead >= self.wanted

    def phase_ended(self, name):
        if name == "optimizer" or self.is_last():
            self.look()

    @without_collecting
    def look(self):
        """What the model and the optimizers hold just now."""
        roots, optimizers = list(self.roots), list(self.optimizers)
        found, self.counts = owners.find(roots, optimizers, self.paths.of_parameters(roots))
        if self.recording:
            self.recording.name(phases.events(phases.stats()), found)

    def finish(self, failed=False):
        """No more is followed. A step that was cut off counts when the program failed in it."""
        if self.phases and self.recording and not self.recording.snapshot:
            if self.stepped:
                self.step_ends()
            elif failed:
                self.phases.end()
                self.look()
                self.recorded, self.told = self.phases.rows, self.setting
            self.recording.stop()
        self.is_on = False

    def steady(self):
        """Phases of the step that is told."""
        if self.recorded:
            return self.recorded
        return self.steps[-1] if self.steps else self.phases.rows if self.phases else []
