# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that take paths of their own to the device: each runs, or fails as it is known to, and then a step is taken."""
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")


def made(*shape, dtype=torch.float32, grad=True):
    return torch.zeros(*shape, device="cuda", dtype=dtype, requires_grad=grad)


def ids(*shape):
    return torch.zeros(*shape, device="cuda", dtype=torch.long)


def attention(**kwargs):
    q = made(2, 8, 256, 64, dtype=torch.bfloat16)
    F.scaled_dot_product_attention(q, q, q, **kwargs).sum().backward()


def lstm():
    torch.nn.LSTM(64, 64, num_layers=2).cuda()(made(16, 4, 64))[0].sum().backward()


def scatter():
    made(4096, 64)[ids(8192)].sum().backward()


RUN = {
    "embedding with sorted ids": lambda: F.embedding(ids(8, 2048), made(1000, 64)).sum().backward(),
    "topk": lambda: made(64, 4096).topk(5)[0].sum().backward(),
    "sort": lambda: made(64, 4096, grad=False).sort(),
    "cumsum": lambda: made(64, 4096).cumsum(0).sum().backward(),
    "index with accumulation": scatter,
    "multinomial": lambda: torch.multinomial(made(4, 100, grad=False), 2),
    "erfinv, compiled as it runs": lambda: made(100, grad=False).erfinv(),
    "complex product": lambda: made(64, 64, dtype=torch.complex64) @ made(64, 64, dtype=torch.complex64),
    "conv1d": lambda: torch.nn.Conv1d(64, 64, 3, groups=4).cuda()(made(4, 64, 100)).sum().backward(),
    "conv2d": lambda: torch.nn.Conv2d(3, 64, 7).cuda()(made(4, 3, 64, 64)).sum().backward(),
    "conv2d in bf16": lambda: torch.nn.Conv2d(3, 64, 14, 14).cuda().bfloat16()(made(4, 3, 224, 224, dtype=torch.bfloat16)).sum().backward(),
    "batch norm": lambda: torch.nn.BatchNorm2d(64).cuda()(made(4, 64, 8, 8)).sum().backward(),
    "lstm": lstm,
    "attention": lambda: attention(is_causal=True),
    "attention with a mask": lambda: attention(attn_mask=made(256, 256, dtype=torch.bfloat16, grad=False)),
    "ctc loss": lambda: F.ctc_loss(made(50, 4, 20).log_softmax(2), ids(4, 10) + 1, (50,) * 4, (10,) * 4),
}
FAIL = {
    "decomposition": (lambda: torch.linalg.cholesky(made(64, 64, grad=False)), "CUSOLVER"),
    "fourier transform": (lambda: torch.fft.fft(made(64, grad=False)), "CUFFT"),
    "sparse product": (lambda: torch.sparse.mm(torch.eye(8).to_sparse().cuda(), made(8, 8, grad=False)), "CUSPARSE"),
}
# What hangs on values is not what a device would give: known, and in the report's list of reads.
VALUES = {
    "nonzero": lambda: made(64, grad=False).nonzero().shape[0] == 0,
    "item": lambda: (made(1, grad=False) + 1).item() == 0,
    "one_hot without classes": lambda: F.one_hot(ids(8) + 3).shape[1] == 1,
}

for name, run in RUN.items():
    try:
        run()
    except Exception as error:
        raise AssertionError(f"{name}: {error}") from error
for name, (run, words) in FAIL.items():
    try:
        run()
        raise AssertionError(f"{name} ran")
    except RuntimeError as error:
        assert words in str(error).upper(), f"{name}: {error}"
for name, holds in VALUES.items():
    assert holds(), name
model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(1000):
    model(torch.randn(64, 1024, device="cuda")).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
