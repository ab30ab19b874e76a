# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls something once a module has been imported."""
import importlib.abc
import importlib.util
import sys


class _Loader(importlib.abc.Loader):
    def __init__(self, loader, run):
        self.loader, self.run = loader, run

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.run(module)


class _Finder(importlib.abc.MetaPathFinder):
    """A library may look for a module long before anything imports it, so that an action waits until the module has run."""

    def __init__(self, actions):
        self.actions, self.searching = dict(actions), set()

    def find_spec(self, name, path=None, target=None):
        if name not in self.actions or name in self.searching:
            return None
        self.searching.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.imported)
        return spec

    def imported(self, module):
        action = self.actions.pop(module.__name__, None)
        if action:
            action(module)


def after_import(actions):
    """`actions`: by module name, what is called with the module."""
    sys.meta_path.insert(0, _Finder(actions))
