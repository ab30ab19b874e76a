# SPDX-License-Identifier: GPL-3.0-or-later
"""A model of Hugging Face, its optimizer, and the loop of one device, which the strategies change."""

import contextlib
import os
import sys

import torch
import torch.distributed as dist
import transformers
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import images
import losses
import measure_step

transformers.logging.set_verbosity_error()
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, None: None}


def model_on(case, device):
    measure_step.untie_head(case)
    measure_step.skip_compiled_kernels()
    torch.backends.cudnn.enabled = case.get("cudnn", True)
    config = AutoConfig.for_model(**case["config"])
    config.use_cache = config.get_text_config().use_cache = False
    config._attn_implementation = case["attn"]
    if case.get("experts"):
        config._experts_implementation = case["experts"]
    torch.manual_seed(0)
    torch.set_default_dtype(DTYPES[case["weights"]])
    with torch.device("cpu" if case.get("quantize") else device):
        name = (config.architectures or [None])[0]
        model = getattr(transformers, name)._from_config(config) if name else AutoModelForCausalLM.from_config(config)
    torch.set_default_dtype(torch.float32)
    model = measure_step.cast(model, DTYPES[case["weights"]])
    if case.get("quantize"):
        import quantized

        model = quantized.quantized(case, model, device)
    if case.get("liger"):
        import liger

        liger.apply(model)
    if case.get("lora"):
        from peft import LoraConfig, get_peft_model

        lora = case["lora"]
        model = get_peft_model(
            model,
            LoraConfig(
                r=lora["r"],
                lora_alpha=16,
                target_modules=lora["targets"],
                lora_dropout=lora.get("dropout", 0.0),
                task_type="CAUSAL_LM",
            ),
            autocast_adapter_dtype=lora.get("autocast_adapter_dtype", True),
        )
    if case.get("freeze_vision"):
        images.tower(causal_lm(model)).requires_grad_(False)
    if case.get("checkpointing"):
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": bool(case.get("reentrant"))})
        if case.get("lora"):
            model.enable_input_require_grads()
    if case.get("treat"):
        import treatments

        treatments.apply(model, case["treat"])
    return model.train()


def causal_lm(model):
    """The transformers model inside a PEFT model."""
    return model.base_model.model if hasattr(model, "peft_config") else model


def layers_of(model):
    """The layers of the model, an encoder's and a decoder's; those of a vision tower and Gemma 3n's projections of streams are none."""
    lists = {}
    for name, module in causal_lm(model).named_modules():
        is_inner = any(name.startswith(outer + ".") for outer in lists)
        if isinstance(module, nn.ModuleList) and not is_inner and not set(name.split(".")) & {"visual", "vision_tower"} and "altup_" not in name:
            lists[name] = module
    return [layer for layers in lists.values() for layer in layers]


def materialise(model, device="cuda"):
    """to_empty(device) in named_parameters order, module by module, keeping tied parameters tied."""
    memo = {}
    for module in model.modules():
        for name, p in list(module._parameters.items()):
            if p is None or p.device.type != "meta":
                continue
            if id(p) not in memo:
                memo[id(p)] = (nn.Parameter(torch.empty_like(p, device=device), requires_grad=p.requires_grad), p)
            module._parameters[name] = memo[id(p)][0]
        for name, b in list(module._buffers.items()):
            if b is not None and b.device.type == "meta":
                module._buffers[name] = torch.empty_like(b, device="cuda")
    return model


def optimizer_of(case, params):
    """One parameter group per kind of tensor: fused and foreach kernels refuse to mix DTensors and tensors."""
    name, groups = case["optimizer"], {}
    for p in params:
        if not isinstance(p, dict):
            groups.setdefault(getattr(p, "device_mesh", None), []).append(p)
    params = [{"params": g} for g in groups.values()] if len(groups) > 1 else params
    if name.startswith("adamw"):
        impl = name.split("_")[1]
        return torch.optim.AdamW(
            params, fused=impl == "fused" or None, foreach={"foreach": True, "loop": False}.get(impl)
        )
    return torch.optim.SGD(params, lr=1e-3, momentum=0.9 if name == "sgd_momentum" else 0.0, foreach=True)


