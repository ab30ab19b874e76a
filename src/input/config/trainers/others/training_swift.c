/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * As ms-swift 4.6 has it: SftArguments and what they inherit, SwiftMixin and Seq2SeqTrainer.
 */
#include "input/config/trainers/others/training_swift.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "input/config/model/model_config.h"
#include "input/config/trainers/adapters/training_bits.h"
#include "input/config/trainers/keys/key_walk.h"

static bool is_swift(const ms_training_reading *r)
{
    return r->file.format == MS_TRAINING_SWIFT;
}

static bool is_on(const ms_training_reading *r, const char *key)
{
    ms_json_value value;
    return ms_json_find(r->root, key, &value) && !ms_training_says_nothing(value);
}

/* ---- numbers ---- */

/* 16 sequences a step, over all ranks. */
static ms_status set_micro_batches(ms_training_reading *r)
{
    enum { SEQUENCES = 16 };
    const uint64_t ranks = ms_layout_world(&r->draft->run.parallel.layout);
    const uint64_t batch = r->draft->run.batch ? r->draft->run.batch : 1;
    const ms_size each = ms_size_mul(ms_size_of(batch), ranks ? ranks : 1);
    uint64_t steps = 1;
    if (r->file.given[MS_TOPIC_ACCUMULATE])
        return MS_OK;
    if (!each.overflow && each.bytes < SEQUENCES)
        steps = (SEQUENCES + each.bytes - 1) / each.bytes;
    return ms_training_offer(r, "accumulate", ms_arena_printf(r->arena, "%" PRIu64, steps),
                             MS_TOPIC_ACCUMULATE);
}

/* As long as the file says: of packed rows their own length; else as the model takes them. */
static ms_status set_length(ms_training_reading *r)
{
    static const char field[] = "seq";
    const uint64_t rows = r->model->max_positions, skipped = r->model->skipped_positions;
    const uint64_t most = rows > skipped ? rows - skipped : 0;
    bool is_packed = ms_training_flag(r, MS_TOPIC_PACKED, false);
    const ms_training_topic topic =
        is_packed && r->file.given[MS_TOPIC_PACKED_LENGTH] ? MS_TOPIC_PACKED_LENGTH : MS_TOPIC_SEQ;
    if (ms_run_field_is_set(r->draft, field))
        return MS_OK;
    if (r->file.given[topic])
        return ms_training_offer(r, field, ms_training_number(r, topic), topic);
    if (most == 0)
        return ms_json_fail(r->err, r->root, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "there is no max_length, and the model's config does not say how long "
                            "sequences may be: give --seq");
    ms_status status =
        ms_training_offer(r, field, ms_arena_printf(r->arena, "%" PRIu64, most), MS_TOPIC_SEQ);
    if (status != MS_OK)
        return status;
    return ms_note_add(r->notes, r->arena, r->err,
                       "without max_length a sequence has %" PRIu64
                       " tokens, the most that the model takes, as ms-swift %s (--seq)",
                       most, is_packed ? "packs them" : "cuts sequences");
}

ms_status ms_training_set_swift_numbers(ms_training_reading *r)
{
    const ms_training_topic topic = MS_TOPIC_BATCH;
    if (!is_swift(r))
        return MS_OK;
    ms_status status = ms_training_offer(
        r, "batch", r->file.given[topic] ? ms_training_number(r, topic) : "1", topic);
    if (status == MS_OK)
        status = set_micro_batches(r);
    return status == MS_OK ? set_length(r) : status;
}

/* ---- types ---- */

const char *ms_training_swift_dtype(const ms_training_reading *r)
{
    const ms_dtype stored = r->model->has_dtype ? r->model->dtype : MS_DTYPE_BF16;
    const ms_dtype own = ms_run_field_is_set(r->draft, "dtype") ? r->draft->run.dtype : stored;
    const char *absent = ms_training_type_of(own);
    if (ms_run_field_is_set(r->draft, "dtype"))
        return absent;
    return ms_training_short_type(ms_training_text(r, MS_TOPIC_DTYPE, absent));
}

ms_status ms_training_swift_autocast(ms_training_reading *r, const char **autocast)
{
    bool is_bf16 = strcmp(ms_training_swift_dtype(r), "bf16") == 0;
    bool bf16 = ms_training_flag(r, MS_TOPIC_BF16, is_bf16);
    bool fp16 = ms_training_flag(r, MS_TOPIC_FP16, !is_bf16);
    const ms_training_topic said = r->file.given[MS_TOPIC_BF16] ? MS_TOPIC_BF16 : MS_TOPIC_FP16;
    if (bf16 && fp16)
        return ms_training_fail(r, said,
                                "fp16 and bf16 are both set; ms-swift itself sets the one that "
                                "matches torch_dtype unless both are given");
    *autocast = bf16 ? "bf16" : fp16 ? "fp16" : "none";
    return MS_OK;
}

/* ---- evaluation ---- */

