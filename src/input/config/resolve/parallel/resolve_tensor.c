/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_tensor.h"

#include <inttypes.h>

#include "input/config/model/family_facts.h"

static bool any_layer_slides(const ms_model_config *model)
{
    for (uint64_t i = 0; i < model->num_layers && model->layer_kinds; i++)
        if (model->layer_kinds[i] & MS_LAYER_SLIDES)
            return true;
    return false;
}

/* What of the model is not predicted, as "with ..."; NULL: all of it is. The first and the last
 * stage of a pipeline have a table each. */
static const char *unsupported_model(const ms_model_config *model, const ms_layout *layout)
{
    if (model->head != MS_HEAD_CAUSAL_LM)
        return "with a head that is no causal language model";
    if (model->tie_word_embeddings && !ms_layout_has_stages(layout))
        return "with tied embeddings";
    return any_layer_slides(model) ? "with sliding windows" : NULL;
}

/* The same of the run. */
static const char *unsupported_run(const ms_run_config *run)
{
    const ms_training *training = &run->training;
    bool is_fused = training->optimizer_impl == MS_OPTIMIZER_FUSED;
    bool is_known = training->optimizer == MS_OPTIMIZER_ADAMW
                        ? training->optimizer_impl != MS_OPTIMIZER_LOOP
                        : training->optimizer == MS_OPTIMIZER_ADAM && is_fused;
    if (run->parallel.layout.copies > 1)
        return "with HSDP";
    if (!is_known)
        return "with an optimizer other than the fused adamw and adam, and the foreach adamw";
    if (training->label_smoothing > 0 || training->logits_to_keep)
        return "with another loss";
    if (run->liger)
        return "with Liger's kernels";
    if (run->autocast != MS_AUTOCAST_NONE)
        return "with autocast";
    if (run->attention == MS_ATTENTION_EAGER || run->attention == MS_ATTENTION_MATH)
        return "with this attention";
    return run->checkpoint_kind == MS_CHECKPOINT_REENTRANT ? "with reentrant checkpoints" : NULL;
}

static ms_status check_size(const ms_resolving *c, const char *what, uint64_t size)
{
    uint64_t ranks = c->run->parallel.layout.tensor;
    if (size % ranks == 0)
        return MS_OK;
    return ms_resolve_fail(c, "parallel",
                           "tensor parallelism is predicted for even shards alone: %s, %" PRIu64
                           ", is no multiple of tp, %" PRIu64,
                           what, size, ranks);
}

static ms_status check_sizes(const ms_resolving *c)
{
    const ms_model_config *model = c->model;
    const struct {
        const char *what;
        uint64_t size;
    } sizes[] = {
        {"the number of heads", model->num_heads},
        {"the number of key and value heads", model->num_kv_heads},
        {"the intermediate size", model->intermediate_size},
        {"the vocabulary", model->vocab_size},
        {"the sequence", c->run->parallel.splits_sequence ? c->run->seq_tokens : 0},
    };
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == MS_OK; i++)
        status = check_size(c, sizes[i].what, sizes[i].size);
    return status;
}

static ms_status check_options(const ms_resolving *c)
{
    static const char *const options[] = {"sequence-parallel", "loss-parallel"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (ms_resolve_is_set(c, options[i]))
            return ms_resolve_fail(c, options[i], "it is an option of tp=N, but parallel is %s",
                                   ms_layout_text(c->arena, &c->run->parallel.layout));
    return MS_OK;
}

ms_status ms_resolve_tensor_parallel(const ms_resolving *c)
{
    if (c->run->parallel.layout.tensor <= 1)
        return check_options(c);
    if (!ms_is_compared(c->model, MS_WITH_TENSOR))
        return ms_resolve_fail(
            c, "parallel",
            "tensor parallelism is predicted for llama, mistral, qwen2, qwen3 and seed_oss, "
            "not for %s",
            c->model->model_type);
    const char *why = unsupported_model(c->model, &c->run->parallel.layout);
    if (!why)
        why = unsupported_run(c->run);
    if (why)
        return ms_resolve_fail(c, "parallel", "tensor parallelism is not predicted %s", why);
    return check_sizes(c);
}
