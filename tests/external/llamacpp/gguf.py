# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a GGUF file without weights: its header is complete, its data is a hole of the right size.

python3 gguf.py MODEL TYPE FILE [LAYERS]     MODEL: a name of MODELS; TYPE: F16, BF16, Q8_0, Q4_0, Q6_K or Q4_K_M
"""

import struct
import sys

ALIGNMENT = 32
FORMATS = {  # number, elements of a block, bytes of a block
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "BF16": (30, 1, 2),
    "Q4_0": (2, 32, 18),
    "Q5_0": (6, 32, 22),
    "Q8_0": (8, 32, 34),
    "Q4_K": (12, 256, 144),
    "Q5_K": (13, 256, 176),
    "Q5_1": (7, 32, 24),
    "Q6_K": (14, 256, 210),
}


def _decoder(arch, layers, width, heads, kv_heads, head, inner, vocab, **more):
    return dict(
        arch=arch,
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=kv_heads,
        head=head,
        inner=inner,
        vocab=vocab,
        **more,
    )


MODELS = {
    "llama-3.2-1b": _decoder("llama", 16, 2048, 32, 8, 64, 8192, 128256, tied=True, freqs=True),
    "llama-3.2-3b": _decoder("llama", 28, 3072, 24, 8, 128, 8192, 128256, tied=True, freqs=True),
    "llama-3.1-8b": _decoder("llama", 32, 4096, 32, 8, 128, 14336, 128256, freqs=True),
    "llama-3.1-70b": _decoder("llama", 80, 8192, 64, 8, 128, 28672, 128256, freqs=True),
    "llama-2-13b": _decoder("llama", 40, 5120, 40, 40, 128, 13824, 32000),
    "tinyllama-1.1b": _decoder("llama", 22, 2048, 32, 4, 64, 5632, 32000),
    "mistral-7b-v0.3": _decoder("llama", 32, 4096, 32, 8, 128, 14336, 32768),
    "mixtral-8x7b": _decoder("llama", 32, 4096, 32, 8, 128, 14336, 32000, experts=8, chosen=2),
    "qwen2.5-1.5b": _decoder("qwen2", 28, 1536, 12, 2, 128, 8960, 151936, tied=True, bias=True),
    "qwen2.5-7b": _decoder("qwen2", 28, 3584, 28, 4, 128, 18944, 152064, bias=True),
    "qwen3-0.6b": _decoder("qwen3", 28, 1024, 16, 8, 128, 3072, 151936, tied=True, qk_norm=True),
    "qwen3-4b": _decoder("qwen3", 36, 2560, 32, 8, 128, 9728, 151936, tied=True, qk_norm=True),
    "qwen3-8b": _decoder("qwen3", 36, 4096, 32, 8, 128, 12288, 151936, qk_norm=True),
    "qwen3-30b-a3b": _decoder("qwen3moe", 48, 2048, 32, 4, 128, 768, 151936, qk_norm=True, experts=128, chosen=8),
    "gemma-2-2b": _decoder("gemma2", 26, 2304, 8, 4, 256, 9216, 256000, tied=True, post_norm=True, window=4096),
    "gemma-3-4b": _decoder(
        "gemma3", 34, 2560, 8, 4, 256, 10240, 262144, tied=True, post_norm=True, qk_norm=True, window=1024
    ),
    "phi-3-mini-4k": _decoder("phi3", 32, 3072, 32, 32, 96, 8192, 32064, fused=True, window=2047),
    "gpt2": _decoder("gpt2", 12, 768, 12, 12, 64, 3072, 50257, tied=True),
    "mamba2-130m": _decoder("mamba2", 24, 768, 0, 0, 64, 0, 50288, tied=True, states=128, conv=4),
}


# ---- tensors, in the order of (layer, name) in which quantisation counts them ----


def _gpt2_layer(m, at):
    e, f = m["width"], m["inner"]
    weights = {"attn_qkv": [e, 3 * e], "attn_output": [e, e], "ffn_up": [e, f], "ffn_down": [f, e]}
    out = {f"{at}{name}.weight": shape for name, shape in weights.items()}
    out.update({f"{at}{name}.bias": shape[1:] for name, shape in weights.items()})
    for norm in ("attn_norm", "ffn_norm"):
        out[f"{at}{norm}.weight"] = out[f"{at}{norm}.bias"] = [e]
    return out


def _mamba2_layer(m, at):
    inner, e = 2 * m["width"], m["width"]
    ranks, mixed = inner // m["head"], inner + 2 * m["states"]
    return {
        at + "attn_norm.weight": [e],
        at + "ssm_in.weight": [e, inner + mixed + ranks],
        at + "ssm_conv1d.weight": [m["conv"], mixed],
        at + "ssm_conv1d.bias": [mixed],
        at + "ssm_dt.bias": [ranks],
        at + "ssm_a": [1, ranks],
        at + "ssm_d": [1, ranks],
        at + "ssm_norm.weight": [inner, 1],
        at + "ssm_out.weight": [inner, e],
    }


def _attention(m, at):
    e, q, kv = m["width"], m["heads"] * m["head"], m["kv_heads"] * m["head"]
    if m.get("fused"):
        return {at + "attn_qkv.weight": [e, q + 2 * kv]}
    out = {at + "attn_q.weight": [e, q], at + "attn_k.weight": [e, kv], at + "attn_v.weight": [e, kv]}
    if m.get("bias"):
        out.update({at + "attn_q.bias": [q], at + "attn_k.bias": [kv], at + "attn_v.bias": [kv]})
    if m.get("qk_norm"):
        out.update({at + "attn_q_norm.weight": [m["head"]], at + "attn_k_norm.weight": [m["head"]]})
    return out


def _mlp(m, at):
    e, f, n = m["width"], m["inner"], m.get("experts")
    if n:
        return {
            at + "ffn_gate_inp.weight": [e, n],
            at + "ffn_gate_exps.weight": [e, f, n],
            at + "ffn_up_exps.weight": [e, f, n],
            at + "ffn_down_exps.weight": [f, e, n],
        }
    if m.get("fused"):
        return {at + "ffn_up.weight": [e, 2 * f], at + "ffn_down.weight": [f, e]}
    return {at + "ffn_gate.weight": [e, f], at + "ffn_up.weight": [e, f], at + "ffn_down.weight": [f, e]}


def _layer(m, at):
    if m["arch"] in ("gpt2", "mamba2"):
        return (_gpt2_layer if m["arch"] == "gpt2" else _mamba2_layer)(m, at)
    e = m["width"]
    out = {**_attention(m, at), **_mlp(m, at), at + "attn_output.weight": [m["heads"] * m["head"], e]}
    for norm in ("attn_norm", "ffn_norm") + (("post_attention_norm", "post_ffw_norm") if m.get("post_norm") else ()):
        out[f"{at}{norm}.weight"] = [e]
    return out


def tensors(m):
    e, v = m["width"], m["vocab"]
    out = {"token_embd.weight": [e, v], "output_norm.weight": [e]}
    if not m.get("tied"):
        out["output.weight"] = [e, v]
    if m.get("freqs"):
        out["rope_freqs.weight"] = [m["head"] // 2]
    if m["arch"] == "gpt2":
        out["output_norm.bias"], out["position_embd.weight"] = [e], [e, 1024]
    for layer in range(m["layers"]):
        out.update(sorted(_layer(m, f"blk.{layer}.").items()))
    return out


# ---- types of quantised files, as llama-quantize chooses them without an importance matrix ----

STAYS = ("_norm.weight", "ffn_gate_inp.weight", "position_embd.weight", "ssm_conv1d.weight")
NARROW = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0"}  # for rows that 256 does not divide


def _takes_more(i, count):
    return i < count // 8 or i >= 7 * count // 8 or (i - count // 8) % 3 == 2


def _mixed(m, name, seen):
    """Of Q4_K_M."""
    count, is_value = m["layers"], any(f".{part}.weight" in name for part in ("attn_v", "attn_qkv"))
    if m.get("experts") == 8 and ".attn_output.weight" in name:
        return "Q5_K"
    if is_value or ".ffn_down" in name:
        kind = "value" if is_value else "down"
        i = seen[kind] = seen.get(kind, -1) + 1
        more = _takes_more(i, count)
        return "Q6_K" if more else "Q5_K" if is_value and count == 80 else "Q4_K"
    return "Q4_K"


def type_of(m, name, shape, wanted, seen):
    if len(shape) < 2 or not name.endswith(".weight") or name.endswith(STAYS):
        return "F32"
    if wanted in ("F16", "BF16"):
        return wanted
    if name == "output.weight" or (name == "token_embd.weight" and m.get("tied")):
        found = "Q8_0" if wanted == "Q8_0" else "Q6_K"
    elif m.get("experts") == 8 and any(f".{part}.weight" in name for part in ("attn_v", "attn_k")):
        found = "Q8_0"
    else:
        found = _mixed(m, name, seen) if wanted == "Q4_K_M" else wanted
    return NARROW.get(found, found) if shape[0] % FORMATS[found][1] else found


# ---- the file ----


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _entry(key, value):
    head = _string(key)
    if isinstance(value, str):
        return head + struct.pack("<I", 8) + _string(value)
    if isinstance(value, float):
        return head + struct.pack("<If", 6, value)
    if isinstance(value, bool):
        return head + struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return head + struct.pack("<II", 4, value)
    if isinstance(value[0], str):
        return head + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))
    code, kind = ("f", 6) if isinstance(value[0], float) else ("i", 5)
    return head + struct.pack("<IIQ", 9, kind, len(value)) + struct.pack(f"<{len(value)}{code}", *value)


def _words(count):
    """A vocabulary in which every text has tokens: those of its bytes."""
    words, kinds = ["<unk>", "<s>", "</s>"], [2, 3, 3]
    words += [f"<0x{byte:02X}>" for byte in range(256)]
    kinds += [6] * 256
    words += [f"w{i}" for i in range(count - len(words))]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.scores": [0.0] * count,
        "tokenizer.ggml.token_type": kinds + [1] * (count - len(kinds)),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_space_prefix": False,
    }


def _settings(m):
    own = {
        "context_length": 1024 if m["arch"] == "gpt2" else 131072,
        "embedding_length": m["width"],
        "block_count": m["layers"],
        "vocab_size": m["vocab"],
        "feed_forward_length": m["inner"],
    }
    if m["arch"] == "mamba2":
        inner = 2 * m["width"]
        own.update(
            {
                "ssm.conv_kernel": m["conv"],
                "ssm.inner_size": inner,
                "ssm.state_size": m["states"],
                "ssm.time_step_rank": inner // m["head"],
                "ssm.group_count": 1,
                "attention.layer_norm_rms_epsilon": 1e-5,
            }
        )
    else:
        own.update(
            {
                "attention.head_count": m["heads"],
                "attention.head_count_kv": m["kv_heads"],
                "rope.dimension_count": m["head"],
                "attention.key_length": m["head"],
                "attention.value_length": m["head"],
                "rope.freq_base": 10000.0,
            }
        )
        norm = "layer_norm_epsilon" if m["arch"] == "gpt2" else "layer_norm_rms_epsilon"
        own["attention." + norm] = 1e-5
    if m.get("experts"):
        own.update({"expert_count": m["experts"], "expert_used_count": m["chosen"]})
        if m["arch"] == "qwen3moe":
            own["expert_feed_forward_length"] = m["inner"]
    if m.get("window"):
        own["attention.sliding_window"] = m["window"]
    out = {"general.architecture": m["arch"], "general.name": "without weights"}
    out.update({f"{m['arch']}.{key}": value for key, value in own.items()})
    return {**out, **_words(m["vocab"])}


def write(name, wanted, path, layers=None):
    m = dict(MODELS[name])
    m["layers"] = layers or m["layers"]
    # Which layers take more of a mixture depends on their number.
    settings, infos, offset, seen = _settings(m), [], 0, {}
    for tensor, shape in tensors(m).items():
        number, elements, block = FORMATS[type_of(m, tensor, shape, wanted, seen)]
        infos.append(
            _string(tensor) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}QIQ", *shape, number, offset)
        )
        total = 1
        for size in shape:
            total *= size
        offset += -(-(total // elements * block) // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(infos), len(settings)))
        file.write(b"".join(_entry(key, value) for key, value in settings.items()) + b"".join(infos))
        start = -(-file.tell() // ALIGNMENT) * ALIGNMENT
        file.truncate(start + offset)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    write(*sys.argv[1:4], *map(int, sys.argv[4:]))
