# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls something once a module has been imported."""
import importlib.abc
import importlib.util
import sys


class _Loader(importlib.abc.Loader):
    def __init__(self, loader, action):
        self.loader, self.action = loader, action

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.action(module)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, actions):
        self.actions = dict(actions)

    def find_spec(self, name, path=None, target=None):
        action = self.actions.pop(name, None)
        if action is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, action)
        return spec


def after_import(actions):
    """`actions`: by module name, what is called with the module."""
    sys.meta_path.insert(0, _Finder(actions))
