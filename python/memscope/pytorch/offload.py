# SPDX-License-Identifier: GPL-3.0-or-later
import weakref
from contextlib import nullcontext
from functools import partial
from typing import Any
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils import _pytree as pytree


def storage_of(tensor: Any) -> Any:
    """An identity of the tensor's storage that no later storage at the same address can take."""
    return StorageWeakRef(tensor.untyped_storage())


class HostStream:
    """The host has no streams: what is begun is done."""

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self) -> None:
        pass


class HostBackend:
    """What torch.cuda has for streams, of the host."""

    @staticmethod
    def Stream(device: Any) -> HostStream:
        return HostStream()

    @staticmethod
    def current_stream(device: Any) -> HostStream:
        return HostStream()

    @staticmethod
    def stream(stream: Any) -> Any:
        return nullcontext()

    @staticmethod
    def synchronize(device: Any) -> None:
        pass


def backend_of(device: Any) -> Any:
    return HostBackend if device.type == "cpu" else getattr(torch, device.type)


def check_unchanged(is_changed: bool) -> None:
    """As PyTorch does of what it saves itself."""
    if is_changed:
        raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace "
                           "operation, while it was offloaded")


class Kept:
    """A saved tensor that stays on the device."""

    def __init__(self, tensor: Any) -> None:
        # A saved output still knows its node here: without detach() the node would hold itself.
        self.tensor, self.version = tensor.detach(), tensor._version

    def unpack(self) -> Any:
        check_unchanged(self.tensor._version != self.version)
        return self.tensor


class Pending:
    """The device memory of one that is sent, until its copy is done; what changes it meanwhile spoils the copy."""

    def __init__(self, sent: Any, tensor: Any) -> None:
        self.sent, self.tensor, self.version = weakref.ref(sent), tensor.detach(), tensor._version

    def settle(self) -> None:
        sent = self.sent()
        if sent is not None:
            sent.is_changed = self.tensor._version != self.version


class Sent:
    """One storage of a layer that went to the host.

    It is owned by its packs: the saved tensors of the autograd graph. `device` is what came back: set by fetch(),
    dropped at the last unpack, so that from then on only the autograd node that runs (and tensors it makes) holds the
    device memory. It goes when the node's own code returns, as a recomputed tensor does, and so before the engine sums
    a broadcast gradient (of a norm's weight, say); what an untreated layer saved, or what stays, goes after that.
    """

    def __init__(self, schedule: Any, device_bytes: Any) -> None:
        self.schedule, self.packs, self.unpacks, self.is_changed = schedule, 0, 0, False
        self.device: Any = None
        self.arrived: Any = None
        self.host = torch.empty(device_bytes.shape, dtype=torch.uint8, pin_memory=device_bytes.is_cuda)
        schedule.outward.wait_stream(schedule.compute())
        with schedule.backend.stream(schedule.outward):
            self.host.copy_(device_bytes, non_blocking=True)

    def fetch(self) -> None:
        schedule = self.schedule  # memory of the compute stream
        self.device = torch.empty(self.host.shape, dtype=torch.uint8, device=schedule.device)
        schedule.homeward.wait_stream(schedule.compute())  # its block may be in use there
        schedule.homeward.wait_stream(schedule.outward)
        with schedule.backend.stream(schedule.homeward):
            self.device.copy_(self.host, non_blocking=True)
            self.arrived = schedule.homeward.record_event()

    def wait(self) -> None:
        """From here on, the compute stream may use `device`, or give it back."""
        if self.arrived is not None:
            self.schedule.compute().wait_event(self.arrived)
        self.arrived = None

    def unpack(self, dtype: Any, offset: Any, size: Any, stride: Any) -> Any:
        check_unchanged(self.is_changed)
        if self.device is None:  # a second backward, or one that began before forward ended
            self.fetch()
        self.wait()
        tensor = torch.empty(0, dtype=dtype, device=self.schedule.device)
        tensor.set_(self.device.untyped_storage(), offset, size, stride)
        self.unpacks += 1
        if self.unpacks == self.packs:
            self.device, self.unpacks = None, 0
        return tensor

    def __del__(self) -> None:
        self.wait()  # the node that saved it never ran


