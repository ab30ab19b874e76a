# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows SGLang as it starts: what its schedulers load, what cache they make of the rest of their budget, and what
capturing graphs takes. It has no profile run.

A front starts a scheduler for each device, which has this module too, and ends itself the hard way when one fails.
"""

import ctypes
import functools
import os

from . import capture, engine, model_files

_PHASES = {
    "load_model": "load",
    "alloc_memory_pool": "cache",
    "init_attention_backends": "serve",
    "init_cuda_graphs": "serve",
}
_LAST = "init_cuda_graphs"
_WORDS = {
    "without_graphs": "--disable-cuda-graph",
    "outside": "a GPU's context, kernels and NCCL's buffers are not there here: 0.3 to 0.8 GiB of devices of 80 GB were "
    "seen to be taken before the weights, 2 GiB of one of two; the budget is a share of what they leave",
}
_NO_PROFILE = (
    "SGLang has no profile run: what a batch takes beyond its graphs has to fit into what is free when it is ready"
)
_GIB = 1 << 30
_notes = []


def actions():
    """For after_import."""
    return {
        "sglang.srt.utils.common": _memory_of_device,
        "sglang.srt.server_args": lambda module: _arguments(module.ServerArgs),
        "sglang.srt.model_executor.model_runner": lambda module: _runners(module.ModelRunner),
        "sglang.srt.managers.scheduler": lambda module: _scheduler(module.Scheduler),
        "sglang.srt.entrypoints.engine": lambda module: _front(module.Engine),
    }


def _is_followed():
    """An engine inside a training program, on its launcher's ranks, is a part of that."""
    return capture.current() is not None and "RANK" not in os.environ


# ---- arguments ----


class _Memory(ctypes.Structure):
    """NVML's nvmlMemory_t."""

    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def _memory_of_device(module):
    """SGLang asks nvidia-smi, which is not there: the driver's total is more than CUDA's, and the share that is its
    budget by default depends on it."""
    device, memory, nvml = ctypes.c_void_p(), _Memory(), ctypes.CDLL(None)
    ask = getattr(nvml, "nvmlDeviceGetMemoryInfo", None)
    if capture.is_null() and ask and nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0:
        if ask(device, ctypes.byref(memory)) == 0:
            module.get_nvgpu_memory_capacity = lambda: float(memory.total >> 20)


def _arguments(kind):
    if capture.is_null():
        engine.name_nccl("SGLANG_NCCL_SO_PATH")
    resolve = getattr(kind, "resolve_once", None)
    if not resolve:
        return

    @functools.wraps(resolve)
    def resolve_once(self):
        if capture.is_null() and not getattr(self, "_resolution_finished", False):
            _notes.extend(model_files.prepare(self, self.model_path, self.tokenizer_path, "SGLANG_USE_MODELSCOPE"))
        return resolve(self)

    kind.resolve_once = resolve_once


# ---- schedulers ----


class _Scheduler:
    """This process's; None before its runner has loaded anything."""

    phases = runner = free_bytes = None


def _scheduler(kind):
    start = kind.__init__

    @functools.wraps(start)
    def begin(self, *args, **kwargs):
        try:
            start(self, *args, **kwargs)
        except Exception as error:
            if _is_followed():
                _fail(error)
            raise

    kind.__init__ = begin


def _runners(kind):
    for name, phase in _PHASES.items():
        if hasattr(kind, name):
            setattr(kind, name, _follow(getattr(kind, name), phase))


def _follow(function, phase):
    @functools.wraps(function)
    def run(runner, *args, **kwargs):
        if not _is_followed() or runner.is_draft_worker:
            return function(runner, *args, **kwargs)
        import torch

        from . import engine_phases

        if _Scheduler.phases is None:
            _Scheduler.phases, _Scheduler.runner = engine_phases.follow_allocator(capture.current()), runner
        phases = _Scheduler.phases
        phases.begin(phase)
        try:
            result = function(runner, *args, **kwargs)
        except BaseException as error:
            phases.end()
            _fail(error, phase)
            raise
        phases.end()
        if function.__name__ == _LAST:
            torch.cuda.empty_cache()  # as SGLang does before it looks
            _Scheduler.free_bytes = torch.cuda.mem_get_info()[0]
        _note(runner)
        return result

    return run


def _fail(error, phase=None):
    """The front is told by a signal, on which it ends this process too."""
    host = capture.current()
    if host.written:
        return
    failure = engine.failure(error, _is_too_large(error, phase))
    if _Scheduler.runner:
        _note(_Scheduler.runner, failure)
    else:
        engine.put(host.folder, _name(), {"worker": {"rank": _rank()}, "phases": [], "failure": failure})
    host.failed(type(error), error)
    host.write()


