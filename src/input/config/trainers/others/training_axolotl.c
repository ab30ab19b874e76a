/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As axolotl 0.18 has it: check_auto_enable_lora_kernels of its schema, and the arguments of its
 * integration cut_cross_entropy.
 */
#include "input/config/trainers/others/training_axolotl.h"

#include <string.h>

#include "base/size.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve_loss.h"
#include "input/config/trainers/keys/allocator_conf.h"
#include "input/config/trainers/keys/key_walk.h"
#include "input/config/trainers/adapters/training_adapter.h"
#include "input/config/trainers/training_loss.h"
#include "input/config/trainers/training_ranks.h"

static bool is_given(ms_json_value root, const char *key)
{
    ms_json_value value;
    return ms_json_find(root, key, &value) && ms_json_kind_of(value) != MS_JSON_NULL;
}

static bool is_on(ms_json_value root, const char *key)
{
    ms_json_value value;
    return ms_json_find(root, key, &value) && !ms_training_says_nothing(value);
}

/* ---- kernels of adapters ---- */

/* On unless the file says something of any of them, or of what they do not go with. */
static bool has_kernels(const ms_training_reading *r, ms_json_value root)
{
    static const char *const kernels[] = {"lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel",
                                          "lora_embedding_kernel"};
    static const char *const others[] = {"rl", "nvfp4_merge_aware", "trust_remote_code"};
    bool is_lora = strcmp(ms_training_text(r, MS_TOPIC_ADAPTER, ""), "lora") == 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (is_given(root, kernels[i]))
            return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_on(root, others[i]))
            return false;
    return ms_training_has_adapter(r) && !(is_lora && is_on(root, "load_in_8bit")) &&
           r->ranks != MS_PARALLEL_FSDP1;
}

/* They compute the same with fewer tensors between, in place where that can be. */
static ms_status note_kernels(ms_training_reading *r, ms_json_value root)
{
    if (!has_kernels(r, root))
        return MS_OK;
    return ms_training_add_key(r, r->file.values[MS_TOPIC_ADAPTER], "lora_*_kernel",
                               MS_KEY_NOT_PREDICTED, MS_EFFECT_SAVES,
                               "axolotl's kernels of adapters, which are on by default");
}

/* ---- cut cross entropy ---- */

/* The plugin's own key, which is on unless the file says otherwise. */
static const char cut_key[] = "cut_cross_entropy";

static bool is_plugin(ms_json_value value, const char *name)
{
    return strcmp(ms_training_last_name(ms_training_value_text(value)), name) == 0;
}

static bool find_plugin(ms_json_value root, const char *name, ms_json_value *plugins)
{
    ms_json_value item;
    if (!ms_json_find(root, "plugins", plugins))
        return false;
    if (ms_json_kind_of(*plugins) != MS_JSON_ARRAY)
        return is_plugin(*plugins, name);
    for (bool more = ms_json_first(*plugins, &item); more; more = ms_json_next(&item))
        if (is_plugin(item, name))
            return true;
    return false;
}

static bool find_cut_loss(ms_json_value root, ms_json_value *plugins)
{
    ms_json_value value;
    bool is_off = ms_json_find(root, cut_key, &value) && !ms_training_truth(value, true);
    return !is_off && find_plugin(root, "CutCrossEntropyPlugin", plugins);
}

bool ms_training_has_cut_loss(ms_json_value root)
{
    ms_json_value plugins;
    return find_cut_loss(root, &plugins);
}

/* The loss in chunks, which makes few logits at a time, is the nearest where it is not predicted.
 */
static ms_status leave_cut_loss_out(ms_training_reading *r, ms_json_value plugins)
{
    static const char chunks[] = "loss=chunk:8";
    bool is_free = !ms_run_field_is_set(r->draft, "treat") &&
                   !ms_run_field_is_set(r->draft, "plan") && r->model->head == MS_HEAD_CAUSAL_LM &&
                   !r->draft->run.liger && !r->model->family->scales_logits &&
                   r->draft->run.training.label_smoothing <= 0 &&
                   !r->draft->run.training.logits_to_keep && r->ranks != MS_PARALLEL_ZERO;
    ms_status status =
        is_free ? ms_run_field_set(r->draft, r->arena, "treat", chunks, r->err) : MS_OK;
    if (status != MS_OK)
        return status;
    return ms_training_add_key(r, plugins, cut_key, MS_KEY_NOT_PREDICTED, MS_EFFECT_EITHER,
                               is_free ? "cut cross entropy; the figures are for a loss in 8 chunks"
                                       : "cut cross entropy, which makes no logits");
}

