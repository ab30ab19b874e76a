# SPDX-License-Identifier: GPL-3.0-or-later
"""wrapped_trainer.py KIND SHARE FOLDER: a training that memscope.wrap plans itself, for a share of the device's memory.

KIND: trainer, peft, sft, lightning, loop or modules. FOLDER/log.jsonl says what was predicted and measured."""
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

import memscope

BATCH, TOKENS, STEPS = 4, 1024, 8
kind, share, folder = sys.argv[1], float(sys.argv[2]), sys.argv[3]
settings = memscope.Config(target_gpu_utilization=share, log_file=f"{folder}/log.jsonl", warmup_steps=2)


def model_of(**more):
    return LlamaForCausalLM(LlamaConfig(vocab_size=8000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=8,
                                        num_attention_heads=16, num_key_value_heads=4, **more))


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return BATCH * STEPS * 2

    def __getitem__(self, index):
        ids = torch.randint(0, 8000, (TOKENS,))
        return {"input_ids": ids, "labels": ids}


def arguments(make=TrainingArguments, **more):
    return make(output_dir=folder, per_device_train_batch_size=BATCH, bf16=True, max_steps=STEPS, report_to=[], save_strategy="no",
                disable_tqdm=True, **more)


def train_trainer():
    trainer = Trainer(model_of(), arguments(gradient_checkpointing=True), train_dataset=Tokens())
    memscope.wrap(trainer, config=settings)
    trainer.train()
    memscope.detach(trainer)


def train_peft():
    import peft
    model = peft.get_peft_model(model_of().to(torch.bfloat16), peft.LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM"))
    trainer = Trainer(model, arguments(), train_dataset=Tokens())
    memscope.wrap(trainer, config=settings)
    trainer.train()
    memscope.detach(trainer)


def train_sft():
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from trl import SFTConfig, SFTTrainer
    words = {"<pad>": 0, "<s>": 1, "</s>": 2, **{f"w{i}": i for i in range(3, 8000)}}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="<pad>")), pad_token="<pad>",
                                        bos_token="<s>", eos_token="</s>")
    data = Dataset.from_dict({"input_ids": torch.randint(3, 8000, (64, TOKENS)).tolist()})
    trainer = SFTTrainer(model_of(), arguments(SFTConfig, max_length=TOKENS), train_dataset=data, processing_class=tokenizer)
    memscope.wrap(trainer, config=settings)
    trainer.train()
    memscope.detach(trainer)


def train_lightning():
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model_of()

        def training_step(self, batch, _index):
            return self.model(**batch).loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), fused=True)
    trainer = lightning.Trainer(max_steps=STEPS, accelerator="gpu", devices=1, precision="bf16-mixed", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, default_root_dir=folder)
    ids = torch.zeros(BATCH, TOKENS, dtype=torch.long)
    memscope.wrap(trainer, config=settings, sample_input={"input_ids": ids, "labels": ids})
    trainer.fit(Module(), torch.utils.data.DataLoader(Tokens(), batch_size=BATCH))
    memscope.detach(trainer)


def train_loop():
    model = model_of().to("cuda", torch.bfloat16).train()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    ids = torch.randint(0, 8000, (BATCH, TOKENS), device="cuda")
    with memscope.optimize(model, optimizer, config=settings, sample_input={"input_ids": ids}):
        for _ in range(STEPS):
            model(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def train_modules():
    """A model of no family: its modules are measured."""
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.LayerNorm(1024)
            self.mlp = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024))

        def forward(self, x):
            return x + self.mlp(self.norm(x))

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = torch.nn.ModuleList(Block() for _ in range(12))

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    net, x = Net().cuda(), torch.randn(16384, 1024, device="cuda")
    optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    with memscope.optimize(net, optimizer, config=settings, sample_input=x):
        for _ in range(STEPS):
            net(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    globals()[f"train_{kind}"]()
