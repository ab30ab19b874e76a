# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters of the layers on the host: what `--parameter-device host` means.

    model = ...  # on the host
    parameters = HostParameters(model, "cuda")
    optimizer = HostOptimizer(model.parameters(), lambda p: torch.optim.AdamW(p, fused=True), parameters)
    loss.backward(); optimizer.step(); optimizer.zero_grad()
"""
from functools import partial

import torch


def in_backward():
    """True in a recomputation: its parameters are there already, and will be needed."""
    return torch._C._current_graph_task_id() != -1


class Layer:
    """One layer's parameters: their copies on the host, which are the real ones, and what is on the device for a while."""

    def __init__(self, module, copies):
        self.parameters = list(module.parameters())
        self.copies = copies  # with gradients that the host keeps
        self.is_here = False
        self.arrived = None  # event: they have come to the device
        self.leaving = []  # gradients on their way to the host
        self.left = None  # event: they are there

    def bytes(self):
        return sum(c.numel() * c.element_size() for c in self.copies)


class HostParameters:
    """Each layer is a unit; embeddings, the final norm and the head, which hold the pass together, move to the device and stay.

    A parameter keeps its storage object, which has no memory while the layer does not run: what autograd saved of a weight
    is a view of that storage, and finds its bytes there again in backward. All device memory is allocated on the compute
    stream and goes back to it; copies run on two streams, one each way.

    before forward            the first layer is fetched, beside the embedding
    forward of layer i        waits for its parameters; those of layer i+1 are fetched; then they leave. The last layer's stay,
                              as backward begins with it
    backward reaches layer i  (the gradient of its output is ready, none of its nodes has run)
                              gradients of layer i+2 have left: the compute stream waits for their copies, and they are dropped;
                              layer i+1 leaves, its gradients set out; layer i waits for its parameters; layer i-1 is fetched
    end of backward           the host waits for the gradients of layer 0

    The first micro-step's gradients are copied to where the optimizer finds them; later ones to a buffer of one layer, from
    where the host's processor adds them before the next layer's set out.
    """

    def __init__(self, model, device):
        self.device = torch.device(device)
        self.backend = getattr(torch, self.device.type)
        self.homeward, self.outward = self.backend.Stream(), self.backend.Stream()
        decoder = model.get_decoder()
        modules, norm = (decoder.layers, decoder.norm) if hasattr(decoder, "layers") else (decoder.h, decoder.ln_f)
        self.host = {}  # parameter: its copy
        self.place(model, set(modules.parameters()))
        self.layers = [Layer(m, [self.host[p] for p in m.parameters()]) for m in modules]
        self.landing = None
        self.micro_step = 0
        decoder.register_forward_pre_hook(lambda *_: self.fetch(0))
        norm.register_forward_pre_hook(self.leave_layers)
        for i, module in enumerate(modules):
            module.forward = partial(self.run, i, module.forward)

    def place(self, model, at_home):
        for module in model.modules():
            for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
                if tensor in at_home:
                    self.host[tensor] = self.copy_of(tensor)
                tensor.data = tensor.data.to(self.device)
                if tensor in at_home:
                    tensor.untyped_storage().resize_(0)

    def pinned(self, tensor):
        pin = self.device.type != "cpu"
        return torch.empty_like(tensor, device="cpu", pin_memory=pin, requires_grad=False)

    def copy_of(self, parameter):
        copy = torch.nn.Parameter(self.pinned(parameter))
        copy.data.copy_(parameter.data)
        copy.grad = self.pinned(parameter)
        return copy

    def compute(self):
        return self.backend.current_stream()

    def event_of(self, stream):
        event = self.backend.Event()
        event.record(stream)
        return event

    # ---- parameters ----

    def fetch(self, i):
        layer = self.layers[i]
        if layer.is_here:
            return
        layer.is_here = True
        for parameter, copy in zip(layer.parameters, layer.copies):
            parameter.untyped_storage().resize_(copy.untyped_storage().nbytes())
        self.homeward.wait_stream(self.compute())  # the blocks may be in use there
        with self.backend.stream(self.homeward):
            for parameter, copy in zip(layer.parameters, layer.copies):
                parameter.data.copy_(copy.data, non_blocking=True)  # .data: not a change that autograd should see
        layer.arrived = self.event_of(self.homeward)

    def wait(self, i):
        layer = self.layers[i]
        if layer.arrived is not None:
            layer.arrived.wait(self.compute())
        layer.arrived = None

    def release(self, i):
        for parameter in self.layers[i].parameters:
            parameter.untyped_storage().resize_(0)
        self.layers[i].is_here = False

    # ---- forward ----

    def run(self, i, forward, hidden, *args, **kwargs):
        if in_backward():
            return forward(hidden, *args, **kwargs)
        is_last = i + 1 == len(self.layers)
        self.fetch(i)
        self.wait(i)
        if not is_last:
            self.fetch(i + 1)
        if hidden.requires_grad:
            hidden.register_hook(partial(self.passed, i))
        output = forward(hidden, *args, **kwargs)
        if not is_last or not hidden.requires_grad:
            self.release(i)
        return output

    def leave_layers(self, _module, arguments):
        if arguments[0].requires_grad:
            arguments[0].register_hook(lambda _grad: self.enter(len(self.layers) - 1))

    # ---- backward ----

    def enter(self, i):
        self.fetch(i)
        self.wait(i)
        if i > 0:
            self.fetch(i - 1)

    def passed(self, i, _grad):
        """Layer i has run backward."""
        if i + 1 < len(self.layers):
            self.drop(i + 1)
        self.release(i)
        self.send(i)
        if i > 0:
            self.enter(i - 1)
        else:
            torch.autograd.Variable._execution_engine.queue_callback(self.end)

    def send(self, i):
        layer = self.layers[i]
        layer.leaving = [p.grad for p in layer.parameters]
        targets = [c.grad for c in layer.copies] if self.micro_step == 0 else self.landing_of(layer)
        self.outward.wait_stream(self.compute())
        with self.backend.stream(self.outward):
            for parameter, target in zip(layer.parameters, targets):
                target.copy_(parameter.grad, non_blocking=True)
                parameter.grad = None
        layer.left = self.event_of(self.outward)

    def landing_of(self, layer):
        if self.landing is None:
            most = torch.empty(max(each.bytes() for each in self.layers), dtype=torch.uint8)
            self.landing = self.pinned(most)
        targets, first = [], 0
        for copy in layer.copies:
            end = first + copy.numel() * copy.element_size()
            targets.append(self.landing[first:end].view(copy.dtype).view(copy.shape))
            first = end
        return targets

    def drop(self, i):
        """The gradients of layer i leave the device."""
        layer = self.layers[i]
        if self.micro_step > 0:
            layer.left.synchronize()
            for copy, landed in zip(layer.copies, self.landing_of(layer)):
                copy.grad += landed
        else:
            layer.left.wait(self.compute())
        layer.leaving, layer.left = [], None

    def end(self):
        self.layers[0].left.synchronize()
        self.drop(0)
        self.micro_step += 1

    def host_bytes(self):
        """Of what accumulation needs besides the gradients."""
        return 0 if self.landing is None else self.landing.numel()
