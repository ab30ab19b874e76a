/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/other/other_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/locale.h"
#include "base/text/nearest.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"

/* ---- run keys ---- */

/* Of two spellings the first wins: it is set last. */
static const char *const attention_keys[] = {"_attn_implementation", "attn_implementation"};

static const char *const experts_keys[] = {"_experts_implementation", "experts_implementation"};
static const char checkpoints_key[] = "gradient_checkpointing";

enum { SPELLINGS = 2 };

/* Whether a key is one of them. */
static bool is_run_key(const char *name)
{
    for (size_t i = 0; i < SPELLINGS; i++)
        if (strcmp(name, attention_keys[i]) == 0 || strcmp(name, experts_keys[i]) == 0)
            return true;
    return strcmp(name, checkpoints_key) == 0;
}

/* Of an object with a name for each part of the model, the text model's. */
static bool run_keys_find_part(const ms_family *family, ms_json_value *value)
{
    ms_json_value parts = *value;
    return ms_json_kind_of(parts) != MS_JSON_OBJECT ||
           (family->object && ms_json_find(parts, family->object, value)) ||
           ms_json_find(parts, "", value);
}

static ms_status read_name(ms_arena *arena, ms_json_value root, const char *const *keys,
                           const ms_family *family, const char **name, ms_error *err)
{
    ms_json_value value;
    const char *text = NULL;
    *name = NULL;
    size_t i = 0;
    while (i < SPELLINGS &&
           !(ms_json_find(root, keys[i], &value) && ms_json_kind_of(value) != MS_JSON_NULL))
        i++;
    if (i == SPELLINGS || !run_keys_find_part(family, &value) ||
        ms_json_kind_of(value) == MS_JSON_NULL)
        return MS_OK;
    ms_status status = ms_json_get_string(value, &text, err);
    if (status != MS_OK)
        return status;
    *name = ms_arena_strdup(arena, text);
    return *name ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for the model");
}

/* As Python has it: all but false, null, 0 and what is empty. */
static bool is_true(ms_json_value value)
{
    bool truth = false;
    double number = 0;
    const char *text = "";
    switch (ms_json_kind_of(value)) {
    case MS_JSON_BOOL:
        return ms_json_get_bool(value, &truth, NULL) == MS_OK && truth;
    case MS_JSON_NUMBER:
        return ms_json_get_number(value, -1e308, 1e308, &number, NULL) == MS_OK &&
               (number < 0 || number > 0);
    case MS_JSON_STRING:
        return ms_json_get_string(value, &text, NULL) == MS_OK && *text;
    case MS_JSON_NULL:
    case MS_JSON_ARRAY:
    case MS_JSON_OBJECT:
        break;
    }
    return false;
}

static bool asks_checkpoints(ms_json_value object)
{
    ms_json_value value;
    return ms_json_find(object, checkpoints_key, &value) && is_true(value);
}

ms_status ms_run_keys_read(ms_arena *arena, ms_json_value root, ms_model_config *config,
                           ms_error *err)
{
    const ms_family *family = config->family;
    ms_json_value text;
    bool is_nested = family->object && ms_json_find(root, family->object, &text) &&
                     ms_json_kind_of(text) == MS_JSON_OBJECT;
    config->asks_checkpoints = asks_checkpoints(root) || (is_nested && asks_checkpoints(text));
    ms_status status =
        read_name(arena, root, attention_keys, family, &config->asked_attention, err);
    return status == MS_OK
               ? read_name(arena, root, experts_keys, family, &config->asked_experts, err)
               : status;
}

/* ---- known to have no effect ---- */

/* Of any class: what a file says of itself, what generate() takes, ids and labels, and what
 * published files have though their classes do not read it. In the order of strcmp. */
