# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows vLLM as it starts: what its workers load, what its profile run takes, what cache it makes of the rest.

Its processes may be one, or a front, a core and workers; each has this module. Figures are vLLM's own where it has any.
"""

import functools
import gc

from . import capture, engine, model_files

_PHASES = {
    "load_model": "load",
    "determine_available_memory": "profile",
    "initialize_from_config": "cache",
    "compile_or_warm_up_model": "serve",
}
_WORDS = {
    "without_graphs": "-cc.cudagraph_mode=NONE or --enforce-eager",
    "outside": "memory outside PyTorch is what the engine saw here: a GPU adds what the driver loads for kernels (0.02 to "
    "0.3 GiB seen) and NCCL's buffers (about 2 GiB seen with 2 or 4 ranks), and so much less is left for the cache",
}
_notes = []


def actions():
    """For after_import."""
    return {
        "vllm.engine.arg_utils": _arguments,
        "vllm.v1.worker.gpu_worker": lambda module: _workers(module.Worker),
        "vllm.v1.engine.core": _core,
        "vllm.v1.engine.llm_engine": lambda module: _front(module.LLMEngine),
        "vllm.v1.engine.async_llm": lambda module: _front(module.AsyncLLM),
    }


# ---- arguments ----


def _arguments(module):
    make = module.EngineArgs.create_engine_config

    @functools.wraps(make)
    def create(self, *args, **kwargs):
        if capture.is_null():
            _notes.extend(model_files.prepare(self, self.model, self.tokenizer, "VLLM_USE_MODELSCOPE"))
        return make(self, *args, **kwargs)

    module.EngineArgs.create_engine_config = create
    if capture.is_null():
        engine.name_nccl("VLLM_NCCL_SO_PATH")


# ---- workers ----


class _Worker:
    """This process's; None before vLLM has made one."""

    phases = file = None


def _is_followed(config):
    """An engine inside a training program, on its launcher's ranks, is a part of that."""
    return capture.current() and config.parallel_config.distributed_executor_backend != "external_launcher"


def _workers(kind):
    kind.init_device = _follow_failure(kind.init_device)
    for name, phase in _PHASES.items():
        setattr(kind, name, _follow(getattr(kind, name), phase))


def _follow_failure(function):
    """Before there is anything to measure."""

    @functools.wraps(function)
    def run(worker, *args, **kwargs):
        try:
            return function(worker, *args, **kwargs)
        except BaseException as error:
            if _is_followed(worker.vllm_config):
                import torch

                cause = engine.failure(error, isinstance(error, torch.OutOfMemoryError))
                file = {"worker": {"rank": worker.rank}, "phases": [], "failure": cause}
                engine.put(capture.current().folder, f"worker-{worker.rank:05}", file)
            raise

    return run


def _follow(function, phase):
    @functools.wraps(function)
    def run(worker, *args, **kwargs):
        if not _is_followed(worker.vllm_config):
            return function(worker, *args, **kwargs)
        import torch

        from . import engine_phases

        if _Worker.phases is None:
            _Worker.phases = engine_phases.follow_allocator(capture.current())
        if phase == "profile":
            gc.collect()  # as vLLM does before it begins to count
        _Worker.phases.begin(phase)
        try:
            result = function(worker, *args, **kwargs)
        except BaseException as error:
            _Worker.phases.end()
            _note(worker, error, isinstance(error, torch.OutOfMemoryError))
            raise
        _Worker.phases.end()
        if phase == "profile":
            _Worker.available = int(result)
        if phase == "cache":
            _Worker.cache_bytes = sum(
                tensor.size for tensor in (args[0] if args else kwargs["kv_cache_config"]).kv_cache_tensors
            )
        _note(worker)
        return result

    return run


def _note(worker, error=None, is_too_large=False):
    from . import engine_phases, report

    host, rows, runner = capture.current(), _Worker.phases.rows, worker.model_runner
    profiled, weights = _Worker.phases.row("profile"), getattr(runner, "model_memory_usage", None)
    figures = {
        "rank": worker.rank,
        "runner": "v2" if ".gpu.model_runner" in type(runner).__module__ else "v1",
        "requested_bytes": int(worker.requested_memory),
    }
    if weights is not None:
        figures["weights_bytes"] = int(weights)
    if weights is not None and profiled and hasattr(_Worker, "available"):
        figures.update(
            buffers_bytes=max(0, profiled["start_bytes"] - int(weights)),
            activation_bytes=_activation(worker, profiled),
            non_torch_bytes=int(getattr(worker, "non_torch_memory", 0)),
            graphs_bytes=_graphs(worker),
            available_cache_bytes=_Worker.available,
        )
    if hasattr(_Worker, "cache_bytes"):
        figures["cache_bytes"] = _Worker.cache_bytes
    parameters, buffers = _sizes(runner)
    file = {
        "worker": figures,
        "phases": rows,
        "summary": engine_phases.summary(figures, rows, parameters, buffers),
        "metadata": report.metadata(host.tracer),
        "engine": _engine(worker.vllm_config),
        "words": _WORDS,
        "common": engine.common(host),
    }
    if error:
        file["failure"] = engine.failure(error, is_too_large)
    engine.put(host.folder, f"worker-{worker.rank:05}", file)
    if worker.rank == 0:
        engine.write_rest(host)


