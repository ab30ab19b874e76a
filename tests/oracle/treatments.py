# SPDX-License-Identifier: GPL-3.0-or-later
"""Treatments of the layers of a Hugging Face causal LM: checkpoint, selective checkpoint, offload, tiled MLP, chunked loss.

    loss_of = treatments.apply(model, "first:8=checkpoint,8-31=offload:0.5,loss=chunk:8")
    loss_of(input_ids, labels).backward()

A plan is a comma-separated list of LAYERS=TREATMENT; later items win. LAYERS: all, first:N, last:N, every:N or numbers and
ranges such as 0,2,5-9 (a comma part without '=' belongs to the layers of the next item).

    keep            as is
    checkpoint      recompute the layer in backward (Hugging Face's gradient checkpointing, use_reentrant=False)
    selective:OPS   the same, but keep the outputs of OPS: ATen names joined by '+', as mm+_scaled_dot_product_flash_attention;
                    mm#2 is only the third mm of the layer's forward
    offload:R       keep, but of what the layer saved for backward, R (0 < R <= 1) of the bytes wait in pinned host memory
    tile:N          run the MLP in N pieces of the tokens; may follow one of the others: checkpoint+tile:2
    loss=chunk:N    logits and loss in N pieces of the tokens, each recomputed in backward

How long what lives is said at each class: memscope's figures follow it to the byte.
"""
import re
import weakref
from collections import Counter
from functools import partial

import torch
import torch.nn.functional as F
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import (CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts, get_device_states,
                                    set_device_states)

# ---- selective checkpoint ---------------------------------------------------------------------------------------------


def selective_contexts(saved):
    """The context_fn of checkpoint(): keep the outputs of the operators in `saved` ("mm", "mm#2"), recompute the others.

    Called anew for every forward, for the occurrence numbers start again there (and again in the recomputation).
    What is kept: every output of the operator (also those nobody saves), in a list that belongs to the recomputation
    function. The recomputation takes each out of the list when it gets to its operator; those behind the last saved tensor,
    where the recomputation stops, stay until the last node of the layer that saved something has run its backward.
    Do not keep the output of an operator that draws random numbers (attention with dropout) in front of another one: the
    recomputation would not draw them, and the next one would draw others than in forward.
    """
    seen = Counter()

    def policy(context, op, *args, **kwargs):
        name = op._schema.name.partition("::")[2]
        number = seen[context.is_recompute, name]
        seen[context.is_recompute, name] += 1
        keep = name in saved or f"{name}#{number}" in saved
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


# ---- offload ----------------------------------------------------------------------------------------------------------


def storage_of(tensor):
    """An identity of the tensor's storage that no later storage at the same address can take."""
    return StorageWeakRef(tensor.untyped_storage())


class Sent:
    """One storage of a layer that went to the host.

    It is owned by its packs: the saved tensors of the autograd graph. `device` is what came back: set by fetch(), dropped at
    the last unpack, so that from then on only the autograd node that runs (and tensors it makes) holds the device memory. It
    goes when the node's own code returns, as a recomputed tensor does, and so before the engine sums a broadcast gradient (of a
    norm's weight, say); what an untreated layer saved, or what stays, goes after that.
    """

    def __init__(self, schedule, device_bytes):
        self.schedule, self.packs, self.unpacks = schedule, 0, 0
        self.device = self.arrived = None
        self.host = torch.empty(device_bytes.shape, dtype=torch.uint8, pin_memory=device_bytes.is_cuda)
        schedule.outward.wait_stream(schedule.compute())
        with schedule.backend.stream(schedule.outward):
            self.host.copy_(device_bytes, non_blocking=True)

    def fetch(self):
        schedule = self.schedule
        self.device = torch.empty(self.host.shape, dtype=torch.uint8, device=schedule.device)  # of the compute stream
        schedule.homeward.wait_stream(schedule.compute())  # its block may be in use there
        schedule.homeward.wait_stream(schedule.outward)
        with schedule.backend.stream(schedule.homeward):
            self.device.copy_(self.host, non_blocking=True)
            self.arrived = schedule.homeward.record_event()

    def wait(self):
        """From here on, the compute stream may use `device`, or give it back."""
        if self.arrived is not None:
            self.schedule.compute().wait_event(self.arrived)
        self.arrived = None

    def unpack(self, dtype, offset, size, stride):
        if self.device is None:  # a second backward, or one that began before forward ended
            self.fetch()
        self.wait()
        tensor = torch.empty(0, dtype=dtype, device=self.schedule.device)
        tensor.set_(self.device.untyped_storage(), offset, size, stride)
        self.unpacks += 1
        if self.unpacks == self.packs:
            self.device, self.unpacks = None, 0
        return tensor

    def __del__(self):
        self.wait()  # the node that saved it never ran


