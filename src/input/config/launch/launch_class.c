/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/launch_class.h"

#include <ctype.h>
#include <string.h>

#include "base/text/words.h"

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