def local(t):
    t = getattr(t, "_local_tensor", t)
    return t


def storages(tensors):
    return {local(t).untyped_storage().data_ptr(): local(t).untyped_storage().nbytes() for t in tensors}


class Step:
    """The loop of ../measure_step.py; strategies override what differs. A process group is there already."""

    def __init__(self, case):
        self.case, self.p = case, case.get("parallel", {})
        self.world = dist.get_world_size() if dist.is_initialized() else 1
        self.setup()
        self.inputs = self.make_inputs()
        self.ids = self.inputs.get("input_ids")

    def setup(self):
        self.model = model_on(self.case, "cuda")
        self.optimizer = optimizer_of(self.case, self.trainable())

    def trainable(self):
        return [p for p in self.model.parameters() if p.requires_grad]

    def make_inputs(self, batch=None):
        case = {**self.case, "batch": batch or self.case["batch"]}
        return measure_step.inputs_of(case, causal_lm(getattr(self.model, "module", self.model)), "cuda")

    def tokens_alone(self):
        """What the first of several chunks gets."""
        c = self.case
        return {"input_ids": torch.randint(0, c["config"]["vocab_size"], (c["batch"], c["seq"]), device="cuda")}

    def loss(self):
        return self.model(**self.inputs).loss

    def forward(self):
        if self.case.get("autocast"):
            with torch.autocast("cuda", dtype=DTYPES[self.case["autocast"]]):
                return self.loss()
        return self.loss()

    def microstep(self, i, last):  # context of one micro-step
        return contextlib.nullcontext()

    def clip(self):
        torch.nn.utils.clip_grad_norm_(self.trainable(), 1.0, foreach=True)

    def run(self, mark):
        n = self.case.get("accumulate", 1)
        for i in range(n):
            with self.microstep(i, i == n - 1):
                with mark("forward"):
                    loss = self.forward()
                with mark("backward"):
                    loss.backward()
                del loss
        if self.case.get("clip"):
            with mark("clip"):
                self.clip()
        with mark("optimizer"):
            self.optimizer.step()
        with mark("zero_grad"):
            self.optimizer.zero_grad(set_to_none=True)

    def state_tensors(self):
        return [v for s in self.optimizer.state.values() for v in s.values() if torch.is_tensor(v)]

    def outputs(self, inputs):
        """Those of an evaluation, for which Trainer takes the model out of what is wrapped around it."""
        dtype = DTYPES[self.case.get("autocast")]
        autocast = torch.autocast("cuda", dtype=dtype) if dtype else None
        outputs = losses.trainer_outputs(getattr(self.model, "module", self.model), inputs, autocast)
        return outputs.loss, outputs

    def gather(self, tensor):
        from accelerate.utils import gather

        return gather(tensor)

    def padded(self, tensor):
        """accelerate's pad_across_processes; its tensors are as long on all ranks, which the device cannot say."""
        size = torch.tensor(tensor.shape, device=tensor.device)[None]
        self.gather(size).cpu()
        return tensor

    def evaluate(self, mark):
        from evaluation import Evaluation

        evaluation = Evaluation(self, self.case["eval_batch"], self.case.get("eval_logits"))
        with mark("evaluation"):
            evaluation.run()

    def static_figures(self):
        params = list({id(p): p for p in self.model.parameters()}.values())
        beside = []
        if self.case.get("quantize"):
            import quantized

            beside = list(quantized.tensors_beside(self.model))
        return {
            "local_parameters": sum(local(p).numel() for p in params),
            "local_weight_bytes": sum(storages(params + beside).values()),
            "local_optimizer_state_bytes": sum(storages(self.state_tensors()).values()),
        }
