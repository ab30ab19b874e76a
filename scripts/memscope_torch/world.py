# SPDX-License-Identifier: GPL-3.0-or-later
"""One rank of a larger world: process groups come up without the others, who are taken to do what this one does.

A group of NCCL stays one, with its own buffers and streams; the null device's communicators move nothing. Groups of
other backends would talk over the network, and become PyTorch's `fake` ones. What a launcher starts as another rank ends.
"""
import contextlib
import functools
import inspect
import os
import sys

NODE_RANKS = 8
MOST_DEVICES = 16
_REAL = {"nccl", "fake"}
_ID = b"\1" * 128  # as ncclGetUniqueId of the null device has it
_FIRST_IDS = 64
_FIRST_MADE = 4  # communicators of a group of torch 2.15, which has one and makes another after a fault
_STORE_SECONDS = 20
# A large group waits for identifiers of several ranks otherwise.
_ONE_ROOT = {"TORCH_NCCL_RANKS_PER_ROOT": str(1 << 30)}


class OtherRank(SystemExit):
    """Ends a process that a launcher started as another rank."""


def size():
    """Ranks of the world, or 0: the program's own affair."""
    return int(os.environ.get("MEMSCOPE_CAPTURE_WORLD", "0"))


def rank():
    """The one that is measured."""
    return int(os.environ.get("MEMSCOPE_CAPTURE_RANK", "0"))


def actions(leave, tell):
    """For after_import; `leave` is called in processes of other ranks, `tell` with what is assumed of other ranks."""
    launched = _launched()
    if not size() and launched and os.environ.get("MEMSCOPE_CAPTURE_MODE") == "null":
        _take_on(launched[1])
    ranks = size()
    if not ranks:
        return {}
    if launched and launched[0] != (rank() if launched[1] == ranks else 0):
        os._exit(0)  # nobody waits for this one: it need not even import PyTorch
    os.environ.update(_environment(ranks), **_ONE_ROOT)
    return {"torch.distributed.distributed_c10d": lambda module: _install(module, ranks, leave, tell)}


def _launched():
    """Rank and number of ranks that a launcher gave this process, or None."""
    given, ranks = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if not (given.isdigit() and ranks.isdigit() and "LOCAL_RANK" in os.environ):
        return None
    return (int(given), int(ranks)) if int(given) < int(ranks) > 1 else None


def _take_on(ranks):
    """A launcher's number of ranks, and a device for each of them that is on this node."""
    os.environ["MEMSCOPE_CAPTURE_WORLD"] = str(ranks)
    here = os.environ.get("LOCAL_WORLD_SIZE", "")
    here = int(here) if here.isdigit() else min(ranks, NODE_RANKS)
    os.environ["MEMSCOPE_NULL_COUNT"] = str(max(int(os.environ.get("MEMSCOPE_NULL_COUNT", "1")), min(here, MOST_DEVICES)))


