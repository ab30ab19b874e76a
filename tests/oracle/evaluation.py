# SPDX-License-Identifier: GPL-3.0-or-later
"""An evaluation between two steps, as Trainer runs it: what "eval_batch" and "eval_logits" of a case mean.

Without gradients, batch after batch; the results of a batch stay bound until those of the next one are there. "eval_logits": so many batches' logits
and labels are joined on the device before they go to the host (eval_accumulation_steps); without it the loss alone is kept. Of several ranks each
gathers the results of all, once their lengths are known (`gather` and `padded` of the step).
"""
import torch


class Kept:
    """What the loop has kept so far, joined."""

    def __init__(self):
        self.tensors = None

    def add(self, new):
        from transformers.trainer_pt_utils import nested_concat
        self.tensors = new if self.tensors is None else nested_concat(self.tensors, new)


class Evaluation:
    def __init__(self, step, batch, logits_batches):
        self.step, self.batch, self.logits_batches = step, batch, logits_batches
        self.inputs = step.make_inputs(batch)
        if step.case.get("liger") and not logits_batches:
            self.inputs["skip_logits"] = True  # as Trainer asks

    def predict(self):
        with torch.no_grad():
            loss, outputs = self.step.outputs(self.inputs)
            loss = loss.detach().mean()
            logits = outputs.logits
        if not self.logits_batches:
            return loss, None, None
        return loss, logits.detach(), self.inputs["labels"].detach()

    def run(self):
        self.step.model.eval()
        gather, padded = (getattr(self.step, name, lambda tensor: tensor) for name in ("gather", "padded"))
        all_losses, all_logits, all_labels = Kept(), Kept(), Kept()
        for _ in range(self.logits_batches or 2):
            losses, logits, labels = self.predict()
            losses = gather(losses.repeat(self.batch))
            all_losses.add(losses)
            if logits is not None:
                labels = padded(labels)
                logits = gather(padded(logits))
                all_logits.add(logits)
                labels = gather(labels)
                all_labels.add(labels)
        self.step.model.train()
