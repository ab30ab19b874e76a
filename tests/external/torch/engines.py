#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""engines.py MEMSCOPE PYTHON [SUBSTRING]: captures of engines that have vLLM's and SGLang's names and allocate known sizes,
vLLM's in one process and in two. What vLLM itself does is in vllm_starts.py, and SGLang itself in sglang_starts.py."""
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "schemas", "runtime_report.schema.json")

VLLM = {
    "vllm/__init__.py": "__version__ = '0'\n",
    "vllm/engine/__init__.py": "",
    "vllm/v1/__init__.py": "",
    "vllm/v1/engine/__init__.py": "",
    "vllm/v1/worker/__init__.py": "",
    "vllm/v1/core/__init__.py": "",
    "vllm/v1/core/kv_cache_utils.py": "def get_kv_cache_capacity(config, cache):\n    return cache.num_blocks * 16, cache.num_blocks / 64\n",
    "vllm/engine/arg_utils.py": """
from types import SimpleNamespace as Some
class EngineArgs:
    def __init__(self, model, backend=None):
        self.model, self.load_format, self.tokenizer, self.skip_tokenizer_init, self.backend = model, "auto", None, False, backend
    def create_engine_config(self):
        return Some(model_config=Some(model=self.model, max_model_len=1024, enforce_eager=True, dtype="torch.bfloat16", quantization=None),
                    scheduler_config=Some(max_num_batched_tokens=2048, max_num_seqs=8), load_config=Some(load_format=self.load_format),
                    parallel_config=Some(tensor_parallel_size=1, pipeline_parallel_size=1, distributed_executor_backend=self.backend),
                    cache_config=Some(gpu_memory_utilization=0.5, cache_dtype="auto"))
""",
    "vllm/v1/worker/gpu_worker.py": """
import torch
MIB = 1 << 20
def take(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")
class Runner:
    def get_model(self):
        return self.model
class Worker:
    rank = 0
    def __init__(self, config):
        self.vllm_config, self.requested_memory, self.model_runner = config, 512 * MIB, Runner()
    def init_device(self):
        if self.vllm_config.model_config.model == "broken":
            raise RuntimeError("no such device")
    def load_model(self):
        self.model_runner.model = torch.nn.Linear(1024, 16384, bias=False, device="cuda")
        self.model_runner.model_memory_usage = 64 * MIB
        self.buffers = take(8)
    def determine_available_memory(self):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        take(32)
        self.peak_activation_memory, self.non_torch_memory = torch.cuda.max_memory_allocated() - before, 0
        return self.requested_memory - 96 * MIB
    def initialize_from_config(self, cache):
        self.cache = take(400)
    def compile_or_warm_up_model(self):
        take(40)
""",
    "vllm/v1/engine/core.py": """
from types import SimpleNamespace as Some
from vllm.v1.worker.gpu_worker import Worker, MIB
def generate_scheduler_kv_cache_config(caches):
    return caches[0]
class Spec:
    block_size, page_size_bytes = 16, 4 * MIB
class EngineCore:
    def __init__(self, vllm_config):
        self.worker = Worker(vllm_config)
        self.worker.init_device()
        self.worker.load_model()
        self._initialize_kv_caches(vllm_config)
    def _initialize_kv_caches(self, vllm_config):
        left = self.worker.determine_available_memory()
        if vllm_config.model_config.model == "large":
            raise ValueError("the cache is too small")
        cache = Some(num_blocks=100, kv_cache_tensors=[Some(size=400 * MIB)], kv_cache_groups=[Some(layer_names=["one"], kv_cache_spec=Spec())])
        cache = generate_scheduler_kv_cache_config([cache])
        self.worker.initialize_from_config(cache)
        if vllm_config.model_config.model == "cold":
            raise RuntimeError("it does not warm up")
        self.worker.compile_or_warm_up_model()
        return cache
""",
    "vllm/v1/engine/llm_engine.py": """
import multiprocessing
from vllm.v1.engine.core import EngineCore
def run(config, pipe):
    EngineCore(config)
    pipe.send("ready")
    pipe.recv()
class LLMEngine:
    def __init__(self, vllm_config, processes):
        if processes == 1:
            self.core = EngineCore(vllm_config)
            return
        self.pipe, other = multiprocessing.Pipe()
        self.core = multiprocessing.get_context("fork").Process(target=run, args=(vllm_config, other))
        self.core.start()
        other.close()
        try:
            self.pipe.recv()
        except EOFError:
            raise RuntimeError("the core failed") from None
""",
    "serve.py": """
import sys
from vllm.engine.arg_utils import EngineArgs
from vllm.v1.engine.llm_engine import LLMEngine
model, processes, backend = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
LLMEngine(EngineArgs(model, *backend).create_engine_config(), processes)
print("it went on")
""",
}

