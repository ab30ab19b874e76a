# SPDX-License-Identifier: GPL-3.0-or-later
"""DeepSpeed's engine with an optimizer of PyTorch's.

"skip_init": weights get no first values, as from_pretrained() leaves that; a class that copies or indexes them cannot give
any under zero.Init, where they are divided already.
"""

import contextlib

import torch

from steps import DTYPES, Step, model_on, optimizer_of, storages


def decay_groups(model):
    """The groups of transformers' Trainer: with and without weight decay."""
    from transformers import Trainer

    names = set(Trainer.get_decay_parameter_names(None, model))
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    return [{"params": [p for n, p in trained if (n in names) == decays]} for decays in (True, False)]


def without_values():
    """ZeRO-3 writes the model as text, for which it asks the device for values, which are not there on a null device."""
    torch.Tensor.__repr__ = lambda tensor, **settings: f"tensor of {tuple(tensor.shape)}"


class DeepSpeedStep(Step):
    def setup(self):
        import deepspeed

        p, c = self.p, self.case
        config = {
            "train_micro_batch_size_per_gpu": c["batch"],
            "gradient_accumulation_steps": c.get("accumulate", 1),
            "train_batch_size": c["batch"] * c.get("accumulate", 1) * self.world,
            **p["config"],
        }
        if c.get("clip"):
            config["gradient_clipping"] = 1.0
        deepspeed.init_distributed(dist_backend="nccl", auto_mpi_discovery=False)
        if config["zero_optimization"]["stage"] == 3 and p.get("zero_init", True):
            from transformers.initialization import no_init_weights

            quiet = no_init_weights() if p.get("skip_init") else contextlib.nullcontext()
            with quiet, deepspeed.zero.Init(config_dict_or_path=config, dtype=DTYPES[c["weights"]]):
                model = model_on(c, "cuda")
                model.tie_weights()
        else:
            model = model_on(c, "cuda")
            without_values()
        params = [q for q in model.parameters() if q.requires_grad]
        own = optimizer_of(c, decay_groups(model) if p.get("decay_groups") else params)
        if p["config"]["zero_optimization"].get("offload_optimizer"):
            config["zero_force_ds_cpu_optimizer"] = False
        self.model, self.optimizer, *_ = deepspeed.initialize(
            model=model, model_parameters=params, config=config, optimizer=own
        )
        self.never_skip()

    def never_skip(self):
        """A step whose gradients or norm are no finite numbers is skipped, and values are not there on a null device."""
        check = getattr(self.optimizer, "check_overflow", None)

        def fine(**settings):
            check(**settings)
            self.optimizer.overflow = False

        if check:
            self.optimizer.check_overflow = fine
        update = getattr(self.optimizer, "_loss_scale_update_and_overflow_cleanup", None)

        def finite():
            self.optimizer.overflow = False
            return update()

        if update:
            self.optimizer._loss_scale_update_and_overflow_cleanup = finite

    def run(self, mark):
        n = self.case.get("accumulate", 1)
        for i in range(n):
            with mark("forward"):
                loss = self.forward()
            with mark("backward"):
                self.model.backward(loss)
            del loss
            with mark("optimizer" if i == n - 1 else "accumulate"):
                self.model.step()

    def static_figures(self):
        z, out = self.optimizer, {"optimizer": type(self.optimizer).__name__}
        inner = getattr(z, "optimizer", z)
        state = [v for s in inner.state.values() for v in s.values() if torch.is_tensor(v)]
        out["local_optimizer_state_bytes"] = sum(storages(state).values())
        return out
