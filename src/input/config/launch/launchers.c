/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What starts a training program: accelerate 1.15, torchrun of PyTorch 2.11, DeepSpeed 0.19.
 */
#include "input/config/launch/launchers.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/config/launch/launch_words.h"
#include "input/config/launch/shell/shell.h"
#include "base/text/words.h"

typedef struct taking {
    ms_launch *l;
    uint32_t at;
    uint32_t count_word; /* that says how many processes */
    double per_machine, machines;
    bool is_unknown; /* there are as many as the machine has devices, or it is not known */
    bool has_type;   /* a file or an option says what is distributed */
    bool is_launched;
    bool is_wrapped; /* by DistributedDataParallel, also one process */
    uint32_t wrapper;
} taking;

/* ---- words ---- */

static const char *text_at(const taking *t, uint32_t at)
{
    return at < t->l->count ? t->l->words[at].text : "";
}

static bool is_program(const char *word, const char *name)
{
    return strcmp(ms_launch_base_name(word), name) == 0;
}

/* ---- numbers of processes ---- */

static void take_number(taking *t, ms_launch_value value, double *number)
{
    char *end;
    const char *text = ms_launch_text(t->l, value);
    unsigned long found = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    bool is_count =
        found >= 1 && found <= 1 << 20 && *end == '\0' && !t->l->words[value.word].unknown;
    t->count_word = value.word;
    if (is_count)
        *number = (double)found;
    else
        *number = 0;
    t->is_unknown |= !is_count;
}

/* "0,1,2,3": as many as are named. */
static uint32_t count_list(const char *text)
{
    uint32_t count = *text != '\0';
    for (; *text; text++)
        count += *text == ',';
    return count;
}

/* ---- options ---- */

typedef ms_status (*take_option)(taking *t, const char *name, ms_launch_value value, uint32_t word);

/* Options up to the program; those of `flags` have no value. */
static ms_status take_options(taking *t, const char *flags, take_option take)
{
    ms_launch_option option;
    ms_status status = MS_OK;
    while (t->at < t->l->count && status == MS_OK && ms_launch_option_at(t->l, t->at, &option)) {
        uint32_t word = t->at++;
        bool is_module = strcmp(option.name, "m") == 0 || strcmp(option.name, "module") == 0;
        bool is_flag = is_module || (!option.has_value && ms_words_have(flags, option.name));
        if (is_module)
            continue;
        if (!option.has_value && !is_flag)
            option.value = (ms_launch_value){t->at, 0};
        if (!is_flag && option.value.word >= t->l->count)
            return ms_launch_fail(t->l, word, "%.40s needs a value", option.name);
        t->at += !option.has_value && !is_flag;
        status = take(t, option.name, option.value, word);
    }
    return status;
}

/* ---- accelerate ---- */

static ms_status add(taking *t, const char *key, uint32_t word, ms_launch_value value)
{
    return ms_launch_add(t->l, &t->l->launcher, key, word, &value, 1);
}

static ms_status add_type(taking *t, uint32_t word, const char *type)
{
    t->has_type = true;
    return ms_launch_add_constant(t->l, &t->l->launcher, "distributed_type", word, type);
}