/* clang-format off */
static const char *const harmless[] = {
    "architectures", "assistant_confidence_threshold", "assistant_lookbehind", "auto_map",
    "bad_words_ids", "begin_suppress_tokens", "cache_implementation", "constraints",
    "cross_attention_hidden_size", "custom_pipelines", "diversity_penalty", "do_sample", "dtype",
    "early_stopping", "encoder_no_repeat_ngram_size", "encoder_repetition_penalty",
    "epsilon_cutoff", "eta_cutoff", "exponential_decay_length_penalty", "feature_extractor_type",
    "finetuning_task", "force_words_ids", "forced_bos_token_id", "forced_decoder_ids",
    "forced_eos_token_id", "guidance_scale", "hidden_act", "id2label", "ignore_index",
    "ignore_keys_at_rope_validation", "image_processor_type", "image_seq_length", "in_chans",
    "is_llama_config", "keys_to_ignore_at_inference", "label2id", "language", "length_penalty",
    "license", "low_memory", "max_length", "max_new_tokens", "max_time", "min_length",
    "min_new_tokens", "min_p", "model_max_length", "model_type", "n_special", "name_or_path",
    "no_repeat_ngram_size", "num_assistant_tokens", "num_assistant_tokens_schedule",
    "num_beam_groups", "num_beams", "num_labels", "num_return_sequences", "output_past",
    "output_scores", "penalty_alpha", "pixel_shuffle_ratio", "predict_special_tokens", "prefix",
    "problem_type", "processor_class", "projection_dim", "qk_head_dim", "quantization_config",
    "remove_invalid_values", "renormalize_logits", "repetition_penalty", "return_dict",
    "return_dict_in_generate", "rope_interleaved", "rope_parameters", "rope_scaling",
    "rope_theta", "sequence_bias", "spatial_patch_size", "stop_strings", "suppress_tokens",
    "target_lookbehind", "task_specific_params", "temperature", "tf_legacy_loss",
    "tie_encoder_decoder", "tokenizer_class", "tokenizer_file", "tokens_per_second", "top_k",
    "top_p", "torch_dtype", "transformers.js_config", "transformers_version", "typical_p",
    "unsloth_fixed", "unsloth_version", "use_bfloat16", "use_cache", "use_mrope",
    "use_return_dict", "vision_feature_select_strategy", "vocab_file", "vocab_size",
};

/* clang-format on */

/* Ids, what is added to a variance, and how weights begin. */
static const char *const ends[] = {"_token_id", "_token_ids",        "_token_index",      "_eps",
                                   "_epsilon",  "initializer_range", "initializer_factor"};

static int by_name(const void *name, const void *row)
{
    return strcmp(name, *(const char *const *)row);
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* What begins with an underscore is of the library that wrote the file. */
static bool is_harmless(const char *name)
{
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i]))
            return true;
    return *name == '_' || *name == '\0' || is_run_key(name) ||
           bsearch(name, harmless, sizeof harmless / sizeof *harmless, sizeof *harmless, by_name);
}

/* null, false, 0 and what is empty. */
static bool says_nothing(ms_json_value value)
{
    ms_json_value child;
    bool truth = true;
    double number = 1;
    const char *text = "x";
    switch (ms_json_kind_of(value)) {
    case MS_JSON_NULL:
        return true;
    case MS_JSON_BOOL:
        return ms_json_get_bool(value, &truth, NULL) == MS_OK && !truth;
    case MS_JSON_NUMBER:
        return ms_json_get_number(value, 0, 0, &number, NULL) == MS_OK;
    case MS_JSON_STRING:
        return ms_json_get_string(value, &text, NULL) == MS_OK && !*text;
    case MS_JSON_ARRAY:
    case MS_JSON_OBJECT:
        break;
    }
    return !ms_json_first(value, &child);
}

/* ---- the family's ---- */

/* An object of the file, and what the family knows of it. */
typedef struct part {
    const char *name; /* NULL: the file itself */
    ms_json_value object;
    bool has_keys; /* the family's own keys are there */
} part;

