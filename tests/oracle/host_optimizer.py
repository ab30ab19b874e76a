# SPDX-License-Identifier: GPL-3.0-or-later
"""The optimizer on the host: what `--optimizer-device host` means.

    optimizer = HostOptimizer(model.parameters(), lambda p: torch.optim.AdamW(p, fused=True))
    loss.backward(); optimizer.step(); optimizer.zero_grad()

Parameters that are on the host themselves (host_parameters.py) have their copies and gradients there already.
"""
import torch


class HostOptimizer:
    """Gradients go to the host, its processor updates copies of the parameters, and these come back.

    The copies and the gradients beside them, in the parameters' dtype, lie in pinned memory; the states, which never move, in
    ordinary memory. Each parameter has an optimizer of its own, so that the update of one runs beside the copies of others:

    step        all gradients set out on one stream, in the order of the parameters; then, for each parameter, the host waits
                for its gradient, updates the copy, and sends it back on the other stream
    end of step the compute stream waits for the parameters

    Nothing is allocated on the device. The gradients there live until zero_grad(), as ever.
    """

    def __init__(self, params, make, at_home=None):
        self.params = [p for p in params if p.requires_grad]
        self.at_home = at_home  # HostParameters
        self.backend = getattr(torch, self.params[0].device.type)
        self.copies = [at_home.host[p] if self.is_home(p) else self.copy_of(p) for p in self.params]
        self.optimizers = [make([copy]) for copy in self.copies]
        self.outward, self.homeward = self.backend.Stream(), self.backend.Stream()

    def is_home(self, parameter):
        return self.at_home is not None and parameter in self.at_home.host

    def copy_of(self, parameter):
        pin = parameter.device.type != "cpu"
        copy, grad = (torch.empty_like(parameter, device="cpu", pin_memory=pin, requires_grad=False) for _ in range(2))
        copy.copy_(parameter.data)
        copy = torch.nn.Parameter(copy)
        copy.grad = grad
        return copy

    def with_gradients(self):
        """What to clip: each parameter, or where its gradient is on the host, its copy."""
        return [copy if self.is_home(p) else p for p, copy in zip(self.params, self.copies)]

    @torch.no_grad()
    def step(self):
        arrived = []
        self.outward.wait_stream(self.backend.current_stream())
        with self.backend.stream(self.outward):
            for parameter, copy in zip(self.params, self.copies):
                if parameter.grad is not None:
                    copy.grad.copy_(parameter.grad, non_blocking=True)
                arrived.append(self.backend.Event())
                arrived[-1].record(self.outward)
        for parameter, copy, optimizer, event in zip(self.params, self.copies, self.optimizers, arrived):
            if self.is_home(parameter):
                optimizer.step()
            elif parameter.grad is not None:
                event.synchronize()
                optimizer.step()
                with self.backend.stream(self.homeward):
                    parameter.copy_(copy, non_blocking=True)
        self.backend.current_stream().wait_stream(self.homeward)

    def zero_grad(self, set_to_none=True):
        if self.at_home is not None:
            self.at_home.micro_step = 0  # the next gradients overwrite
        for parameter in self.params:
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad.zero_()

    @property
    def state(self):
        return {p: s for optimizer in self.optimizers for p, s in optimizer.state.items()}

    def host_bytes(self):
        """Of the copies, the gradients and the states; what pinned buffers are rounded up to is not in it."""
        states = [v for s in self.state.values() for v in s.values() if torch.is_tensor(v)]
        kept = sum(t.untyped_storage().nbytes() for t in states + self.copies + [c.grad for c in self.copies])
        return kept + (self.at_home.host_bytes() if self.at_home is not None else 0)
