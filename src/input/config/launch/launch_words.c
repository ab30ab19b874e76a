/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/launch_words.h"

#include <ctype.h>
#include <string.h>

#include "base/text/words.h"
#include "input/config/model/input.h"
#include "input/config/trainers/training_keys.h"
#include "input/config/trainers/training_sharding.h"

/* ---- launch class ---- */

const char *ms_launch_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool ms_launch_is_python(const char *word)
{
    static const char python[] = "python";
    const char *name = ms_launch_base_name(word);
    return strncmp(name, python, sizeof python - 1) == 0 &&
           name[sizeof python - 1 + strspn(name + sizeof python - 1, "0123456789.")] == '\0';
}

static bool is_assignment(const char *text)
{
    size_t bytes = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    return bytes > 0 && text[bytes] == '=' && !isdigit((unsigned char)*text);
}

static const char wrappers[] = " env nohup exec eval command time sudo uv poetry run srun mpirun ";

bool ms_launch_is_wrapper(const char *word)
{
    return ms_words_have(wrappers, ms_launch_base_name(word));
}

static const char trainers[] = " accelerate accelerate-launch torchrun deepspeed trl "
                               "llamafactory-cli lmf axolotl tune swift megatron ";

/* "srun ... torchrun ...": whatever its options are. */
static bool starts_training(const ms_shell_words *words, uint32_t at)
{
    bool is_starter = ms_words_have(" srun mpirun ", ms_launch_base_name(words->items[at].text));
    for (uint32_t i = at + 1; is_starter && i < words->count; i++) {
        const char *name = ms_launch_base_name(words->items[i].text);
        if (ms_words_have(trainers, name) || ms_launch_is_python(name) ||
            ms_words_have(" bash sh ", name))
            return true;
    }
    return false;
}

/* Modules that train nothing. */
static bool is_tool(const char *module)
{
    static const char *const packages[] = {"vllm.", "sglang.", "pytest.", "lm_eval."};
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        size_t bytes = strlen(packages[i]) - 1;
        if (strncmp(module, packages[i], bytes) == 0 && (!module[bytes] || module[bytes] == '.'))
            return true;
    }
    return ms_words_have(" pip venv ensurepip json.tool http.server huggingface_hub ", module);
}

ms_launch_class ms_launch_class_of(const ms_shell_words *words)
{
    uint32_t at = 0;
    while (at < words->count &&
           (is_assignment(words->items[at].text) || *words->items[at].text == '-' ||
            ms_launch_is_wrapper(words->items[at].text))) {
        if (starts_training(words, at))
            return MS_LAUNCH_TRAINER;
        at++;
    }
    if (at >= words->count)
        return MS_LAUNCH_NONE;
    const char *name = ms_launch_base_name(words->items[at].text);
    const char *next = at + 1 < words->count ? words->items[at + 1].text : "";
    if (ms_words_have(trainers, name)) {
        bool is_other = strcmp(name, "accelerate") == 0 && strcmp(next, "launch") != 0;
        bool is_own_tool =
            (strcmp(name, "tune") == 0 && strcmp(next, "run") != 0) ||
            (strcmp(name, "trl") == 0 && ms_words_have(" env vllm-serve skills ", next)) ||
            (strcmp(name, "axolotl") == 0 && strcmp(next, "train") != 0) ||
            (strcmp(name, "swift") == 0 && !ms_words_have(" sft pt rlhf ", next)) ||
            ms_words_have(" export chat api webchat webui version env ", next);
        return is_other || is_own_tool ? MS_LAUNCH_NONE : MS_LAUNCH_TRAINER;
    }
    if (ms_launch_is_python(name)) {
        if (strcmp(next, "-c") == 0)
            return MS_LAUNCH_NONE;
        bool is_module = strcmp(next, "-m") == 0 && at + 2 < words->count;
        return is_module && is_tool(words->items[at + 2].text) ? MS_LAUNCH_NONE : MS_LAUNCH_PYTHON;
    }
    if (ms_text_ends_in(name, ".sh") ||
        (ms_words_have(" bash sh zsh source . ", name) && strstr(next, ".sh") != NULL))
        return strcmp(name, "source") == 0 || strcmp(name, ".") == 0 ? MS_LAUNCH_NONE
                                                                     : MS_LAUNCH_SCRIPT;
    return MS_LAUNCH_NONE;
}

/* ---- launch notes ---- */

ms_status ms_launch_note_uncounted(const ms_launch *l)
{
    static const char *const alone[] = {"trl", "llamafactory-cli", "lmf", "axolotl"};
    bool is_uncounted = l->is_uncounted;
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        is_uncounted |= l->processes == 0 && strcmp(l->command, alone[i]) == 0;
    if (!is_uncounted || l->file_count > 1)
        return MS_OK;
    return ms_note_add(l->notes, l->arena, l->err,
                       "the launch does not say how many processes it starts: one is assumed "
                       "unless --world, --parallel or an accelerate file says otherwise");
}

ms_status ms_launch_note_devices(const ms_launch *l)
{
    if (l->processes > 1 || ms_shell_find(&l->shell, "CUDA_VISIBLE_DEVICES"))
        return MS_OK;
    return ms_note_add(l->notes, l->arena, l->err,
                       "one device is assumed: if a process of ms-swift sees several, it spreads "
                       "the layers over them (NPROC_PER_NODE, CUDA_VISIBLE_DEVICES)");
}

/* ---- launch words ---- */

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
                              "it is not known whether %.60s is given (%.120s): give the launch "
                              "(--launch 'accelerate launch ...')",
                              word->text, word->unknown);
    return ms_launch_fail(l, value.word,
                          "the value of %.60s is not known, '%.60s' (%.120s): give it", key,
                          ms_launch_text(l, value), word->unknown);
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
        return ms_launch_fail(l, value.word, "the name of the file '%.80s' is not known (%.120s)",
                              path, l->words[value.word].unknown);
    if (l->file_count == MS_LAUNCH_MOST_FILES)
        return ms_launch_fail(l, value.word, "more than %d files", MS_LAUNCH_MOST_FILES);
    if (!ms_is_there(path) && l->beside)
        path = ms_path_beside(l->arena, l->beside, path);
    if (!path)
        return fail_memory(l);
    if (!ms_is_there(path))
        return ms_launch_fail(l, value.word, "there is no file '%.160s' here", path);
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