def _is_too_large(error, phase):
    """SGLang says in its own words that too little is left for the cache; a failure of a capture hides its cause."""
    import torch

    while error is not None:
        if isinstance(error, torch.OutOfMemoryError):
            return True
        if phase == "cache" and "mem-fraction-static" in str(error).replace("_", "-"):
            return True
        error = error.__cause__ or error.__context__
    return False


def _note(runner, failure=None):
    from . import engine_phases, report

    host, rows, phases = capture.current(), _Scheduler.phases.rows, _Scheduler.phases
    loaded, cached = phases.row("load"), phases.row("cache")
    rank = _rank()
    figures = {
        "rank": rank,
        "requested_bytes": int(runner.pre_model_load_memory * runner.mem_fraction_static * _GIB),
    }
    model = getattr(runner, "model", None)
    pool = getattr(runner, "token_to_kv_pool", None)
    if model is not None:
        figures["weights_bytes"] = loaded["end_bytes"] - loaded["start_bytes"]
    if pool is not None:
        figures["cache_bytes"] = _cache_bytes(pool)
        rest = cached["end_bytes"] - loaded["start_bytes"] - figures["weights_bytes"] - figures["cache_bytes"]
        figures["buffers_bytes"] = max(0, rest)
    graphs = getattr(runner, "graph_memory_usage", None)
    if graphs and phases.row("serve"):
        figures["graphs_bytes"] = int(sum(graphs.values()) * _GIB)
    if _Scheduler.free_bytes is not None:
        figures["free_bytes"] = _Scheduler.free_bytes
    parameters, buffers = engine_phases.sizes(model) if model is not None else ([], [])
    file = {
        "worker": figures,
        "phases": rows,
        "summary": engine_phases.summary(figures, rows, parameters, buffers),
        "metadata": report.metadata(host.tracer),
        "engine": _engine(runner),
        "words": _WORDS,
        "common": engine.common(host),
    }
    if failure:
        file["failure"] = failure
    engine.put(host.folder, _name(), file)
    if rank == 0:
        notes = [*_notes, _NO_PROFILE]
        engine.put(host.folder, "core", {"notes": notes, "cache": _cache(runner, pool) if pool is not None else None})
        engine.write_rest(host)


def _rank():
    import torch

    group = torch.distributed
    return group.get_rank() if group.is_available() and group.is_initialized() else 0


def _name():
    return f"worker-{_rank():05}"


def _cache_bytes(pool):
    size = pool.get_kv_size_bytes() if hasattr(pool, "get_kv_size_bytes") else pool.mem_usage * _GIB
    return int(sum(size)) if isinstance(size, tuple) else int(size)


def _cache(runner, pool):
    tokens, page = int(runner.max_total_num_tokens), int(getattr(pool, "page_size", 1) or 1)
    size, layers = _cache_bytes(pool), int(getattr(pool, "layer_num", 0) or 0)
    blocks = tokens // page
    slots = layers * (blocks + 1)  # the first page is where padding is written
    groups = []
    if slots and size % slots == 0:
        groups = [{"layers": layers, "kind": type(pool).__name__, "block_size": page, "page_bytes": size // slots}]
    return {
        "bytes": size,
        "blocks": blocks,
        "block_size": page,
        "tokens": tokens,
        "max_concurrency": round(tokens / runner.model_config.context_len, 4),
        "groups": groups,
    }


def _engine(runner):
    config, given = runner.model_config, _settings(runner.server_args)
    settings = {
        "tensor_parallel_size": given("tp_size"),
        "pipeline_parallel_size": given("pp_size"),
        "max_num_batched_tokens": max(0, given("chunked_prefill_size") or given("max_prefill_tokens") or 0),
        "max_num_seqs": int(getattr(runner, "max_running_requests", None) or given("max_running_requests") or 0),
        "max_model_len": config.context_len,
        "gpu_memory_utilization": float(runner.mem_fraction_static),
        "enforce_eager": _is_eager(given),
        "dtype": str(config.dtype).replace("torch.", ""),
        "kv_cache_dtype": str(given("kv_cache_dtype")),
        "quantization": str(config.quantization) if config.quantization else None,
    }
    return engine.description("sglang", given("model_path"), given("load_format") == "dummy", settings)


def _is_eager(given):
    phases = [(given("cuda_graph_config") or {}).get(name) or {} for name in ("decode", "prefill")]
    return bool(given("disable_cuda_graph")) or all(phase.get("backend") == "disabled" for phase in phases)


def _settings(arguments):
    """Arguments as SGLang resolved them."""
    resolved = getattr(arguments, "resolved_dict", None)
    values = resolved() if resolved else vars(arguments)
    return lambda name: values.get(name)


# ---- the process that the user started ----


def _front(kind):
    start = kind._launch_subprocesses.__func__

    @functools.wraps(start)
    def launch(cls, *args, **kwargs):
        started = start(cls, *args, **kwargs)
        if _is_followed():
            engine.ready(capture.current(), _notes)
        return started

    kind._launch_subprocesses = classmethod(launch)
