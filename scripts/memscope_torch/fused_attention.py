# SPDX-License-Identifier: GPL-3.0-or-later
"""TransformerEngine's attention by cuDNN, on the null device. Its functions of Python run; what the two functions of
its extension that ask cuDNN would allocate is allocated here: tensors as TransformerEngine 2.11 makes them (arguments
differ between 2.1 and 2.20, tensors do not), and the workspace that cuDNN's open front end computes for the graph.

What cuDNN's engine wants beyond that is not known, and taken as nothing: on eight B200 reserved memory says that it
wants nothing there (reports/megatron.md).
"""
import functools
import inspect
import math
import threading

MODULE = "transformer_engine.pytorch.cpp_extensions.fused_attn"
NOTE = ("attention of TransformerEngine by cuDNN: its tensors and the workspace of cuDNN's front end were allocated; "
        "an engine of cuDNN may want more on another device than the B200")
GO_ROUND = ("with NVTE_FUSED_ATTN=0 in its environment the program takes another attention of TransformerEngine, "
            "which keeps other tensors")

_asked = threading.local()


class NotCovered(RuntimeError):
    def __init__(self, what):
        super().__init__(f"the null device does not cover {what} by cuDNN; {GO_ROUND}")


def actions(notes):
    """For after_import; `notes` are those of the report."""
    return {MODULE: lambda module: _install(module, notes)}


def _install(module, notes):
    for name, answer in (("fused_attn_fwd", _forward), ("fused_attn_bwd", _backward)):
        setattr(module, name, _remembers(getattr(module, name)))
        setattr(module.tex, name, _answers(answer, notes))


def _remembers(function):
    """The extension's functions have arguments without names."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def ask(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        before, _asked.now = getattr(_asked, "now", None), bound.arguments
        try:
            return function(*args, **kwargs)
        finally:
            _asked.now = before

    return ask


def _answers(answer, notes):
    def run(*_args, **_kwargs):
        if NOTE not in notes:
            notes.append(NOTE)
        return answer(_asked.now)

    return run


class _Sizes:
    """Of a call, as cuDNN is told them."""

    def __init__(self, given):
        parts = given["qkv_layout"].replace("paged_kv_", "").split("_")
        query, key = given["q"], given["k"]
        self.formats = [part.replace("3", "").replace("2", "") for part in (parts[0], parts[-1])]
        self.is_packed = "thd" in self.formats
        self.heads, self.key_heads = query.shape[-2], key.shape[-2]
        self.head, self.value_head = query.shape[-1], given["v"].shape[-1]
        if self.formats[0] == "thd":
            self.sequences, self.query_tokens = given["cu_seqlens_q"].numel() - 1, _most_tokens(query.shape[0])
            self.of_statistics = query.shape[0], self.heads, 1
        else:
            self.sequences = query.shape[self.formats[0].index("b")]
            self.query_tokens = self.sequences * given["max_seqlen_q"]
            self.of_statistics = self.sequences, self.heads, given["max_seqlen_q"], 1
        self.key_tokens = _most_tokens(key.shape[0]) if self.formats[1] == "thd" else 0
        self.is_padded = given["attn_mask_type"].startswith("padding")

    def lengths(self):
        """Bytes of the sequences' lengths, and of where they begin in packed tensors."""
        count = _most_sequences(self.sequences) if self.is_packed else self.sequences
        offsets = 2 * self.formats.count("thd") + (self.formats[0] == "thd")
        return self.is_padded * 2 * _aligned(4 * count) + offsets * _aligned(8 * (count + 1))

    def gradients(self):
        """Bytes of the query's gradient in fp32 and the softmax's sums; where packed, of key's and value's too."""
        found = 4 * self.query_tokens * self.heads * (self.head + 1)
        if self.key_tokens and self.heads != self.key_heads:
            found += 4 * self.key_tokens * self.heads * (self.head + self.value_head)
        return _aligned(found)


def _aligned(size):
    return -(-size // 16) * 16


def _most_sequences(count):
    """Of packed tensors: TransformerEngine makes few graphs, each for a range of sizes."""
    power = 1 << math.ceil(math.log2(max(count, 1)))
    return 32 if power <= 32 else power if power <= 512 else count


def _most_tokens(count):
    power = 1 << math.ceil(math.log2(max(count, 1)))
    return 1024 if power <= 1024 else power if power <= 1 << 15 else -(-count >> 15) << 15


def _refuse(given, quantizers):
    if any(given.get(name) is not None for name in quantizers) or given["q"].dtype.itemsize != 2:
        raise NotCovered("attention in FP8")
    if getattr(given["fused_attention_backend"], "name", "NVTE_F16_arbitrary_seqlen") != "NVTE_F16_arbitrary_seqlen":
        raise NotCovered(f"the attention {given['fused_attention_backend'].name} of TransformerEngine")


def _empty(shape, like, dtype=None):
    import torch
    return torch.empty(shape, dtype=dtype or like.dtype, device=like.device)


def _forward(given):
    """[output, statistics of the softmax, state of the generator, bias and offset where there are any]"""
    import torch
    _refuse(given, ("s_quantizer", "o_quantizer"))
    query, sizes = given["q"], _Sizes(given)
    if given.get("o_format", sizes.formats[0]) not in (sizes.formats[0], None):
        raise NotCovered("attention whose output has another layout than its query")
    out = _empty((*query.shape[:-1], sizes.value_head), query)
    state = _empty((2,), query, torch.int64)
    workspace = _empty((max(sizes.lengths(), 1),), query, torch.uint8)
    count = 2 if given.get("return_max_logit") else 1
    statistics = [_empty(sizes.of_statistics, query, torch.float32) for _ in range(count)]
    del workspace  # lives as long as the kernel
    bias = [given["attn_bias"]] if _has_bias(given) else []
    offset = [given["softmax_offset"]] if given.get("softmax_type", "vanilla") != "vanilla" else []
    return [out, *statistics, state, *bias, *offset]


def _has_bias(given):
    return given["attn_bias_type"] not in ("no_bias", "alibi")


def _backward(given):
    """[gradients of query, key, value, bias and offset]"""
    import torch
    _refuse(given, ("s_quantizer", "dp_quantizer", "dqkv_quantizer"))
    if given.get("deterministic") or _has_bias(given):
        raise NotCovered("a deterministic backward of attention, or one with a bias,")
    query, sizes = given["q"], _Sizes(given)
    if given.get("dqkv_layout", given["qkv_layout"]) not in (given["qkv_layout"], None):
        raise NotCovered("attention whose gradients have another layout than its inputs")
    gradients = _of_layout(given["qkv_layout"], query, given["k"], given["v"])
    vanilla = given.get("softmax_type", "vanilla") == "vanilla"
    offset = None if vanilla else _empty((1, sizes.heads, 1, 1), query, torch.float32)
    workspace = _empty((sizes.gradients() + sizes.lengths(),), query, torch.uint8)
    del workspace
    return [*gradients, None, offset]


def _of_layout(layout, query, key, value):
    """What lies in one tensor has gradients in one."""
    first, *others = layout.split("_")
    if "3" in first:
        return _together(3, first.index("3"), query)
    if others and "2" in others[0]:
        return [_empty(query.shape, query), *_together(2, others[0].index("2"), key)]
    return [_empty(tensor.shape, query) for tensor in (query, key, value)]


def _together(count, at, one):
    return list(_empty((*one.shape[:at], count, *one.shape[at:]), one).unbind(at))
