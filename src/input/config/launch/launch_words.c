/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/launch_words.h"

#include <string.h>

#include "input/config/model/input.h"
#include "input/config/trainers/training_keys.h"
#include "input/config/trainers/training_sharding.h"

const char *ms_launch_text(const ms_launch *l, ms_launch_value value)
{
    return l->words[value.word].text + value.offset;
}

static ms_status fail_memory(const ms_launch *l)
{
    return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for the launch");
}

static bool names_model(const char *key)
{
    static const char *const names[] = {"model_name_or_path", "base_model", "model", "config_name"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], key) == 0)
            return true;
    return false;
}

static bool matters(const ms_launch *l, const char *key)
{
    char *path = ms_arena_strdup(l->arena, key);
    for (char *dot = path ? strchr(path, '.') : NULL; dot; dot = strchr(dot, '.'))
        *dot = '/';
    for (int i = 0; path && i < MS_TRAINING_FORMAT_COUNT; i++)
        if (ms_training_key_use_of(path, (ms_training_format)i) != MS_KEY_USE_NONE ||
            ms_training_key_is_of_sharding(path, (ms_training_format)i))
            return true;
    return !path || names_model(key);
}

static ms_status check_known(const ms_launch *l, const char *key, ms_launch_value value)
{
    const ms_shell_word *word = &l->words[value.word];
    if (!word->unknown || !matters(l, key))
        return MS_OK;
    if (value.offset == 0 && *word->text == '-')
        return ms_launch_fail(l, value.word,
                              "whether %.60s is there is not known (%.120s): give the launch "
                              "(--launch 'accelerate launch ...')",
                              word->text, word->unknown);
    return ms_launch_fail(l, value.word, "%.60s is not known, '%.60s' (%.120s): give its value",
                          key, ms_launch_text(l, value), word->unknown);
}

ms_status ms_launch_add(ms_launch *l, ms_launch_settings *to, const char *key, uint32_t word,
                        const ms_launch_value *values, uint32_t count)
{
    ms_launch_setting made = {.key = ms_arena_strdup(l->arena, key),
                              .word = word,
                              .first = l->values.count,
                              .count = count,
                              .is_dotted = strchr(key, '.') != NULL};
    ms_status status = made.key ? MS_OK : fail_memory(l);
    for (uint32_t i = 0; i < count && status == MS_OK; i++) {
        status = check_known(l, key, values[i]);
        if (status == MS_OK && !ms_vec_push(&l->values, values[i]))
            status = fail_memory(l);
    }
    return status == MS_OK && !ms_vec_push(to, made) ? fail_memory(l) : status;
}

ms_status ms_launch_add_constant(ms_launch *l, ms_launch_settings *to, const char *key,
                                 uint32_t word, const char *constant)
{
    const ms_launch_setting made = {.key = ms_arena_strdup(l->arena, key),
                                    .word = word,
                                    .constant = ms_arena_strdup(l->arena, constant),
                                    .is_dotted = strchr(key, '.') != NULL};
    const bool is_kept = made.key && made.constant && ms_vec_push(to, made);
    return is_kept ? check_known(l, key, (ms_launch_value){word, 0}) : fail_memory(l);
}

/* As it is, or beside the script or the run file. */
ms_status ms_launch_add_file(ms_launch *l, ms_launch_value value)
{
    const char *path = ms_launch_text(l, value);
    if (l->words[value.word].unknown)
        return ms_launch_fail(l, value.word, "the file '%.80s' is not known (%.120s)", path,
                              l->words[value.word].unknown);
    if (l->file_count == MS_LAUNCH_MOST_FILES)
        return ms_launch_fail(l, value.word, "more than %d files", MS_LAUNCH_MOST_FILES);
    if (!ms_is_there(path) && l->beside)
        path = ms_path_beside(l->arena, l->beside, path);
    if (!path)
        return fail_memory(l);
    if (!ms_is_there(path))
        return ms_launch_fail(l, value.word, "'%.160s' is no file here", path);
    l->files[l->file_count++] = path;
    return MS_OK;
}

bool ms_launch_option_at(const ms_launch *l, uint32_t at, ms_launch_option *option)
{
    const char *text = l->words[at].text;
    size_t dashes = strspn(text, "-"), bytes = strcspn(text, "=");
    bool is_number = text[dashes] >= '0' && text[dashes] <= '9';
    *option =
        (ms_launch_option){.has_value = text[bytes] == '=', .value = {at, (uint32_t)bytes + 1}};
    if (dashes == 0 || dashes > 2 || is_number || bytes - dashes >= sizeof option->name ||
        bytes == dashes)
        return false;
    memcpy(option->name, text + dashes, bytes - dashes);
    for (char *p = option->name; *p; p++)
        if (*p == '-')
            *p = '_';
    return true;
}
