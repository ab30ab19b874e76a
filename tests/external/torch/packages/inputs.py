#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes what programs of other packages read, without a network: checkpoints of real shapes whose weights are zeros, a tokenizer, data.

usage: inputs.py FOLDER [LITGPT]

LITGPT is a version of it, as litgpt==0.4.10, with that on PYTHONPATH: its checkpoints alone are made. Files of weights have holes, or
name one number many times: they take no room. Every row of the data is longer than any program's limit on its length, so that all
batches are as long as the longest.
"""
import base64
import json
import math
import os
import pathlib
import struct
import sys
import zlib

LONG = "word " * 600
PUBLISHED = ["Meta-Llama-3-8B", "Llama-2-7b-hf", "Llama-2-13b-hf", "Mistral-7B-v0.1", "stablelm-base-alpha-3b", "phi-2", "phi-1_5", "Gemma-2b", "Gemma-2-2b", "Llama-3.1-8B",
             "Mistral-7B-v0.2", "Llama-3.2-1B", "Llama-3.2-3B", "Phi-3-mini-4k-instruct", "tiny-llama-1.1b", "falcon-7b", "Gemma-2-9b"]  # litgpt's names
OLD = ["Gemma-2-2b", "stablelm-base-alpha-3b", "phi-1_5", "Llama-2-7b-hf", "phi-2"]  # those that litgpt==0.4.10 runs


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(value, file)


def tokenizer(folder):
    """A token for each byte, which transformers and litgpt read alike."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    special = ["<unk>", "<s>", "</s>", "<pad>"]
    made = Tokenizer(models.BPE({text: number for number, text in enumerate(special + sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(special)
    os.makedirs(folder, exist_ok=True)
    made.save(os.path.join(folder, "tokenizer.json"))
    write_json(os.path.join(folder, "tokenizer_config.json"), {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
        "chat_template": "{% for message in messages %}{{ message['content'] }} {% endfor %}"})


def safetensors(path, shapes):
    """A file of zeros in bfloat16 that is one hole."""
    header, at = {}, 0
    for name, shape in shapes.items():
        end = at + 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, end]}
        at = end
    header["__metadata__"] = {"format": "pt"}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)


def one_zero(path, shapes):
    """A file of tensors in bfloat16 that are all one number."""
    import torch
    zero = torch.zeros(1, dtype=torch.bfloat16)
    torch.save({name: zero.expand(shape) for name, shape in shapes.items()}, path)


def hugging_face(folder, family, tied=True, **config):
    """A causal model of transformers; one that is not tied is large, and its file takes no room even when it is read."""
    import torch
    import transformers
    tokenizer(folder)
    config = getattr(transformers, family + "Config")(architectures=[family + "ForCausalLM"], dtype="bfloat16", tie_word_embeddings=tied,
                                                      bos_token_id=1, eos_token_id=2, pad_token_id=3, **config)
    config.save_pretrained(folder)
    with torch.device("meta"):
        model = getattr(transformers, family + "ForCausalLM")(config)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items() if not tied or name != "lm_head.weight"}
    one_zero(os.path.join(folder, "pytorch_model.bin"), shapes)
    safetensors(os.path.join(folder, "model.safetensors"), shapes)


def tiktoken(path):
    """A token for each byte, as Llama 3's own tokenizer has it."""
    with open(path, "w") as file:
        file.writelines(f"{base64.b64encode(bytes([number])).decode()} {number}\n" for number in range(256))


def litgpt(folder, name):
    import torch
    from litgpt.config import Config
    from litgpt.model import GPT
    from litgpt.utils import save_config
    tokenizer(folder)
    config = Config.from_name(name)
    save_config(config, pathlib.Path(folder))
    with torch.device("meta"):
        model = GPT(config)
    zero = torch.zeros(1, dtype=torch.bfloat16)
    torch.save({key: zero.expand(tensor.shape) for key, tensor in model.state_dict().items()}, os.path.join(folder, "lit_model.pth"))


def data(folder):
    rows = 256
    write_json(os.path.join(folder, "..", "zero3.json"), {"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}, "train_batch_size": "auto",
                                                          "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"})
    write_json(os.path.join(folder, "instructions.json"), [{"instruction": LONG, "input": "", "output": LONG}] * rows)
    for name, row in (("prompts", {"prompt": [{"role": "user", "content": "word " * 50}], "solution": "1"}), ("sft", {"prompt": "A question? ", "completion": LONG}),
                      ("preference", {"prompt": "A question? ", "chosen": LONG, "rejected": LONG})):
        path = os.path.join(folder, name, "train.jsonl")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write((json.dumps(row) + "\n") * rows)


def images(folder):
    """Grey squares of 512 x 512 in two classes."""
    line = b"\0" + bytes(3 * 512)

    def part(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    picture = b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 512, 512, 8, 2, 0, 0, 0)) + part(b"IDAT", zlib.compress(line * 512)) + part(b"IEND", b"")
    for name in (f"{part}/{kind}" for part in ("train", "validation") for kind in "ab"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        for number in range(64):
            with open(os.path.join(folder, name, f"{number}.png"), "wb") as file:
                file.write(picture)


def main():
    folder = sys.argv[1]
    if len(sys.argv) > 2:
        for name in OLD:
            litgpt(os.path.join(folder, sys.argv[2], name), name)
        return
    images(os.path.join(folder, "images"))
    data(os.path.join(folder, "data"))
    hugging_face(os.path.join(folder, "qwen2.5-0.5b"), "Qwen2", vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
                 num_attention_heads=14, num_key_value_heads=2, max_position_embeddings=32768, rope_theta=1e6, rms_norm_eps=1e-6)
    hugging_face(os.path.join(folder, "llama-3.2-1b"), "Llama", vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
                 num_attention_heads=32, num_key_value_heads=8, head_dim=64, max_position_embeddings=131072, rope_theta=5e5, rms_norm_eps=1e-5)
    hugging_face(os.path.join(folder, "llama-3.2-3b"), "Llama", vocab_size=128256, hidden_size=3072, intermediate_size=8192, num_hidden_layers=28,
                 num_attention_heads=24, num_key_value_heads=8, head_dim=128, max_position_embeddings=131072, rope_theta=5e5, rms_norm_eps=1e-5)
    hugging_face(os.path.join(folder, "llama-2-7b"), "Llama", tied=False, vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32,
                 num_attention_heads=32, num_key_value_heads=32, max_position_embeddings=4096, rms_norm_eps=1e-5)
    for name in ("llama-3.2-1b", "llama-3.2-3b", "llama-2-7b"):
        tiktoken(os.path.join(folder, name, "tokenizer.model"))
    for name in PUBLISHED:
        litgpt(os.path.join(folder, "litgpt", name), name)


if __name__ == "__main__":
    main()
