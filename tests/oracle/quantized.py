# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantised bases by name, as from_pretrained(quantization_config=...) leaves them on the device, and PEFT's preparation of them.

nf4, fp4 (":double": the scales too; ":bf16": stored as such numbers) and int8: bitsandbytes; gptq:BITS:GROUP and awq:BITS:GROUP: GPT-QModel. PYTHONPATH must lead to
them, and to peft. Of GPT-QModel's kernels, which are compiled on the machine that runs them, only what their callers allocate happens.
"""
import gc
import logging

import torch

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def in_four_bits(case, module):
    import bitsandbytes
    kind, *words = case["quantize"].split(":")
    storage = next((DTYPES[word] for word in words if word in DTYPES), torch.uint8)
    form = {"compress_statistics": "double" in words, "quant_type": kind, "quant_storage": storage}
    layer = bitsandbytes.nn.Linear4bit(module.in_features, module.out_features, module.bias is not None,
                                       compute_dtype=DTYPES[case["weights"]], device="meta", **form)
    layer.weight = bitsandbytes.nn.Params4bit(module.weight.data, requires_grad=False, module=layer, **form)
    layer.bias = module.bias
    return layer


def in_eight_bits(case, module):
    import bitsandbytes
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # a warning for every product
    layer = bitsandbytes.nn.Linear8bitLt(module.in_features, module.out_features, module.bias is not None,
                                         has_fp16_weights=False, threshold=6.0, device="meta")
    layer.weight = bitsandbytes.nn.Int8Params(module.weight.data, requires_grad=False, has_fp16_weights=False)
    layer.bias = module.bias
    return layer


class NoKernel:
    """A Triton kernel that is launched and does nothing."""
    def __getitem__(self, grid):
        return lambda *args, **settings: None


def grouped(case, module, kind, **more):
    """A layer of GPT-QModel, which is loaded, never packed: its tensors are made, not filled."""
    _, bits, group = case["quantize"].split(":")
    layer = kind(bits=int(bits), group_size=int(group), desc_act=False, in_features=module.in_features,
                 out_features=module.out_features, bias=module.bias is not None, register_buffers=True, **more)
    layer.optimized = True  # else torch.compile takes the function that launches the kernel
    return layer


def as_gptq(case, module):
    """The kernel that backend="auto_trainable" picks on CUDA."""
    from gptqmodel.nn_modules.qlinear.tritonv2 import TritonV2Linear
    from gptqmodel.nn_modules.triton_utils import dequant
    dequant.dequant_kernel = NoKernel()
    return grouped(case, module, TritonV2Linear, sym=True)


def as_awq(case, module):
    """The same for AWQ where CUDA's compiler is there."""
    from gptqmodel.nn_modules.qlinear import gemm_awq
    gemm_awq.awq_dequantize_weights = lambda qweight, scales, *rest: torch.empty(
        qweight.shape[0], 8 * qweight.shape[1], dtype=scales.dtype, device=qweight.device)
    # Few rows: parts of the sum in fp32 (gptqmodel_ext/awq/quantization/gemm_cuda_gen.cu).
    gemm_awq._awq_cuda_gemm_forward = lambda x, qweight, scales, qzeros, splits, fp32_accum: (
        torch.empty(splits, len(x), 8 * qweight.shape[1], dtype=torch.float32, device=x.device),
        torch.empty(len(x), 8 * qweight.shape[1], dtype=x.dtype, device=x.device))[1]
    gemm_awq.awq_runtime_available = lambda: True
    return grouped(case, module, gemm_awq.AwqGEMMLinear, sym=False)


