# SPDX-License-Identifier: GPL-3.0-or-later
"""What "routing" of a case means: which experts the tokens get, whatever the router says.

balanced  all experts get equally many tokens, or one more
skewed    the first experts get every token, but for two slots of the last, which the last two experts get: what is saved for backward lasts longest

The eager loop's memory depends on it. The indices that the router chose are overwritten in place, so nothing is allocated. On the null device,
which cannot be asked for values, the loop's two questions (which experts have tokens, and which tokens are theirs) are answered here; the original
functions still run.
"""
import torch


def pattern(routing, tokens, each, experts):
    """The `each` different experts of each token."""
    if routing == "balanced":
        rows = [[(token * each + slot) % experts for slot in range(each)] for token in range(tokens)]
    else:
        assert routing == "skewed"
        rows = [list(range(each)) for _ in range(tokens)]
        if each > 1:
            rows[-1] = list(range(each - 2)) + [experts - 2, experts - 1]
        elif experts > 1:
            rows[-2:] = [[experts - 2], [experts - 1]][-tokens:]
    return torch.tensor(rows)


def answer(forward, chosen, device):
    """The module's forward, with the device's answers about `chosen` given by the host."""
    nonzero, where = torch.Tensor.nonzero, torch.where
    counts = [int((chosen == e).sum()) for e in range(int(chosen.max()) + 1)]
    hit = [e for e, count in enumerate(counts) if count]

    def rows(count, columns):
        return torch.empty(columns, count, dtype=torch.int64, device=device).t()

    def run(*args, **kwargs):
        sizes = [counts[e] for e in hit]

        def answered_nonzero(tensor):
            return (nonzero(tensor), rows(len(hit), 1))[1]

        def answered_where(condition):
            where(condition)
            return rows(sizes.pop(0), condition.dim()).unbind(1)

        torch.Tensor.nonzero, torch.where = answered_nonzero, answered_where
        try:
            return forward(*args, **kwargs)
        finally:
            torch.Tensor.nonzero, torch.where = nonzero, where
    return run


def overwrite(chosen):
    def hook(module, args):
        args[1].data.copy_(chosen)
    return hook


def apply(model, routing, tokens, device):
    for module in model.modules():
        if not (hasattr(module, "num_experts") and hasattr(module, "down_proj")):
            continue
        config = model.config.get_text_config()
        each = getattr(config, "top_k_experts", None) or config.num_experts_per_tok
        chosen = pattern(routing, tokens, each, module.num_experts)
        module.register_forward_pre_hook(overwrite(chosen))  # from the host: nothing of it is on the device
        if device == "cuda":
            module.forward = answer(module.forward, chosen, device)