# A front that starts a scheduler and is told of its failure by a signal, with which it ends itself the hard way.
SGLANG = {
    "sglang/__init__.py": "__version__ = '0'\n",
    "sglang/srt/__init__.py": "",
    "sglang/srt/model_executor/__init__.py": "",
    "sglang/srt/entrypoints/__init__.py": "",
    "sglang/srt/utils/__init__.py": "",
    "sglang/srt/utils/common.py": """
def get_nvgpu_memory_capacity():
    raise FileNotFoundError("nvidia-smi")
""",
    "cutlass/__init__.py": "",
    "cutlass/base_dsl/__init__.py": "",
    "cutlass/base_dsl/compiler.py": """
class CompileCallable:
    def __call__(self, *args, **kwargs):
        return self._compile(*args, **kwargs)
    def _compile(self, function, *args, **kwargs):
        raise RuntimeError("no driver")
""",
    "sglang/srt/server_args.py": """
class ServerArgs:
    def __init__(self, model):
        self.model_path, self.load_format, self.tokenizer_path, self.skip_tokenizer_init = model, "auto", None, False
        self.tp_size = self.pp_size = 1
        self.chunked_prefill_size, self.max_running_requests, self.disable_cuda_graph = 2048, None, False
        self.kv_cache_dtype = "auto"
    def resolve_once(self):
        from sglang.srt.utils import common
        if common.get_nvgpu_memory_capacity() != 81559:
            raise RuntimeError("not the driver's total")
    def resolved_dict(self):
        return vars(self)
""",
    "sglang/srt/model_executor/model_runner.py": """
import torch
from types import SimpleNamespace as Some
from cutlass.base_dsl.compiler import CompileCallable
MIB = 1 << 20
def take(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")
class Pool:
    page_size, layer_num = 1, 4
    def __init__(self):
        self.kept = take(200), take(200)
    def get_kv_size_bytes(self):
        return 200 * MIB, 200 * MIB
class ModelRunner:
    is_draft_worker = False
    def __init__(self, arguments):
        self.server_args, self.mem_fraction_static, self.pre_model_load_memory = arguments, 0.5, 1.0
        self.model_config = Some(context_len=1024, dtype="torch.bfloat16", quantization=None)
    def load_model(self):
        if self.server_args.load_format != "dummy":
            raise RuntimeError("there are no files")
        self.model = torch.nn.Linear(1024, 16384, bias=False, device="cuda")
        take(32)
    def alloc_memory_pool(self):
        self.buffers, pool = take(8), Pool()
        if self.server_args.model_path == "large":
            raise ValueError("Raise --mem-fraction-static above 0.9")
        self.token_to_kv_pool = pool
        self.max_total_num_tokens, self.max_running_requests = 1599, 16
    def init_attention_backends(self):
        self.workspace = take(16)
        take(50)
    def init_cuda_graphs(self):
        CompileCallable()(len)("anything")
        if self.server_args.model_path == "cold":
            raise RuntimeError("it does not warm up")
        if self.server_args.model_path == "full":
            try:
                torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
            except torch.OutOfMemoryError as error:
                raise Exception("capturing failed") from error
        take(40)
        self.graph_memory_usage = {"prefill": 0.125, "decode": 0.0}
""",
    "sglang/srt/managers/__init__.py": "",
    "sglang/srt/managers/scheduler.py": """
from sglang.srt.model_executor.model_runner import ModelRunner
class Scheduler:
    def __init__(self, arguments):
        if arguments.model_path == "broken":
            raise RuntimeError("no such device")
        runner = ModelRunner(arguments)
        runner.load_model()
        runner.alloc_memory_pool()
        runner.init_attention_backends()
        runner.init_cuda_graphs()
        if arguments.model_path == "late":
            raise RuntimeError("too few tokens")
""",
    "sglang/srt/entrypoints/engine.py": """
import multiprocessing, os, signal
def run(arguments, pipe):
    from sglang.srt.managers.scheduler import Scheduler
    try:
        Scheduler(arguments)
    except Exception:
        os.kill(os.getppid(), signal.SIGQUIT)
        return
    pipe.send("ready")
    pipe.recv()
class Engine:
    @classmethod
    def _launch_subprocesses(cls, server_args):
        server_args.resolve_once()
        signal.signal(signal.SIGQUIT, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        pipe, other = multiprocessing.Pipe()
        multiprocessing.get_context("spawn").Process(target=run, args=(server_args, other)).start()
        pipe.recv()
        return pipe
""",
    "serve.py": """
import sys
from sglang.srt.server_args import ServerArgs
from sglang.srt.entrypoints.engine import Engine
if __name__ == "__main__":
    Engine._launch_subprocesses(server_args=ServerArgs(sys.argv[1]))
    print("it went on")
""",
}

