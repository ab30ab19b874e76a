# SPDX-License-Identifier: GPL-3.0-or-later
"""One rank of a larger world: process groups come up without the others, who are taken to do what this one does.

A group of NCCL stays one, with its own buffers and streams; the null device's communicators move nothing. Groups of
other backends would talk over the network, and become PyTorch's `fake` ones.
"""
import contextlib
import functools
import os
import sys

NODE_RANKS = 8
_REAL = {"nccl", "fake"}


class OtherRank(SystemExit):
    """Ends a process that a launcher started as another rank."""


def size():
    """Ranks of the world, or 0: the program's own affair."""
    return int(os.environ.get("MEMSCOPE_CAPTURE_WORLD", "0"))


def actions(leave):
    """For after_import; `leave` is called in processes of other ranks."""
    ranks = size()
    if not ranks:
        return {}
    os.environ.update(_environment(ranks))
    return {"torch.distributed.distributed_c10d": lambda module: _install(module, ranks, leave)}


def _environment(ranks):
    """What a launcher sets; one that really starts all ranks keeps its own."""
    ours = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    found = {name: os.environ.get(name, value) for name, value in ours.items()}
    if os.environ.get("WORLD_SIZE") != str(ranks) or "RANK" not in os.environ:
        node = min(ranks, NODE_RANKS)
        found.update({"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(node),
                      "GROUP_RANK": "0", "GROUP_WORLD_SIZE": str(-(-ranks // node))})
    return found


def _backend(wanted):
    """The backends of a group, by kind of device."""
    if wanted is None:
        return "cpu:fake,cuda:nccl"
    parts = [part.rpartition(":") for part in str(wanted).lower().split(",")]
    return ",".join(device + colon + (name if name in _REAL else "fake") for device, colon, name in parts)


def _install(c10d, ranks, leave):
    begin, group = c10d.init_process_group, c10d.new_group

    @functools.wraps(begin)
    def begin_alone(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, *args, **kwargs):
        import torch.testing._internal.distributed.fake_pg  # makes the backend known
        from torch.distributed import HashStore
        if (rank if rank >= 0 else int(os.environ["RANK"])) > 0:
            leave()
            raise OtherRank(0)
        kwargs.pop("device_id", None)  # groups of a bound device are split off, and do not say their size
        return begin(_backend(backend), None, timeout, ranks, 0, HashStore(), *args, **kwargs)

    @functools.wraps(group)
    def group_alone(ranks=None, timeout=None, backend=None, *args, **kwargs):
        kwargs.pop("device_id", None)
        return group(ranks, timeout, None if backend is None else _backend(backend), *args, **kwargs)

    c10d.init_process_group, c10d.new_group = begin_alone, group_alone
    c10d._store_based_barrier = c10d.monitored_barrier = c10d.ProcessGroup.monitored_barrier = lambda *args, **kwargs: None
    c10d._get_split_source = lambda *args, **kwargs: None


def settle():
    """NCCL's watchdog lets go of what finished work held, ten times a second: on a real device within a step, here it may take several."""
    if os.environ.get("MEMSCOPE_CAPTURE_MODE") != "null":
        return
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    for group in list(c10d._world.pg_map) if c10d else ():
        with contextlib.suppress(AttributeError, RuntimeError):  # not a group of NCCL
            group._wait_for_pending_works()
