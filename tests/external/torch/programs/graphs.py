# SPDX-License-Identifier: GPL-3.0-or-later
"""graphs.py FOLDER MODE: trains by CUDA graphs: "whole" captures a step itself, "callables" graphs a part of the model,
"compiled" is torch.compile's mode reduce-overhead. At the end it tells what the allocator holds for graphs."""
import atexit
import sys
import warnings

import torch

mode = sys.argv[2]
if mode != "compiled":  # PyTorch itself begins with an empty one
    warnings.filterwarnings("error", "The CUDA Graph is empty")
model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)) for _ in range(4)))
model = model.to("cuda", torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(256, 512, device="cuda", dtype=torch.bfloat16, requires_grad=True)


def tell():
    segments = [s for s in torch.cuda.memory_snapshot() if tuple(s["segment_pool_id"]) != (0, 0)]
    print(f"pools hold {sum(s['total_size'] for s in segments)}, of which {sum(s['total_size'] - s['allocated_size'] for s in segments)} free", file=sys.stderr)


atexit.register(tell)


def step(forward):
    optimizer.zero_grad(set_to_none=True)
    x.grad = None  # a graph's memory, which the next run overwrites: PyTorch refuses to add to it
    forward(x).float().sum().backward()
    optimizer.step()


if mode == "whole":
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(model)
    torch.cuda.current_stream().wait_stream(side)
    if not torch.__version__.startswith("2.6."):  # whose allocator stays in a capture that failed
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                model(x).sum().item()
            raise SystemExit("a value was read while a stream was captured")
        except RuntimeError as error:  # the reason is the cause, or its context
            assert "capturing" in str(error) + str(error.__context__), error
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(model)
    for _ in range(100):
        model(x.detach())  # so that a step begins, for who looks on
        graph.replay()
        step(model)
elif mode == "callables":
    model[1] = torch.cuda.make_graphed_callables(model[1], (torch.randn_like(x, requires_grad=True),))
    for _ in range(100):
        step(model)
else:
    compiled = torch.compile(model, mode="reduce-overhead")
    for _ in range(100):
        torch.compiler.cudagraph_mark_step_begin()
        step(compiled)
