# SPDX-License-Identifier: GPL-3.0-or-later
"""Treatments of the layers of a Hugging Face causal LM: checkpoint, selective checkpoint, offload, tiled MLP and attention, chunked loss.

    treatments.apply(model, "first:8=checkpoint,8-31=offload:0.5,loss=chunk:8")
    model(input_ids=input_ids, labels=labels).loss.backward()

A plan is a comma-separated list of LAYERS=TREATMENT; later items win. LAYERS: all, first:N, last:N, every:N or numbers and
ranges such as 0,2,5-9 (a comma part without '=' belongs to the layers of the next item).

    keep            as is
    checkpoint      recompute the layer in backward (Hugging Face's gradient checkpointing, use_reentrant=False)
    selective:OPS   the same, but keep the outputs of OPS: ATen names joined by '+', as mm+_scaled_dot_product_flash_attention;
                    mm#2 is only the third mm of the layer's forward
    offload:R       keep, but of what the layer saved for backward, R (0 < R <= 1) of the bytes wait in pinned host memory
    checkpoint-mlp  recompute the MLP alone
    checkpoint-norms  recompute the layer's own norms alone; may follow checkpoint-mlp or pieces: checkpoint-mlp+checkpoint-norms
    +offload        behind checkpoint or selective:OPS: the layer's input waits in pinned host memory, but for the last layer's
    +save_on_cpu    the same by PyTorch's save_on_cpu: nothing runs beside the copies, the last layer's input goes as well
    tile:N          run the MLP in N pieces of the tokens; may follow one of the others: checkpoint+tile:2
    tile-attention:N  run attention in N pieces of the queries; the same
    loss=chunk:N    logits and loss in N pieces of the tokens, each recomputed in backward

The code is what `--target pytorch` prints, in python/memscope/pytorch. How long what lives is said there at each class: memscope's
figures follow it to the byte.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
from memscope.pytorch.checkpoint_mlp import recompute_mlp
from memscope.pytorch.checkpoint_norms import recompute_norms
from memscope.pytorch.layers import layers_of
from memscope.pytorch.loss import chunk_loss
from memscope.pytorch.offload import LayerOffload, Offload, Sent, storage_of  # noqa: F401
from memscope.pytorch.checkpoint_layer import recompute
from memscope.pytorch.save_on_cpu import save_input_on_cpu
from memscope.pytorch.selective import recompute_but
from memscope.pytorch.tiled_mlp import tile
from memscope.pytorch.tiled_attention import tile_attention


def select(text, count):
    """The layers that one part of a list names."""
    word, colon, number = text.partition(":")
    if text == "all":
        return range(count)
    if colon and word in ("first", "last", "every"):
        n = int(number)
        return {"first": range(n), "last": range(count - n, count), "every": range(0, count, n)}[word]
    if not re.fullmatch(r"\d+(-\d+)?", text):
        raise ValueError(f"'{text}' does not name layers")
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def parse(plan, count):
    """(treatment text of each layer, chunks of the loss or 0)"""
    treatments, chunks, names = ["keep"] * count, 0, []
    for part in plan.split(","):
        name, equals, treatment = part.partition("=")
        names.append(name)
        if not equals:
            continue
        if names == ["loss"]:
            chunks = int(re.fullmatch(r"chunk:(\d+)", treatment).group(1))
        else:
            for layer in (i for n in names for i in select(n, count)):
                treatments[layer] = treatment
        names = []
    if names:
        raise ValueError(f"'{','.join(names)}' has no treatment")
    return treatments, chunks


def apply(model, plan):
    """Treat the layers and the loss of a model, once and for all."""
    layers = layers_of(model)
    treatments, chunks = parse(plan, len(layers))
    ratios, inputs = {}, set()
    for i, (layer, treatment) in enumerate(zip(layers, treatments)):
        words = treatment.split("+")
        for word in [w for w in words if w.startswith("tile")]:
            words.remove(word)
            name, _, number = word.partition(":")
            if name == "tile":
                tile(layer, int(number))
            else:
                tile_attention(layer, int(number))
        if "checkpoint-norms" in words:
            words.remove("checkpoint-norms")
            if words and words[0] not in ("keep", "checkpoint-mlp"):
                raise ValueError(f"'{treatment}' is no treatment")
            recompute_norms(layer)
        places = [w for w in ("offload", "save_on_cpu") if w in words]
        for place in places:
            words.remove(place)
        name, _, value = words[0].partition(":") if words else ("keep", "", "")
        if name == "checkpoint":
            recompute(layer)
        elif name == "checkpoint-mlp":
            recompute_mlp(layer)
        elif name == "selective":
            recompute_but(layer, value, *words[1:])
        elif name == "offload":
            ratios[i] = float(value)
        elif name != "keep":
            raise ValueError(f"'{treatment}' is no treatment")
        if places and name not in ("checkpoint", "selective"):
            raise ValueError(f"'{treatment}' is no treatment")
        if places == ["offload"]:
            inputs.add(i)
        elif places:
            save_input_on_cpu(layer)
    if ratios or inputs:
        Offload(layers, ratios, inputs)
    if chunks:
        chunk_loss(model, chunks)
