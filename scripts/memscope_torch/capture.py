# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows a program step by step and writes its memory down when enough steps are done, or it ends."""
import atexit
import functools
import importlib
import os
import sys
import weakref

from . import answers, importing

_capture = None


class Stopped(SystemExit):
    """Ends the program once its steps are measured."""


def begin():
    """Called as Python starts, before the program."""
    global _capture
    _capture = Capture(os.environ["MEMSCOPE_CAPTURE_DIR"], int(os.environ.get("MEMSCOPE_CAPTURE_STEPS", "3")))
    importing.after_import({"torch": _capture.install, **answers.actions(_capture.answered)})
    atexit.register(_capture.at_exit)
    os.register_at_fork(after_in_child=_capture.leave)
    hook = sys.excepthook
    sys.excepthook = lambda kind, value, trace: (_capture.failed(kind, value), hook(kind, value, trace))


class Capture:
    def __init__(self, folder, steps):
        self.folder, self.wanted, self.pid = folder, steps, os.getpid()
        self.torch, self.answered, self.failure, self.written = None, [], None, False
        self.roots, self.optimizers, self.counts = weakref.WeakSet(), weakref.WeakSet(), weakref.WeakKeyDictionary()
        self.depth = self.in_backward = self.asked_to_stop = 0
        self.steps, self.phases, self.composition, self.stepped = [], None, None, False

    # ---- what the program does ----

    def install(self, torch):
        from . import phases, reads
        self.torch = torch
        self.reads = reads.Reads([os.path.dirname(torch.__file__), os.path.dirname(os.path.abspath(__file__)), "<"])
        self.peaks = phases.Peaks()
        torch.backends.cuda.enable_cudnn_sdp(False)
        torch.backends.cudnn.enabled = False
        self._wrap_calls(torch)
        optimizer = importlib.import_module("torch.optim.optimizer")
        optimizer.register_optimizer_step_pre_hook(self.before_optimizer)
        optimizer.register_optimizer_step_post_hook(self.after_optimizer)
        torch.autograd.backward = self._around(torch.autograd.backward, "backward")
        optimizer.Optimizer.zero_grad = self._around(optimizer.Optimizer.zero_grad, "zero_grad")
        torch.nn.Module.zero_grad = self._around(torch.nn.Module.zero_grad, "zero_grad")
        # As forward does, clipping lasts until the next phase: the norm that it returns goes before that, or stays.
        clip = self._around(torch.nn.utils.clip_grad_norm_, "clip", lasts=True)
        for module in (torch.nn.utils, importlib.import_module("torch.nn.utils.clip_grad")):
            module.clip_grad_norm_ = clip

    def _wrap_calls(self, torch):
        call = torch.nn.Module.__call__

        def counted(module, *args, **kwargs):
            if self.depth == 0 and not self.in_backward and self.pid:
                self.forward_begins(module)
            self.depth += 1
            try:
                return call(module, *args, **kwargs)
            finally:
                self.depth -= 1

        torch.nn.Module.__call__ = counted

    def _around(self, function, name, lasts=False):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            if self.in_backward or self.phases is None or not self.pid:
                return function(*args, **kwargs)
            self.in_backward += 1
            self.phases.begin(name)
            try:
                return function(*args, **kwargs)
            finally:
                self.in_backward -= 1
                if self.phases and not lasts:
                    self.phases.begin("between")

        return inside

    def forward_begins(self, module):
        self.roots.add(module)
        if self.phases is None:
            self.build_bytes = self._allocated()
            self.step_begins()
        elif self.stepped:
            self.step_ends()
            if len(self.steps) >= self.wanted:
                self.stop()
            self.step_begins()
        self.phases.begin("forward")

    def before_optimizer(self, optimizer, args, kwargs):
        self.optimizers.add(optimizer)
        if self.phases and not self.in_backward:
            self.phases.begin("optimizer")

    def after_optimizer(self, optimizer, args, kwargs):
        self.stepped = True
        if self.phases and not self.in_backward:
            self.phases.begin("between")

    # ---- steps ----

    def _allocated(self):
        from . import phases
        return phases.current(phases.stats(), "allocated")

    def step_begins(self):
        from . import composition, phases
        self.stepped = False
        if len(self.steps) + 1 == self.wanted and self.torch.cuda.is_initialized():
            self.composition = composition.Composition()
        self.start_event = phases.events(phases.stats())
        self.phases = phases.Phases(self.peaks, self.phase_ended)
        if self.composition:
            self.phase_ended("start")

    def step_ends(self):
        self.phases.end()
        self.steps.append(self.phases.rows)

    def phase_ended(self, _name):
        if self.composition:
            from . import phases
            self.composition.name(phases.events(phases.stats()), self.categories())

    def parameters(self):
        found = {id(p): p for root in list(self.roots) for p in root.parameters()}
        found.update({id(p): p for o in list(self.optimizers) for g in o.param_groups for p in g["params"]})
        return list(found.values())

    def buffers(self):
        return [b for root in list(self.roots) for b in root.buffers()]

    def gradients(self):
        return [p.grad for p in self.parameters() if p.grad is not None]

    def states(self):
        from .composition import tensors_in
        return [t for o in list(self.optimizers) for state in list(o.state.values()) for t in tensors_in(state)]

    def categories(self):
        from .composition import storages
        found = {}
        for name, tensors in (("optimizer_state", self.states()), ("gradient", self.gradients()),
                              ("buffer", self.buffers()), ("weight", self.parameters())):
            found.update(dict.fromkeys(storages(tensors), name))
        return found

    # ---- the end ----

    def stop(self):
        """The program ends here; one that goes on anyway is ended at its next forward pass."""
        self.write("stepped")
        self.asked_to_stop += 1
        if self.asked_to_stop > 1:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
        raise Stopped(0)

    def failed(self, kind, value):
        if not issubclass(kind, (SystemExit, KeyboardInterrupt)):
            self.failure = kind, value

    def leave(self):
        """In a process forked from the program: nothing is followed there."""
        self.pid = 0

    def at_exit(self):
        if os.getpid() != self.pid or self.written:
            return
        if self.phases and self.stepped:
            self.step_ends()
        self.write(self.outcome())

    def outcome(self):
        if self.failure:
            is_memory = self.torch and issubclass(self.failure[0], getattr(self.torch, "OutOfMemoryError", ()))
            return "out_of_memory" if is_memory else "failed"
        if len(self.steps) >= self.wanted:
            return "stepped"
        if not self.torch:
            return "no_torch"
        if not self.torch.cuda.is_initialized():
            return "no_device"
        return "few_steps" if self.steps else "no_step"

    def write(self, outcome):
        from . import report
        if not self.written:
            self.written = True
            report.write(self, outcome)