class MarlinKernels:
    """GPT-QModel's extension for Marlin (gptqmodel_ext/marlin), which is compiled on the machine that runs it: results and scratch memory."""
    @staticmethod
    def gptq_marlin_repack(weight, perm, size_k, size_n, bits):
        return torch.empty(size_k // 16, size_n * 16 * bits // 32, dtype=torch.int32, device=weight.device)

    @staticmethod
    def awq_marlin_repack(weight, size_k, size_n, bits):
        return torch.empty(size_k // 16, size_n * 16 * bits // 32, dtype=torch.int32, device=weight.device)

    @staticmethod
    def gemm(a, c, weight, bias, scales, global_scale, zeros, g_idx, perm, workspace, kind, size_m, size_n, size_k, is_k_full, atomic, fp32_reduce, zp_float):
        out = torch.empty(size_m, size_n, dtype=a.dtype, device=a.device)
        multiprocessors = torch.cuda.get_device_properties(a.device).multi_processor_count
        sums = torch.empty(multiprocessors * min((size_m + 15) // 16 * 16, 64) * 256, dtype=torch.float32, device=a.device)
        inputs = torch.empty(size_m * size_k if perm.numel() else 0, dtype=a.dtype, device=a.device)
        del inputs, sums
        return out

    gptq_marlin_gemm_fp16 = gptq_marlin_gemm_bf16 = gemm


def as_marlin(case, module):
    """The kernel that backend="auto" picks from compute capability 8.0 to 8.9, where nvcc is there."""
    from gptqmodel.nn_modules.qlinear import marlin, marlin_awq
    from gptqmodel.utils import marlin as calls
    calls._marlin_resolve_op = lambda dtype, op_name: getattr(MarlinKernels, op_name)
    for kernel in (marlin, marlin_awq):
        kernel.marlin_runtime_available = lambda dtype: True
        kernel.marlin_import_exception = None
    kind, bits, group = case["quantize"].split(":")
    layer = marlin.MarlinLinear if kind == "gptq" else marlin_awq.AwqMarlinLinear
    wide = module.weight.shape if isinstance(module, torch.nn.Linear) else module.weight.T.shape
    return layer(bits=int(bits), group_size=int(group), desc_act=bool(case.get("desc_act")), sym=kind == "gptq", in_features=wide[1],
                 out_features=wide[0], bias=module.bias is not None, register_buffers=True)


class Fp8Kernels:
    """transformers' Triton kernels for fp8, which are fetched from a hub: their results alone."""
    @staticmethod
    def matmul(x, weight, scale, block_size, dtype, activation_scale=None):
        return torch.empty(*x.shape[:-1], weight.shape[0], dtype=dtype, device=x.device)

    @staticmethod
    def grouped_matmul(x, weight, scale, offsets, tokens_per_expert, block_size):
        out = torch.empty(x.shape[0], weight.shape[1], dtype=x.dtype, device=x.device)
        tiles = (tokens_per_expert + 127) // 128  # where each expert's tiles end
        tiles = torch.cumsum(tiles, dim=0).to(torch.int32)
        return out

    @staticmethod
    def batched_matmul(x, weight, scale, block_size, expert_ids):
        return torch.empty(x.shape[0], weight.shape[1], dtype=x.dtype, device=x.device)


def spread_evenly(case, config):
    """Backward asks the device where each expert's rows end: the null device cannot say."""
    read = torch.Tensor.tolist
    rows = case["batch"] * case.get("seq", 0) * getattr(config, "num_experts_per_tok", 1)

    def tolist(tensor):
        if not tensor.is_cuda or tensor.dtype != torch.int32:
            return read(tensor)
        read(tensor)
        return [rows * (i + 1) // len(tensor) for i in range(len(tensor))]
    torch.Tensor.tolist = tolist


def to_fp8(case, model):
    """All layers at once, experts too, as transformers' quantizer does it."""
    from transformers import FineGrainedFP8Config
    from transformers.integrations import finegrained_fp8 as fp8
    fp8.is_deepgemm_loadable = lambda: False
    spread_evenly(case, model.config)
    fp8.load_finegrained_fp8_kernel = lambda: Fp8Kernels
    head = model.get_output_embeddings()
    skip = [name for name, module in model.named_modules() if module is head]
    fp8.replace_with_fp8_linear(model, modules_to_not_convert=case.get("skip", skip), quantization_config=FineGrainedFP8Config(), pre_quantized=True)
    for module in model.modules():
        if isinstance(module, (fp8.FP8Linear, fp8.FP8Experts)):
            module.to_empty(device="cpu")
            if getattr(module, "bias", None) is not None:
                module.bias.data = module.bias.data.to(DTYPES[case["weights"]])


# What makes a layer of a linear one, and what PEFT is told about the model.
KINDS = {"nf4": (in_four_bits, "is_loaded_in_4bit"), "fp4": (in_four_bits, "is_loaded_in_4bit"),
         "int8": (in_eight_bits, "is_loaded_in_8bit"), "gptq": (as_gptq, None), "awq": (as_awq, None)}


def converts(case, model, name, module):
    """Linear layers: all but the head, or all that the list of exceptions, as transformers reads it, leaves."""
    from transformers.quantizers.quantizers_utils import should_convert_module
    is_transposed = type(module).__name__ == "Conv1D" and case["quantize"].startswith("gptq")
    if not isinstance(module, torch.nn.Linear) and not is_transposed:
        return False
    is_head = module is model.get_output_embeddings()
    if "skip" not in case:
        return not is_head
    return should_convert_module(name, case["skip"]) and not (is_head and case["quantize"].startswith("awq"))


def quantized(case, model, device):
    if case["quantize"] == "fp8-block":
        to_fp8(case, model)
    convert, flag = KINDS.get(case["quantize"].partition(":")[0], (None, None))
    if case.get("serves") and convert in (as_gptq, as_awq):
        convert = as_marlin
    for name, module in list(model.named_modules()):
        if convert and converts(case, model, name, module):
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, convert(case, module))
    del module
    gc.collect()
    model = model.to(device)
    for module in model.modules():
        if hasattr(module, "post_init") and hasattr(module, "qweight"):
            module.post_init()
    if convert is as_marlin:
        torch.cuda.empty_cache()  # as hf_gptqmodel_post_init() ends
    if flag:
        setattr(model, flag, True)  # PEFT asks
    if case.get("upcast", bool(flag)):
        import peft
        model = peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    return model


def tensors_beside(model):
    """What stands beside the packed weights on the device, or is them."""
    for module in model.modules():
        weight, state = getattr(module, "weight", None), getattr(module, "state", None)
        if hasattr(module, "list_buffers"):
            yield from module.list_buffers()
        elif getattr(module, "quant_state", None):  # its weight may be a shard, which knows nothing of it
            yield from nested(module.quant_state)
        elif hasattr(weight, "SCB") and state:
            yield state.SCB if weight.SCB is None else weight.SCB  # the first forward moves it


def nested(state):
    from bitsandbytes import functional
    yield from (state.absmax, state.code)
    if state.nested:
        yield from (state.offset, state.state2.absmax, state.state2.code, functional.name2qmap["dynamic"])


def count(model):
    """The weights and biases that the parameters stand for, those of GPT-QModel's buffers too."""
    packed = lambda p: p.quant_state.shape.numel() if hasattr(p, "quant_state") else p.numel()
    buffers = (m.in_features * m.out_features + (0 if m.bias is None else m.out_features)
               for m in model.modules() if hasattr(m, "list_buffers"))
    of_layers = {id(p) for m in model.modules() if hasattr(m, "list_buffers") for p in m.parameters(recurse=False)}
    parameters = {id(p): p for name, p in model.named_parameters() if not name.endswith("_scale_inv") and id(p) not in of_layers}
    return sum(map(packed, parameters.values())) + sum(buffers)
