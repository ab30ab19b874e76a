# SPDX-License-Identifier: GPL-3.0-or-later
from functools import partial
from inspect import signature
from typing import Any
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from transformers.modeling_outputs import CausalLMOutputWithPast
from .layers import decoder_of
from .pieces import pieces_of


# Models whose loss was found to be the plain one: labels shifted by one, and no more than a head behind the decoder.
PLAIN = frozenset([
    "arcee", "deepseek_v2", "deepseek_v3", "dots1", "ernie4_5", "ernie4_5_moe", "exaone4", "falcon", "gemma",
    "gemma2", "gemma3", "gemma3_text", "gemma3n_text", "gemma4_text", "glm", "glm4", "glm4_moe", "gpt2",
    "gpt_neox", "gpt_oss", "hunyuan_v1_dense", "lfm2", "llama", "minimax_m2", "ministral3", "mistral",
    "mixtral", "olmo2", "olmo3", "olmoe", "opt", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3",
    "qwen3_5_moe_text", "qwen3_5_text", "qwen3_moe", "qwen3_next", "seed_oss", "smollm3", "stablelm",
    "starcoder2",
])


def chunked_loss(decoder: Any, head: Any, number: int, labels: Any, cap: Any = None, items: Any = None,
                 shift_labels: Any = None, **inputs: Any) -> Any:
    """The loss of ForCausalLM(**inputs, labels=labels) with the logits of 1/number of the tokens at a time.

    Each piece is a checkpoint of views of the hidden states and the shifted labels; a piece's sum goes as soon as it
    is added. `cap` is the model's final_logit_softcapping, `items` what the sum is divided by in place of the number
    of labels. Not for models that scale their logits outside of lm_head.
    """

    def logits_of(hidden: Any) -> Any:
        logits = head(hidden)
        return logits if cap is None else (logits / cap).tanh() * cap

    def sum_of(hidden: Any, labels: Any) -> Any:
        return F.cross_entropy(logits_of(hidden).float(), labels, ignore_index=-100, reduction="sum")

    hidden = decoder(**inputs)[0]
    shifted = F.pad(labels, (0, 1), value=-100)[..., 1:] if shift_labels is None else shift_labels
    shifted = shifted.reshape(-1).to(hidden.device)
    total = None
    for hidden_piece, labels_piece in zip(pieces_of(hidden, number), shifted.chunk(number)):
        if total is None:
            total = checkpoint(sum_of, hidden_piece, labels_piece, use_reentrant=False)
        else:
            total = total + checkpoint(sum_of, hidden_piece, labels_piece, use_reentrant=False)
    return total / ((shifted != -100).sum() if items is None else items)


def has_more_than_text(inputs: Any) -> bool:
    kinds = ("pixel_", "image", "video", "audio", "input_features")
    return any(value is not None and name.startswith(kinds) for name, value in inputs.items())


# Arguments that ask for what is only there when the logits are.
WHOLE = ("output_router_logits", "output_hidden_states", "output_attentions", "logits_to_keep", "ignore_index")


def asks_for_more(config: Any, inputs: Any) -> bool:
    return has_more_than_text(inputs) or any(
        inputs.get(name) if inputs.get(name) is not None else getattr(config, name, None) for name in WHOLE)


def run_with_chunked_loss(model: Any, forward: Any, names: Any, number: int, *args: Any, **kwargs: Any) -> Any:
    kwargs.update(zip(names, args))
    if kwargs.get("labels") is None or not torch.is_grad_enabled() or asks_for_more(model.config, kwargs):
        return forward(**kwargs)
    decoder = decoder_of(model)
    if "token_type_ids" not in signature(decoder.forward).parameters:
        kwargs.pop("token_type_ids", None)  # they say where pictures are
    cap = getattr(model.config, "final_logit_softcapping", None)
    is_tuple, items = kwargs.pop("return_dict", None) is False, kwargs.pop("num_items_in_batch", None)
    loss = chunked_loss(decoder, model.get_output_embeddings(), number, cap=cap, items=items, **kwargs)
    return (loss,) if is_tuple else CausalLMOutputWithPast(loss=loss)


def why_whole(model: Any) -> Any:
    """Why the loss of this model cannot be computed in chunks; None: it can."""
    kind, config = type(model).__name__, getattr(model, "config", None)
    for name in ("logit_scale", "logits_scaling", "lm_head_multiplier", "output_router_logits"):
        if getattr(config, name, None) not in (None, False, 1):
            return f"{name} of the config changes the loss outside of the head, so it cannot be in chunks"
    is_own = not getattr(type(model).forward, "__module__", "").startswith("transformers.models.")
    if "forward" in vars(model):
        return f"the forward of this {kind} was replaced, which a loss in chunks would step around"
    ends = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
    loss = getattr(getattr(model, "loss_function", None), "__name__", "")
    is_known = getattr(config, "model_type", None) in PLAIN and kind.endswith(ends)
    if is_own or not is_known or loss != "ForCausalLMLoss":
        return f"the loss of {kind} is not that of a causal language model, which can be computed in chunks"
    return None


def chunk_loss(model: Any, number: int) -> None:
    """With labels, gradients and text alone, compute the loss, with the logits of 1/number of the tokens at a time."""
    if hasattr(model, "peft_config"):
        model = model.get_base_model()
    why = why_whole(model)
    if why:
        raise ValueError(why)
    arguments = signature(model.forward)
    forward: Any = partial(run_with_chunked_loss, model, model.forward, list(arguments.parameters), number)
    forward.__signature__ = arguments  # trainers ask which columns the model takes
    model.forward = forward
