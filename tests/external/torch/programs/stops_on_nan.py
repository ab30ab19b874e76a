# SPDX-License-Identifier: GPL-3.0-or-later
"""A loop that takes a loss of 0 for a failure and looks at its values every way there is; argv[1]: not used."""
import math
import sys

import torch

model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scale = torch.tensor(4.0).cuda()
for _ in range(20):
    loss = model(torch.randn(8, 64, device="cuda")).pow(2).mean()
    if not torch.isfinite(loss) or loss.isfinite().item() is False or torch.isnan(loss):
        sys.exit("not finite")
    for value in (loss.item(), float(loss), loss.tolist(), loss.view(1, 1).tolist()[0][0], loss.detach().cpu().item()):
        print("perplexity", math.exp(1 / value))
    assert scale.item() == 4.0, "what the program put there itself comes back"
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
