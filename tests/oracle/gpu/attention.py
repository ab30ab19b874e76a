#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What cuDNN's attention and convolutions ask of PyTorch's allocator on a real GPU.

usage: attention.py OUT.json [--seconds N]

Attention: the back end that PyTorch picks for a shape, and every allocation (+) and free (-) of cuDNN's forward and backward
pass, in order. Convolution: the same of a ViT's patches. Shapes are batch, query heads, key heads, queries, keys, width of a
key, width of a value; layouts are "bshd" (as a projection leaves them, transposed) and "bhsd".
"""
import json
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

NAMES = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn", 4: "overrideable", -1: "error"}


def tensor(layout, b, h, s, d, dtype):
    if layout == "bshd":
        return torch.randn(b, s, h, d, device="cuda", dtype=dtype).transpose(1, 2).requires_grad_()
    return torch.randn(b, h, s, d, device="cuda", dtype=dtype).requires_grad_()


def events(run):
    torch.cuda.synchronize()
    torch.cuda.memory._record_memory_history(context=None, max_entries=100000)
    result = run()
    torch.cuda.synchronize()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    signs = {"alloc": 1, "free_requested": -1}
    return result, [signs[e["action"]] * e["size"] for e in trace if e["action"] in signs]


def attention(case):
    b, hq, hk, sq, sk, d, dv = case["shape"]
    dtype = getattr(torch, case["dtype"])
    q = tensor(case["layout"], b, hq, sq, d, dtype)
    k, v = tensor(case["layout"], b, hk, sk, d, dtype), tensor(case["layout"], b, hk, sk, dv, dtype)
    mask = None
    if case["mask"] == "bool":
        mask = torch.ones(sq, sk, dtype=torch.bool, device="cuda").tril(sk - sq).expand(b, 1, sq, sk).contiguous()
    elif case["mask"] == "float":
        mask = torch.zeros(b, 1, sq, sk, dtype=dtype, device="cuda")
    words = {"attn_mask": mask, "dropout_p": case["dropout"], "is_causal": case["mask"] == "causal", "enable_gqa": hq != hk}
    out = {"chosen": NAMES[torch._fused_sdp_choice(q, k, v, **words)]}
    try:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            call = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, **words)
            result = call()
            grad = torch.randn_like(result)
            result.backward(grad)
            q.grad = k.grad = v.grad = None
            result, out["forward"] = events(call)
            _, out["backward"] = events(lambda: result.backward(grad))
            with torch.no_grad():
                call()
                _, out["without_gradients"] = events(call)
    except RuntimeError as error:
        out["refused"] = str(error).split("\n")[0][:200]
    return out


def convolution(case):
    b, channels, side, hidden, patch = case["shape"]
    dtype = getattr(torch, case["dtype"])
    layer = torch.nn.Conv2d(channels, hidden, patch, stride=patch, device="cuda", dtype=dtype)
    pixels = torch.randn(b, channels, side, side, device="cuda", dtype=dtype)
    layer(pixels).sum().backward()
    layer.zero_grad(set_to_none=True)
    result, forward = events(lambda: layer(pixels))
    grad = torch.randn_like(result)
    _, backward = events(lambda: result.backward(grad))
    return {"forward": forward, "backward": backward}


def cases():
    shape = lambda b, hq, hk, s, d, dv=None, sk=None: [b, hq, hk, s, sk or s, d, dv or d]
    rows = []
    add = lambda s, mask="causal", dtype="bfloat16", dropout=0.0, layout="bshd": rows.append(
        {"kind": "attention", "shape": s, "mask": mask, "dtype": dtype, "dropout": dropout, "layout": layout})
    for b, hq, hk, s, d in ((1, 32, 32, 2048, 64), (2, 32, 32, 2048, 64), (1, 32, 8, 2048, 64), (1, 32, 32, 4096, 128), (1, 32, 8, 4096, 128),
                            (4, 16, 16, 1024, 64), (1, 12, 12, 1024, 64), (3, 12, 12, 777, 64), (1, 9, 9, 2048, 64), (1, 9, 3, 2048, 64), (2, 16, 8, 1000, 128),
                            (1, 8, 8, 128, 128), (1, 8, 1, 129, 128), (2, 4, 4, 100, 32), (1, 4, 4, 64, 16), (2, 5, 5, 37, 24), (1, 32, 32, 512, 80), (1, 32, 32, 512, 96), (2, 32, 32, 2048, 96),
                            (1, 8, 4, 1024, 256), (1, 8, 8, 1024, 256), (1, 16, 16, 512, 72), (1, 16, 16, 512, 192), (1, 16, 16, 512, 160), (1, 64, 8, 8192, 128), (1, 71, 1, 512, 64), (8, 32, 8, 512, 128)):
        add(shape(b, hq, hk, s, d))
        if b * s * hq <= 70000:
            add(shape(b, hq, hk, s, d), layout="bhsd")
            add(shape(b, hq, hk, s, d), mask="none")
            add(shape(b, hq, hk, s, d), mask="bool")
    for s in (shape(1, 32, 8, 2048, 64), shape(2, 16, 16, 1000, 128), shape(2, 12, 12, 512, 64)):
        add(s, dtype="float16"), add(s, dropout=0.1), add(s, mask="float"), add(s, dtype="float32"), add(s, mask="none", dropout=0.1)
    for s in (shape(1, 16, 16, 512, 192, 128), shape(2, 16, 16, 1024, 192, 128), shape(1, 128, 128, 1024, 192, 128)):
        add(s), add(s, layout="bhsd"), add(s, mask="bool")
    for b, hq, hk, sk, d in ((1, 32, 8, 1024, 128), (4, 32, 8, 2000, 64), (1, 12, 12, 100, 64), (2, 16, 2, 513, 128)):
        add(shape(b, hq, hk, 1, d, sk=sk), mask="none"), add(shape(b, hq, hk, 1, d, sk=sk), mask="bool"), add(shape(b, hq, hk, 1, d, sk=sk), mask="none", layout="bhsd")
    add(shape(1, 12, 12, 197, 64), mask="none"), add(shape(8, 12, 12, 197, 64), mask="none"), add(shape(8, 16, 16, 577, 64), mask="none"), add(shape(4, 12, 12, 512, 64), mask="bool")
    for s in ([1, 3, 224, 768, 16], [8, 3, 224, 768, 16], [32, 3, 224, 768, 16], [64, 3, 224, 1024, 14], [8, 3, 384, 768, 32], [16, 3, 336, 1024, 14], [2, 3, 30, 64, 6], [128, 3, 224, 384, 16], [4, 1, 28, 48, 7]):
        rows += [{"kind": "convolution", "shape": s, "dtype": dtype} for dtype in ("bfloat16", "float16", "float32")]
    return rows


def main():
    seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 1e9
    begun, done = time.monotonic(), []
    head = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "device": torch.cuda.get_device_name()}
    for case in cases():
        if time.monotonic() - begun > seconds:
            break
        try:
            measured = {"attention": attention, "convolution": convolution}[case["kind"]](case)
        except Exception as error:  # one shape must not cost the others
            measured = {"error": str(error).split("\n")[0][:200]}
        done.append({**case, "measured": measured})
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({**head, "cases": done}, file, separators=(",", ":"))
    print(len(done), "of", len(cases()), f"{time.monotonic() - begun:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
