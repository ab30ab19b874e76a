/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/resolve_fsdp.h"

#include <inttypes.h>

#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"

/* Ranks that keep a layer between forward and backward: some, but not all, of those that share it.
 */
static ms_status check_reshard_ranks(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    uint64_t ranks = parallel->reshard_ranks, shards = parallel->layout.shards;
    if (ranks == 0)
        return MS_OK;
    if (parallel->keeps_unsharded)
        return ms_resolve_fail(c, "reshard-ranks",
                               "it reshards the weights that reshard-after-forward no keeps whole");
    if (ranks > 1 && ranks < shards && shards % ranks == 0)
        return MS_OK;
    return ms_resolve_fail(c, "reshard-ranks",
                           "found %" PRIu64 ", expected a divisor of the %" PRIu64
                           " ranks that share parameters, but neither 1 nor all",
                           ranks, shards);
}

/* The ends of a model are found by their operators. */
static bool has_known_ends(const ms_resolving *c)
{
    const bool is_accelerate = c->run->parallel.units == MS_UNITS_ACCELERATE;
    return ms_is_compared(c->model, is_accelerate ? MS_WITH_ACCELERATE_UNITS : MS_WITH_TITAN_UNITS);
}

static const char *why_no_end_units(const ms_resolving *c)
{
    const ms_run_config *run = c->run;
    bool is_broadcast = run->parallel.build == MS_BUILD_BROADCAST;
    if (!has_known_ends(c) || c->model->head != MS_HEAD_CAUSAL_LM ||
        (is_broadcast && !ms_is_compared(c->model, MS_WITH_BROADCAST)))
        return is_broadcast ? "for this model that rank 0 sends" : "for this model";
    if (c->model->tie_word_embeddings && run->parallel.units == MS_UNITS_TORCHTITAN)
        return "with tied embeddings";
    if (run->liger || run->treatments.loss_chunks || run->training.label_smoothing > 0)
        return "with a loss other than the model's own";
    return run->parallel.reshard_ranks ? "with reshard-ranks" : NULL;
}

/* Rank 0 sends the others what they divide: accelerate's cpu_ram_efficient_loading. */
static ms_status check_build(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    const ms_model_config *model = c->model;
    if (parallel->build != MS_BUILD_BROADCAST)
        return MS_OK;
    if (parallel->units != MS_UNITS_ACCELERATE)
        return ms_resolve_fail(
            c, "build", "broadcast is an option of accelerate: fsdp-units must be accelerate");
    uint64_t own = ms_family_facts_of(model->family)->has_head_norms ? 1 : model->num_kv_heads;
    const uint64_t sizes[] = {model->hidden_size,       model->num_heads * model->head_dim,
                              model->intermediate_size, own * model->head_dim,
                              model->vocab_size,        model->num_experts};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] % parallel->layout.shards)
            return ms_resolve_fail(c, "build",
                                   "broadcast is predicted only for even shards, but %" PRIu64
                                   " rows are not a multiple of %" PRIu64 " ranks",
                                   sizes[i], parallel->layout.shards);
    return MS_OK;
}

/* What layers hand on is in fp32, or their rotary tables are, and fully_shard casts that for each.
 */
static bool casts_arguments(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    bool casts = parallel->layout.kind == MS_PARALLEL_FSDP2 &&
                 ms_resolve_is_set(c, "param-dtype") && parallel->param_dtype != MS_DTYPE_F32;
    return casts &&
           (ms_family_facts_of(c->model->family)->casts_arguments || c->model->residual_in_fp32);
}

static ms_status check_copies(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    if (parallel->sums_last_only && parallel->layout.copies == 1)
        return ms_resolve_fail(c, "no-all-reduce",
                               "it needs hsdp=RxS or hsdp1=RxS, but parallel is %s",
                               ms_layout_text(c->arena, &parallel->layout));
    return parallel->sums_last_only && parallel->syncs_last_only
               ? ms_resolve_fail(
                     c, "no-all-reduce",
                     "with no-sync these micro-steps reduce nothing: leave out one of them")
               : MS_OK;
}

/* The root's parameters go after forward. */
static ms_status check_root(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    const ms_layout *layout = &parallel->layout;
    if (!parallel->reshards_root)
        return MS_OK;
    const char *why = parallel->keeps_unsharded                   ? "reshard-after-forward no"
                      : parallel->reshard_ranks                   ? "reshard-ranks"
                      : parallel->units != MS_UNITS_LAYERS        ? "units of the ends"
                      : layout->tensor > 1 || layout->context > 1 ? "tp or cp"
                      : ms_layout_has_stages(layout)              ? "a pipeline"
                                                                  : NULL;
    return why ? ms_resolve_fail(c, "reshard-root", "it is not predicted with %s", why) : MS_OK;
}

static ms_status check_fsdp2(const ms_resolving *c)
{
    ms_status status = check_reshard_ranks(c);
    const ms_parallel *parallel = &c->run->parallel;
    if (status == MS_OK)
        status = check_root(c);
    if (status == MS_OK)
        status = check_copies(c);
    if (status == MS_OK && casts_arguments(c))
        status = ms_resolve_fail(c, "param-dtype",
                                 "it is not predicted for %s, whose rotary tables or hidden states "
                                 "are cast for each layer: give dtype",
                                 c->model->model_type);
    if (status == MS_OK && parallel->offloads &&
        (parallel->build == MS_BUILD_DEVICE || parallel->reshard_ranks))
        status = ms_resolve_fail(c, "fsdp-offload", "it is not predicted with %s",
                                 ms_is_packed(&c->run->quantization) ? "packed weights"
                                 : parallel->reshard_ranks           ? "reshard-ranks"
                                                                     : "build device");
    if (status == MS_OK)
        status = check_build(c);
    const char *why = parallel->units != MS_UNITS_LAYERS ? why_no_end_units(c) : NULL;
    if (status != MS_OK || !why)
        return status;
    return ms_resolve_fail(c, "fsdp-units", "%s's units are not predicted %s",
                           ms_fsdp_unit_names[parallel->units], why);
}

