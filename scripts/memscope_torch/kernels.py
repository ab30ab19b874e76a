# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels that libraries compile when they are first used, which takes compilers and minutes. Kernels do not run on the
null device, so what does nothing but launch them, into results that the caller has allocated, is neither compiled nor
called. Other modules are compiled as on a GPU, with nvcc."""
import functools
import os

# Modules, by whose they are; all of their functions only launch.
_FLASHINFER = ("sampling", "rope")
_SGLANG = (
    "kvcache", "fused_rope", "rotary_embedding", "activation", "qknorm", "rmsnorm", "fused_add_rmsnorm", "rmsnorm_hf",
    "fused_qknorm_rope", "clamp_position", "per_tensor_quant_fp8", "per_tensor_absmax_fp8", "per_token_quant_fp8",
    "per_token_group_quant", "moe_align_block_size", "moe_topk_softmax", "moe_topk_sigmoid")


class _Nothing:
    """A module, or what is compiled of it: arguments as the caller has them, no result."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return None


def actions(notes):
    """For after_import; `notes` gets a sentence for each module."""
    def leave_out(note):
        if note not in notes:
            notes.append(note)
        return _Nothing()

    return {"flashinfer.jit.core": lambda module: _flashinfer(module.JitSpec, leave_out),
            "sglang.kernels.jit.utils.compile.loader": lambda module: _sglang(module, leave_out),
            "cutlass.base_dsl.compiler": lambda module: _cute(module.CompileCallable, leave_out)}


def _flashinfer(kind, leave_out):
    """Those that are compiled already are used."""
    load = kind.build_and_load

    @functools.wraps(load)
    def build_and_load(self, *args, **kwargs):
        if self.name not in _FLASHINFER or self.is_aot or os.path.exists(self.jit_library_path):
            return load(self, *args, **kwargs)
        return leave_out(f"FlashInfer's module {self.name} was not compiled: its kernels do not run here")

    kind.build_and_load = build_and_load


def _sglang(module, leave_out):
    load = module.load_jit

    @functools.wraps(load)
    def load_jit(*args, **kwargs):
        if not args or args[0] not in _SGLANG:
            return load(*args, **kwargs)
        return leave_out(f"SGLang's module {args[0]} was not compiled: its kernels do not run here")

    module.load_jit = load_jit


def _cute(kind, leave_out):
    """CuTe DSL (nvidia-cutlass-dsl) brings a CUDA runtime of its own, which asks the driver for private tables that the
    null device does not have."""
    compile_one = getattr(kind, "_compile", None)

    @functools.wraps(compile_one)
    def _compile(self, function, *args, **kwargs):
        return leave_out("kernels of CuTe DSL were not compiled: they do not run here")

    if compile_one:
        kind._compile = _compile
