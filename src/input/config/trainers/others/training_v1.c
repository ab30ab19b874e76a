/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As src/llamafactory/v1 has it: BaseTrainer and SFTTrainer, ModelEngine and its plugins.
 */
#include "input/config/trainers/others/training_v1.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "input/config/model/family_facts.h"
#include "input/config/model/model_config.h"
#include "input/config/trainers/adapters/training_bits.h"
#include "input/config/trainers/keys/key_walk.h"

static bool is_v1(const ms_training_reading *r)
{
    return r->file.format == MS_TRAINING_V1;
}

/* ---- micro-batches ---- */

static ms_status set_micro_batches(ms_training_reading *r)
{
    ms_json_value value;
    uint64_t all = 0;
    const uint64_t ranks = ms_layout_world(&r->draft->run.parallel.layout);
    const ms_size each = ms_size_mul(ms_size_of(r->draft->run.batch), ranks ? ranks : 1);
    if (!ms_json_find(r->root, "global_batch_size", &value) ||
        ms_json_kind_of(value) == MS_JSON_NULL || ms_run_field_is_set(r->draft, "accumulate"))
        return MS_OK;
    ms_status status = ms_json_get_count(value, 1, UINT32_MAX, &all, r->err);
    if (status != MS_OK)
        return status;
    if (each.overflow || each.bytes == 0 || all % each.bytes)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "it is not a multiple of the %" PRIu64
                            " sequences that the ranks take at once",
                            each.bytes);
    return ms_training_offer(
        r, "accumulate", ms_arena_printf(r->arena, "%" PRIu64, all / each.bytes), MS_TOPIC_BATCH);
}

/* ---- the loss ---- */

/* Its loss is made beside the model's own, from a copy of the logits in fp32, while the model's
 * stays: a copy and log-probabilities more. */
static uint64_t of_second_loss(const ms_model_config *model, const ms_run_config *run)
{
    enum { TENSORS = 2 };
    const ms_size tokens = ms_size_mul(ms_size_of(run->batch), run->seq_tokens);
    const ms_size logits = ms_size_mul(ms_size_of(model->vocab_size), tokens.bytes);
    const ms_size bytes =
        ms_size_mul(logits, (uint64_t)TENSORS * ms_dtype_info_of(MS_DTYPE_F32)->bytes);
    return tokens.overflow ? UINT64_MAX : ms_size_capped(bytes);
}

static ms_status note_loss(ms_training_reading *r)
{
    return ms_training_add_read_key(
        r, r->root, "loss",
        (ms_read_key){.value = "by default",
                      .meaning = "a second loss, which this trainer makes beside the model's own",
                      .reading = MS_KEY_NOT_PREDICTED,
                      .effect = MS_EFFECT_ADDS,
                      .bound = of_second_loss});
}

/* ---- gradients ---- */

/* At most, of layers of attention and a gated MLP with an embedding and a head: the matrices of an
 * adapter, or all of them with norms and biases. */
static uint64_t of_kept_gradients(const ms_model_config *model, const ms_run_config *run)
{
    enum { MODULES = 7, VECTORS = 16 };
    const uint64_t hidden = model->hidden_size, inner = model->intermediate_size;
    const uint64_t heads =
        ms_size_capped(ms_size_mul(ms_size_of(model->num_heads), model->head_dim));
    const uint64_t rank = run->adapter ? run->adapter->rank : 0;
    ms_size layer = rank ? ms_size_mul(ms_size_of(hidden), MODULES)
                         : ms_size_mul(ms_size_of(heads), 4 * hidden);
    layer = ms_size_add(layer, rank ? 4 * heads : VECTORS * hidden);
    const ms_size mlp = ms_size_mul(ms_size_of(inner), rank ? 3 : 3 * hidden);
    layer = ms_size_add(layer, ms_size_capped(mlp));
    ms_size all = ms_size_mul(layer, (rank ? rank : 1) * model->num_layers);
    const ms_size ends = ms_size_mul(ms_size_of(model->vocab_size), 2 * hidden);
    all = ms_size_add(all, rank ? 0 : ms_size_capped(ends));
    return ms_size_capped(ms_size_mul(all, ms_dtype_info_of(MS_DTYPE_F32)->bytes));
}

/* Whether an adapter may be of embeddings or head: its targets name them, or are a pattern. */
static bool names_ends(const ms_training_reading *r)
{
    static const char *const names[] = {"head", "embed", "wte", "*", "|"};
    if (!r->file.given[MS_TOPIC_TARGETS])
        return false;
    const char *text = ms_training_number(r, MS_TOPIC_TARGETS); /* its source */
    bool is_one = !text;
    for (size_t i = 0; i < sizeof names / sizeof *names && !is_one; i++)
        is_one = strstr(text, names[i]) != NULL;
    return is_one;
}