static ms_status take_accelerate(taking *t, const char *name, ms_launch_value value, uint32_t word)
{
    static const char inside[] = " zero_stage offload_optimizer_device offload_param_device "
                                 "zero3_init_flag gradient_clipping gradient_accumulation_steps "
                                 "deepspeed_config_file zero3_save_16bit_model ";
    static const struct {
        const char *flag, *type;
    } types[] = {{"use_fsdp", "FSDP"},
                 {"use_deepspeed", "DEEPSPEED"},
                 {"multi_gpu", "MULTI_GPU"},
                 {"use_megatron_lm", "MEGATRON_LM"}};
    static const struct {
        const char *prefix, *object;
    } objects[] = {{"fsdp_", "fsdp_config"},
                   {"dynamo_", "dynamo_config"},
                   {"fp8_", "fp8_config"},
                   {"parallelism_config_", "parallelism_config"},
                   {"megatron_lm_", "megatron_lm_config"}};
    char key[160];
    if (strcmp(name, "config_file") == 0) {
        t->has_type = true;
        return ms_launch_add_file(t->l, value);
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].flag, name) == 0)
            return add_type(t, word, types[i].type);
    if (strcmp(name, "num_processes") == 0) {
        take_number(t, value, &t->per_machine);
        return MS_OK;
    }
    if (strcmp(name, "gpu_ids") == 0 && isdigit((unsigned char)*ms_launch_text(t->l, value)) &&
        t->per_machine == 0) {
        t->count_word = value.word;
        t->per_machine = count_list(ms_launch_text(t->l, value));
    }
    if (strcmp(name, "mixed_precision") == 0)
        return add(t, name, word, value);
    if (strcmp(name, "cpu") == 0 || strcmp(name, "use_cpu") == 0)
        return ms_launch_add_constant(t->l, &t->l->launcher, "use_cpu", word, "true");
    snprintf(key, sizeof key, "deepspeed_config.%s", name);
    if (ms_words_have(inside, name))
        return add(t, key, word, value);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (strncmp(name, objects[i].prefix, strlen(objects[i].prefix)) == 0) {
            snprintf(key, sizeof key, "%s.%s", objects[i].object, name);
            return add(t, key, word, value);
        }
    return MS_OK;
}

/* ---- torchrun and DeepSpeed ---- */

static ms_status take_torchrun(taking *t, const char *name, ms_launch_value value, uint32_t word)
{
    (void)word;
    if (strcmp(name, "nproc_per_node") == 0)
        take_number(t, value, &t->per_machine);
    if (strcmp(name, "nnodes") == 0)
        take_number(t, value, &t->machines);
    return MS_OK;
}

static ms_status take_deepspeed(taking *t, const char *name, ms_launch_value value, uint32_t word)
{
    (void)word;
    const char *text = value.word < t->l->count ? ms_launch_text(t->l, value) : "";
    if (strcmp(name, "num_gpus") == 0)
        take_number(t, value, &t->per_machine);
    if (strcmp(name, "num_nodes") == 0)
        take_number(t, value, &t->machines);
    if (strcmp(name, "include") == 0 || strcmp(name, "i") == 0) {
        const char *list = strchr(text, ':');
        t->count_word = value.word;
        bool is_counted = list && !strchr(text, '@') && !t->l->words[value.word].unknown;
        t->per_machine = is_counted ? count_list(list + 1) : 0;
    }
    return MS_OK;
}

static const char accelerate_flags[] =
    " cpu multi_gpu tpu ipex use_deepspeed use_fsdp use_parallelism_config use_megatron_lm use_xpu "
    "debug quiet q no_python same_network tpu_use_cluster no_tpu_cluster tpu_use_sudo "
    "enable_cpu_affinity use_mps_device dynamo_use_fullgraph dynamo_use_dynamic "
    "dynamo_use_regional_compilation use_cpu standalone downcast_bf16 tpu_cluster "
    "fp8_use_autocast_during_eval ";
static const char torchrun_flags[] = " standalone no_python run_path use_env ";
static const char deepspeed_flags[] = " no_python no_local_rank no_ssh_check no_ssh save_pid "
                                      "force_multi elastic_training bind_cores_to_rank ";

/* ---- the front of a launch ---- */

/* A variable of the launch's environment; NULL: it is not set there, or not known. */
static const char *environment(const taking *t, const char *name)
{
    const ms_shell_variable *variable = ms_shell_find(&t->l->shell, name);
    return variable && variable->count == 1 && !variable->items[0].unknown ? variable->items[0].text
                                                                           : NULL;
}

