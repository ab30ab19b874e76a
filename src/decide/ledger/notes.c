/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the figures do not include: rows that apply to some runs.
 */
#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve_images.h"
#include "input/config/resolve/resolve_padding.h"
#include "input/config/resolve/torch_versions.h"
#include "decide/ledger/ledger.h"

static bool lacks_rate(const ms_ledger *ledger)
{
    return ledger->profile && ledger->profile->time.lacks_rate;
}

static bool has_ranks(const ms_ledger *ledger)
{
    return ledger->run->parallel.layout.kind != MS_PARALLEL_NONE;
}

static bool is_gpu(const ms_ledger *ledger)
{
    return !ledger->run->device->is_cpu;
}

static bool is_alone(const ms_ledger *ledger)
{
    return is_gpu(ledger) && !has_ranks(ledger);
}

static bool is_cpu(const ms_ledger *ledger)
{
    return ledger->run->device->is_cpu;
}

/* Devices of AMD have no compute capability. */
static bool is_rocm(const ms_ledger *ledger)
{
    return is_gpu(ledger) && ledger->run->device->compute_capability == 0;
}

static bool is_cuda(const ms_ledger *ledger)
{
    return is_gpu(ledger) && !is_rocm(ledger);
}

static bool uses_host(const ms_ledger *ledger)
{
    return is_gpu(ledger) && ledger->summary && ledger->summary->host_memory_bytes > 0;
}

static bool uses_cudnn(const ms_ledger *ledger)
{
    return ledger->simulation->attention == MS_ATTENTION_CUDNN;
}

static bool is_other_torch(const ms_ledger *ledger)
{
    return ledger->run->torch_major != 2 || ledger->run->torch_minor != 11;
}

static bool has_tower(const ms_ledger *ledger)
{
    return ledger->model->vision.hidden_size > 0 && ms_is_text_only(ledger->model, ledger->run);
}

static bool has_audio_tower(const ms_ledger *ledger)
{
    return ledger->model->audio.hidden_size > 0;
}

static bool has_delta_nets(const ms_ledger *ledger)
{
    return ledger->model->linear_key_heads > 0 &&
           ms_model_has_layers(ledger->model, MS_LAYER_TOKEN_MIXER);
}

static bool has_scans(const ms_ledger *ledger)
{
    return ledger->model->state_size > 0 &&
           (ledger->model->family->has_no_attention ||
            ms_model_has_layers(ledger->model, MS_LAYER_TOKEN_MIXER));
}

static bool is_quantized(const ms_ledger *ledger, ms_quantize_kind kind)
{
    const ms_quantization *q = &ledger->run->quantization;
    return q->kind == kind && !q->is_dequantized;
}

static bool is_int8(const ms_ledger *ledger)
{
    return is_quantized(ledger, MS_QUANTIZE_INT8);
}

static bool is_gptq(const ms_ledger *ledger)
{
    return is_quantized(ledger, MS_QUANTIZE_GPTQ);
}

static bool is_awq(const ms_ledger *ledger)
{
    return is_quantized(ledger, MS_QUANTIZE_AWQ);
}

static bool is_fp8(const ms_ledger *ledger)
{
    return is_quantized(ledger, MS_QUANTIZE_FP8_BLOCK);
}

static bool is_dequantized(const ms_ledger *ledger)
{
    return ledger->run->quantization.is_dequantized;
}

static bool has_no_mask(const ms_ledger *ledger)
{
    return ledger->run->padding.simulated == MS_PADDING_NO && !ledger->model->image_tokens &&
           !ledger->model->mel_bins;
}

static bool may_have_mask(const ms_ledger *ledger)
{
    return has_no_mask(ledger) && !ms_padding_refusal(ledger->model, ledger->run);
}

static bool has_unpredicted_mask(const ms_ledger *ledger)
{
    return has_no_mask(ledger) && !may_have_mask(ledger);
}

