# SPDX-License-Identifier: GPL-3.0-or-later
"""FlashInfer compiles its modules when they are first used, which takes nvcc and minutes. Kernels do not run on the null
device, so modules that do nothing but launch them, into results that FlashInfer's own Python has allocated, are not
compiled; those that are compiled already are used."""
import functools
import os

_LAUNCHING = ("sampling", "rope")


class _Module:
    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def actions(notes):
    """For after_import; `notes` gets a sentence for each module."""
    return {"flashinfer.jit.core": lambda module: _install(module.JitSpec, notes)}


def _install(kind, notes):
    load = kind.build_and_load

    @functools.wraps(load)
    def build_and_load(self, *args, **kwargs):
        if self.name not in _LAUNCHING or self.is_aot or os.path.exists(self.jit_library_path):
            return load(self, *args, **kwargs)
        notes.append(f"FlashInfer's module {self.name} was not compiled: its kernels do not run here")
        return _Module()

    kind.build_and_load = build_and_load
