/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts of a ledger, made on request: names, layer lists, formulas.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "decide/ledger/ledger.h"
#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve_images.h"
#include "input/config/resolve/resolve_padding.h"
#include "input/config/resolve/torch_versions.h"

/* ---- notes ---- */

/* What the figures do not include: rows that apply to some runs. */

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
    {has_audio_tower, "the audio tower and its projector: they are counted as parameters, but "
                      "sound is not predicted, and nothing else gives them gradients"},
    {has_delta_nets,
     "linear attention: the figures are those of transformers' own code, which runs if "
     "flash-linear-attention and causal-conv1d are not installed; those libraries' kernels save "
     "less, and cuDNN, which may run the convolution, needs a workspace"},
    {has_scans,
     "state-space layers: the figures are those of transformers' own code, which runs if mamba-ssm "
     "and causal-conv1d are not installed; their fused kernels work differently and save far less, "
     "and cuDNN, which may run the convolution, needs a workspace"},
    {uses_cudnn, "cuDNN attention: its workspace was measured on an H200 (torch 2.11, cuDNN 9.19); "
                 "other devices or versions may need another size "
                 "(TORCH_CUDNN_SDPA_DEPRIORITIZED=1 keeps torch from using it: --attention flash)"},
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
    {is_other_torch, "the rules are those of torch 2.11 with transformers 5.23; differences in "
                     "other versions are covered only where the manual says so"},
    {is_rocm, "the rules are those of torch built for CUDA; which attention and workspaces "
              "ROCm's libraries use is not known"},
    {is_cuda, "the CUDA context and the modules it loads: an estimate with a range, not simulated"},
    {is_rocm, "the HIP context and the modules it loads: an estimate with a range, not simulated"},
    {is_cuda, "workspaces of libraries other than cuBLAS (cuDNN, NCCL, Triton autotuning)"},
    {is_rocm, "workspaces of libraries (MIOpen, RCCL, Triton autotuning)"},
    {uses_host, "pinned blocks on the host: PyTorch rounds each up to a power of two, so they may "
                "take up to twice what is counted"},
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
     "waits for links whose rate is not known (--network): the step takes longer than predicted"},
    {has_ranks,
     "NCCL's buffers: the upper end of the estimate includes at most 688 MB for each communicator"},
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

/* ---- text ---- */

/* Writes what fits, counts everything. */
typedef struct sink {
    char *out;
    uint32_t size, length;
} sink;

__attribute__((format(printf, 2, 3))) static void put(sink *s, const char *format, ...)
{
    uint32_t room = s->length < s->size ? s->size - s->length : 0;
    va_list args;
    va_start(args, format);
    int written = ms_text_vprint(room ? s->out + s->length : NULL, room, format, args);
    va_end(args);
    s->length += written > 0 ? (uint32_t)written : 0;
}

static sink sink_of(char *out, uint32_t size)
{
    if (size)
        out[0] = '\0';
    return (sink){out, size, 0};
}

/* ---- names ---- */

enum { MAX_DEPTH = 16 };

static void put_path(sink *s, const ms_trace *trace, uint32_t scope, bool folded)
{
    uint32_t chain[MAX_DEPTH] = {0}, depth = 0;
    for (; scope != MS_NONE && depth < MAX_DEPTH; scope = trace->scopes.items[scope].parent)
        chain[depth++] = scope;
    while (depth--) {
        const ms_scope *part = &trace->scopes.items[chain[depth]];
        bool is_layer = part->layer != MS_NONE && part->parent != MS_NONE &&
                        trace->scopes.items[part->parent].layer == MS_NONE;
        const char *name = folded && is_layer ? "*" : trace->names.items[part->name];
        if (*name)
            put(s, "%s%s", s->length ? "." : "", name);
    }
}

uint32_t ms_ledger_module_name(const ms_ledger *ledger, uint32_t scope, bool is_folded, char *out,
                               uint32_t size)
{
    sink s = sink_of(out, size);
    put_path(&s, &ledger->simulation->trace, scope, is_folded);
    return s.length;
}

