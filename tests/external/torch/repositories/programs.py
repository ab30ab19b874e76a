# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of public repositories: commit, command, and what others measured of them on real GPUs."""
import dataclasses

URLS = {"nanoGPT": "https://github.com/karpathy/nanoGPT", "torchtitan": "https://github.com/pytorch/torchtitan"}
COMMITS = {"nanoGPT": "3adf61e1", "torchtitan": "9dec370a"}


@dataclasses.dataclass
class Program:
    name: str
    repository: str
    command: list
    device: str = "a100-80gb"
    world: int = 1
    published: tuple = None  # which figure (active or reserved), GiB, source
    reason: str = ""  # why captured and published differ


def nanogpt(title, *more):
    return Program(f"nanoGPT train.py, {title}", "nanoGPT", ["train.py", *more])


def titan(title, world, batch, *more, config="llama3_8b", device="gh200-96gb", **rest):
    """torchtitan's train.py with one of its own files of settings; GH200 is the device with an H100's 96 GB."""
    return Program(f"torchtitan {title}", "torchtitan",
                   ["train.py", "--job.config_file", f"train_configs/{config}.toml", "--training.batch_size", str(batch), "--training.dataset", "c4_test",
                    "--model.tokenizer_path", "{folder}/torchtitan/tokenizer.model", *more], device, world, **rest)


TABLES = "torchtitan benchmarks/llama3_h100_202412_torchtitan.md"
COMPILED = "--training.compile"
PROGRAMS = [
    nanogpt("GPT-2 124M, 12 x 1024, five micro-steps, compiled (its default)", "--gradient_accumulation_steps=5"),
    nanogpt("the same with --compile=False", "--gradient_accumulation_steps=5", "--compile=False"),
    nanogpt("config/train_shakespeare_char.py, compiled", "config/train_shakespeare_char.py"),
    titan("Llama 3.1 8B, FSDP2 of 8, 2 x 8192", 8, 2, published=("reserved", 82.4, TABLES)),
    titan("Llama 3.1 8B, FSDP2 of 8, 2 x 8192, compiled", 8, 2, COMPILED, published=("reserved", 77.0, TABLES)),
    titan("Llama 3.1 8B, FSDP2 of 128, 2 x 8192", 128, 2, published=("reserved", 67.0, TABLES)),
    titan("Llama 3.1 8B, FSDP2 of 128, 2 x 8192, compiled", 128, 2, COMPILED, published=("reserved", 62.0, TABLES)),
    titan("Llama 3.1 8B, FSDP2 of 8, 1 x 8192, compiled", 8, 1, COMPILED, published=("reserved", 47.65, "torchao docs (m410)"),
          reason="published with torchtitan 0.0.2 and torch 2.7"),
]