static ms_status skip_front(taking *t)
{
    ms_status status = MS_OK;
    bool is_one = true;
    while (t->at < t->l->count && status == MS_OK) {
        const char *text = text_at(t, t->at);
        status = ms_shell_assign(&t->l->shell, &t->l->words[t->at], false, &is_one);
        if (is_one)
            ms_shell_export(&t->l->shell, t->l->words[t->at].text);
        if (ms_words_have(" srun mpirun ", ms_launch_base_name(text)))
            return ms_launch_fail(
                t->l, t->at,
                "memscope does not read %.20s: give the launch that it starts, and --world N",
                ms_launch_base_name(text));
        bool is_wrapper = ms_launch_is_wrapper(text) || *text == '-';
        if (status == MS_OK && !is_one && !is_wrapper)
            break;
        t->at++;
    }
    return status;
}

/* One launcher; `*is_one` false: the program is here. */
static ms_status take_one(taking *t, bool *is_one)
{
    const char *word = text_at(t, t->at), *module = "";
    uint32_t skipped = 1;
    if (ms_launch_is_python(word)) {
        uint32_t at = t->at + 1;
        while (*text_at(t, at) == '-' && strcmp(text_at(t, at), "-m") != 0)
            at++;
        if (strcmp(text_at(t, at), "-m") == 0) {
            module = text_at(t, at + 1);
            skipped = at + 2 - t->at;
        }
    }
    bool is_accelerate =
        is_program(word, "accelerate") || strcmp(module, "accelerate.commands.launch") == 0;
    bool is_torchrun = is_program(word, "torchrun") ||
                       strcmp(module, "torch.distributed.run") == 0 ||
                       strcmp(module, "torch.distributed.launch") == 0;
    bool is_deepspeed = is_program(word, "deepspeed") || strcmp(module, "deepspeed") == 0;
    *is_one = is_accelerate || is_torchrun || is_deepspeed;
    if (!*is_one)
        return MS_OK;
    t->is_launched = true;
    t->is_wrapped |= !is_accelerate;
    t->count_word = t->wrapper = t->at;
    t->at += skipped + is_program(word, "accelerate");
    if (is_torchrun)
        t->per_machine = 1;
    t->is_unknown |= is_accelerate || is_deepspeed;
    ms_status status = is_accelerate ? take_options(t, accelerate_flags, take_accelerate)
                       : is_torchrun ? take_options(t, torchrun_flags, take_torchrun)
                                     : take_options(t, deepspeed_flags, take_deepspeed);
    if (is_accelerate || is_deepspeed)
        t->is_unknown = t->per_machine == 0;
    if (t->at >= t->l->count && status == MS_OK)
        return ms_launch_fail(t->l, t->l->count - 1, "this launch names no program");
    return status;
}

/* ---- what it comes to ---- */

/* Of LLaMA-Factory and ms-swift, which start torchrun. */
static void take_variable(taking *t, const char *name, double *number)
{
    const char *text = environment(t, name);
    if (text && isdigit((unsigned char)*text))
        *number = (double)strtoul(text, NULL, 10);
    else if (ms_shell_find(&t->l->shell, name))
        t->is_unknown = true;
}

/* ms-swift starts as many processes as its variables say, else one, and has each put the layers on
 * all the devices that it sees for itself. */
static ms_status set_swift_processes(taking *t)
{
    const char *devices = environment(t, "CUDA_VISIBLE_DEVICES");
    double visible = devices && *devices ? count_list(devices) : 0;
    if (!t->is_launched)
        t->per_machine = 1;
    take_variable(t, "NPROC_PER_NODE", &t->per_machine);
    take_variable(t, "NNODES", &t->machines);
    if (t->is_unknown || t->per_machine < 1 || visible < 2 * t->per_machine)
        return MS_OK;
    return ms_launch_fail(t->l, t->at,
                          "%.0f devices for %.0f of ms-swift's processes: each puts parts of the "
                          "layers on several devices, which is not predicted; set NPROC_PER_NODE "
                          "to %.0f, or show it one device",
                          visible, t->per_machine, visible);
}