static ms_status take_cut_loss(ms_training_reading *r, ms_json_value root)
{
    static const char field[] = "loss";
    ms_json_value plugins, chunked;
    if (!find_cut_loss(root, &plugins))
        return MS_OK;
    if (ms_json_find(root, "chunked_cross_entropy", &chunked) && ms_training_truth(chunked, false))
        return ms_json_fail(r->err, chunked, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "axolotl refuses it beside cut cross entropy");
    if (ms_training_has_own_loss(r))
        return MS_OK;
    if (ms_loss_not_with(r->model, &r->draft->run, MS_LOSS_CUT) ||
        r->draft->run.dtype == MS_DTYPE_F32)
        return leave_cut_loss_out(r, plugins);
    const int index = ms_run_field_find(field);
    ms_status status =
        ms_run_field_set(r->draft, r->arena, field, ms_loss_names[MS_LOSS_CUT], r->err);
    r->origins->in_file[index] = true;
    r->origins->values[index] = plugins;
    return status == MS_OK
               ? ms_training_add_key(r, plugins, cut_key, MS_KEY_USED, MS_EFFECT_NONE, "loss")
               : status;
}

/* ---- what adds little ---- */

/* Rows of embeddings and head, up to a multiple of 32: weights, gradients, states and copies of
 * them, of 4 bytes each at most. */
static uint64_t of_rows(const ms_model_config *model, const ms_run_config *run)
{
    enum { ROWS = 31, MATRICES = 2, COPIES = 6, BYTES = 4 };
    (void)run;
    return ms_size_capped(
        ms_size_mul(ms_size_of(model->hidden_size), ROWS * MATRICES * COPIES * BYTES));
}

/* Columns of the data that the model does not take, of 8 bytes a token. */
static uint64_t of_columns(const ms_model_config *model, const ms_run_config *run)
{
    enum { COLUMNS = 8, BYTES = 8 };
    (void)model;
    const ms_size bytes =
        ms_size_mul(ms_size_mul(ms_size_of(run->batch), run->seq_tokens), COLUMNS * BYTES);
    return ms_size_capped(bytes);
}

static const struct {
    const char *key;
    bool when; /* the value that adds */
    const char *meaning;
    uint64_t (*bound)(const ms_model_config *model, const ms_run_config *run);
} little[] = {
    {"resize_token_embeddings_to_32x", true, "up to 31 further rows of embeddings and head",
     of_rows},
    {"remove_unused_columns", false, "further columns of the data in the batch", of_columns},
};

static ms_status add_little(ms_training_reading *r, ms_json_value root)
{
    ms_json_value value;
    bool truth;
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof little / sizeof *little && status == MS_OK; i++) {
        if (!ms_json_find(root, little[i].key, &value) ||
            ms_json_get_bool(value, &truth, NULL) != MS_OK || truth != little[i].when)
            continue;
        status = ms_training_add_read_key(r, value, NULL,
                                          (ms_read_key){.meaning = little[i].meaning,
                                                        .reading = MS_KEY_NOT_PREDICTED,
                                                        .effect = MS_EFFECT_ADDS,
                                                        .bound = little[i].bound});
    }
    return status;
}

/* As its command sets them: for PyTorch before 2.9 it rounds sizes besides. */
static ms_status set_segments(ms_training_reading *r)
{
    static const char rounding[] = "roundup-power2-divisions";
    const ms_run_draft *draft = r->draft;
    const bool rounds = ms_allocator_conf_is_older(draft) && !draft->has_allocator_conf &&
                        !ms_training_on_cpu(r) && !ms_run_field_is_set(draft, "allocator") &&
                        !ms_run_field_is_set(draft, rounding);
    ms_status status = ms_training_expand_segments(r);
    return status == MS_OK && rounds ? ms_run_field_set(r->draft, r->arena, rounding, "16", r->err)
                                     : status;
}

ms_status ms_training_set_axolotl(ms_training_reading *r, ms_json_value root)
{
    if (r->file.format != MS_TRAINING_AXOLOTL)
        return MS_OK;
    ms_status status = set_segments(r);
    if (status == MS_OK)
        status = note_kernels(r, root);
    if (status == MS_OK)
        status = add_little(r, root);
    return status == MS_OK ? take_cut_loss(r, root) : status;
}