/* Its loop has the gradients that it clips in a list, which stays until the next step's. DeepSpeed
 * clips its own. */
static ms_status note_gradients(ms_training_reading *r)
{
    bool is_bounded = ms_family_facts_of(r->model->family)->has_seven_matrices &&
                      !r->file.given[MS_TOPIC_SAVED] &&
                      !ms_training_flag(r, MS_TOPIC_DORA, false) && !names_ends(r);
    if (r->ranks == MS_PARALLEL_ZERO)
        return ms_training_note_key(r, MS_TOPIC_COUNT, "dist_config", MS_EFFECT_EITHER,
                                    "weights that are in fp32 when DeepSpeed takes them");
    return ms_training_add_read_key(
        r, r->root, "gradients",
        (ms_read_key){.value = "by default",
                      .meaning =
                          "the gradients of the step before, which this trainer's loop keeps",
                      .reading = MS_KEY_NOT_PREDICTED,
                      .effect = MS_EFFECT_ADDS,
                      .bound = is_bounded ? of_kept_gradients : NULL});
}

ms_status ms_training_set_v1(ms_training_reading *r)
{
    if (!is_v1(r))
        return MS_OK;
    ms_json_value value;
    ms_status status = set_micro_batches(r);
    if (status == MS_OK && !ms_json_find(r->root, "v1_task", &value))
        status = ms_note_add(r->notes, r->arena, r->err,
                             "supervised fine-tuning is predicted: a file of LLaMA-Factory's new "
                             "format does not say which training it is for");
    bool sees = r->model->vision.num_layers || r->model->audio.num_layers;
    if (status == MS_OK && (sees || r->model->head != MS_HEAD_CAUSAL_LM))
        status = ms_training_note_key(r, MS_TOPIC_COUNT, "model_class", MS_EFFECT_EITHER,
                                      "a model other than a plain language model");
    if (status == MS_OK)
        status = note_loss(r);
    return status == MS_OK ? note_gradients(r) : status;
}

/* ---- types ---- */

/* What is trained as a whole goes to fp32; an adapter's base stays as it was stored. */
static const char *weights_of(const ms_training_reading *r)
{
    const bool is_adapted = strcmp(ms_training_text(r, MS_TOPIC_ADAPTER, ""), "lora") == 0;
    return is_adapted ? ms_training_stored_type(r) : "fp32";
}

ms_status ms_training_set_v1_types(ms_training_reading *r)
{
    bool shards = r->ranks == MS_PARALLEL_FSDP2;
    const struct {
        const char *field, *text;
        bool is_set;
    } types[] = {
        {"dtype", weights_of(r), true},
        {"param-dtype", ms_training_flag(r, MS_TOPIC_BF16, true) ? "bf16" : "fp32", shards},
        {"reduce-dtype", "fp32", shards},
        {"autocast", "none", true},
    };
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof types / sizeof *types && status == MS_OK; i++)
        if (types[i].is_set)
            status = ms_training_offer(r, types[i].field, types[i].text, MS_TOPIC_BF16);
    return status;
}

/* ---- packed weights ---- */

/* Packed weights are held in numbers of the type that computes. */
static ms_status four_bits(ms_training_reading *r, const char **kind)
{
    ms_json_value value;
    bool is_given = ms_json_find_pointer(r->root, "/quant_config/compute_dtype", &value);
    const char *type = is_given ? ms_training_short_type(ms_training_value_text(value)) : "fp16";
    *kind = ms_training_four_bits(r, true, type);
    return ms_training_check_computing(r, MS_TOPIC_QUANTIZE_METHOD, type, weights_of(r));
}

ms_status ms_training_v1_bits(ms_training_reading *r, const char **kind)
{
    const ms_training_topic topic = MS_TOPIC_QUANTIZE_METHOD;
    const char *name = ms_training_text(r, topic, "");
    bool is_auto = strcmp(name, "auto") == 0;
    uint64_t bits = 4;
    if (!*name || (is_auto && !r->file.given[MS_TOPIC_BITS]))
        return MS_OK;
    if (!is_auto && strcmp(name, "bnb") != 0)
        return ms_training_fail(r, topic, "'%.40s' is not supported; auto and bnb are", name);
    ms_status status = ms_training_read_bits(r, &bits);
    if (bits == 8)
        *kind = "int8";
    return status == MS_OK && bits == 4 ? four_bits(r, kind) : status;
}
