# SPDX-License-Identifier: GPL-3.0-or-later
"""Hugging Face's Trainer, with worker processes that load the data."""
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        ids = torch.randint(0, 1000, (256,))
        return {"input_ids": ids, "labels": ids}


if __name__ == "__main__":
    config = LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4)
    arguments = TrainingArguments(output_dir=sys.argv[1], per_device_train_batch_size=2, gradient_accumulation_steps=2, bf16=True,
                                  gradient_checkpointing=True, max_steps=50, logging_steps=1, report_to=[], dataloader_num_workers=2)
    Trainer(LlamaForCausalLM(config), arguments, train_dataset=Tokens()).train()
