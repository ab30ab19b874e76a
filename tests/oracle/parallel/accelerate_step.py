# SPDX-License-Identifier: GPL-3.0-or-later
"""A model that accelerate prepares, with FSDP, as Trainer does. `accelerate` of a case is the environment of `accelerate launch`."""

import contextlib
import os

import torch

from steps import Step, materialise, model_on, optimizer_of


def on_host(case):
    """The model as from_pretrained leaves it, without its values."""
    model = materialise(model_on(case, "meta"), "cpu")
    for module in model.modules():
        for name, b in list(module._buffers.items()):
            if b is not None and b.device.type == "cuda":
                module._buffers[name] = torch.empty_like(b, device="cpu")
    model.tie_weights()
    return model


class AccelerateStep(Step):
    def setup(self):
        os.environ.update({k: str(v) for k, v in self.case["accelerate"].items()})
        from accelerate import Accelerator

        self.accelerator = Accelerator()
        case = {**self.case, "weights": self.case["parallel"].get("load_dtype", self.case["weights"])}
        # FSDP's own checkpoints, or the model's
        own = self.case["accelerate"].get("FSDP_ACTIVATION_CHECKPOINTING") == "true"
        case = {**case, "checkpointing": case.get("checkpointing") and not own}
        # from_pretrained puts what bitsandbytes packs on the device
        model = model_on(case, "cuda") if self.p.get("init") == "cuda" else on_host(case)
        if self.accelerator.is_fsdp2:
            optimizer = optimizer_of(case, [p for p in model.parameters() if p.requires_grad])
            self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        else:
            self.model = self.accelerator.prepare(model)
            self.optimizer = self.accelerator.prepare(optimizer_of(case, self.trainable()))

    def forward(self):
        return self.loss()  # accelerate has put autocast around the model

    def outputs(self, inputs):
        outputs = self.model(**inputs)
        return outputs.loss, outputs

    def microstep(self, i, last):
        return contextlib.nullcontext() if last else self.accelerator.no_sync(self.model)

    def clip(self):
        self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)

    def state_tensors(self):
        return [v for s in self.optimizer.optimizer.state.values() for v in s.values() if torch.is_tensor(v)]
