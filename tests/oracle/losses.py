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
        return self.with_outputs(inputs, autocast)[0]

    def with_outputs(self, inputs, autocast):
        outputs = trainer_outputs(self.model, {k: v for k, v in inputs.items() if k != "labels"}, autocast)
        loss = self.smoother({"logits": outputs.logits}, inputs["labels"], shift_labels=True, num_items_in_batch=self.count)
        return loss, outputs


def trainer_outputs(model, inputs, autocast):
    """What a model hands on that accelerate prepared."""
    return in_fp32(under(autocast, model, inputs)) if autocast else model(**inputs)


def under(autocast, model, inputs):
    with autocast:
        return model(**inputs)


def in_fp32(outputs):
    return SimpleNamespace(loss=outputs.loss, logits=None if outputs.logits is None else outputs.logits.float())


def keep_logits(inputs, tokens):
    """The head runs on the last tokens alone, and the loss is of those of them that have a next one."""
    return {**inputs, "labels": inputs["labels"][:, -tokens:], "logits_to_keep": tokens}
