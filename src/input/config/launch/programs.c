/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The program that a launch starts, and its arguments: those of transformers' HfArgumentParser and
 * TRL's, of LLaMA-Factory, axolotl, ms-swift, torchtune and torchtitan.
 */
#include "input/config/launch/programs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text/words.h"

/* ---- program task ---- */

/* The kind of training that the name of a program tells of. */

/* Trainings with pairs, rewards, generations or a teacher. */
static const char task_words[] =
    " dpo kto grpo orpo cpo rloo ppo bco gkd gold reward prm xpo nash tpo "
    "sdft sdpo gspo dapo simpo "
    "ipo rlhf rl grpo distill distillation minillm papo ";

/* "dpo" of "train_dpo.py", "sft" of TRL's own "trl/scripts/sft.py"; NULL: the name says nothing. */
static const char *program_task(ms_arena *arena, const char *name)
{
    const char *base = ms_launch_base_name(name);
    const bool is_of_trl = strstr(name, "trl/scripts/") || strstr(name, "examples/scripts/") ||
                           strncmp(name, "scripts/", strlen("scripts/")) == 0 ||
                           strncmp(name, "trl.scripts.", strlen("trl.scripts.")) == 0;
    char *text = ms_arena_strdup(arena, base);
    for (char *word = text; word && *word;) {
        size_t bytes = 0;
        while (isalnum((unsigned char)word[bytes]))
            bytes++;
        bool is_last = !word[bytes];
        word[bytes] = '\0';
        if (ms_words_have(task_words, word) || (is_of_trl && strcmp(word, "sft") == 0))
            return word;
        word += bytes + !is_last;
    }
    return NULL;
}

/* "sft" of swift/cli/sft.py and of swift.cli.sft, which launchers start; NULL: no training of
 * ms-swift. Static text. */
static const char *program_swift_task(const char *program)
{
    static const char *const programs[][2] = {
        {"swift/cli/sft.py", "sft"}, {"swift/cli/pt.py", "pt"}, {"swift/cli/rlhf.py", "rlhf"},
        {"swift.cli.sft", "sft"},    {"swift.cli.pt", "pt"},    {"swift.cli.rlhf", "rlhf"},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (ms_text_ends_in(program, programs[i][0]))
            return programs[i][1];
    return NULL;
}

/* ---- foreign programs ---- */

/* Programs of trainers whose settings are not read, which are refused by name. */

static bool foreign_programs_starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const struct {
    const char *beginning, *trainer;
} foreign_modules[] = {
    {"verl.", "verl"},
    {"openrlhf.", "OpenRLHF"},
    {"nemo_rl.", "NeMo-RL"},
    {"nemo.", "NeMo"},
    {"nemo_automodel", "NeMo AutoModel"},
    {"megatron.", "Megatron-LM"},
    {"prime_rl.", "prime-rl"},
    {"swift.", "this part of ms-swift"},
    {"slime.", "slime"},
};

/* Refuses the trainer at a word, by its name. */
static ms_status launch_refuse_trainer(const ms_launch *l, uint32_t at, const char *trainer)
{
    return ms_launch_fail(
        l, at,
        "memscope does not read %s: give the settings as options (--batch, --seq, --parallel "
        "tp=4,pp=2), or run the training itself with memscope capture",
        trainer);
}

/* Refuses the program `name` at a word if it is one of them. */
static ms_status launch_check_foreign(const ms_launch *l, uint32_t at, const char *name)
{
    bool is_file = ms_text_ends_in(name, ".py");
    for (size_t i = 0; !is_file && i < sizeof foreign_modules / sizeof *foreign_modules; i++)
        if (foreign_programs_starts(name, foreign_modules[i].beginning))
            return launch_refuse_trainer(l, at, foreign_modules[i].trainer);
    if (foreign_programs_starts(ms_launch_base_name(name), "pretrain_") &&
        ms_text_ends_in(name, ".py"))
        for (uint32_t i = at + 1; i < l->count; i++)
            if (foreign_programs_starts(l->words[i].text, "--num-layers") ||
                foreign_programs_starts(l->words[i].text, "--tensor-model-parallel-size") ||
                foreign_programs_starts(l->words[i].text, "--micro-batch-size") ||
                foreign_programs_starts(l->words[i].text, "--use-mcore-models"))
                return launch_refuse_trainer(l, at, "Megatron-LM");
    return MS_OK;
}

/* ---- programs ---- */

typedef enum style {
    STYLE_ARGUMENTS, /* --key value ..., also of a script of one's own */
    STYLE_AXOLOTL,   /* FILE --key value */
    STYLE_PAIRS      /* FILE key=value */
} style;

typedef struct taking {
    ms_launch *l;
    uint32_t at;
    style style;
    bool is_trl;   /* whose launcher takes its options from among the others */
    bool is_own;   /* a program of one's own, whose options are not axolotl's or LLaMA-Factory's */
    bool has_task; /* the name of the program says what it trains */
} taking;

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *text_at(const taking *t, uint32_t at)
{
    return at < t->l->count ? t->l->words[at].text : "";
}

static bool is_settings_file(const char *text)
{
    return ms_text_ends_in(text, ".yaml") || ms_text_ends_in(text, ".yml") ||
           ms_text_ends_in(text, ".json") || ms_text_ends_in(text, ".toml");
}

/* ---- arguments ---- */

/* A name of another parser's; the same: as it is. Of a program of one's own, the names by which
 * axolotl's and LLaMA-Factory's settings are known keep their dashes. */
static const char *common_key(const taking *t, const char *name)
{
    static const char *const marks[] = {"--micro_batch_size", "--sequence_len", "--cutoff_len",
                                        "--lora_target", "--quantization_bit"};
    enum { OF_ALL = 3 };
    static const struct {
        const char *theirs, *ours;
    } names[] = {{"model_id", "model_name_or_path"},
                 {"deepspeed_config", "deepspeed"},
                 {"per_gpu_train_batch_size", "per_device_train_batch_size"},
                 {"base_model", "model_name_or_path"},
                 {"base_model_name_or_path", "model_name_or_path"}};
    for (size_t i = 0; t->is_own && i < sizeof marks / sizeof *marks; i++)
        if (strcmp(marks[i] + 2, name) == 0)
            return marks[i];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].theirs, name) == 0 && (t->is_own || i < OF_ALL))
            return names[i].ours;
    return name;
}

