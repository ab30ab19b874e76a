# SPDX-License-Identifier: GPL-3.0-or-later
"""APEX's extension for weight gradients, where it is not installed. Megatron asks for it by default and stops without.
It has to be compiled for a GPU by hand, so that few machines without one have it. It allocates nothing but the workspace
of PyTorch's cuBLAS handle, which it takes as this does."""
import importlib.abc
import importlib.machinery
import sys
import types

NAME = "fused_weight_gradient_mlp_cuda"
ASSUMES = ("APEX is there with its extension for weight gradients, which is not installed here: without it Megatron "
           "stops, or wants --no-gradient-accumulation-fusion")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes last: what is installed is found before."""

    def __init__(self, answers):
        self.answers = answers

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == NAME else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.wgrad_gemm_accum_fp32 = module.wgrad_gemm_accum_fp16 = self._adds
        return module

    def exec_module(self, module):
        pass

    def _adds(self, _given, _gradient, _sum):
        """Of the input and the output's gradient, into the weight's."""
        import torch
        torch.cuda.current_blas_handle()
        self.answers.give(NAME, ASSUMES)


def supply(answers):
    sys.meta_path.append(_Finder(answers))
