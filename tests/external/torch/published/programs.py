#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs whose peak others published, restated: programs.py KIND ARGUMENT... prints the most bytes that were allocated.

  qwen SIZE PROMPT [NEW] Qwen2.5 answers a prompt, greedily (transformers)
  qwen3 SIZE PROMPT      the last of 2048 tokens that Qwen3 answers a prompt with, without the prompt's own peak
  cross_entropy VOCAB    a loss over 16,384 rows, forward and backward
  head ROWS              an output head of Llama 3's size and its loss, forward and backward
  tinyllama BATCH        pretraining, fused AdamW, 2048 tokens (litgpt's model and loss)
"""
import sys

import torch

# Hidden size, intermediate size, layers, heads, key heads, vocabulary, tied.
QWEN = {"0.5B": (896, 4864, 24, 14, 2, 151936, True), "1.5B": (1536, 8960, 28, 12, 2, 151936, True), "3B": (2048, 11008, 36, 16, 2, 151936, True),
        "7B": (3584, 18944, 28, 28, 4, 152064, False), "14B": (5120, 13824, 48, 40, 8, 152064, False), "32B": (5120, 27648, 64, 40, 8, 152064, False)}
QWEN3 = {"4B": (2560, 9728, 36, 32, 8, 151936, True), "8B": (4096, 12288, 36, 32, 8, 151936, False)}
NEW_TOKENS = 64  # enough where the prompt is the peak


def on_device(make, is_warm=False):
    """A model in bfloat16 whose parameters come to the device one by one, as from a checkpoint, or into one block that was there before."""
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("meta"):
        model = make()
    torch.set_default_dtype(torch.float32)
    if is_warm:
        torch.empty(sum(parameter.numel() for parameter in model.parameters()), dtype=torch.bfloat16, device="cuda")
    made = {}
    for module in model.modules():
        for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
            if tensor is not None:
                fresh = made[id(tensor)] if id(tensor) in made else torch.empty_like(tensor, device="cuda")
                made[id(tensor)] = fresh
                setattr(module, name, torch.nn.Parameter(fresh) if isinstance(tensor, torch.nn.Parameter) else fresh)
    return model


def answers(model, config, prompt, new_tokens):
    """Greedy steps, with the cache that they leave; yields after each."""
    from transformers import DynamicCache
    cache, ids = DynamicCache(config=config), torch.zeros(1, int(prompt), dtype=torch.long, device="cuda")
    with torch.no_grad():
        for _ in range(int(new_tokens)):
            ids = model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1:].argmax(-1)
            yield


def settings(shape):
    hidden, inner, layers, heads, key_heads, vocabulary, tied = shape
    return {"hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": key_heads,
            "vocab_size": vocabulary, "tie_word_embeddings": tied, "max_position_embeddings": 32768}


def qwen(size, prompt, new_tokens=NEW_TOKENS):
    from transformers import Qwen2Config, Qwen2ForCausalLM
    config = Qwen2Config(**settings(QWEN[size]))
    model = on_device(lambda: Qwen2ForCausalLM(config)).eval()
    for _ in answers(model, config, prompt, new_tokens):
        pass


def qwen3(size, prompt):
    from transformers import Qwen3Config, Qwen3ForCausalLM
    config = Qwen3Config(head_dim=128, **settings(QWEN3[size]))
    model = on_device(lambda: Qwen3ForCausalLM(config), is_warm=True).eval()
    steps = answers(model, config, int(prompt) + 2048 - NEW_TOKENS, NEW_TOKENS)
    next(steps)
    torch.cuda.reset_peak_memory_stats()
    for _ in steps:
        pass


def repeated(forward, times=10):
    """A forward and backward pass again and again, as Liger's benchmarks measure them: gradients of the last time are there."""
    for _ in range(times):
        forward().backward()


def cross_entropy(vocabulary):
    rows = 8 * 2048
    scores = torch.randn(rows, int(vocabulary), requires_grad=True, device="cuda")
    target = torch.randint(int(vocabulary), (rows, 1), device="cuda").squeeze(1)
    loss = torch.nn.CrossEntropyLoss()
    repeated(lambda: loss(scores, target))


def head(rows):
    # A second head is inferred, not read: with one, both sizes are 1002 MiB, a head's size, below what was published.
    linear, _other = (torch.nn.Linear(4096, 128256, bias=False, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    hidden = torch.randn(int(rows), 4096, requires_grad=True, dtype=torch.bfloat16, device="cuda")
    target = torch.randint(128256, (int(rows), 1), dtype=torch.long, device="cuda").squeeze(1)
    loss = torch.nn.CrossEntropyLoss(reduction="mean")
    repeated(lambda: loss(linear(hidden), target))


def tinyllama(batch, chunk="0"):
    from lightning.fabric import Fabric
    from litgpt.config import Config
    from litgpt.model import GPT
    from litgpt.utils import chunked_cross_entropy
    fabric = Fabric(devices=1, precision="bf16-true")
    with fabric.init_module():
        model = GPT(Config.from_name("tiny-llama-1.1b"))
    model.max_seq_length = 2048
    model = fabric.setup(model)  # which has it give out float32
    optimizer = fabric.setup_optimizers(torch.optim.AdamW(model.parameters(), fused=True))
    for _ in range(4):
        for _ in range(2):  # the published run accumulates 128: more than one is what matters
            tokens = torch.zeros(int(batch), 2049, dtype=torch.int64, device="cuda")
            ids, targets = tokens[:, :2048].contiguous(), tokens[:, 1:].contiguous()
            fabric.backward(chunked_cross_entropy(model(ids), targets, chunk_size=int(chunk)))
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    {"qwen": qwen, "qwen3": qwen3, "cross_entropy": cross_entropy, "head": head, "tinyllama": tinyllama}[sys.argv[1]](*sys.argv[2:])
    print("most allocated:", torch.cuda.max_memory_allocated())
