#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: check_speed.py MEMSCOPE

The bounds of `memscope infer` must be above what was measured and published, and a closed form made here must give the same: of a dense
model by each engine, of a mixture, with a window, for several sequences. The table is that of docs/infer.md.
"""
import json
import math
import subprocess
import sys

QWEN = "Qwen2.5 documentation, speed benchmark (A100 80 GB, vLLM 0.6.3 and transformers 4.46, one sequence)"
PUBLISHED = [  # a deployment; the member of `speed`; what was measured; where
    ("qwen2.5-0.5b --engine vllm --device a100-80gb --prompt 1 --context 2049", "decode", 311.55, QWEN),
    ("qwen2.5-1.5b --engine vllm --device a100-80gb --prompt 1 --context 2049", "decode", 183.33, QWEN),
    ("qwen2.5-14b --engine vllm --device a100-80gb --prompt 1 --context 2049", "decode", 46.30, QWEN),
    ("qwen2.5-14b --engine vllm --device a100-80gb --prompt 30720 --context 32768", "decode", 37.18, QWEN),
    ("qwen2.5-14b --engine hf --device a100-80gb --prompt 1 --generate 2048", "decode", 24.74, QWEN),
    ("llama-2-7b --quant F16 --device rtx-4090 --prompt 1 --context 129", "decode", 61.03, "ggml-org/llama.cpp#4766, tg 128"),
    ("llama-2-7b --quant Q8_0 --device rtx-4090 --prompt 1 --context 129", "decode", 98.13, "ggml-org/llama.cpp#4766, tg 128"),
    ("llama-2-7b --quant F16 --device rtx-4090 --prompt 512 --context 640", "prefill", 11048.22, "ggml-org/llama.cpp#4766, pp 512"),
    ("llama-3.1-8b --quant Q4_0 --device rtx-4090 --prompt 512 --context 640", "prefill", 10358.75, "ggml-org/llama.cpp#7676, pp512"),
    ("llama-3.1-8b --quant Q4_0 --device rtx-3090 --prompt 1 --context 513", "decode", 156.56, "ggml-org/llama.cpp#15802, batches of 1"),
    ("llama-2-7b --quant Q4_0 --device cpu --host-bandwidth 20.02GB --prompt 353 --context 452", "decode", 3.94,
     "ggml-org/llama.cpp#34, eiery: a Core i5-6500, memory measured at 20.02 GB/s"),
]
A100, H100 = (2039e9, 312e12, 40960 * 1024), (3350e9, 989e12, 51200 * 1024)


def least(device, flops, data):
    bandwidth, rate, cached = device
    return max(flops / rate, max(data - cached, 0) / bandwidth)


def dense(device, layers, hidden, inner, heads, kv_heads, width, vocab, tokens, sequences, element=2):
    """Prefill of `tokens` and a token after them: a llama of that size whose head is not tied, in a type of `element` bytes."""
    weights = layers * (2 * hidden * heads * width + 2 * hidden * kv_heads * width + 3 * hidden * inner)
    head = vocab * hidden
    pairs = layers * 4 * heads * width
    prefill = sequences * (tokens * 2 * weights + 2 * head + pairs * tokens * (tokens + 1) / 2)
    cache = layers * 2 * kv_heads * width * element * tokens
    decode = sequences * (2 * (weights + head) + pairs * tokens)
    data = (weights + head) * element
    return (sequences * tokens / least(device, prefill, data), sequences / least(device, decode, data + sequences * cache))


def mixtral(device, tokens, sequences):
    layers, hidden, inner, vocab, experts, used = 32, 4096, 14336, 32000, 8, 2
    shared = layers * (2 * hidden * hidden + 2 * hidden * 1024 + experts * hidden)
    expert, head = layers * 3 * hidden * inner, vocab * hidden
    flops = sequences * (2 * (shared + used * expert + head) + layers * 4 * 4096 * tokens)
    cache = sequences * layers * 2 * 1024 * 2 * tokens
    even = experts * (1 - (1 - used / experts) ** sequences)
    return [sequences / least(device, flops, 2 * (shared + count * expert + head) + cache) for count in (used, even)]


def speed_of(binary, words):
    done = subprocess.run([binary, "infer", *words.split(), "--format", "json"], capture_output=True, text=True)
    if done.returncode == 2:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)["speed"]


def check_published(binary, words, what, measured, source):
    bound = speed_of(binary, words)[f"{what}_tokens_per_s"]
    return [] if bound and bound > measured else [f"{bound}, and {measured} was measured ({source})"]


def check_equal(binary, words, wanted):
    speed = speed_of(binary, words)
    return [f"{name}: {speed[name]}, and the closed form has {value}" for name, value in wanted.items()
            if speed[name] is None or not math.isclose(speed[name], value, rel_tol=1e-5, abs_tol=6e-4)]


def check_none(binary, words, reason):
    speed = speed_of(binary, words)
    is_good = reason in (speed["reason"] or "") and all(speed[k] is None for k in speed if k.endswith("_per_s"))
    return [] if is_good else [f"{speed}, expected none as {reason}"]


def llama(device, tokens, sequences):
    prefill, decode = dense(device, 32, 4096, 14336, 32, 8, 128, 128256, tokens, sequences)
    return {"prefill_tokens_per_s": prefill, "decode_tokens_per_s": decode}


def llama_in_fp8(tokens, sequences):
    """Made on loading by vLLM: the head stays as it is."""
    layers, head, pairs = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336), 128256 * 4096, 32 * 4 * 4096
    flops = sequences * (2 * (layers + head) + pairs * tokens)
    data = layers + 2 * head + sequences * 32 * 2 * 1024 * 2 * tokens
    return {"decode_tokens_per_s": sequences / least((3350e9, 1979e12, 51200 * 1024), flops, data)}


def partly_on_host(on_device, tokens, sequences, gigabytes):
    """A llama of 7B in F16, of whose 32 layers and head the last `on_device` are on an RTX 4090: each part is read at its own rate, one after
    the other."""
    layer, head, cache = 2 * (4 * 4096**2 + 3 * 4096 * 11008), 2 * 32000 * 4096, 2 * 2 * 4096 * tokens * sequences
    layers = max(on_device - 1, 0)
    device = layers * (layer + cache) + (head if on_device else 0)
    host = (32 - layers) * (layer + cache) + (0 if on_device else head)
    return {"decode_tokens_per_s": sequences / (max(device - 72 * 2**20, 0) / 1008e9 + host / (gigabytes * 1e9))}


def main():
    binary, passed, failed = sys.argv[1], 0, 0
    even = mixtral(H100, 512, 8)
    checks = [(check_published, *row) for row in PUBLISHED] + [
        (check_equal, "llama-3.1-8b --engine hf --device h100-80gb --prompt 512 --context 1024", llama(H100, 512, 1)),
        (check_equal, "llama-3.1-8b --engine hf --device a100-80gb --prompt 2048 --generate 8 --batch 16", llama(A100, 2048, 16)),
        (check_equal, "llama-3.1-8b --engine vllm --device h100-80gb --prompt 512 --concurrency 64", llama(H100, 512, 64)),
        (check_equal, "llama-3.1-8b --engine vllm --quantization fp8 --device h100-80gb --prompt 512 --concurrency 64", llama_in_fp8(512, 64)),
        (check_equal, "mixtral-8x7b --engine hf --device h100-80gb --prompt 512 --generate 2 --batch 8",
         {"decode_tokens_per_s": even[0], "even_experts_tokens_per_s": even[1]}),
        (check_equal, "llama-2-7b --quant F16 --device rtx-4090 --gpu-layers 8 --host-bandwidth 60GB --prompt 512 --concurrency 4",
         partly_on_host(8, 512, 4, 60)),
        (check_equal, "llama-2-7b --quant F16 --device rtx-4090 --gpu-layers 0 --host-bandwidth 60GB --prompt 512", partly_on_host(0, 512, 1, 60)),
        (check_equal, "llama-2-7b --quant F16 --device cpu --host-bandwidth 51.2GB --prompt 1", partly_on_host(0, 1, 1, 51.2)),
        (check_none, "llama-3.1-8b --quant Q4_0 --device cpu --budget 64GiB", "host's memory"),
        (check_none, "llama-3.1-8b --quant Q4_0 --device rtx-4090 --gpu-layers 8", "are on the host"),
        (check_none, "llama-3.1-8b --quant Q4_0 --device rtx-pro-6000", "bandwidth of the device"),
    ]
    for check, words, *rest in checks:
        bad = check(binary, words, *rest)
        passed, failed = passed + (not bad), failed + bool(bad)
        for text in bad:
            print(f"{words}: {text}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
