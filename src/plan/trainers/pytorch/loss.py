# SPDX-License-Identifier: GPL-3.0-or-later
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def chunked_loss(decoder, head, number, input_ids, labels, cap=None):
    """The loss of ForCausalLM(input_ids, labels) with the logits of 1/number of the tokens at a time.

    Each piece is a checkpoint of views of the hidden states and the shifted labels; a piece's sum goes as soon as it is added.
    `cap` is the model's final_logit_softcapping. Not for models that scale their logits outside of lm_head.
    """

    def logits_of(hidden):
        logits = head(hidden)
        return logits if cap is None else (logits / cap).tanh() * cap

    def sum_of(hidden, labels):
        return F.cross_entropy(logits_of(hidden).float(), labels, ignore_index=-100, reduction="sum")

    hidden = decoder(input_ids=input_ids)[0]
    shifted = F.pad(labels, (0, 1), value=-100)[..., 1:].reshape(-1)
    total = None
    for hidden_piece, labels_piece in zip(pieces_of(hidden, number), shifted.chunk(number)):
        if total is None:
            total = checkpoint(sum_of, hidden_piece, labels_piece, use_reentrant=False)
        else:
            total = total + checkpoint(sum_of, hidden_piece, labels_piece, use_reentrant=False)
    return total / (shifted != -100).sum()