class LayerOffload:
    """What one run of one layer's forward saves: who stays, who goes.

    `pending` holds the device bytes of what was sent, in the order of packing, until release(). The rest is held by the
    autograd graph alone: the tensors that stay, and each Sent (here are only weak references).
    """

    def __init__(self, schedule, ratio, not_ours):
        self.schedule, self.ratio = schedule, ratio
        self.fates = {storage_of(t): None for t in not_ours}  # storage: its Sent, or None where it stays
        self.seen_bytes = self.sent_bytes = 0
        self.pending, self.sent = [], []

    def pack(self, tensor):
        # A saved output still knows its node here: without detach() the node would hold itself.
        stays = tensor.detach()
        if tensor.device != self.schedule.device or tensor.layout != torch.strided or tensor.is_neg() or tensor.is_conj():
            return stays
        storage = storage_of(tensor)
        if storage not in self.fates:
            self.fates[storage] = self.decide(tensor)
        sent = self.fates[storage]
        if sent is None:
            return stays
        sent.packs += 1
        return sent, tensor.dtype, tensor.storage_offset(), tensor.size(), tensor.stride()

    def decide(self, tensor):
        size = tensor.untyped_storage().nbytes()
        if size < 1024:
            return None
        self.seen_bytes += size
        if self.sent_bytes + size > self.ratio * self.seen_bytes:
            return None
        self.sent_bytes += size
        device_bytes = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
        sent = Sent(self.schedule, device_bytes)
        self.pending.append(device_bytes)
        self.sent.append(weakref.ref(sent))
        return sent

    def end(self):
        """The layer's forward has ended."""
        self.fates.clear()
        self.copied = self.schedule.outward.record_event()

    def release(self):
        """The next layer's forward has ended: give the device memory back, first packed first."""
        self.schedule.compute().wait_event(self.copied)
        while self.pending:
            del self.pending[0]


def unpack(packed):
    return packed if torch.is_tensor(packed) else packed[0].unpack(*packed[1:])


def fetch_all(sent, _grad):
    """Backward is about to run the next layer: start the copies back, last sent first."""
    for reference in reversed(sent):
        one = reference()
        if one is not None and one.device is None:
            one.fetch()


class Offload:
    """The schedule: layer i's copies to the host run beside the forward of layer i+1, those back beside its backward.

    Two streams, one each way. All device memory is allocated on the compute stream and goes back to it after it has waited
    for the copy, so the caching allocator knows of one stream only and blocks are free for reuse at once.

    forward of layer i      a storage to be sent is copied when it is first packed; the layer's `pending` holds it
    end of forward i+1      the compute stream waits for layer i's copies; `pending` is dropped
    backward reaches i+1    the gradient of its output is ready, none of its nodes has run: all that layer i sent is
                            allocated, last sent first, each with its copy
    backward of layer i     the first unpack makes the compute stream wait for that storage's copy, the last drops it

    Candidates are strided tensors on the model's device whose storage has 1024 bytes or more and is not one of an argument
    of the layer, of its parameters or its buffers: what the layer's forward made. (Under autocast that includes the cast
    weights; the autocast cache holds their device memory too, until the region ends.) A storage counts once: its first pack
    decides. It goes if the bytes sent, with it, are at most R times the bytes seen, with it. The last layer keeps all.
    PyTorch rounds each pinned buffer up to a power of two, and keeps it for the next step.
    """

    def __init__(self, layers, ratios):
        self.device = next(layers.parameters()).device
        self.backend = getattr(torch, self.device.type)
        self.outward, self.homeward = self.backend.Stream(self.device), self.backend.Stream(self.device)
        self.previous = None  # the LayerOffload of the layer before the one that runs
        for i, layer in enumerate(layers):
            ratio = ratios.get(i) if i + 1 < len(layers) else None
            layer.forward = partial(self.run, layer, layer.forward, ratio)

    def compute(self):
        return self.backend.current_stream(self.device)

    def run(self, layer, forward, ratio, *args, **kwargs):
        before, self.previous = self.previous, None
        if ratio and torch.is_grad_enabled():
            arguments = [t for t in pytree.tree_leaves((args, kwargs)) if torch.is_tensor(t)]
            mine = LayerOffload(self, ratio, [*arguments, *layer.parameters(), *layer.buffers()])
            with torch.autograd.graph.saved_tensors_hooks(mine.pack, unpack):
                output = forward(*args, **kwargs)
            mine.end()
            self.previous = mine
        else:
            output = forward(*args, **kwargs)
        if before is not None:
            before.release()
            first = output if torch.is_tensor(output) else output[0]
            if first.requires_grad:
                first.register_hook(partial(fetch_all, before.sent))
        return output


# ---- tiled MLP --------------------------------------------------------------------------------------------------------


def pieces_of(tensor, number):
    return tensor.reshape(-1, tensor.shape[-1]).chunk(number)


