# SPDX-License-Identifier: GPL-3.0-or-later
"""As Megatron trains: modules with attributes called `buffers` and `parameters`, a backward that enters through autograd's
engine, gradients in a buffer of their own, and an optimizer that holds fp32 copies of the model's bf16 parameters."""
import sys
import types

import torch
from torch.autograd import Variable

WIDTH = 1024


class Wrapper(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.register_buffer("scale", torch.ones(256, device="cuda"))
        self.buffers, self.parameters, self.named_modules = [self.scale], [], None

    def forward(self, x):
        return self.module(x) * self.scale[0]


layers = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)]).to("cuda", torch.bfloat16)
weights = [layer.weight for layer in layers]
model = Wrapper(layers)
whole = torch.zeros(len(weights) * WIDTH * WIDTH, device="cuda")  # one block of gradients
for number, weight in enumerate(weights):
    weight.main_grad = whole[number * WIDTH * WIDTH:(number + 1) * WIDTH * WIDTH].view_as(weight)
main = [weight.detach().clone().float() for weight in weights]
optimizer = torch.optim.Adam(main, foreach=False)
# TransformerEngine keeps such tensors there.
base = types.ModuleType("transformer_engine.pytorch.module.base")
base._dummy_wgrads = {(WIDTH, WIDTH, torch.bfloat16): torch.empty(WIDTH, WIDTH, dtype=torch.bfloat16, device="cuda")}
sys.modules[base.__name__] = base

for step in range(100):
    loss = model(torch.randn(64, WIDTH, dtype=torch.bfloat16, device="cuda")).float().sum()
    Variable._execution_engine.run_backward(tensors=(loss,), grad_tensors=(torch.ones_like(loss),), keep_graph=False,
                                            create_graph=False, inputs=(), allow_unreachable=True, accumulate_grad=True)
    assert torch.autograd.grad(main[0].requires_grad_(True).sum(), main[0])[0].shape == main[0].shape
    for weight, copy in zip(weights, main):
        weight.main_grad.add_(weight.grad)
        weight.grad = None
        copy.requires_grad_(False).grad = weight.main_grad
    optimizer.step()
    for weight, copy in zip(weights, main):
        weight.data.copy_(copy)
        copy.grad = None
    whole.zero_()