static bool is_of_table(const ms_key_table *table, const char *name)
{
    for (size_t i = 0; i < table->key_count; i++)
        if (ms_key_has_name(&table->keys[i], name))
            return true;
    return false;
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_known(const ms_family *family, const part *p, const char *name)
{
    bool is_object = !p->name && is_same(family->object, name);
    bool is_read = p->has_keys && ms_model_key_row(family, name);
    for (size_t i = 0; i < family->more_count && !is_object && !is_read; i++) {
        const ms_key_table *table = &family->more[i];
        is_object = !p->name && is_same(table->object, name);
        is_read = is_same(table->object, p->name) && is_of_table(table, name);
    }
    return is_object || is_read || is_harmless(name);
}

/* ---- notes ---- */

/* A slip of the pen, not another key: "sep_token_id" is no misspelt "pad_token_id". */
enum { MAX_SLIPS = 2 };

/* The keys of the family that a key may have been meant for: no others, and not there. */
static const char **keys_meant(ms_arena *arena, ms_json_value root, const ms_family *family,
                               size_t *count)
{
    ms_json_value there;
    const char **names = ms_arena_array(arena, const char *, family->key_count + 1);
    *count = 0;
    for (size_t i = 0; names && i < family->key_count; i++)
        if (family->keys[i].kind != MS_KEY_IGNORED &&
            !ms_model_key_find(root, &family->keys[i], &there))
            names[(*count)++] = family->keys[i].name;
    return names;
}

/* Names of one note, as many as fit a sentence; the others are counted. */
typedef struct listing {
    const char *text;
    uint32_t shown, count;
} listing;

static ms_status list_name(listing *l, ms_arena *arena, const part *p, const char *name,
                           ms_error *err)
{
    enum { MOST = 6 };
    if (l->count++ >= MOST)
        return MS_OK;
    l->text = ms_arena_printf(arena, "%s%s%s%s%.28s", l->text, l->shown++ ? ", " : "",
                              p->name ? p->name : "", p->name ? "." : "", name);
    return l->text ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for the keys");
}

static ms_status note_listing(const listing *l, const ms_family *family, ms_arena *arena,
                              ms_notes *notes, ms_error *err)
{
    char more[32] = "";
    if (l->count == 0)
        return MS_OK;
    if (l->count > l->shown)
        ms_text_print(more, sizeof more, " and %u more", (unsigned)(l->count - l->shown));
    return ms_note_add(
        notes, arena, err,
        "the model's config has keys that %s is not known to have, and they were ignored: %s%s",
        family->model_type, l->text, more);
}

static ms_status note_part(ms_arena *arena, const part *p, const ms_family *family, listing *l,
                           ms_notes *notes, ms_error *err)
{
    ms_json_value v;
    size_t count = 0;
    ms_status status = MS_OK;
    const char **meant = keys_meant(arena, p->object, family, &count);
    if (!meant)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the keys");
    for (bool more = ms_json_first(p->object, &v); more && status == MS_OK;
         more = ms_json_next(&v)) {
        const char *name = ms_json_key(v);
        if (is_known(family, p, name))
            continue;
        ms_nearest nearest = ms_nearest_within(name, MAX_SLIPS);
        for (size_t i = 0; p->has_keys && i < count; i++)
            ms_nearest_offer(&nearest, meant[i]);
        if (nearest.name)
            status = ms_note_add(notes, arena, err,
                                 "key '%s' is unknown and was ignored; did you mean '%s'?", name,
                                 nearest.name);
        else if (!says_nothing(v))
            status = list_name(l, arena, p, name, err);
    }
    return status;
}

static bool find_part(ms_json_value root, const char *name, bool has_keys, part *p)
{
    *p = (part){name, root, has_keys};
    return !name ||
           (ms_json_find(root, name, &p->object) && ms_json_kind_of(p->object) == MS_JSON_OBJECT);
}

/* Whether an earlier table is of the same object. */
static bool is_again(const ms_family *family, size_t index)
{
    const char *name = family->more[index].object;
    for (size_t i = 0; i < index; i++)
        if (is_same(family->more[i].object, name))
            return true;
    return !name || is_same(name, family->object);
}

ms_status ms_other_keys_note(ms_arena *arena, ms_json_value root, const ms_family *family,
                             ms_notes *notes, ms_error *err)
{
    part p;
    listing l = {.text = ""};
    bool is_nested = family->object && find_part(root, family->object, true, &p);
    ms_status status = is_nested ? note_part(arena, &p, family, &l, notes, err) : MS_OK;
    if (status == MS_OK && find_part(root, NULL, !is_nested, &p))
        status = note_part(arena, &p, family, &l, notes, err);
    for (size_t i = 0; i < family->more_count && status == MS_OK; i++)
        if (!is_again(family, i) && find_part(root, family->more[i].object, false, &p))
            status = note_part(arena, &p, family, &l, notes, err);
    return status == MS_OK ? note_listing(&l, family, arena, notes, err) : status;
}
