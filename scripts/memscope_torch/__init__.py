# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of training steps as PyTorch's own allocator counts it.

`memscope capture` puts this into a program as Python starts. For a loop of one's own:

    with memscope_torch.trace(model, optimizer) as t:
        for batch in batches:
            model(batch).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            if t.done:
                break
    print(t)
    t.save("memory")
"""


def trace(model, optimizer=None, steps=3):
    """Follows steps on a GPU, or under `memscope capture` on one that is not there: see library.Trace."""
    import torch  # before our own modules: memscope capture waits for it  # noqa: F401

    from .library import Trace
    return Trace(model, optimizer, steps)


def module_info(model, step, flops_per_s=None, bytes_per_s=None):
    """PyTorch's ModuleInfo of the model, as `memscope plan --graph` reads it; `step()` runs it forward and backward."""
    import torch  # noqa: F401

    from . import capture, graph
    with capture.paused():
        return graph.module_info(model, step, flops_per_s, bytes_per_s)