class LayerOffload:
    """What one run of one layer's forward, or its checkpoint, saves: who stays, who goes.

    `pending` holds the device memory of what was sent, in the order of packing, until release(). The rest is held by
    the autograd graph alone: the tensors that stay, and each Sent (here are only weak references).
    """

    def __init__(self, schedule: Any, ratio: float, not_ours: Any) -> None:
        self.schedule, self.ratio = schedule, ratio
        # Storage: its Sent, or None where it stays; the version that was sent.
        self.fates: Any = {storage_of(t): (None, 0) for t in not_ours}
        self.seen_bytes = self.sent_bytes = 0
        self.pending: Any = []
        self.sent: Any = []

    def pack(self, tensor: Any) -> Any:
        is_plain = tensor.layout == torch.strided and not tensor.is_neg() and not tensor.is_conj()
        if tensor.device != self.schedule.device or not is_plain:
            return Kept(tensor), ()
        storage = storage_of(tensor)
        if storage not in self.fates:
            self.fates[storage] = self.decide(tensor), tensor._version
        sent, version = self.fates[storage]
        if sent is None or version != tensor._version:  # it was sent as it was before a change
            return Kept(tensor), ()
        sent.packs += 1
        return sent, (tensor.dtype, tensor.storage_offset(), tensor.size(), tensor.stride())

    def decide(self, tensor: Any) -> Any:
        size = tensor.untyped_storage().nbytes()
        if size < 1024:
            return None
        self.seen_bytes += size
        if self.sent_bytes + size > self.ratio * self.seen_bytes:
            return None
        self.sent_bytes += size
        device_bytes = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        device_bytes.set_(tensor.untyped_storage())
        sent = Sent(self.schedule, device_bytes)
        self.pending.append(Pending(sent, tensor))
        self.sent.append(weakref.ref(sent))
        return sent

    def end(self) -> None:
        """The layer's forward has ended."""
        self.fates.clear()
        self.copied = self.schedule.outward.record_event()

    def release(self) -> None:
        """The next layer's forward has ended: give the device memory back, first packed first."""
        self.schedule.compute().wait_event(self.copied)
        while self.pending:
            self.pending.pop(0).settle()


def unpack(packed: Any) -> Any:
    return packed[0].unpack(*packed[1])


def fetch_all(sent: Any, _grad: Any) -> None:
    """Backward is about to run the next layer: start the copies back, last sent first."""
    for reference in reversed(sent):
        one = reference()
        if one is not None and one.device is None:
            one.fetch()


class Offload:
    """The schedule: layer i's copies to the host run beside the forward of layer i+1, those back beside its backward.

    Two streams, one each way. All device memory is allocated on the compute stream and goes back to it after it has
    waited for the copy, so the caching allocator knows of one stream only and blocks are free for reuse at once.

    forward of layer i      a storage to be sent is copied when it is first packed (a checkpoint's input before the
                            layer runs); the layer's `pending` holds it
    end of forward i+1      the compute stream waits for layer i's copies; `pending` is dropped
    backward reaches i+1    the gradient of its output is ready, none of its nodes has run: all that layer i sent is
                            allocated, last sent first, each with its copy
    backward of layer i     the first unpack makes the compute stream wait for that storage's copy, the last drops it;
                            a checkpoint's input then lives as long as the recomputation, or what that saves, needs it

    Candidates are strided tensors on the layer's device whose storage has 1024 bytes or more and is not one of an
    argument of the layer, of its parameters or its buffers: what the layer's forward made. (Under autocast that
    includes the cast weights; the autocast cache holds their device memory too, until the region ends.) A storage
    counts once: its first pack decides. It goes if the bytes sent, with it, are at most R times the bytes seen, with
    it. The last layer keeps all. Of a checkpointed layer in `inputs` the candidate is its input, the hidden states;
    recompute() comes first. Its other arguments and what a selective checkpoint keeps stay.
    PyTorch rounds each pinned buffer up to a power of two, and keeps it for the next step.
    """

    def __init__(self, layers: Any, ratios: Any, inputs: Any = ()) -> None:
        self.first = layers[0]
        self.device: Any = None
        self.previous: Any = None  # the LayerOffload of the layer before the one that runs
        for i, layer in enumerate(layers):
            is_last = i + 1 == len(layers)
            if i in inputs and not is_last:
                layer._gradient_checkpointing_func = partial(self.checkpoint, layer._gradient_checkpointing_func)
            layer.forward = partial(self.run, layer, layer.forward, None if is_last else ratios.get(i))

    def compute(self) -> Any:
        return self.backend.current_stream(self.device)

    def settle(self, device: Any) -> None:
        """Two streams of the device on which the layers run, which is known when they do."""
        if device != self.device:
            self.device, self.backend = device, backend_of(device)
            self.outward, self.homeward = self.backend.Stream(device), self.backend.Stream(device)

    def checkpoint(self, checkpoint: Any, forward: Any, hidden: Any, *args: Any) -> Any:
        self.settle(hidden.device)
        mine = LayerOffload(self, 1, [t for t in args if torch.is_tensor(t)])
        with torch.autograd.graph.saved_tensors_hooks(mine.pack, unpack):
            output = checkpoint(forward, hidden, *args)
        mine.end()
        self.previous = mine
        return output

    def run(self, layer: Any, forward: Any, ratio: Any, *args: Any, **kwargs: Any) -> Any:
        before, self.previous = self.previous, None
        if layer is self.first:
            before = None  # of a forward that failed
        if ratio and torch.is_grad_enabled():
            arguments = [t for t in pytree.tree_leaves((args, kwargs)) if torch.is_tensor(t)]
            self.settle(next(iter([*layer.parameters(), *arguments])).device)
            mine = LayerOffload(self, ratio, [*arguments, *layer.parameters(), *layer.buffers()])
            with torch.autograd.graph.saved_tensors_hooks(mine.pack, unpack):
                output = forward(*args, **kwargs)
            mine.end()
            self.previous = mine
        else:
            output = forward(*args, **kwargs)
        if before is not None:
            before.release()
            first = next((t for t in pytree.tree_leaves(output) if torch.is_tensor(t) and t.requires_grad), None)
            if first is not None:
                first.register_hook(partial(fetch_all, before.sent))
        return output
