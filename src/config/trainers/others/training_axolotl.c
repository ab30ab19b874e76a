/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As axolotl 0.18 has it: check_auto_enable_lora_kernels of its schema, and the arguments of its
 * integration cut_cross_entropy.
 */
#include "config/trainers/others/training_axolotl.h"

#include <string.h>

#include "base/size.h"
#include "config/trainers/keys/key_walk.h"
#include "config/trainers/adapters/training_adapter.h"
#include "config/trainers/training_ranks.h"

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

static bool find_plugins(ms_json_value root, ms_json_value *plugins)
{
    return ms_json_find(root, "plugins", plugins) && ms_json_kind_of(*plugins) == MS_JSON_ARRAY;
}

/* How many of the plugins have one of these names. */
static size_t count_plugins(ms_json_value plugins, const char *const *names)
{
    ms_json_value item;
    size_t count = 0;
    for (bool more = ms_json_first(plugins, &item); more; more = ms_json_next(&item))
        for (const char *const *name = names; *name; name++)
            count += strcmp(ms_training_last_name(ms_training_value_text(item)), *name) == 0;
    return count;
}

bool ms_training_has_cut_loss(ms_json_value root)
{
    static const char *const names[] = {"CutCrossEntropyPlugin", NULL};
    ms_json_value plugins, value;
    bool is_off =
        ms_json_find(root, "cut_cross_entropy", &value) && !ms_training_truth(value, true);
    return find_plugins(root, &plugins) && count_plugins(plugins, names) > 0 && !is_off;
}

/* Whether the other plugins change nothing by themselves. */
static bool is_among_harmless(ms_json_value plugins)
{
    static const char *const names[] = {"CutCrossEntropyPlugin", "LigerPlugin", "SwanLabPlugin",
                                        "LMEvalPlugin", NULL};
    return count_plugins(plugins, names) == ms_json_length(plugins);
}

static bool has_own_loss(const ms_training_reading *r)
{
    const char *treat = ms_run_field_is_set(r->draft, "treat") ? r->draft->run.treat : "";
    return ms_run_field_is_set(r->draft, "loss") || ms_run_field_is_set(r->draft, "plan") ||
           (r->draft->run.liger & MS_LIGER_LOSS) || r->draft->run.training.label_smoothing > 0 ||
           r->draft->run.training.logits_to_keep || strstr(treat, "loss=");
}

/* Where its kernels are predicted. */
static bool takes_cut_loss(const ms_training_reading *r)
{
    const ms_model_config *model = r->model;
    const ms_run_config *run = &r->draft->run;
    bool is_plain = model->head == MS_HEAD_CAUSAL_LM && !model->caps_logits &&
                    !model->family->scales_logits && !model->outputs_router_logits &&
                    !model->is_encoder_decoder;
    bool is_whole = run->parallel.layout.kind == MS_PARALLEL_NONE ||
                    run->parallel.layout.kind == MS_PARALLEL_DDP;
    return is_plain && is_whole && !has_own_loss(r) && !ms_training_on_cpu(r) &&
           (run->dtype == MS_DTYPE_BF16 || run->dtype == MS_DTYPE_F16);
}

static ms_status offer_cut_loss(ms_training_reading *r, ms_json_value root, ms_json_value plugins)
{
    static const char meaning[] = "loss";
    ms_json_value key;
    ms_status status =
        ms_run_field_set(r->draft, r->arena, "loss", ms_loss_names[MS_LOSS_CUT], r->err);
    if (status == MS_OK && ms_json_find(root, "cut_cross_entropy", &key))
        status = ms_training_add_key(r, key, NULL, MS_KEY_USED, MS_EFFECT_NONE, meaning);
    if (status != MS_OK)
        return status;
    return is_among_harmless(plugins)
               ? ms_training_add_key(r, plugins, "plugins", MS_KEY_USED, MS_EFFECT_NONE, meaning)
               : ms_training_add_key(r, plugins, "plugins", MS_KEY_NOT_PREDICTED, MS_EFFECT_EITHER,
                                     "changes by plugins other than cut cross entropy");
}

/* It makes no logits. Where it is not predicted, the loss in chunks, which makes few of them at a
 * time, is the nearest. */
static ms_status take_cut_loss(ms_training_reading *r, ms_json_value root)
{
    static const char chunks[] = "loss=chunk:8";
    ms_json_value plugins;
    if (!ms_training_has_cut_loss(root) || !find_plugins(root, &plugins))
        return MS_OK;
    if (takes_cut_loss(r))
        return offer_cut_loss(r, root, plugins);
    bool is_free =
        !ms_run_field_is_set(r->draft, "treat") && !ms_run_field_is_set(r->draft, "loss") &&
        !ms_run_field_is_set(r->draft, "plan") && r->model->head == MS_HEAD_CAUSAL_LM &&
        !r->draft->run.liger && !r->model->family->scales_logits && r->ranks != MS_PARALLEL_ZERO;
    ms_status status =
        is_free ? ms_run_field_set(r->draft, r->arena, "treat", chunks, r->err) : MS_OK;
    if (status != MS_OK)
        return status;
    return ms_training_add_key(r, plugins, "plugins", MS_KEY_NOT_PREDICTED, MS_EFFECT_EITHER,
                               is_free ? "cut cross entropy; the figures are of a loss in 8 chunks"
                                       : "cut cross entropy, which makes no logits");
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

ms_status ms_training_set_axolotl(ms_training_reading *r, ms_json_value root)
{
    if (r->file.format != MS_TRAINING_AXOLOTL)
        return MS_OK;
    ms_status status = ms_training_expand_segments(r);
    if (status == MS_OK)
        status = note_kernels(r, root);
    if (status == MS_OK)
        status = add_little(r, root);
    return status == MS_OK ? take_cut_loss(r, root) : status;
}