/* LLaMA-Factory's command does so for what it starts by torchrun, unless OPTIM_TORCH is 0. */
static ms_status expand_segments(taking *t)
{
    const char *is_on = environment(t, "OPTIM_TORCH");
    const ms_shell_word value = {"expandable_segments:True", t->l->words[t->at].line, NULL};
    if (is_on && !ms_words_have(" 1 true y ", is_on))
        return MS_OK;
    ms_status status = ms_shell_set(&t->l->shell, "PYTORCH_CUDA_ALLOC_CONF", &value, 1, false);
    ms_shell_export(&t->l->shell, "PYTORCH_CUDA_ALLOC_CONF");
    return status;
}

/* Commands that start their own processes. */
static const char own_processes[] = " trl llamafactory-cli lmf axolotl swift ";

static ms_status set_processes(taking *t)
{
    ms_launch *l = t->l;
    const char *devices = environment(t, "CUDA_VISIBLE_DEVICES");
    const char *name = ms_launch_base_name(text_at(t, t->at));
    bool is_swift = strcmp(name, "swift") == 0;
    ms_status status = is_swift ? set_swift_processes(t) : MS_OK;
    if (status != MS_OK)
        return status;
    if (t->per_machine == 0 && devices && *devices) {
        t->per_machine = count_list(devices);
        t->is_unknown = false;
    }
    if (ms_words_have(" llamafactory-cli lmf ", name)) {
        take_variable(t, "NPROC_PER_NODE", &t->per_machine);
        take_variable(t, "NNODES", &t->machines);
        const char *forced = environment(t, "FORCE_TORCHRUN");
        t->is_wrapped |= forced && ms_words_have(" 1 true y ", forced);
        t->wrapper = t->at;
    }
    double all = t->per_machine * (t->machines > 0 ? t->machines : 1);
    if (t->is_unknown || all < 1 || all > 1 << 20)
        return t->is_wrapped && !t->has_type ? add_type(t, t->wrapper, "TORCHRUN") : MS_OK;
    bool launches = t->is_launched || ms_words_have(own_processes, name);
    l->processes = (uint64_t)all;
    if (!launches && ms_launch_is_python(name) && all > 1)
        return ms_launch_fail(l, t->at,
                              "python alone on %" PRIu64 " devices is torch.nn.DataParallel with "
                              "Trainer, which is not predicted: launch it with torchrun, or show "
                              "it one device",
                              l->processes);
    if (!launches)
        return MS_OK;
    const char *number = ms_arena_printf(l->arena, "%" PRIu64, l->processes);
    if (!number)
        return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for the launch");
    status = ms_launch_add_constant(l, &l->launcher, "num_processes", t->count_word, number);
    bool is_distributed = l->processes > 1 || t->is_wrapped;
    return status == MS_OK && !t->has_type && is_distributed
               ? add_type(t, t->wrapper, l->processes > 1 ? "MULTI_GPU" : "TORCHRUN")
               : status;
}

ms_status ms_launch_take_launchers(ms_launch *l, uint32_t *at)
{
    taking t = {.l = l};
    bool is_one = true;
    ms_status status = skip_front(&t);
    if (status == MS_OK && t.at < l->count && l->words[t.at].unknown)
        return ms_launch_fail(l, t.at,
                              "it is not known what starts here, '%.40s' (%.120s): give the launch "
                              "(--launch 'accelerate launch ...')",
                              text_at(&t, t.at), l->words[t.at].unknown);
    while (status == MS_OK && is_one)
        status = take_one(&t, &is_one);
    if (status == MS_OK)
        status = set_processes(&t);
    const char *name = ms_launch_base_name(text_at(&t, t.at));
    if (status == MS_OK && ms_words_have(" llamafactory-cli lmf ", name) &&
        (l->processes > 1 || t.is_wrapped))
        status = expand_segments(&t);
    bool launches = t.is_launched || ms_words_have(own_processes, name);
    l->is_uncounted = launches && t.is_unknown && l->processes == 0;
    *at = t.at;
    return status;
}