bool ms_training_swift_evaluates(const ms_training_reading *r)
{
    bool has_data = is_on(r, "val_dataset") || is_on(r, "cached_val_dataset") ||
                    (is_on(r, "split_dataset_ratio") && !is_on(r, "streaming"));
    const ms_training_topic topic =
        r->file.given[MS_TOPIC_EVAL_STRATEGY] ? MS_TOPIC_EVAL_STRATEGY : MS_TOPIC_SAVE_STRATEGY;
    return has_data && !(r->file.given[topic] && ms_training_says_nothing(r->file.values[topic]));
}

const char *ms_training_swift_eval_steps(const ms_training_reading *r)
{
    static const char *const keys[] = {"eval_steps", "save_steps"};
    uint64_t steps;
    ms_json_value value;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (ms_json_find(r->root, keys[i], &value) &&
            ms_json_get_count(value, 1, UINT32_MAX, &steps, NULL) == MS_OK)
            return ms_arena_printf(r->arena, "%" PRIu64, steps);
    return "500"; /* of TrainingArguments */
}

/* ---- adapters and packed weights ---- */

ms_status ms_training_set_swift_adapter(ms_training_reading *r)
{
    const ms_training_topic topic = MS_TOPIC_ADAPTER_DTYPE;
    return r->file.given[topic]
               ? ms_training_offer(r, "adapter-dtype",
                                   ms_training_short_type(ms_training_text(r, topic, "")), topic)
               : MS_OK;
}

/* bitsandbytes computes in bf16 with such weights, else in fp32. */
static ms_status check_computing(ms_training_reading *r)
{
    ms_json_value value;
    const char *weights = ms_training_swift_dtype(r);
    bool is_given = ms_json_find(r->root, "bnb_4bit_compute_dtype", &value) &&
                    ms_json_kind_of(value) != MS_JSON_NULL;
    const char *computed = is_given ? ms_training_short_type(ms_training_value_text(value))
                           : strcmp(weights, "bf16") == 0 ? "bf16"
                                                          : "fp32";
    return ms_training_check_computing(r, MS_TOPIC_BITS, computed, weights);
}

static ms_status four_bits(ms_training_reading *r, const char **kind)
{
    ms_json_value value;
    bool is_stored = ms_json_find(r->root, "bnb_4bit_quant_storage", &value) &&
                     *ms_training_value_text(value) &&
                     strcmp(ms_training_value_text(value), "uint8") != 0;
    *kind = ms_training_four_bits(
        r, true, is_stored ? ms_training_short_type(ms_training_value_text(value)) : "");
    return check_computing(r);
}

ms_status ms_training_swift_bits(ms_training_reading *r, const char **kind)
{
    const ms_training_topic topic = MS_TOPIC_QUANTIZE_METHOD;
    const char *method = ms_training_text(r, topic, "");
    uint64_t bits = 0;
    if (!*method) /* bits alone do nothing */
        return MS_OK;
    if (strcmp(method, "bnb") != 0)
        return ms_training_fail(r, topic, "'%.40s' is not supported; bnb is", method);
    if (!r->file.given[MS_TOPIC_BITS])
        return ms_training_fail(r, topic, "bnb without quant_bits: give 4 or 8");
    ms_status status = ms_training_read_bits(r, &bits);
    if (bits == 8)
        *kind = "int8";
    return status == MS_OK && bits == 4 ? four_bits(r, kind) : status;
}

/* ---- its head ---- */

/* The head runs on the tokens whose loss counts, and memscope counts all of them. */
static ms_status note_logits(ms_training_reading *r)
{
    ms_json_value value;
    if (ms_json_find(r->root, "use_logits_to_keep", &value) &&
        ms_json_kind_of(value) != MS_JSON_NULL && ms_training_says_nothing(value))
        return MS_OK;
    return ms_note_add(r->notes, r->arena, r->err,
                       "ms-swift's head runs only on tokens with a label; the figures assume that "
                       "all tokens have one, the maximum");
}

static ms_status note_task(ms_training_reading *r)
{
    if (r->model->head == MS_HEAD_CAUSAL_LM)
        return MS_OK;
    return ms_training_note_key(r, MS_TOPIC_COUNT, "task_type", MS_EFFECT_EITHER,
                                "a head other than that of a language model");
}

/* ---- models that see ---- */

/* Their towers are frozen unless the file says otherwise, and adapters leave them out. */
static ms_status note_tower(ms_training_reading *r)
{
    ms_json_value value;
    bool sees = r->model->vision.num_layers || r->model->audio.num_layers;
    if (!sees || !ms_json_find(r->root, "model", &value))
        return MS_OK;
    return ms_training_add_key(r, value, "freeze_vit", MS_KEY_NOT_PREDICTED, MS_EFFECT_EITHER,
                               "images and their vision tower, which ms-swift freezes");
}

ms_status ms_training_note_swift(ms_training_reading *r)
{
    if (!is_swift(r))
        return MS_OK;
    ms_status status = note_logits(r);
    if (status == MS_OK)
        status = note_task(r);
    return status == MS_OK ? note_tower(r) : status;
}
