# SPDX-License-Identifier: GPL-3.0-or-later
"""Losses beside the plain one: what "label_smoothing" and "logits_to_keep" of a case mean."""
from types import SimpleNamespace

import torch


class LabelSmoothing:
    """As Trainer has it: the model gets no labels, and accelerate hands its logits on in fp32 where the forward ran under autocast."""

    def __init__(self, model, epsilon, inputs):
        from transformers.trainer_pt_utils import LabelSmoother
        self.model, self.smoother = model, LabelSmoother(epsilon=epsilon)
        self.count = torch.tensor(inputs["labels"].numel(), device=inputs["labels"].device)  # num_items_in_batch

    def __call__(self, inputs, autocast):
        outputs = self.outputs({k: v for k, v in inputs.items() if k != "labels"}, autocast)
        return self.smoother({"logits": outputs.logits}, inputs["labels"], shift_labels=True, num_items_in_batch=self.count)

    def outputs(self, inputs, autocast):
        if not autocast:
            return self.model(**inputs)
        return self.in_fp32(self.under(autocast, inputs))

    def under(self, autocast, inputs):
        with autocast:
            return self.model(**inputs)

    @staticmethod
    def in_fp32(outputs):
        return SimpleNamespace(logits=outputs.logits.float())


def keep_logits(inputs, tokens):
    """The head runs on the last tokens alone, and the loss is of those of them that have a next one."""
    return {**inputs, "labels": inputs["labels"][:, -tokens:], "logits_to_keep": tokens}
