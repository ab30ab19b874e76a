/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/training_value.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/locale.h"
#include "base/json/merge.h"

const char *ms_training_last_name(const char *dotted)
{
    const char *dot = strrchr(dotted, '.');
    return dot ? dot + 1 : dotted;
}

bool ms_training_key_starts(const char *pointer, const char *name)
{
    size_t length = strlen(name);
    return strncmp(pointer + 1, name, length) == 0 &&
           (pointer[1 + length] == '\0' || pointer[1 + length] == '/');
}

bool ms_training_says_nothing(ms_json_value value)
{
    ms_json_value child;
    const char *text = "";
    bool truth = true;
    double number = 1;
    switch (ms_json_kind_of(value)) {
    case MS_JSON_NULL:
        return true;
    case MS_JSON_BOOL:
        (void)ms_json_get_bool(value, &truth, NULL);
        return !truth;
    case MS_JSON_NUMBER:
        return ms_json_get_number(value, 0, 0, &number, NULL) == MS_OK;
    case MS_JSON_STRING:
        (void)ms_json_get_string(value, &text, NULL);
        return !*text || strcasecmp(text, "no") == 0 || strcmp(text, "none") == 0;
    case MS_JSON_ARRAY:
    case MS_JSON_OBJECT:
        break;
    }
    return !ms_json_first(value, &child);
}

bool ms_training_moves_model(ms_training_format format, ms_json_value root)
{
    /* keys of TRL's configurations, or of its ModelConfig */
    static const char *const of_trl[] = {"trl_task",
                                         "max_length",
                                         "max_seq_length",
                                         "model_init_kwargs",
                                         "dataset_text_field",
                                         "packing",
                                         "completion_only_loss",
                                         "use_peft",
                                         "assistant_only_loss",
                                         "max_prompt_length",
                                         "num_generations",
                                         "max_completion_length",
                                         "precompute_ref_log_probs"};
    ms_json_value value;
    if (format != MS_TRAINING_HF)
        return false;
    for (size_t i = 0; i < sizeof of_trl / sizeof *of_trl; i++)
        if (ms_json_find(root, of_trl[i], &value))
            return false;
    return true;
}

const char *ms_training_value_text(ms_json_value value)
{
    const char *text = "";
    (void)ms_json_get_string(value, &text, NULL);
    return text;
}

const char *ms_training_line(ms_arena *arena, ms_json_value value)
{
    ms_error at = {0};
    ms_json_error_set(&at, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "here");
    return ms_arena_printf(arena, "line %" PRIu32 " of %.80s", at.line,
                           ms_json_is_merged(value) ? at.file : "the training arguments");
}

double ms_training_value_number(ms_json_value value)
{
    double number = -1;
    const char *text = ms_training_value_text(value);
    char *end = NULL;
    if (ms_json_get_number(value, -1e15, 1e15, &number, NULL) == MS_OK || !*text)
        return number;
    number = ms_number_read(text, &end);
    return *end == '\0' ? number : -1;
}
