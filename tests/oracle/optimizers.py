# SPDX-License-Identifier: GPL-3.0-or-later
"""The optimizers of a case, by name, as users make them: torch's, transformers' Adafactor as its Trainer makes it, bitsandbytes'.

A name is that of memscope, then "_" and an implementation where there are several. bitsandbytes' are imported when asked for.
"""
import torch

import null_device


def torch_kind(name, implementation, **settings):
    how = {"foreach": implementation == "foreach"}
    if implementation == "fused":
        how = {"fused": True}
    return lambda params, more={}: [getattr(torch.optim, name)([p for _, p in params], **how, **settings, **more)]


def trainer_adafactor(params, more={}):
    from transformers.optimization import Adafactor
    return [Adafactor([p for _, p in params], lr=1e-3, scale_parameter=False, relative_step=False, **more)]


def page_in_host_memory(functional):
    """Unified memory needs a driver; memory of the host stands for it, as the allocator of the device sees neither."""
    def get_paged(*shape, dtype=torch.float32, device=None):
        tensor = torch.empty(shape, dtype=dtype)
        tensor.is_paged, tensor.page_deviceid = True, 0
        return tensor
    functional.get_paged = get_paged
    functional.fill = functional.prefetch_tensor = lambda *_, **__: None


def bitsandbytes_kind(name, bits, paged=False):
    def make(params, more={}):
        import bitsandbytes
        if paged and null_device.is_present():
            page_in_host_memory(bitsandbytes.functional)
        return [getattr(bitsandbytes.optim, name)([p for _, p in params], optim_bits=bits, is_paged=paged, **more)]
    return make


def as_trainer(make):
    """transformers' Trainer registers the weights of embeddings for states in 32 bits."""
    def make_spared(params, more={}):
        import types
        import bitsandbytes
        manager = bitsandbytes.optim.GlobalOptimManager.get_instance()
        manager.initialize()
        for name, parameter in params:
            if any(part in name for part in ("embed_tokens", "wte", "wpe")):
                manager.register_module_override(types.SimpleNamespace(weight=parameter), "weight", {"optim_bits": 32})
        return make(params, more)
    return make_spared


def is_matrix_of_layer(name, parameter):
    """What Muon is for: torch.optim.Muon takes matrices only, and its documentation leaves embeddings to AdamW."""
    return parameter.ndim == 2 and any(part in name for part in (".layers.", ".h."))


def muon(implementation):
    def make(params, more={}):
        matrices = [p for n, p in params if is_matrix_of_layer(n, p)]
        others = [(n, p) for n, p in params if not is_matrix_of_layer(n, p)]
        return ([torch.optim.Muon(matrices, **more)] if matrices else []) + (torch_kind("AdamW", implementation)(others) if others else [])
    return make


MOMENTUM = {"lr": 1e-3, "momentum": 0.9}
MAKERS = {
    **{"adamw_" + i: torch_kind("AdamW", i) for i in ("fused", "foreach", "loop")},
    **{"rmsprop_" + i: torch_kind("RMSprop", i) for i in ("foreach", "loop")},
    **{"adagrad_" + i: torch_kind("Adagrad", i) for i in ("foreach", "loop")},
    **{"muon_" + i: muon(i) for i in ("fused", "foreach", "loop")},
    **{"adam_" + i: torch_kind("Adam", i) for i in ("fused", "foreach", "loop")},
    "sgd": torch_kind("SGD", "foreach", lr=1e-3),
    "sgd_momentum": torch_kind("SGD", "foreach", **MOMENTUM),
    **{"sgd-momentum_" + i: torch_kind("SGD", i, **MOMENTUM) for i in ("fused", "foreach", "loop")},
    "adafactor-torch_loop": torch_kind("Adafactor", "loop"),
    "adafactor-torch_foreach": torch_kind("Adafactor", "foreach"),
    "adafactor": trainer_adafactor,
    "adamw-8bit": bitsandbytes_kind("AdamW", 8),
    "adamw-32bit": bitsandbytes_kind("AdamW", 32),
    "paged-adamw": bitsandbytes_kind("AdamW", 32, True),
    "paged-adamw-8bit": bitsandbytes_kind("AdamW", 8, True),
    "lion": bitsandbytes_kind("Lion", 32),
    "lion-8bit": bitsandbytes_kind("Lion", 8),
    "paged-lion": bitsandbytes_kind("Lion", 32, True),
    "paged-lion-8bit": bitsandbytes_kind("Lion", 8, True),
    "trainer-adamw-8bit": as_trainer(bitsandbytes_kind("AdamW", 8)),
    "trainer-paged-adamw-8bit": as_trainer(bitsandbytes_kind("AdamW", 8, True)),
    "trainer-lion-8bit": as_trainer(bitsandbytes_kind("Lion", 8)),
    "trainer-paged-lion-8bit": as_trainer(bitsandbytes_kind("Lion", 8, True)),
}


class Optimizers:
    """One optimizer, or several that share the parameters, stepped in turn."""

    def __init__(self, case, parameters):
        more = {"weight_decay": case["weight_decay"]} if "weight_decay" in case else {}
        self.parts = MAKERS[case["optimizer"]](parameters, more)

    def step(self):
        for part in self.parts:
            part.step()

    def zero_grad(self, set_to_none=True):
        for part in self.parts:
            part.zero_grad(set_to_none)

    def state_tensors(self):
        return [v for part in self.parts for state in part.state.values() for v in state.values() if torch.is_tensor(v)]

    def device_tensors(self):
        """States on the device; a step counter on the host belongs to them."""
        return [v for v in self.state_tensors() if not getattr(v, "is_paged", False)]

    def paged_bytes(self):
        """In unified memory, which the allocator of the device knows nothing of."""
        return sum(v.numel() * v.element_size() for v in self.state_tensors() if getattr(v, "is_paged", False))


class OptimizersInBackward(Optimizers):
    """One for each parameter, stepped by a hook when the gradient is there, which then goes: torch's tutorial, torchtune's optimizer_in_bwd."""

    def __init__(self, case, parameters):
        self.parts = []
        for name, parameter in parameters:
            mine = Optimizers(case, [(name, parameter)])
            self.parts += mine.parts
            parameter.register_post_accumulate_grad_hook(lambda _, mine=mine: (mine.step(), mine.zero_grad())[0])

    def step(self):
        pass


def optimizers_of(case, model):
    kind = OptimizersInBackward if case.get("in_backward") else Optimizers
    return kind(case, [(n, p) for n, p in model.named_parameters() if p.requires_grad])
