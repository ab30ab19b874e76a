/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/adapters/training_targets.h"

#include <string.h>

#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"

const char *ms_training_join_name(const ms_training_reading *r, const char *so_far,
                                  const char *name)
{
    return so_far && name ? ms_arena_printf(r->arena, "%s%s%s", so_far, *so_far ? "+" : "", name)
                          : NULL;
}

/* torchtune's names of modules that transformers calls otherwise. */
static const char *common_name(const ms_training_reading *r, const char *name)
{
    return r->file.format == MS_TRAINING_TORCHTUNE && strcmp(name, "output_proj") == 0 ? "o_proj"
                                                                                       : name;
}

/* "q_proj,v_proj" of LLaMA-Factory is a list. */
static const char *split(ms_training_reading *r, const char *text)
{
    const char *names = "";
    while (names && *text) {
        size_t length = strcspn(text, ", ");
        if (length > 0)
            names = ms_training_join_name(r, names,
                                          ms_arena_printf(r->arena, "%.*s", (int)length, text));
        text += length;
        text += strspn(text, ", ");
    }
    return names;
}

/* ---- patterns ---- */

/* Linear layers of decoders, as their families call them. */
static const char *const linear_names[] = {
    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj",
};
/* What is before them, of models of text and of those that see. */
static const char *const places[] = {"model.layers.0.", "model.language_model.layers.0.",
                                     "language_model.model.layers.0.",
                                     "base_model.model.model.layers.0."};

/* Whether a pattern takes that layer in one of the places. */
static ms_status is_taken(const ms_training_reading *r, ms_adapter_matcher *matcher,
                          const char *name, bool *is_it)
{
    *is_it = false;
    for (size_t i = 0; i < sizeof places / sizeof *places && !*is_it; i++) {
        const char *path = ms_arena_printf(r->arena, "%s%s", places[i], name);
        if (!path)
            return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for the name of a module");
        *is_it = ms_adapter_takes(matcher, path, true, false);
    }
    return MS_OK;
}

static ms_status names_of_pattern(ms_training_reading *r, ms_training_topic topic,
                                  const char *pattern, const char **names)
{
    const ms_adapter adapter = {.rank = 1, .targets = {.pattern = pattern}};
    ms_adapter_matcher *matcher = NULL;
    ms_error reason = {0};
    ms_status status = ms_adapter_matcher_new(&adapter, r->model->family, &matcher, &reason);
    bool is_it = false;
    for (size_t i = 0; i < sizeof linear_names / sizeof *linear_names && status == MS_OK; i++) {
        status = is_taken(r, matcher, linear_names[i], &is_it);
        if (status == MS_OK && is_it)
            *names = ms_training_join_name(r, *names, strchr(linear_names[i], '.') + 1);
    }
    ms_adapter_matcher_free(matcher);
    if (status == MS_ERR_NOMEM)
        return ms_fail(r->err, status, "out of memory for a pattern of modules");
    if (status == MS_OK && r->lacks_model)
        return MS_OK;
    if (status == MS_OK && *names && !**names)
        return ms_training_fail(
            r, topic, "'%.40s' is not a module name; patterns go into a file for --adapter",
            pattern);
    if (status != MS_OK)
        return ms_training_fail(r, topic, "%s", reason.text);
    return ms_training_leave_out(r, topic, MS_EFFECT_EITHER,
                                 "a pattern; the figures are of the modules of these names");
}

/* ---- names ---- */

static bool is_pattern(const char *name)
{
    return name[strcspn(name, "+=/|*^$()[]\\")] != '\0';
}

ms_status ms_training_module_names(ms_training_reading *r, ms_training_topic topic,
                                   const char **names)
{
    ms_json_value value = r->file.values[topic], v;
    *names = "";
    if (ms_json_kind_of(value) == MS_JSON_STRING) {
        const char *text = ms_training_text(r, topic, "");
        if (is_pattern(text))
            return names_of_pattern(r, topic, text, names);
        *names = split(r, text);
        return MS_OK;
    }
    for (bool more = ms_json_first(value, &v); more; more = ms_json_next(&v)) {
        const char *name = "";
        (void)ms_json_get_string(v, &name, NULL);
        if (is_pattern(name) || strchr(name, ','))
            return ms_training_fail(
                r, topic, "'%.40s' is not a module name; patterns go into a file for --adapter",
                name);
        *names = ms_training_join_name(r, *names, common_name(r, name));
    }
    return MS_OK;
}

/* ---- names that are left out ---- */

/* The names that `stays` holds of. */
static const char *filter(const ms_training_reading *r, const char *names,
                          bool (*stays)(const ms_training_reading *r, const char *name))
{
    const char *kept = "";
    while (*names && kept) {
        size_t length = strcspn(names, "+");
        const char *name = ms_arena_printf(r->arena, "%.*s", (int)length, names);
        if (!name)
            return NULL;
        if (stays(r, name))
            kept = ms_training_join_name(r, kept, name);
        names += length;
        names += *names == '+';
    }
    return kept;
}

static bool is_no_expert(const ms_training_reading *r, const char *name)
{
    return !ms_adapter_exchanges_name(r->model->family, name);
}

static bool is_untied(const ms_training_reading *r, const char *name)
{
    static const char *const ends[] = {"embed_tokens", "lm_head", "wte", "embed_in", "embed_out"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (r->model->tie_word_embeddings && strcmp(dot ? dot + 1 : name, ends[i]) == 0)
            return false;
    return true;
}

ms_status ms_training_leave_experts(ms_training_reading *r, const char **names)
{
    const bool is_all = *names && strcmp(*names, "all-linear") == 0;
    if (!*names || !ms_adapter_exchanges(r->model->family))
        return MS_OK;
    const char *rest = is_all ? "q_proj+k_proj+v_proj+o_proj" : filter(r, *names, is_no_expert);
    if (rest && strcmp(rest, *names) == 0)
        return MS_OK;
    *names = rest && !*rest ? "q_proj+k_proj+v_proj+o_proj" : rest;
    return ms_training_note_key(r, MS_TOPIC_TARGETS, "lora_target", MS_EFFECT_ADDS,
                                "adapters of stacked experts; the figures are of attention's");
}

ms_status ms_training_leave_saved(ms_training_reading *r, const char **names)
{
    const bool divides = ms_training_is_zero3(r);
    const char *rest = divides ? "" : *names ? filter(r, *names, is_untied) : NULL;
    if (!rest || !*names || strcmp(rest, *names) == 0)
        return MS_OK;
    *names = rest;
    return ms_training_leave_out(r, MS_TOPIC_SAVED, MS_EFFECT_ADDS,
                                 divides ? "modules that are trained in full beside an adapter"
                                         : "copies of embeddings and head that share their weight");
}