def _environment(ranks):
    """What a launcher sets; one that really starts all ranks keeps its own."""
    node = min(ranks, NODE_RANKS)
    found = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "RANK": str(rank()), "LOCAL_RANK": str(rank() % node),
             "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(node), "GROUP_RANK": str(rank() // node),
             "GROUP_WORLD_SIZE": str(-(-ranks // node))}
    kept = ("MASTER_ADDR", "MASTER_PORT")
    if os.environ.get("WORLD_SIZE") == str(ranks) and os.environ.get("RANK"):
        kept = tuple(found)
    return {name: os.environ.get(name) or value if name in kept else value for name, value in found.items()}


def _backend(wanted):
    """The backends of a group, by kind of device."""
    if wanted is None:
        return "cpu:fake,cuda:nccl"
    parts = [part.rpartition(":") for part in str(wanted).lower().split(",")]
    return ",".join(device + colon + (name if name in _REAL else "fake") for device, colon, name in parts)


def _ignore_options_of_nccl(c10d):
    """Options of a group are meant for its backend of one kind of device, and handed to all of them."""
    import torch.testing._internal.distributed.fake_pg  # makes the backend known

    plugin = c10d.Backend._plugins["FAKE"]
    make = plugin.creator_fn
    if getattr(make, "memscope_ignores", False):
        return

    def made(common, options):
        return make(common, None if isinstance(options, c10d.ProcessGroupNCCL.Options) else options)

    made.memscope_ignores = True
    c10d.Backend._plugins["FAKE"] = plugin._replace(creator_fn=made)


def _install(c10d, ranks, leave, tell):
    from .exchange import Exchange
    begin, group = c10d.init_process_group, c10d.new_group

    @functools.wraps(begin)
    def begin_alone(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, *args, **kwargs):
        _ignore_options_of_nccl(c10d)
        if (rank if rank >= 0 else int(os.environ["RANK"])) != measured:
            leave()
            raise OtherRank(0)
        kwargs.pop("device_id", None)  # groups of a bound device are split off, and do not say their size
        return begin(_backend(backend), None, timeout, ranks, measured, _store(), *args, **kwargs)

    @functools.wraps(group)
    def group_alone(ranks=None, timeout=None, backend=None, *args, **kwargs):
        kwargs.pop("device_id", None)
        return group(ranks, timeout, None if backend is None else _backend(backend), *args, **kwargs)

    measured = rank()
    c10d.init_process_group, c10d.new_group = begin_alone, group_alone
    c10d._store_based_barrier = c10d.monitored_barrier = c10d.ProcessGroup.monitored_barrier = lambda *args, **kwargs: None
    c10d._get_split_source = lambda *args, **kwargs: None
    if measured:
        making = _Making()
        c10d._new_process_group_helper = making.follows(c10d._new_process_group_helper)
        c10d.PrefixStore = functools.partial(_prefixed, c10d.PrefixStore, making)
    Exchange(c10d, measured, tell).install()


def _store():
    """A key that no other rank will write ends the wait for it soon."""
    import datetime

    from torch.distributed import HashStore
    store = HashStore()
    store.set_timeout(datetime.timedelta(seconds=_STORE_SECONDS))
    return store


class _Making:
    """The group that is being made: its name, and the rank of this process in it."""

    def __init__(self):
        self.name, self.rank = "", 0

    def follows(self, make):
        signature = inspect.signature(make)

        @functools.wraps(make)
        def follow(*args, **kwargs):
            given = signature.bind(*args, **kwargs).arguments
            self.name, members = given["group_name"], given["global_ranks_in_group"]
            self.rank = members.index(rank()) if rank() in members else rank()
            return make(*args, **kwargs)

        return follow


def _keys(making):
    """Those below which lower ranks write: of the group's communicators, and of those of two ranks of it."""
    pairs = range(making.rank)
    yield from (str(number) for number in range(_FIRST_IDS))
    yield from (f"{lower}:{making.rank}" for lower in pairs)
    # As torch 2.15 has them.
    for made in range(_FIRST_MADE):
        yield f"{making.name}/nccl_storekey_{made}"
        for pair in (f"p2p-{lower}-{making.rank}-{made}" for lower in pairs):
            yield f"{pair}/{making.name}/{pair}/nccl_storekey_0"


def _prefixed(make, making, prefix, store):
    """The store of a group, in which the lower ranks have written the identifiers of its communicators."""
    made = make(prefix, store)
    for key in _keys(making):
        made.set(key, _ID)
    return made


def settle():
    """NCCL's watchdog lets go of what finished work held, ten times a second: on a real device within a step, here it may take several."""
    if os.environ.get("MEMSCOPE_CAPTURE_MODE") != "null":
        return
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    for group in list(c10d._world.pg_map) if c10d else ():
        with contextlib.suppress(AttributeError, RuntimeError):  # not a group of NCCL
            group._wait_for_pending_works()
