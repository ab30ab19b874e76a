# SPDX-License-Identifier: GPL-3.0-or-later
"""Lightning's Trainer in mixed precision; argv[1]: where it may write."""
import sys

import lightning
import torch


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 10))

    def training_step(self, batch, _index):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


if __name__ == "__main__":
    data = torch.utils.data.TensorDataset(torch.randn(2048, 512), torch.randint(0, 10, (2048,)))
    loader = torch.utils.data.DataLoader(data, batch_size=32, num_workers=2)
    trainer = lightning.Trainer(max_steps=50, accelerator="gpu", devices=1, precision="bf16-mixed", logger=False, enable_checkpointing=False,
                                default_root_dir=sys.argv[1])
    trainer.fit(Net(), loader)