/* accelerate casts parts to fp32 when it has divided a model that is on the host. */
static ms_status check_load(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    if (parallel->layout.kind != MS_PARALLEL_FSDP1 || parallel->load_dtype == parallel->shard_dtype)
        return MS_OK;
    const char *why = parallel->shard_dtype != MS_DTYPE_F32 ? "unless the weights are cast to fp32"
                      : parallel->build == MS_BUILD_DEVICE  ? "with build device"
                                                            : NULL;
    if (parallel->load_dtype != parallel->param_dtype)
        why = "unless it is the type of the computation";
    return why ? ms_resolve_fail(c, "load-dtype", "it is not predicted %s", why) : MS_OK;
}

static ms_status note_limits(const ms_resolving *c)
{
    const ms_parallel *parallel = &c->run->parallel;
    if (ms_layout_has_stages(&parallel->layout))
        return ms_note_add(
            c->notes, c->arena, c->err,
            "the time of a pipeline's step is not predicted, because ranks wait for each other");
    if (parallel->layout.kind != MS_PARALLEL_FSDP1 || parallel->limits_all_gathers)
        return MS_OK;
    return ms_note_add(c->notes, c->arena, c->err,
                       "without limit-all-gathers, reserved memory depends on how far the host "
                       "runs ahead of the device: the upper end is for a slow device");
}

/* FSDP1 makes what is on the meta device module by module, each tied weight anew. */
static ms_status keep_ties(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    if (parallel->layout.kind != MS_PARALLEL_FSDP1 || parallel->build != MS_BUILD_META ||
        !c->model->tie_word_embeddings)
        return MS_OK;
    parallel->build = MS_BUILD_HOST;
    return ms_resolve_is_set(c, "build")
               ? ms_resolve_fail(c, "build",
                                 "from the meta device FSDP1 creates tied weights anew and no "
                                 "longer tied: give host or device")
               : MS_OK;
}

/* from_pretrained() packs weights on the device. fully_shard casts numbers that hold them as it
 * does others; of bytes it makes no parameters, and accelerate keeps them out of it. */
static ms_status resolve_packed(const ms_resolving *c)
{
    ms_parallel *parallel = &c->run->parallel;
    const ms_dtype storage = ms_quantization_storage(&c->run->quantization);
    const char *type = ms_dtype_info_of(parallel->param_dtype)->short_name;
    if (parallel->layout.kind != MS_PARALLEL_FSDP2 || !ms_is_packed(&c->run->quantization))
        return MS_OK;
    parallel->packed_dtype = storage;
    parallel->shares_packed = storage != MS_DTYPE_U8;
    bool is_elsewhere = ms_resolve_is_set(c, "build") && parallel->build != MS_BUILD_DEVICE;
    parallel->build = MS_BUILD_DEVICE;
    if (is_elsewhere && parallel->units != MS_UNITS_ACCELERATE)
        return ms_resolve_fail(c, "build", "bitsandbytes packs weights on the device: give device");
    if (is_elsewhere &&
        ms_note_add(c->notes, c->arena, c->err,
                    "each rank has the whole packed base on its device before it is sharded, "
                    "because accelerate does not shard one that is elsewhere") != MS_OK)
        return MS_ERR_NOMEM;
    if (parallel->shard_dtype != parallel->param_dtype)
        return ms_resolve_fail(
            c, "param-dtype",
            "with a quantised base it is predicted only in the type of the weights: give dtype %s",
            type);
    if (parallel->shares_packed && storage != parallel->param_dtype)
        return ms_resolve_fail(c, "quantize",
                               "fully_shard would cast the packed numbers from %s to %s, which "
                               "spoils them: pack them as %s",
                               ms_dtype_info_of(storage)->short_name, type, type);
    if (!parallel->shares_packed && parallel->units != MS_UNITS_ACCELERATE)
        return ms_resolve_fail(
            c, "quantize",
            "fully_shard does not shard bytes: pack the weights as numbers, as in nf4:%s%s, and "
            "give param-dtype %s (accelerate leaves bytes whole: fsdp-units accelerate)",
            c->run->quantization.is_double ? "double:" : "", type, type);
    if (!parallel->shares_packed &&
        ms_note_add(c->notes, c->arena, c->err,
                    "the packed weights are bytes, which accelerate leaves whole on each rank; "
                    "packed as numbers (bnb_4bit_quant_storage, as in nf4:%s) they are sharded",
                    type) != MS_OK)
        return MS_ERR_NOMEM;
    if (parallel->casts_back && !parallel->has_param_dtype)
        return ms_resolve_fail(c, "upcast",
                               "with weights of several types param-dtype must state the type in "
                               "which they are gathered: give param-dtype %s, or upcast no",
                               type);
    return MS_OK;
}

ms_status ms_resolve_fsdp(const ms_resolving *c)
{
    ms_status status = keep_ties(c);
    if (status == MS_OK)
        status = resolve_packed(c);
    if (status == MS_OK)
        status = check_fsdp2(c);
    if (status == MS_OK)
        status = check_load(c);
    return status == MS_OK ? note_limits(c) : status;
}