uint32_t ms_ledger_storage_name(const ms_ledger *ledger, uint32_t storage, uint32_t count,
                                char *out, uint32_t size)
{
    const ms_trace *trace = &ledger->simulation->trace;
    const ms_storage *tensor = &trace->storages.items[storage];
    sink s = sink_of(out, size);
    put_path(&s, trace, tensor->scope, count > 1);
    const char *name = ms_storage_label(trace, tensor);
    if (*name)
        put(&s, "%s%s", s.length ? "." : "", name);
    return s.length;
}

uint32_t ms_ledger_name(const ms_ledger *ledger, const ms_record *record, char *out, uint32_t size)
{
    const ms_trace *trace = &ledger->simulation->trace;
    bool is_op = record->op != MS_NONE;
    sink s = sink_of(out, size);
    put_path(&s, trace, record->scope, record->layer_count > 1);
    const char *name = is_op ? trace->ops.items[record->op].name : trace->names.items[record->name];
    if (*name)
        put(&s, "%s%s", s.length ? "." : "", name);
    return s.length;
}

uint32_t ms_layers_print(const uint32_t *layers, uint32_t count, char *out, uint32_t size)
{
    sink s = sink_of(out, size);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && layers[end] == layers[end - 1] + 1;)
            end++;
        put(&s, "%s%" PRIu32, i ? "," : "", layers[i]);
        if (end - i > 1)
            put(&s, "-%" PRIu32, layers[end - 1]);
    }
    return s.length;
}

/* ---- formulas ---- */

typedef struct term {
    const ms_storage *storage;
    uint32_t count;
} term;

enum { MAX_TERMS = 64 };

static bool same_term(const ms_storage *a, const ms_storage *b)
{
    return a->bytes == b->bytes && a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->symbols, b->symbols, a->rank * sizeof a->symbols[0]) == 0;
}

/* A storage whose symbols lost their names (out of memory) or that is larger than its shape says
 * is a plain number. */
static bool has_formula(const ms_trace *trace, const ms_storage *storage)
{
    uint64_t bytes = ms_dtype_bytes((ms_dtype)storage->dtype);
    for (uint32_t i = 0; i < storage->rank; i++)
        bytes *= trace->symbols.table.items[storage->symbols[i]].value;
    return bytes == storage->bytes;
}

static void put_term(sink *s, const ms_trace *trace, const term *t)
{
    if (t->count > 1)
        put(s, "%" PRIu32 "*", t->count);
    if (!has_formula(trace, t->storage)) {
        put(s, "%" PRIu64, t->storage->bytes);
        return;
    }
    uint32_t room = s->length < s->size ? s->size - s->length : 0;
    s->length += ms_trace_formula(trace, t->storage, room ? s->out + s->length : NULL, room);
}

uint32_t ms_ledger_formula(const ms_ledger *ledger, const ms_record *record, char *out,
                           uint32_t size)
{
    const ms_trace *trace = &ledger->simulation->trace;
    term terms[MAX_TERMS];
    uint32_t count = 0;
    uint64_t rest_bytes = 0; /* past MAX_TERMS different terms */
    for (uint32_t i = 0; i < record->part_count; i++) {
        uint32_t part = ledger->parts.items[record->first_part + i], t = 0;
        const ms_storage *storage = &trace->storages.items[part];
        while (t < count && !same_term(terms[t].storage, storage))
            t++;
        if (t < count)
            terms[t].count++;
        else if (count < MAX_TERMS)
            terms[count++] = (term){storage, 1};
        else
            rest_bytes += storage->bytes;
    }
    sink s = sink_of(out, size);
    for (uint32_t t = 0; t < count; t++) {
        put(&s, "%s", t ? " + " : "");
        put_term(&s, trace, &terms[t]);
    }
    if (rest_bytes || count == 0)
        put(&s, "%s%" PRIu64, count ? " + " : "", rest_bytes);
    return s.length;
}
