# SPDX-License-Identifier: GPL-3.0-or-later
"""What TransformerEngine's functions around cuDNN get from the null device: a stand-in for its module, of which only the names
of the functions and of their arguments matter. Expected bytes are those of the tensors that TransformerEngine 2.11 makes, and
of cuDNN's front end for the graph of a backward pass."""
import os
import sys
import tempfile

import torch

MODULE = '''
import types
def unreachable(*_):
    raise AssertionError("cuDNN was asked")
tex = types.SimpleNamespace(fused_attn_fwd=unreachable, fused_attn_bwd=unreachable)
def fused_attn_fwd(is_training, max_seqlen_q, max_seqlen_kv, cu_seqlens_q, cu_seqlens_kv, q, k, v, fake_dtype,
                   fused_attention_backend, attn_bias=None, s_quantizer=None, o_quantizer=None, qkv_layout="sbh3d", attn_bias_type="no_bias",
                   attn_mask_type="padding", softmax_type="vanilla", softmax_offset=None, return_max_logit=False):
    found = tex.fused_attn_fwd(max_seqlen_q, q, k, v)
    return found[0], found[1:]
def fused_attn_bwd(max_seqlen_q, max_seqlen_kv, cu_seqlens_q, cu_seqlens_kv, q, k, v, o, d_o, fake_dtype, dqkv_dtype,
                   aux_ctx_tensors, fused_attention_backend, s_quantizer=None, dp_quantizer=None, dqkv_quantizer=None, qkv_layout="sbh3d",
                   attn_bias_type="no_bias", attn_mask_type="padding", softmax_type="vanilla", deterministic=False):
    return tex.fused_attn_bwd(max_seqlen_q, q, k, v)
'''

folder = os.path.join(tempfile.mkdtemp(), "transformer_engine", "pytorch", "cpp_extensions")
os.makedirs(folder)
with open(os.path.join(folder, "fused_attn.py"), "w") as file:
    file.write(MODULE)
sys.path.insert(0, folder[:-len("/transformer_engine/pytorch/cpp_extensions")])
from transformer_engine.pytorch.cpp_extensions.fused_attn import fused_attn_bwd, fused_attn_fwd  # noqa: E402

S, B, H, G, D, V = 1024, 2, 8, 2, 128, 64  # sequence, batch, heads, groups of keys, sizes of key and value


def half(*shape):
    return torch.empty(shape, dtype=torch.bfloat16, device="cuda")


def bytes_of(run):
    """What it leaves, the most while it runs, and its result."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    made = run()
    return torch.cuda.memory_allocated() - before, torch.cuda.max_memory_allocated() - before, made


def check(name, found, expected):
    assert found == expected, f"{name}: {found}, expected {expected}"


def blocks(*sizes):
    return sum(-(-size // 512) * 512 for size in sizes)


bounds = torch.zeros(B + 1, dtype=torch.int32, device="cuda")
given = (S, S, bounds, bounds)
q, k, v = half(S, B, H, D), half(S, B, G, D), half(S, B, G, V)
layout = {"qkv_layout": "sbhd_sbhd_sbhd", "attn_mask_type": "causal"}
out, statistics, state = 2 * S * B * H * V, 4 * B * H * S, 16
left, most, (made, saved) = bytes_of(lambda: fused_attn_fwd(True, *given, q, k, v, torch.bfloat16, None, **layout))
check("forward", (left, most), (blocks(out, state, statistics), blocks(out, state, 1, statistics)))
check("shapes", [list(tensor.shape) for tensor in (made, *saved)], [[S, B, H, V], [B, H, S, 1], [2]])
left, most, made = bytes_of(lambda: fused_attn_bwd(*given, q, k, v, made, made, torch.bfloat16, None, saved, None, **layout))
gradients = blocks(2 * S * B * H * D, 2 * S * B * G * D, 2 * S * B * G * V)
check("backward", (left, most), (gradients, gradients + 4 * B * H * S * (D + 1)))
check("shapes", [list(tensor.shape) for tensor in made[:3]], [list(tensor.shape) for tensor in (q, k, v)])
check("others", made[3:], [None, None])

# Padded sequences have their lengths in the workspace, one tensor of all three has one gradient.
whole = half(B, S, H, 3, D)
parts = whole.unbind(3)
layout = {"qkv_layout": "bsh3d", "attn_mask_type": "padding_causal"}
left, most, (made, saved) = bytes_of(lambda: fused_attn_fwd(True, *given, *parts, torch.bfloat16, None, return_max_logit=True, **layout))
check("padded forward", (left, most), (blocks(2 * S * B * H * D, state, statistics, statistics),
                                       blocks(2 * S * B * H * D, state, 32, statistics, statistics)))
left, most, made = bytes_of(lambda: fused_attn_bwd(*given, *parts, made, made, torch.bfloat16, None, saved, None, **layout))
check("padded backward", (left, most), (6 * S * B * H * D, 6 * S * B * H * D + blocks(4 * B * H * S * (D + 1) + 32)))
check("together", len({tensor.untyped_storage().data_ptr() for tensor in made[:3]}), 1)

# Packed sequences: sizes in steps (1500 tokens are 2048, 2 sequences are 32), and gradients of key and value for all heads.
T = 1500
q, k, v = half(T, H, D), half(T, G, D), half(T, G, D)
layout = {"qkv_layout": "thd_thd_thd", "attn_mask_type": "padding_causal"}
lengths = 2 * 128 + 5 * 272
left, most, (made, saved) = bytes_of(lambda: fused_attn_fwd(True, *given, q, k, v, torch.bfloat16, None, **layout))
check("packed forward", (left, most), (blocks(2 * T * H * D, state, 4 * T * H), blocks(2 * T * H * D, state, lengths, 4 * T * H)))
left, most, made = bytes_of(lambda: fused_attn_bwd(*given, q, k, v, made, made, torch.bfloat16, None, saved, None, **layout))
gradients = blocks(2 * T * H * D, 2 * T * G * D, 2 * T * G * D)
check("packed backward", (left, most), (gradients, gradients + blocks(4 * 2048 * H * (D + 1) + 4 * 2048 * H * 2 * D + lengths)))

for wrong in ({"deterministic": True}, {"dqkv_quantizer": object()}):
    try:
        fused_attn_bwd(*given, q, k, v, made, made, torch.bfloat16, None, saved, None, **layout, **wrong)
    except RuntimeError as error:
        assert "NVTE_FUSED_ATTN=0" in str(error)
    else:
        raise AssertionError(f"{wrong} was answered")

import fused_weight_gradient_mlp_cuda  # noqa: E402 APEX's, which need not be there

layer = torch.nn.Linear(1024, 1024, device="cuda")
optimizer = torch.optim.SGD(layer.parameters())
for step in range(100):
    layer(torch.randn(64, 1024, device="cuda")).sum().backward()
    fused_weight_gradient_mlp_cuda.wgrad_gemm_accum_fp32(layer.weight, layer.weight, layer.weight.grad)
    optimizer.step()
    optimizer.zero_grad()
