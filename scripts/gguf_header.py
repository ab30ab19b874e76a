# SPDX-License-Identifier: GPL-3.0-or-later
"""GGUF files without weights: metadata and the list of tensors, and a data area that takes no room on the disk.

    python3 gguf_header.py llama-405b OUT.gguf [TYPE]    (llama-8b and mamba2-130m too)
"""
import os
import struct
import sys

ALIGNMENT = 32
# number in a file, elements and bytes of a block
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "BF16": (30, 1, 2), "Q4_0": (2, 32, 18), "Q5_0": (6, 32, 22), "Q8_0": (8, 32, 34),
         "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210)}
BASES = {"Q2_K": "Q2_K", "Q3_K_M": "Q3_K", "Q4_K_M": "Q4_K", "Q4_K_S": "Q4_K", "Q5_K_M": "Q5_K"}


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", 6, value)
    if isinstance(value, list):
        return text(key) + struct.pack("<IIQ", 9, 5, len(value)) + b"".join(struct.pack("<i", v) for v in value)
    return text(key) + struct.pack("<II", 4, value)


def write(path, metadata, tensors):
    """`tensors`: (name, type, shape), the fastest dimension first."""
    out = [struct.pack("<IIQQ", 0x46554747, 3, len(tensors), len(metadata))]
    out += [pair(key, value) for key, value in metadata.items()]
    at = 0
    for name, kind, shape in tensors:
        number, block, size = TYPES[kind]
        out.append(text(name) + struct.pack("<I", len(shape)) + struct.pack("<%dQ" % len(shape), *shape))
        out.append(struct.pack("<IQ", number, at))
        elements = 1
        for n in shape:
            elements *= n
        at += -(-(elements // block * size) // ALIGNMENT) * ALIGNMENT
    header = b"".join(out)
    header += b"\0" * (-len(header) % ALIGNMENT)
    with open(path, "wb") as f:
        f.write(header)
    os.truncate(path, len(header) + at)


def llama(n, ff, layers, quant):
    """Llama 3.1: eight heads of keys, heads of 128."""
    kv, vocab = 1024, 128256
    meta = {"general.architecture": "llama", "llama.block_count": layers, "llama.context_length": 131072, "llama.embedding_length": n,
            "llama.feed_forward_length": ff, "llama.attention.head_count": n // 128, "llama.attention.head_count_kv": 8,
            "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.dimension_count": 128, "llama.vocab_size": vocab,
            "tokenizer.ggml.model": "no_vocab"}
    tensors = [("token_embd.weight", quant, (n, vocab)), ("output_norm.weight", "F32", (n,)), ("output.weight", quant, (n, vocab)),
               ("rope_freqs.weight", "F32", (64,))]
    for i in range(layers):
        shapes = {"attn_norm": (n,), "attn_q": (n, n), "attn_k": (n, kv), "attn_v": (n, kv), "attn_output": (n, n), "ffn_norm": (n,),
                  "ffn_gate": (n, ff), "ffn_up": (n, ff), "ffn_down": (ff, n)}
        tensors += [(f"blk.{i}.{name}.weight", "F32" if len(s) == 1 else quant, s) for name, s in shapes.items()]
    return meta, tensors


def llama_405b(quant="Q8_0"):
    return llama(16384, 53248, 126, quant)


def llama_8b(quant="Q8_0"):
    return llama(4096, 14336, 32, quant)


def mamba2_130m(quant="F16"):
    """As llama-quantize would make it, without an importance matrix."""
    n, inner, state, conv, heads, groups, layers, vocab = 768, 1536, 128, 4, 24, 1, 24, 50288
    mixed = inner + 2 * groups * state
    base = BASES.get(quant, quant)
    meta = {"general.architecture": "mamba2", "mamba2.block_count": layers, "mamba2.context_length": 1048576,
            "mamba2.embedding_length": n, "mamba2.feed_forward_length": 0, "mamba2.attention.head_count": 0,
            "mamba2.ssm.conv_kernel": conv, "mamba2.ssm.inner_size": inner, "mamba2.ssm.state_size": state,
            "mamba2.ssm.time_step_rank": heads, "mamba2.ssm.group_count": groups, "mamba2.vocab_size": vocab,
            "mamba2.attention.layer_norm_rms_epsilon": 1e-5, "tokenizer.ggml.model": "no_vocab"}
    head = base if base in ("F16", "BF16", "Q8_0") else "Q6_K"
    tensors = [("token_embd.weight", head, (n, vocab)), ("output_norm.weight", "F32", (n,))]
    for i in range(layers):
        tensors += [(f"blk.{i}.{name}", kind, shape) for name, kind, shape in (
            ("attn_norm.weight", "F32", (n,)), ("ssm_in.weight", base, (n, inner + mixed + heads)),
            ("ssm_conv1d.weight", "F32", (conv, mixed)), ("ssm_conv1d.bias", "F32", (mixed,)), ("ssm_dt.bias", "F32", (heads,)),
            ("ssm_a", "F32", (1, heads)), ("ssm_d", "F32", (1, heads)), ("ssm_norm.weight", "F32", (inner // groups, groups)),
            ("ssm_out.weight", base, (inner, n)))]
    return meta, tensors


MODELS = {"llama-405b": llama_405b, "llama-8b": llama_8b, "mamba2-130m": mamba2_130m}

if __name__ == "__main__":
    write(sys.argv[2], *MODELS[sys.argv[1]](*sys.argv[3:4]))
