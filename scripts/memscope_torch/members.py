# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules hold, without asking them: a module may have an attribute of its own called `buffers`."""


def modules(root):
    """The root and the modules in it by path, each once."""
    found, seen = {}, set()

    def visit(path, module):
        if module is None or id(module) in seen:
            return
        seen.add(id(module))
        found[path] = module
        for name, child in module._modules.items():
            visit(f"{path}.{name}" if path else name, child)

    visit("", root)
    return found


def parameters(module):
    """Its own, without those of modules in it."""
    return [p for p in module._parameters.values() if p is not None]


def buffers(module):
    """The same."""
    return [b for b in module._buffers.values() if b is not None]
