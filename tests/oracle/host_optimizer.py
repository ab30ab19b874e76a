# SPDX-License-Identifier: GPL-3.0-or-later
"""The optimizer on the host: what `--optimizer-device host` means.

    optimizer = HostOptimizer(model.parameters(), lambda p: torch.optim.AdamW(p, fused=True))
    loss.backward(); optimizer.step(); optimizer.zero_grad()
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

    def __init__(self, params, make):
        self.params = [p for p in params if p.requires_grad]
        self.copies = [torch.nn.Parameter(self.pinned(p)) for p in self.params]
        for parameter, copy in zip(self.params, self.copies):
            copy.grad = self.pinned(parameter)
            copy.data.copy_(parameter)
        self.optimizers = [make([copy]) for copy in self.copies]
        self.outward, self.homeward = torch.cuda.Stream(), torch.cuda.Stream()

    @staticmethod
    def pinned(parameter):
        return torch.empty_like(parameter, device="cpu", pin_memory=True, requires_grad=False)

    @torch.no_grad()
    def step(self):
        arrived = []
        self.outward.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.outward):
            for parameter, copy in zip(self.params, self.copies):
                if parameter.grad is not None:
                    copy.grad.copy_(parameter.grad, non_blocking=True)
                arrived.append(self.outward.record_event())
        for parameter, copy, optimizer, event in zip(self.params, self.copies, self.optimizers, arrived):
            if parameter.grad is None:
                continue
            event.synchronize()
            optimizer.step()
            with torch.cuda.stream(self.homeward):
                parameter.copy_(copy, non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.homeward)

    def zero_grad(self, set_to_none=True):
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
        return sum(t.untyped_storage().nbytes() for t in states + self.copies + [c.grad for c in self.copies])
