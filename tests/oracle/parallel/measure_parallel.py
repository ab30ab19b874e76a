#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure one rank of a parallel training step, phase by phase, on the null device (or on a real GPU of a real job).

usage: measure_parallel.py CASES.json OUT.json [--only SUBSTRING] [--events DIR] [--resume] [--backend nccl|fake]

Same case format and output as ../measure_step.py ("reentrant", "eval_batch" and "eval_logits" too), plus `parallel`. It reads a list of cases, or a file it wrote:

  strategy  ddp | fsdp2 | fsdp1 | zero_optimizer | tp | tp_fsdp2 | cp_fsdp2 | pp | deepspeed | megatron
  world     number of ranks          rank   the rank that is measured (default 0)
  ddp             bucket_cap_mb, gradient_as_bucket_view, static_graph, find_unused_parameters, no_sync, init_sync,
                  outputs ("fp32": autocast, and outputs in fp32 after it, inside the wrapper, as accelerate has them)
  zero_optimizer  the DDP keys, and parameters_as_bucket_view
  fsdp2           param_dtype, reduce_dtype, reshard_after_forward (true, false, int), replicate (HSDP copies),
                  sync ("every" | "last" = set_requires_gradient_sync | "last_allreduce" = set_requires_all_reduce),
                  units ("layers" | "torchtitan"), async_unshard, forward_prefetch, backward_prefetch (counts),
                  init ("meta" | "cuda"), offload (CPUOffloadPolicy)
  fsdp1           param_dtype, reduce_dtype, sharding ("FULL_SHARD", "SHARD_GRAD_OP", "HYBRID_SHARD"...),
                  limit_all_gathers, backward_prefetch ("pre", "post", null), use_orig_params, forward_prefetch, no_sync
  tp              tp, sequence_parallel, loss_parallel
  tp_fsdp2        the tp keys and the fsdp2 keys; world = tp x data-parallel
  cp_fsdp2        cp and the fsdp2 keys; FSDP over all ranks
  pp              pp, schedule ("gpipe", "1f1b", "interleaved", "zbv", "interleaved_zb", "loop_bfs"), microbatches, stages_per_rank
  deepspeed       config (the JSON configuration), client_optimizer (bool), decay_groups (bool: Trainer's two groups)
  megatron        tp, pp, cp, sequence_parallel, distributed_optimizer, recompute, microbatches, overlap, vpp

One process holds one rank. Its process group is PyTorch's own NCCL backend over an NCCL that moves nothing
(a null device that has stubs of it), or torch's fake group with --backend fake.
"""

import argparse
import ctypes
import datetime
import gc
import gzip
import json
import multiprocessing
import os
import sys
import time
import traceback
import warnings

warnings.filterwarnings("ignore")
os.environ.update(
    TORCH_NCCL_ENABLE_MONITORING="0",
    TORCH_NCCL_RANKS_PER_ROOT="1000000",
    TORCH_NCCL_DUMP_ON_TIMEOUT="0",
    TORCH_NCCL_ASYNC_ERROR_HANDLING="0",
    PYTHONDONTWRITEBYTECODE="1",
    MASTER_ADDR="127.0.0.1",
    MASTER_PORT="29500",
)
import torch
import torch.distributed as dist
import transformers

from strategies import step_of

BACKEND = "nccl"


def answer_value_questions():
    """Our batches are never padded or packed; say so where transformers asks for it (see ../measure_step.py)."""
    from transformers import masking_utils

    if hasattr(masking_utils, "find_packed_sequence_indices"):
        packed = masking_utils.find_packed_sequence_indices
        masking_utils.find_packed_sequence_indices = lambda position_ids: (packed(position_ids), None)[1]
    if hasattr(masking_utils, "fast_all"):
        fast_all = masking_utils.fast_all
        masking_utils.fast_all = lambda tensor: (fast_all(tensor), True)[1]


class NullStore(dist.Store):
    """A store in which the other ranks have always answered."""

    def __init__(self, world):
        super().__init__()
        self.data, self.world = {}, world

    def set(self, key, value):
        self.data[key] = value if isinstance(value, bytes) else str(value).encode()

    def get(self, key):
        return self.data.get(key, b"\7" * 128)

    def add(self, key, n):
        return self.world

    def wait(self, *a):
        pass

    def check(self, keys):
        return True

    def delete_key(self, key):
        return True

    def num_keys(self):
        return len(self.data)

    def compare_set(self, key, expected, value):
        return value

    def set_timeout(self, t):
        pass

    @property
    def timeout(self):
        return datetime.timedelta(seconds=600)


def start_group(world, rank):
    os.environ.update(WORLD_SIZE=str(world), RANK=str(rank), LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
    torch.cuda.set_device(0)
    if BACKEND == "fake":
        from torch.testing._internal.distributed.fake_pg import FakeStore

        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    else:
        start_group.store = NullStore(world)  # C++ holds it weakly: keep it alive
        dist.init_process_group("nccl", store=start_group.store, rank=rank, world_size=world)


def answer_for_others():
    """Object collectives go through device memory, which keeps no values: every rank says what this one says."""
    dist.all_gather_object = lambda objects, mine, group=None: objects.__setitem__(slice(None), [mine] * len(objects))
    dist.broadcast_object_list = lambda *a, **k: None


def stand_in(strategy):
    """What a strategy asks of other ranks or of values, which are not there."""
    if strategy in ("ddp", "zero_optimizer"):
        import torch.nn.parallel.distributed as ddp

        ddp._verify_param_shape_across_processes = lambda *a, **k: None
    if strategy == "megatron":
        from torch.testing._internal.distributed import fake_pg  # noqa: F401 makes the backend known, for gloo's

        new_group = dist.new_group
        dist.new_group = lambda *a, **k: new_group(
            *a, **{**k, "backend": "fake" if k.get("backend") == "gloo" else k.get("backend")}
        )
    if strategy in ("ddp", "zero_optimizer", "deepspeed"):
        shadow(True)


def shadow(on):
    """Make the null device remember small host-to-device copies (DDP's bucket order goes through the device)."""
    try:
        ctypes.c_int.in_dll(ctypes.CDLL(None), "nullcuda_shadow").value = int(on)
    except ValueError:
        pass


class CudaMark:
    settle = 0.0

    def __init__(self, name, phases):
        self.name, self.phases = name, phases

    def __enter__(self):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()

    def __exit__(self, *_):
        torch.cuda.synchronize()
        if CudaMark.settle:  # let NCCL's watchdog (every 100 ms) see that the collectives are complete
            time.sleep(CudaMark.settle)
        s = torch.cuda.memory_stats()
        self.phases.append(
            {
                "phase": self.name,
                "peak_allocated_bytes": s["allocated_bytes.all.peak"],
                "end_allocated_bytes": s["allocated_bytes.all.current"],
                "peak_requested_bytes": s["requested_bytes.all.peak"],
                "end_requested_bytes": s["requested_bytes.all.current"],
                "peak_active_bytes": s["active_bytes.all.peak"],
                "end_active_bytes": s["active_bytes.all.current"],
                "peak_reserved_bytes": s["reserved_bytes.all.peak"],
                "end_reserved_bytes": s["reserved_bytes.all.current"],
                "inactive_split_bytes": s["inactive_split_bytes.all.current"],
            }
        )


def by_stream():
    """Reserved and allocated bytes of each stream's pools; the default stream is 0."""
    streams = {}
    for s in torch.cuda.memory_snapshot():
        entry = streams.setdefault(s["stream"], {"reserved_bytes": 0, "allocated_bytes": 0, "segments": 0})
        entry["reserved_bytes"] += s["total_size"]
        entry["allocated_bytes"] += s["allocated_size"]
        entry["segments"] += 1
    ordered = sorted(streams.items(), key=lambda kv: (kv[0] != 0, kv[0]))
    return [v for _, v in ordered]


def measure(case, events_path):
    torch.cuda.init()
    answer_value_questions()
    CudaMark.settle = case.get("settle_s", 0.0)
    p = case.get("parallel", {})
    if p.get("world", 1) > 1 or p:
        start_group(p.get("world", 1), p.get("rank", 0))
        answer_for_others()
        stand_in(p["strategy"])
    torch.cuda.reset_peak_memory_stats()
    free0, total = torch.cuda.mem_get_info()
    step, first, out = step_of(case), [], {}
    s = torch.cuda.memory_stats()
    out["after_build_allocated_bytes"] = s["allocated_bytes.all.current"]
    out["build_peak_allocated_bytes"] = s["allocated_bytes.all.peak"]
    out["after_build_reserved_bytes"] = s["reserved_bytes.all.current"]
    step.run(lambda n: CudaMark(n, first))
    step.run(lambda n: CudaMark(n, []))
    gc.collect()
    out["start_allocated_bytes"] = torch.cuda.memory_allocated()
    if events_path:
        torch.cuda.memory._record_memory_history(context=None, max_entries=2_000_000)
    steady = []
    step.run(lambda n: CudaMark(n, steady))
    if events_path:
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        torch.cuda.memory._record_memory_history(enabled=None)
        with gzip.open(events_path, "wt") as f:
            json.dump([[e["action"], e["size"], e.get("addr", 0), e.get("stream", 0)] for e in trace], f)
    static = step.static_figures()  # an evaluation may leave parameters gathered
    if case.get("eval_batch"):
        evaluated = []
        step.evaluate(lambda n: CudaMark(n, evaluated))
        out["evaluation"] = evaluated[0]
    free1, _ = torch.cuda.mem_get_info()
    out.update(
        first_step_phases=first,
        phases=steady,
        streams=by_stream(),
        device_used_bytes=free0 - free1,
        device_total_bytes=total,
        peak_allocated_bytes=max(p["peak_allocated_bytes"] for p in steady),
        peak_reserved_bytes=max(p["peak_reserved_bytes"] for p in steady),
    )
    return {**out, **static}


def child(case, args, pipe):
    try:
        path = args.events and os.path.join(args.events, case["id"].replace("/", "_") + ".json.gz")
        if args.quiet:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1), os.dup2(null, 2)
        pipe.send(measure(case, path))
    except BaseException:
        pipe.send({"error": traceback.format_exc(limit=-6)})
    pipe.close()
    os._exit(0)  # never wait for other ranks


def main():
    global BACKEND
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("cases"), ap.add_argument("out")
    (
        ap.add_argument("--only", default=""),
        ap.add_argument("--events", default=""),
        ap.add_argument("--resume", action="store_true"),
    )
    (
        ap.add_argument("--backend", default="nccl"),
        ap.add_argument("--timeout", type=int, default=120),
        ap.add_argument("--quiet", action="store_true"),
    )
    args = ap.parse_args()
    BACKEND = args.backend
    if args.events:
        os.makedirs(args.events, exist_ok=True)
    results = []
    if args.resume and os.path.exists(args.out):
        results = [c for c in json.load(open(args.out))["cases"] if "error" not in c["measured"]]
    done = {c["id"] for c in results}
    context = multiprocessing.get_context("fork")
    cases = json.load(open(args.cases))
    for case in cases["cases"] if isinstance(cases, dict) else cases:
        if args.only not in case["id"] or case["id"] in done:
            continue
        parent, pipe = context.Pipe()
        if case.get("alloc_conf"):
            os.environ["PYTORCH_CUDA_ALLOC_CONF"] = case["alloc_conf"]
        else:
            os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
        worker = context.Process(target=child, args=(case, args, pipe))
        worker.start()
        pipe.close()
        try:
            measured = parent.recv() if parent.poll(args.timeout) else {"error": f"no answer in {args.timeout} s"}
        except EOFError:
            measured = {"error": "the process died"}
        worker.join(2)
        if worker.is_alive():
            worker.kill()
        results.append({**case, "measured": measured})
        print(
            case["id"],
            measured.get("error") or {k: round(measured[k] / 2**30, 3) for k in measured if k.startswith("peak_")},
            file=sys.stderr,
            flush=True,
        )
        meta = {
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "device": "cuda",
            "backend": args.backend,
            "command": "measure_parallel.py",
        }
        json.dump({**meta, "cases": results}, open(args.out + ".tmp", "w"), indent=1)
        os.replace(args.out + ".tmp", args.out)


if __name__ == "__main__":
    main()
