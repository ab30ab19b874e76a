#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""engines.py MEMSCOPE PYTHON: captures of an engine that has vLLM's names and allocates known sizes, in one process and in
two. What vLLM itself does is in vllm_starts.py."""
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "schemas", "runtime_report.schema.json")

FILES = {
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

WORKER = {"requested_bytes": 512, "weights_bytes": 64, "buffers_bytes": 8, "activation_bytes": 32, "non_torch_bytes": 0, "graphs_bytes": 0,
          "available_cache_bytes": 416, "cache_bytes": 400, "serving_bytes": 504, "beyond_budget_bytes": 0}
PEAKS = {"load": 72, "profile": 104, "cache": 472, "serve": 512}

# Words for the program, exit status, outcome, words that are said, phases.
CASES = [
    ("model 1", 0, "ready", "the engine is ready", 4),
    ("model 2", 0, "ready", "the engine is ready", 4),
    ("large 1", 1, "out_of_memory", "ValueError: the cache is too small", 2),
    ("large 2", 1, "out_of_memory", "ValueError: the cache is too small", 2),
    ("cold 2", 2, "failed", "RuntimeError: it does not warm up", 3),
    ("broken 2", 2, "failed", "RuntimeError: no such device", 0),
    ("model 1 external_launcher", 2, "no_step", "it went on", 0),
]


def check(report, phases):
    """What differs from what the engine did."""
    if not phases:
        return ["there is an engine in the report"] if "engine" in report else []
    engine = report["engine"]
    worker, peaks = engine["workers"][0], {row["phase"]: row["peak_bytes"] // MIB for row in report["phases"]}
    faults = [] if peaks == dict(list(PEAKS.items())[:phases]) else [f"peaks {peaks}"]
    if phases == 4:
        faults += [f"{key} {worker.get(key)}" for key, mib in WORKER.items() if worker.get(key) != mib * MIB]
        if engine["cache"]["tokens"] != 1600 or not engine["dummy_weights"]:
            faults.append(f"cache {engine['cache']}, dummy weights {engine['dummy_weights']}")
    if bool(engine["cache"]) != (phases > 2) or ("cache_bytes" in worker) != (phases > 2):
        faults.append(f"cache {engine['cache']}")
    try:
        import jsonschema
        faults += [error.message for error in jsonschema.Draft7Validator(json.load(open(SCHEMA))).iter_errors(report)]
    except ImportError:
        pass
    return faults


def main(memscope, python):
    bad = 0
    for words, code, outcome, said, phases in CASES:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in FILES.items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write(text)
            os.mkdir(os.path.join(folder, "model"))
            run = subprocess.run([os.path.abspath(memscope), "capture", "--", python, "serve.py", *words.split()], capture_output=True, text=True, cwd=folder)
            path = os.path.join(folder, "memscope-capture", "runtime_report.json")
            report = json.load(open(path)) if os.path.exists(path) else {}
            faults = check(report, phases) if report else ["no report"]
            if (run.returncode, report.get("outcome")) != (code, outcome):
                faults.append(f"exit status {run.returncode}, outcome {report.get('outcome')}: {report.get('message')}")
            if said not in run.stdout + run.stderr:
                faults.append(f"no \"{said}\" in {run.stderr[-600:]}")
        print(f"engine {words}: {'; '.join(faults) or 'as expected'}", flush=True)
        bad += bool(faults)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