WORKER = {"requested_bytes": 512, "weights_bytes": 64, "buffers_bytes": 8, "activation_bytes": 32, "non_torch_bytes": 0, "graphs_bytes": 0,
          "available_cache_bytes": 416, "cache_bytes": 400, "serving_bytes": 504, "beyond_budget_bytes": 0}
SGLANG_WORKER = {"requested_bytes": 512, "weights_bytes": 64, "buffers_bytes": 8, "graphs_bytes": 128, "cache_bytes": 400,
                 "free_bytes": 80998 - 496}  # a segment of 32 MiB holds buffers and workspace

# Files, figures of the worker and peaks of the phases in MiB, and tokens of the cache.
ENGINES = {
    "vllm": (VLLM, WORKER, {"load": 72, "profile": 104, "cache": 472, "serve": 512}, 1600),
    "sglang": (SGLANG, SGLANG_WORKER, {"load": 96, "cache": 472, "serve": 538}, 1599),
}

# Engine, words for the program, exit status, outcome, words that are said, phases.
CASES = [
    ("vllm", "model 1", 0, "ready", "the engine is ready", 4),
    ("vllm", "model 2", 0, "ready", "the engine is ready", 4),
    ("vllm", "large 1", 1, "out_of_memory", "ValueError: the cache is too small", 2),
    ("vllm", "large 2", 1, "out_of_memory", "ValueError: the cache is too small", 2),
    ("vllm", "cold 2", 2, "failed", "RuntimeError: it does not warm up", 3),
    ("vllm", "broken 2", 2, "failed", "RuntimeError: no such device", 0),
    ("vllm", "model 1 external_launcher", 2, "no_step", "it went on", 0),
    ("sglang", "model", 0, "ready", "the engine is ready", 3),
    ("sglang", "large", 1, "out_of_memory", "ValueError: Raise --mem-fraction-static above 0.9", 2),
    ("sglang", "full", 1, "out_of_memory", "capturing failed", 3),
    ("sglang", "cold", 2, "failed", "RuntimeError: it does not warm up", 3),
    ("sglang", "late", 2, "failed", "RuntimeError: too few tokens", 3),
    ("sglang", "broken", 2, "failed", "RuntimeError: no such device", 0),
]


def check(name, report, phases):
    """What differs from what the engine did."""
    _, figures, highest, tokens = ENGINES[name]
    if not phases:
        return ["there is an engine in the report"] if "engine" in report else []
    engine = report["engine"]
    worker, peaks = engine["workers"][0], {row["phase"]: row["peak_bytes"] // MIB for row in report["phases"]}
    faults = [] if peaks == dict(list(highest.items())[:phases]) else [f"peaks {peaks}"]
    if report["outcome"] == "ready":
        faults += [f"{key} {worker.get(key)}" for key, mib in figures.items() if worker.get(key) != mib * MIB]
        if engine["cache"]["tokens"] != tokens or not engine["dummy_weights"]:
            faults.append(f"cache {engine['cache']}, dummy weights {engine['dummy_weights']}")
    if bool(engine["cache"]) != (phases > 2) or ("cache_bytes" in worker) != (phases > 2):
        faults.append(f"cache {engine['cache']}")
    try:
        import jsonschema
        faults += [error.message for error in jsonschema.Draft7Validator(json.load(open(SCHEMA))).iter_errors(report)]
    except ImportError:
        pass
    return faults


def main(memscope, python, part=""):
    bad = 0
    for engine, words, code, outcome, said, phases in CASES:
        if part not in f"{engine} {words}":
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, text in ENGINES[engine][0].items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write(text)
            os.mkdir(os.path.join(folder, "model"))
            run = subprocess.run([os.path.abspath(memscope), "capture", "--device", "h100-80gb", "--", python, "serve.py", *words.split()], capture_output=True, text=True, cwd=folder)
            path = os.path.join(folder, "memscope-capture", "runtime_report.json")
            report = json.load(open(path)) if os.path.exists(path) else {}
            faults = check(engine, report, phases) if report else ["no report"]
            if (run.returncode, report.get("outcome")) != (code, outcome):
                faults.append(f"exit status {run.returncode}, outcome {report.get('outcome')}: {report.get('message')}")
            if said not in run.stdout + run.stderr:
                faults.append(f"no \"{said}\" in {run.stderr[-600:]}")
        print(f"{engine} {words}: {'; '.join(faults) or 'as expected'}", flush=True)
        bad += bool(faults)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