/* Options of accelerate's launcher, which trl hands on; num_processes may be in its file, too. */
static bool is_of_launcher(const taking *t, const char *name)
{
    static const char *const names[] = {"mixed_precision", "num_machines"};
    for (size_t i = 0; t->is_trl && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* An option that names a file of settings, and has one value. */
static bool names_config(const char *name)
{
    static const char *const names[] = {"config",    "config_file", "accelerate_config",
                                        "args_file", "recipe",      "job.config_file"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static ms_status take_values(taking *t, const ms_launch_option *option, uint32_t word)
{
    enum { MOST = 256 };
    ms_launch_value values[MOST];
    ms_launch_option other;
    uint32_t count = 0;
    if (option->has_value)
        values[count++] = option->value;
    const bool is_config = names_config(option->name);
    const uint32_t most = is_config ? 1 : MOST;
    while (!option->has_value && t->at < t->l->count && count < most &&
           !ms_launch_option_at(t->l, t->at, &other))
        values[count++] = (ms_launch_value){t->at++, 0};
    const char *key = common_key(t, option->name);
    ms_launch_settings *to = is_of_launcher(t, key) ? &t->l->launcher : &t->l->trainer;
    if (count == 1 && is_config && strcmp(key, "accelerate_config") != 0 &&
        is_settings_file(ms_launch_text(t->l, values[0])))
        return ms_launch_add_file(t->l, values[0]);
    if (count == 0 && starts(key, "no_"))
        return ms_launch_add_constant(t->l, to, key + strlen("no_"), word, "false");
    if (count == 0 && strcmp(key, "deepspeed") == 0) /* DeepSpeed's own switch */
        return MS_OK;
    return count > 0 ? ms_launch_add(t->l, to, key, word, values, count)
                     : ms_launch_add_constant(t->l, to, key, word, "true");
}

/* "a.b=c", also with the signs of Hydra. */
static ms_status take_pair(taking *t)
{
    uint32_t word = t->at++;
    const char *text = t->l->words[word].text;
    size_t signs = strspn(text, "+~"), bytes = strcspn(text, "=");
    const ms_launch_value value = {word, (uint32_t)bytes + 1};
    if (text[bytes] != '=' || bytes <= signs)
        return t->style == STYLE_PAIRS
                   ? ms_launch_fail(t->l, word, "'%.60s': expected key=value", text)
                   : MS_OK;
    const char *key = ms_arena_printf(t->l->arena, "%.*s", (int)(bytes - signs), text + signs);
    if (!key)
        return ms_fail(t->l->err, MS_ERR_NOMEM, "out of memory for the launch");
    return ms_launch_add(t->l, &t->l->trainer, key, word, &value, 1);
}

static ms_status take_arguments(taking *t)
{
    ms_launch_option option;
    ms_status status = MS_OK;
    while (t->at < t->l->count && status == MS_OK) {
        uint32_t word = t->at;
        if (strcmp(text_at(t, word), "--") == 0) { /* axolotl's launcher has the rest */
            t->at = t->l->count;
        } else if (ms_launch_option_at(t->l, word, &option)) {
            t->at++;
            status = take_values(t, &option, word);
        } else if (is_settings_file(text_at(t, word)) && !strchr(text_at(t, word), '=')) {
            status = ms_launch_add_file(t->l, (ms_launch_value){word, 0});
            t->at++;
        } else {
            status = take_pair(t);
        }
    }
    return status;
}

/* ---- trainers ---- */

static ms_status need_file(const taking *t, const char *what)
{
    return t->l->file_count > 0 || t->l->trainer.count > 0
               ? MS_OK
               : ms_launch_fail(t->l, t->at > 0 ? t->at - 1 : 0, "%s names no file of settings",
                                what);
}

static ms_status take_trl(taking *t)
{
    const char *task = text_at(t, t->at + 1);
    uint32_t word = t->at + 1;
    if (!*task)
        return ms_launch_fail(t->l, t->at, "trl needs a command: sft, dpo, ...");
    t->at += 2;
    t->is_trl = true;
    ms_status status = ms_launch_add_constant(t->l, &t->l->trainer, "trl_task", word, task);
    return status == MS_OK ? take_arguments(t) : status;
}

static ms_status take_factory(taking *t)
{
    static const char *const tasks[] = {"sft", "dpo", "rm"}; /* of the newer format */
    const char *task = text_at(t, t->at + 1);
    bool is_newer = false;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
        is_newer |= strcmp(tasks[i], task) == 0;
    if (!is_newer && strcmp(task, "train") != 0)
        return ms_launch_fail(t->l, t->at, "llamafactory-cli %.20s trains nothing",
                              text_at(t, t->at + 1));
    t->at += 2;
    t->l->is_deep = true;
    t->style = *text_at(t, t->at) == '-' ? STYLE_ARGUMENTS : STYLE_PAIRS;
    ms_status status =
        is_newer ? ms_launch_add_constant(t->l, &t->l->trainer, "v1_task", t->at - 1, task) : MS_OK;
    if (status == MS_OK)
        status = take_arguments(t);
    return status == MS_OK ? need_file(t, "llamafactory-cli train") : status;
}

static ms_status take_axolotl(taking *t, uint32_t skipped)
{
    t->at += skipped;
    t->l->is_deep = true;
    t->style = STYLE_AXOLOTL;
    ms_status status = take_arguments(t);
    return status == MS_OK && t->l->file_count == 0
               ? ms_launch_fail(t->l, 0, "axolotl train names no file of settings")
               : status;
}

/* ---- ms-swift ---- */

static ms_status take_swift(taking *t, const char *task, uint32_t skipped)
{
    uint32_t word = t->at;
    t->at += skipped;
    ms_status status = ms_launch_add_constant(t->l, &t->l->trainer, "swift_task", word, task);
    if (status == MS_OK)
        status = take_arguments(t);
    return status == MS_OK ? ms_launch_note_devices(t->l) : status;
}

/* ---- torchtune ---- */

static ms_status check_recipe(const taking *t, const char *recipe, uint32_t word)
{
    static const char *const others[] = {
        "dpo",      "ppo",      "grpo",     "qat", "knowledge_distillation",
        "eleuther", "generate", "quantize", "dev/"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(recipe, others[i]))
            return ms_launch_fail(t->l, word,
                                  "the recipe %.60s is not predicted: full and LoRA fine-tuning, "
                                  "on one device and distributed, are",
                                  recipe);
    return MS_OK;
}

static ms_status take_tune(taking *t)
{
    static const char flags[] = " standalone no_python ";
    ms_launch_option option;
    ms_launch *l = t->l;
    double machines = 1, per_machine = 0;
    for (t->at += 2; t->at < l->count && ms_launch_option_at(l, t->at, &option); t->at++) {
        bool has_next = !option.has_value && !strstr(flags, option.name);
        if (has_next)
            option.value = (ms_launch_value){++t->at, 0};
        const char *value = option.value.word < l->count ? ms_launch_text(l, option.value) : "";
        if (strcmp(option.name, "nproc_per_node") == 0)
            per_machine = (double)strtoul(value, NULL, 10);
        if (strcmp(option.name, "nnodes") == 0)
            machines = (double)strtoul(value, NULL, 10);
    }
    if (t->at >= l->count)
        return ms_launch_fail(l, l->count - 1, "tune run needs a recipe");
    const char *recipe = l->words[t->at].text;
    ms_status status = check_recipe(t, recipe, t->at);
    if (per_machine >= 1 && machines >= 1 && per_machine * machines <= 1 << 20)
        l->processes = (uint64_t)(per_machine * machines);
    bool is_distributed = strstr(recipe, "_distributed") != NULL;
    if (status == MS_OK && is_distributed) /* as the recipe has it where no file says more */
        status = ms_launch_add_constant(l, &l->launcher, "fsdp_cpu_offload", t->at, "false");
    t->at++;
    l->is_deep = l->is_recipe = true;
    for (uint32_t i = t->at; i + 1 < l->count && status == MS_OK; i++)
        if (strcmp(l->words[i].text, "--config") == 0 && !is_settings_file(l->words[i + 1].text))
            return ms_launch_fail(l, i + 1,
                                  "'%.60s' is a configuration inside torchtune: copy it to a file "
                                  "with `tune cp` and give that",
                                  l->words[i + 1].text);
    return status == MS_OK ? take_arguments(t) : status;
}

/* ---- all of them ---- */

/* No file of settings, and no option that only LLaMA-Factory has. */
static bool is_own(const taking *t)
{
    ms_launch_option option;
    for (uint32_t i = t->at; i < t->l->count; i++)
        if (is_settings_file(t->l->words[i].text) ||
            (ms_launch_option_at(t->l, i, &option) &&
             (strcmp(option.name, "stage") == 0 || strcmp(option.name, "finetuning_type") == 0)))
            return false;
    return true;
}

/* What a program of one's own sets itself is not here to be read, unless options say how many
 * sequences there are, and how long they are. */
static ms_status note_inside(const taking *t, uint32_t first, const char *name)
{
    static const char *const lengths[] = {"length", "max_len", "seq_len", "block_size", "cutoff"};
    ms_launch_option option;
    bool has_batch = false, has_length = false;
    for (uint32_t i = first; t->is_own && i < t->l->count; i++) {
        if (!ms_launch_option_at(t->l, i, &option))
            continue;
        has_batch |= strstr(option.name, "batch_size") != NULL;
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            has_length |= strstr(option.name, lengths[k]) != NULL;
    }
    return t->is_own && !(has_batch && has_length)
               ? ms_note_add(t->l->notes, t->l->arena, t->l->err,
                             "memscope does not read the settings inside %.60s: give them as "
                             "options (--batch, --seq, --dtype)",
                             name)
               : MS_OK;
}

/* Adds the kind of training that a program's name has. */
static ms_status add_task(taking *t, uint32_t word, const char *name)
{
    const char *task = program_task(t->l->arena, name);
    t->has_task = task != NULL;
    return task ? ms_launch_add_constant(t->l, &t->l->trainer, "trl_task", word, task) : MS_OK;
}

static ms_status take_python(taking *t, uint32_t skipped, const char *name)
{
    const char *swift_task = program_swift_task(name);
    if (swift_task)
        return take_swift(t, swift_task, skipped);
    ms_status status = launch_check_foreign(t->l, t->at, name);
    if (status != MS_OK)
        return status;
    t->l->is_module = starts(name, "axolotl.cli.train");
    if (t->l->is_module)
        return take_axolotl(t, skipped);
    t->l->is_deep = starts(name, "torchtitan.");
    t->l->program = name;
    t->at += skipped;
    t->is_own = is_own(t);
    const uint32_t first = t->at;
    status = t->l->is_deep ? MS_OK : add_task(t, first - 1, name);
    if (status == MS_OK)
        status = take_arguments(t);
    return status == MS_OK && !t->l->is_deep && !t->has_task ? note_inside(t, first, name) : status;
}

static ms_status take_program(taking *t)
{
    uint32_t at = t->at;
    const ms_launch *l = t->l;
    const char *name = ms_launch_base_name(text_at(t, at));
    if (strcmp(name, "trl") == 0)
        return take_trl(t);
    if (strcmp(name, "llamafactory-cli") == 0 || strcmp(name, "lmf") == 0)
        return take_factory(t);
    if (strcmp(name, "axolotl") == 0)
        return take_axolotl(t, 2);
    if (strcmp(name, "tune") == 0)
        return take_tune(t);
    if (strcmp(name, "swift") == 0)
        return take_swift(t, text_at(t, at + 1), 2);
    if (strcmp(name, "megatron") == 0)
        return launch_refuse_trainer(l, at, "ms-swift on Megatron");
    bool is_python = starts(name, "python");
    while (is_python && *text_at(t, ++at) == '-' && strcmp(text_at(t, at), "-m") != 0)
        continue;
    at += is_python && strcmp(text_at(t, at), "-m") == 0;
    if (at >= l->count)
        return ms_launch_fail(l, l->count - 1, "this launch names no program");
    return take_python(t, at + 1 - t->at, text_at(t, at));
}

ms_status ms_launch_take_program(ms_launch *l, uint32_t at)
{
    taking t = {.l = l, .at = at};
    if (at >= l->count)
        return ms_launch_fail(l, l->count - 1, "this launch names no program");
    l->command = ms_launch_base_name(l->words[at].text);
    return take_program(&t);
}
