/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/others/training_sft.h"

#include <string.h>

#include "input/config/resolve/resolve_loss.h"
#include "input/config/run/liger.h"
#include "input/config/trainers/keys/key_table.h"
#include "input/config/trainers/keys/key_walk.h"

/* ---- whose file it is ---- */

/* Of SFTConfig or ModelConfig. */
static const char *const marks[] = {
    "max_length",          "dataset_text_field", "packing",           "packing_strategy",
    "padding_free",        "eval_packing",       "dataset_kwargs",    "completion_only_loss",
    "assistant_only_loss", "chat_template_path", "model_init_kwargs", "use_peft",
    "lora_target_modules", "load_in_4bit",       "load_in_8bit",      "use_bnb_nested_quant"};

/* Keys of older versions, which TRL 1.16 refuses: their defaults were Trainer's. */
static bool is_older(ms_json_value root)
{
    ms_json_value value;
    return ms_json_find(root, "max_seq_length", &value);
}

static bool has_mark(ms_json_value root, ms_json_value *found)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (ms_json_find(root, marks[i], found))
            return true;
    return false;
}

/* Whether the key is one of another kind of training, whatever value it has: see hf.keys. */
static bool is_of_another(const ms_key_rows *table, ms_json_value value)
{
    static const char *const more[] = {"use_vllm", "vllm_mode", "use_liger_loss"};
    const char *key = ms_json_key(value);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (strcmp(key, more[i]) == 0)
            return true;
    if (strcmp(key, "router_aux_loss_coef") == 0 || ms_json_kind_of(value) == MS_JSON_NULL)
        return false;
    for (uint32_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].key, key) == 0)
            return !table->rows[i].is_used && strcmp(table->rows[i].values, "null") == 0;
    return false;
}

static bool has_another(const ms_key_rows *table, ms_json_value root)
{
    ms_json_value value, losses;
    for (bool more = ms_json_first(root, &value); more; more = ms_json_next(&value))
        if (is_of_another(table, value))
            return true;
    if (!ms_json_find(root, "loss_type", &losses) || ms_json_kind_of(losses) == MS_JSON_NULL)
        return false;
    const char *loss = ms_training_value_text(losses);
    return strcmp(loss, "nll") != 0 && strcmp(loss, "chunked_nll") != 0 && strcmp(loss, "dft") != 0;
}

ms_status ms_training_find_sft(ms_training_reading *r, ms_json_value root)
{
    ms_json_value task, length;
    if (r->file.format != MS_TRAINING_HF || is_older(root))
        return MS_OK;
    if (ms_json_find(root, "trl_task", &task)) {
        r->is_sft = strcmp(ms_training_value_text(task), "sft") == 0;
        r->sft_mark = task;
    } else if (has_mark(root, &r->sft_mark)) {
        ms_status status = ms_key_table_read(r->arena, MS_TRAINING_HF, r->tables, r->err);
        if (status != MS_OK)
            return status;
        r->is_sft = !has_another(&r->tables[MS_TRAINING_HF], root);
    }
    r->is_cut = r->is_sft && !ms_json_find(root, "max_length", &length);
    return MS_OK;
}

/* ---- its loss ---- */

static ms_status leave_head_out(ms_training_reading *r, const char *what)
{
    const char *meaning = ms_arena_printf(
        r->arena, "TRL's head, which makes no logits, with %s; the figures include logits", what);
    if (!meaning)
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for the training arguments");
    return ms_training_add_key(r, r->sft_mark, NULL, MS_KEY_NOT_PREDICTED, MS_EFFECT_EITHER,
                               meaning);
}

static const char second_head[] = "the head's second run beside label smoothing, for TRL's metrics";

/* The loss with label smoothing is one of logits, and the head runs for metrics all the same. */
static ms_status add_second_head(ms_training_reading *r)
{
    return ms_training_leave_out(r, MS_TOPIC_LABEL_SMOOTHING, MS_EFFECT_ADDS, second_head);
}

ms_status ms_training_set_sft_loss(ms_training_reading *r)
{
    static const char field[] = "loss";
    if (!r->is_sft || ms_run_field_is_set(r->draft, field) ||
        ms_run_field_is_set(r->draft, "logits-to-keep"))
        return MS_OK;
    if (ms_training_is_some(r, MS_TOPIC_LABEL_SMOOTHING))
        return add_second_head(r);
    if (r->draft->run.training.label_smoothing > 0)
        return ms_training_add_key(r, r->sft_mark, NULL, MS_KEY_NOT_PREDICTED, MS_EFFECT_ADDS,
                                   second_head);
    if (ms_run_field_is_set(r->draft, "liger") && (r->draft->run.liger & MS_LIGER_LOSS))
        return MS_OK; /* by an option, which wins */
    const char *what = ms_loss_not_with(r->model, &r->draft->run, MS_LOSS_TRL);
    return what ? leave_head_out(r, what) : ms_training_offer(r, field, "trl", MS_TOPIC_BATCH);
}
