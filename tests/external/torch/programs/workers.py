# SPDX-License-Identifier: GPL-3.0-or-later
"""Data comes from forked processes, which import PyTorch anew in their code and end on their own."""
import os

import torch


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 10000

    def __getitem__(self, index):
        assert os.getpid() != main
        return torch.nn.Linear(64, 64)(torch.randn(1, 64)).detach()[0]  # a forward pass in a worker is none of the program's


if __name__ == "__main__":
    main = os.getpid()
    model = torch.nn.Linear(64, 64).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for batch in torch.utils.data.DataLoader(Data(), batch_size=8, num_workers=2, multiprocessing_context="fork"):
        model(batch.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
