# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes that depend on values. argv[2] says of what: "mask" of unknown values, "own" of values that were copied to the device,
"experts" of a router; "constructed" behind it has the size that is expected. "fails" and "full" end badly."""
import sys

import torch

what, constructed = sys.argv[2], "constructed" in sys.argv
tokens, width, classes = 4096, 1024, 8
model = torch.nn.Linear(width, width).cuda()
experts = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(classes)).cuda()
optimizer = torch.optim.SGD([*model.parameters(), *experts.parameters()])
x = torch.randn(tokens, width, device="cuda")
own = (torch.arange(tokens) % 4 == 0).cuda()
lengths = torch.tensor([3, 5, 7, 7]).cuda()


def rows(count, columns=1):
    """Indices as nonzero makes them."""
    return torch.empty(count, columns, dtype=torch.int64, device="cuda").unbind(1)


def routed(y):
    scores = model(y)[:, :classes].softmax(-1)
    chosen = scores.topk(2, -1)[1]
    mask = torch.nn.functional.one_hot(chosen, classes).permute(2, 1, 0)
    out = torch.zeros_like(y)
    for index, expert in enumerate(experts):
        place, token = rows(tokens * 2 // classes, 2) if constructed else torch.where(mask[index])
        out.index_add_(0, token, expert(y[token]) * scores[token, place, None])
    return out


for _ in range(20):
    if what == "mask":
        y = model(x)
        y = y[rows(tokens)[0]] if constructed else y[y[:, 0] > 0]
        assert y.shape[0] == tokens
    elif what == "own":
        y = model(x)[rows(tokens // 4)[0]] if constructed else model(x)[own]
        assert y.shape[0] == tokens // 4 and lengths.max().item() == 7 and lengths.unique(return_counts=True)[1].max().item() == 2
        assert lengths[::2].to(torch.int32).sum().item() == 10 and torch.isnan(x).nonzero().shape[0] == 0
    elif what == "experts":
        y = routed(x)
    elif what == "fails":
        parts = (model(x)[:, 0] > 0).long().cumsum(0).tolist()
        y = torch.cat(model(x).split(parts))
    else:
        y = [torch.nn.functional.relu(layer(x[x[:, 0] > index])).repeat(1, 1 << 10) for index, layer in enumerate(experts)][0]
    y.sum().backward()
    optimizer.step()
    optimizer.zero_grad()