def _activation(worker, profiled):
    """vLLM's figure; where the size of the cache was given it has none."""
    return int(getattr(worker, "peak_activation_memory", 0)) or profiled["peak_bytes"] - profiled["start_bytes"]


def _graphs(worker):
    return int(getattr(worker, "cudagraph_memory_estimate", 0) or 0)


def _sizes(runner):
    from . import engine_phases

    try:
        return engine_phases.sizes(runner.get_model())
    except Exception:  # it has not been loaded
        return [], []


# ---- the core ----


def _engine(config):
    model, scheduler, cache = config.model_config, config.scheduler_config, config.cache_config
    parallel, load_format = config.parallel_config, config.load_config.load_format
    is_dummy = str(getattr(load_format, "value", load_format)) == "dummy"
    settings = {
        "tensor_parallel_size": parallel.tensor_parallel_size,
        "pipeline_parallel_size": parallel.pipeline_parallel_size,
        "max_num_batched_tokens": scheduler.max_num_batched_tokens,
        "max_num_seqs": scheduler.max_num_seqs,
        "max_model_len": model.max_model_len,
        "gpu_memory_utilization": float(cache.gpu_memory_utilization),
        "enforce_eager": bool(model.enforce_eager),
        "dtype": str(model.dtype).replace("torch.", ""),
        "kv_cache_dtype": str(cache.cache_dtype),
        "quantization": str(model.quantization) if model.quantization else None,
    }
    return engine.description("vllm", model.model, is_dummy, settings)


class _Core:
    """Of this process: what its file holds, and what the cache is being made for."""

    file, config = {}, None


def _tell(**known):
    _Core.file = {"notes": _notes, **_Core.file, **known}
    engine.put(capture.current().folder, "core", _Core.file)


def _core(module):
    kind = module.EngineCore
    start, make, plan = kind.__init__, kind._initialize_kv_caches, module.generate_scheduler_kv_cache_config

    @functools.wraps(start)
    def begin(self, vllm_config, *args, **kwargs):
        if not _is_followed(vllm_config):
            return start(self, vllm_config, *args, **kwargs)
        _tell()
        try:
            start(self, vllm_config, *args, **kwargs)
        except BaseException as error:
            _tell(failure=engine.failure(error, _is_too_large(capture.current().folder, error)))
            raise

    @functools.wraps(make)
    def initialize(self, vllm_config, *args, **kwargs):
        _Core.config = vllm_config if _is_followed(vllm_config) else None
        return make(self, vllm_config, *args, **kwargs)

    @functools.wraps(plan)
    def planned(*args, **kwargs):
        """The cache is known before it is allocated, and long before the engine is warm."""
        cache = plan(*args, **kwargs)
        if _Core.config:
            _tell(cache=_cache(_Core.config, cache))
        return cache

    kind.__init__, kind._initialize_kv_caches, module.generate_scheduler_kv_cache_config = begin, initialize, planned


def _is_too_large(folder, error):
    """vLLM says in its own words that too little is left for the cache: after the profile, before there is one."""
    _, workers = engine.found(folder)
    return (
        isinstance(error, ValueError)
        and bool(workers)
        and all(file["phases"][-1]["phase"] == "profile" for file in workers if file["phases"])
    )


def _cache(config, made):
    if not made.kv_cache_groups:
        return None
    groups = [
        {
            "layers": len(group.layer_names),
            "kind": type(group.kv_cache_spec).__name__,
            "block_size": group.kv_cache_spec.block_size,
            "page_bytes": group.kv_cache_spec.page_size_bytes,
        }
        for group in made.kv_cache_groups
    ]
    tokens, concurrency = _capacity(config, made)
    return {
        "bytes": sum(tensor.size for tensor in made.kv_cache_tensors),
        "blocks": made.num_blocks,
        "block_size": min(group["block_size"] for group in groups),
        "tokens": tokens,
        "max_concurrency": round(concurrency, 4),
        "groups": groups,
    }


def _capacity(config, made):
    """Tokens and requests, as vLLM prints them."""
    from vllm.v1.core import kv_cache_utils

    if hasattr(kv_cache_utils, "get_kv_cache_capacity"):
        return kv_cache_utils.get_kv_cache_capacity(config, made)
    concurrency = kv_cache_utils.get_max_concurrency_for_kv_cache_config(config, made)
    if len(made.kv_cache_groups) == 1:
        return made.num_blocks * made.kv_cache_groups[0].kv_cache_spec.block_size, concurrency
    return int(concurrency * config.model_config.max_model_len), concurrency


# ---- the process that the user started ----


def _front(kind):
    start = kind.__init__

    @functools.wraps(start)
    def begin(self, vllm_config, *args, **kwargs):
        start(self, vllm_config, *args, **kwargs)
        if _is_followed(vllm_config):
            engine.ready(capture.current(), _notes)

    kind.__init__ = begin
