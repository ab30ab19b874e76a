# SPDX-License-Identifier: GPL-3.0-or-later
"""Which module runs. Its path labels what the allocator records: in forward as modules are called, in backward as
autograd comes to the nodes that stand where modules begin and end."""
import threading
import weakref

import torch

from . import members, recording
from .tensors import tensors_in

# Names that wrappers put between a module and its parent.
WRAPPERS = {"_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod"}
_KEY = "memscope"


class Labels:
    """What is allocated by a thread has the thread's label. PyTorch before 2.9 has none: there the label is kept by
    the number of allocations and frees so far."""

    def __init__(self, count_events):
        self.put = self.get = None
        if recording.is_possible():
            self.put, self.get = getattr(torch._C, "_cuda_setMemoryMetadata", None), getattr(torch._C, "_cuda_getMemoryMetadata", None)
        self.changes, self.thread, self.count_events = None, threading.local(), count_events
        if not self.put:
            self.changes, self.put, self.get = [], self._put, lambda: getattr(self.thread, "label", "")

    def _put(self, label):
        self.thread.label = label
        self.changes.append((self.count_events(), label))

    def again(self):
        """Other threads have run meanwhile."""
        if self.changes is not None:
            self.put(self.get())

    def begin_step(self):
        if self.changes is not None:
            self.changes = [(0, self.get())]


class Paths:
    def __init__(self, count_events):
        self.labels = Labels(count_events)
        self.names, self.classes, self.main, self.taken = weakref.WeakKeyDictionary(), {}, None, set()
        self.hooks = {}

    # ---- names ----

    def name(self, root):
        """Names a module that is called from outside of any, and those in it. The first has no prefix, nor has one
        that holds it."""
        if root in self.names:
            return
        prefix, modules = "", members.modules(root)
        main = self.main() if self.main else None
        if main is None or any(module is main for module in modules.values()):
            self.main = weakref.ref(root)
        else:
            prefix, number = type(root).__name__, 2
            while prefix in self.taken:
                prefix, number = f"{type(root).__name__}#{number}", number + 1
            self.taken.add(prefix)
        distributed = type(root).__name__ == "DistributedDataParallel"
        for name, module in modules.items():
            parts = [part for part in name.split(".") if part and part not in WRAPPERS]
            path = ".".join(([prefix] if prefix else []) + (parts[1:] if distributed else parts))
            self.names[module] = path
            self.classes[path] = type(module).__name__

    def path_of(self, module):
        path = self.names.get(module)
        if path is None:  # made since its root was first called
            path = self.names[module] = self.labels.get()
        return path

    def of_parameters(self, roots):
        """By identity of a parameter or buffer: the path of the module that holds it."""
        found = {}
        for root in roots:
            for module in members.modules(root).values():
                path = self.names.get(module, "")
                for tensor in (*module._parameters.values(), *module._buffers.values()):
                    if tensor is not None:
                        found.setdefault(id(tensor), path)
        return found

    # ---- labels ----

    def run(self, module, call, args, kwargs):
        """Calls a module under its label."""
        if not torch.cuda.is_initialized():
            return call(module, *args, **kwargs)
        path, before = self.path_of(module), self.labels.get()
        self.mark(before, (args, kwargs))
        self.labels.put(path)
        try:
            result = call(module, *args, **kwargs)
            self.mark(path, result)
            return result
        finally:
            self.labels.put(before)

    def mark(self, path, value):
        """From the nodes on that made the tensors, backward runs under this label."""
        for tensor in tensors_in(value):
            node = tensor.grad_fn if tensor.requires_grad else None
            if node is not None and _KEY not in node.metadata:
                node.metadata[_KEY] = path
                node.register_prehook(self._hook(path))

    def _hook(self, path):
        """One for each path: a step makes few objects."""
        if path not in self.hooks:
            put = self.labels.put

            def enter(*_gradients):
                put(path)

            self.hooks[path] = enter
        return self.hooks[path]
