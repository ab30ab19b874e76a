/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_tensor.h"

#include <inttypes.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/parallel/refusals.h"

/* The first and the last stage of a pipeline have a table each. */
static bool ties_whole_model(const ms_resolving *c)
{
    return c->model->tie_word_embeddings && !ms_layout_has_stages(&c->run->parallel.layout);
}

static bool has_copies(const ms_resolving *c)
{
    return c->run->parallel.layout.copies > 1;
}

static bool optimizes_otherwise(const ms_resolving *c)
{
    const ms_training *training = &c->run->training;
    bool is_fused = training->optimizer_impl == MS_OPTIMIZER_FUSED;
    return !(training->optimizer == MS_OPTIMIZER_ADAMW
                 ? training->optimizer_impl != MS_OPTIMIZER_LOOP
                 : training->optimizer == MS_OPTIMIZER_ADAM && is_fused);
}

static const ms_rank_refusal refusals[] = {
    {ms_has_other_head, "with a head that is no causal language model"},
    {ties_whole_model, "with tied embeddings"},
    {ms_any_layer_slides, "with sliding windows"},
    {has_copies, "with HSDP"},
    {optimizes_otherwise,
     "with an optimizer other than the fused adamw and adam, and the foreach adamw"},
    {ms_has_other_loss, "with another loss"},
    {ms_uses_liger, "with Liger's kernels"},
    {ms_uses_autocast, "with autocast"},
    {ms_attends_eagerly, "with this attention"},
    {ms_asks_reentrant, "with reentrant checkpoints"},
    {NULL, NULL},
};

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
        return ms_resolve_fail(c, "parallel", "tensor parallelism is not predicted for %s, %s",
                               c->model->model_type, ms_why_not_compared(c->model, MS_WITH_TENSOR));
    const char *why = ms_rank_refusal_of(c, refusals);
    if (why)
        return ms_resolve_fail(c, "parallel", "tensor parallelism is not predicted %s", why);
    return check_sizes(c);
}