class Tiled(torch.autograd.Function):
    """y = mlp(x), piece by piece of the tokens; backward runs each piece again and adds to the weights' .grad as it goes.

    Hooks on the weights' gradients (DDP's, say) therefore run once a piece.

    forward   saves x. The pieces of y live until cat() has returned, then go, last piece first.
    backward  x, grad and x_grad (all whole) live throughout. Of one piece: its graph goes node by node in the inner backward;
              `out` lives until that has returned; then x_grad's piece is filled and the piece's own gradient goes. Nothing
              of a piece outlives it but the weights' gradients (and, under autocast, the cast weights: to the last piece).
    """

    @staticmethod
    def forward(ctx, x, mlp, number):
        device = x.device.type
        ctx.mlp, ctx.number = mlp, number
        ctx.autocast = dict(device_type=device, enabled=torch.is_autocast_enabled(device), dtype=torch.get_autocast_dtype(device))
        ctx.random = torch.get_rng_state(), *get_device_states(x)  # on the host: dropout repeats itself in backward
        ctx.save_for_backward(x)
        return torch.cat([mlp(piece) for piece in pieces_of(x, number)]).view_as(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        x_grad = torch.empty_like(x, memory_format=torch.contiguous_format)
        cpu_state, devices, states = ctx.random
        # A cache from an autocast region around this backward could hold casts that forward made without a graph.
        cache = not torch.is_autocast_enabled(x.device.type)
        with torch.random.fork_rng(devices), torch.autocast(**ctx.autocast, cache_enabled=cache):
            torch.set_rng_state(cpu_state)
            set_device_states(devices, states)
            for x_piece, grad_piece, x_grad_piece in zip(*(pieces_of(t, ctx.number) for t in (x.detach(), grad, x_grad))):
                x_piece = x_piece.detach().requires_grad_()
                with torch.enable_grad():
                    out = ctx.mlp(x_piece)
                torch.autograd.backward(out, grad_piece)
                del out
                x_grad_piece.copy_(x_piece.grad)
                x_piece.grad = None
        return x_grad, None, None


def tiled(mlp, number, x):
    # With an x that needs no gradient the Function would not reach the weights either.
    return Tiled.apply(x, mlp, number) if x.requires_grad else mlp(x)


# ---- chunked loss -----------------------------------------------------------------------------------------------------


def chunked_loss(decoder, head, number, input_ids, labels):
    """The loss of ForCausalLM(input_ids, labels) with the logits of 1/number of the tokens at a time.

    Each piece is a checkpoint of views of the hidden states and the shifted labels; a piece's sum goes as soon as it is added.
    Not for models that scale or cap their logits outside of lm_head.
    """

    def sum_of(hidden, labels):
        return F.cross_entropy(head(hidden).float(), labels, ignore_index=-100, reduction="sum")

    hidden = decoder(input_ids=input_ids)[0]
    shifted = F.pad(labels, (0, 1), value=-100)[..., 1:].reshape(-1)
    total = None
    for hidden_piece, labels_piece in zip(pieces_of(hidden, number), shifted.chunk(number)):
        if total is None:
            total = checkpoint(sum_of, hidden_piece, labels_piece, use_reentrant=False)
        else:
            total = total + checkpoint(sum_of, hidden_piece, labels_piece, use_reentrant=False)
    return total / (shifted != -100).sum()


# ---- plans ------------------------------------------------------------------------------------------------------------


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
    """Treat the layers of a model that is on its device, once and for all; gives the function (input_ids, labels) -> loss."""
    decoder = model.get_decoder()
    layers = decoder.layers if hasattr(decoder, "layers") else decoder.h
    treatments, chunks = parse(plan, len(layers))
    ratios = {}
    for i, (layer, treatment) in enumerate(zip(layers, treatments)):
        words = treatment.split("+")
        tile = next((w for w in words if w.startswith("tile:")), None)
        if tile:
            words.remove(tile)
            layer.mlp.forward = partial(tiled, layer.mlp.forward, int(tile[5:]))
        name, _, value = words[0].partition(":") if words else ("keep", "", "")
        if name in ("checkpoint", "selective"):
            kwargs = {}
            if name == "selective":
                kwargs["context_fn"] = partial(selective_contexts, frozenset([value, *words[1:]]))
            layer.gradient_checkpointing = True
            layer._gradient_checkpointing_func = partial(checkpoint, use_reentrant=False, **kwargs)
        elif name == "offload":
            ratios[i] = float(value)
        elif name != "keep":
            raise ValueError(f"'{treatment}' is no treatment")
    if ratios:
        Offload(layers, ratios)
    if chunks:
        return partial(chunked_loss, decoder, model.get_output_embeddings(), chunks)
    return lambda input_ids, labels: model(input_ids=input_ids, labels=labels).loss