static const struct {
    bool (*holds)(const ms_ledger *ledger);
    const char *text;
} rows[] = {
    {has_tower,
     "the vision tower and its projector: they are counted as parameters, but text-only batches do "
     "not run them and give them no gradients"},
    {has_audio_tower,
     "the audio tower and its projector: they are counted as parameters, but sounds are not "
     "predicted, and nothing else gives them gradients"},
    {has_delta_nets,
     "linear attention: the figures are those of transformers' own code, which runs if "
     "flash-linear-attention and causal-conv1d are not installed; those libraries' kernels save "
     "less, and cuDNN, which may run the convolution, needs a workspace"},
    {has_scans,
     "state-space layers: the figures are those of transformers' own code, which runs if mamba-ssm "
     "and causal-conv1d are not installed; their fused kernels are another program and save far "
     "less, and cuDNN, which may run the convolution, needs a workspace"},
    {uses_cudnn, "cuDNN attention: its workspace was measured on an H200 (torch 2.11, cuDNN 9.19); "
                 "another device or version may ask for another "
                 "(TORCH_CUDNN_SDPA_DEPRIORITIZED=1 makes torch not use it: --attention flash)"},
    {is_int8, "int8: input columns with outliers (6 and more), which bitsandbytes multiplies "
              "separately in the input's type; their number depends on the data"},
    {is_gptq,
     "gptq: the figures are those of GPT-QModel's trainable kernel (backend auto_trainable), run "
     "operator by operator where torch.compile would fuse it; importing GPT-QModel makes the "
     "allocator's segments expandable (--allocator cuda-expandable)"},
    {is_awq,
     "awq: the figures are those of GPT-QModel's CUDA kernel (backend auto_trainable); importing "
     "GPT-QModel makes the allocator's segments expandable (--allocator cuda-expandable)"},
    {is_fp8,
     "fp8-block: temporaries inside the forward kernels (Triton kernels are assumed to have "
     "none; DeepGEMM's quantised inputs are not counted)"},
    {is_dequantized, "loading: the temporary memory for dequantising the checkpoint's weights"},
    {is_other_torch,
     "the rules are those of torch 2.11 with transformers 5.23; what other versions "
     "do differently is covered only where the manual states it"},
    {is_rocm, "the rules are those of torch built for CUDA; which attention and workspaces "
              "ROCm's libraries use is not known"},
    {is_cuda, "the CUDA context and the modules it loads: an estimate with a range, not simulated"},
    {is_rocm, "the HIP context and the modules it loads: an estimate with a range, not simulated"},
    {is_cuda, "workspaces of libraries other than cuBLAS (cuDNN, NCCL, Triton autotuning)"},
    {is_rocm, "workspaces of libraries (MIOpen, RCCL, Triton autotuning)"},
    {uses_host, "blocks that are pinned on the host: PyTorch rounds each up to a power of two, so "
                "they may take up to twice what is counted"},
    {is_gpu, "other processes on the device, and what the data loader or logging keeps there"},
    {is_cpu, "the Python process, its libraries and the data set"},
    {is_cpu, "rounding and fragmentation in the C library's heap"},
    {is_cpu, "other CPUs: scratch buffers of oneDNN are those of a CPU with AVX-512 and 2 threads"},
    {NULL, "tensors kept by user code between steps (metrics, extra references to logits or the "
           "loss)"},
    {may_have_mask,
     "an attention mask: padded batches keep their masks, and repeated keys and values, "
     "in each layer (--padding yes)"},
    {has_unpredicted_mask, "an attention mask: padded batches of this run are not predicted"},
    {is_gpu, "torch.compile and CUDA graphs: the step is run eagerly"},
    {is_cpu, "torch.compile: the step is run eagerly"},
    {is_alone, "more than one device (--parallel predicts one rank of several)"},
    {lacks_rate,
     "waits for links whose rate is not known (--network): the step takes longer than its "
     "time says"},
    {has_ranks, "buffers of NCCL: the upper end has at most 688 MB for each communicator"},
};

const char *ms_ledger_not_modelled(const ms_ledger *ledger, size_t index)
{
    const char *torch = ms_torch_unmeasured(ledger->run);
    if (torch && index-- == 0)
        return torch;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((!rows[i].holds || rows[i].holds(ledger)) && index-- == 0)
            return rows[i].text;
    for (uint32_t i = 0; i < ledger->run->unsupported.count; i++)
        if (index-- == 0)
            return ledger->run->unsupported.texts[i];
    return NULL;
}
