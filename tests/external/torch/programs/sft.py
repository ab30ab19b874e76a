# SPDX-License-Identifier: GPL-3.0-or-later
"""TRL's SFTTrainer, on tokens; argv[1]: where it may write. With `constructed` behind it, TRL's kernels are functions that
do nothing, and its loss takes all positions in place of those that a mask selects: what a device allocates but for the
mask, which is kept for backward."""
import sys

import torch
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from tokenizers import Tokenizer, models
from trl import SFTConfig, SFTTrainer

if sys.argv[2:] == ["constructed"]:
    from trl.kernels import chunked_logprob
    from trl.trainer import utils

    class Nothing:
        def __getitem__(self, grid):
            return lambda *args, **kwargs: None

    chunked_logprob._forward_kernel = chunked_logprob._backward_kernel = Nothing()
    utils._use_triton = lambda device: False
words = {"<pad>": 0, "<s>": 1, "</s>": 2, **{f"w{i}": i for i in range(3, 8000)}}
tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="<pad>")), pad_token="<pad>", bos_token="<s>", eos_token="</s>")
config = LlamaConfig(vocab_size=8000, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4)
data = Dataset.from_dict({"input_ids": torch.randint(3, 8000, (64, 256)).tolist()})
arguments = SFTConfig(output_dir=sys.argv[1], per_device_train_batch_size=2, max_steps=50, logging_steps=1, report_to=[], bf16=True, max_length=256)
SFTTrainer(LlamaForCausalLM(config), arguments, train_dataset=data, processing_class=tokenizer).train()
