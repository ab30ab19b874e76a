/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys and values as these trainers read them: transformers 5.23, accelerate 1.15, axolotl 0.18,
 * LLaMA-Factory 0.9.5, torchtune 0.6, DeepSpeed 0.19.
 */
#include "input/config/trainers/training_sharding.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "input/config/model/input.h"
#include "input/config/run/layout.h"
#include "input/config/trainers/others/swift_configs.h"
#include "input/config/trainers/keys/format_marks.h"
#include "base/json/read.h"

static const char ddp[] = "DistributedDataParallel", fsdp[] = "FSDP", zero[] = "DeepSpeed";
static const char parallel[] = "the parallel library";

/* A file that is being looked at. */
typedef struct reading {
    ms_arena *arena;
    ms_json_value root;
    ms_training_format format;
    ms_error *err;
} reading;

/* ---- values ---- */

/* The member that is there of two that mean the same. */
static bool find_either(ms_json_value object, const char *pointer, const char *other,
                        ms_json_value *value)
{
    return ms_json_find_pointer(object, pointer, value) ||
           ms_json_find_pointer(object, other, value);
}

/* More than one of them, or as many as there are, as "auto". */
static bool is_several(ms_json_value value)
{
    double number = ms_training_value_number(value);
    return !ms_training_says_nothing(value) && (number > 1 || number < 0);
}

static bool find_several(ms_json_value object, const char *pointer)
{
    ms_json_value value;
    return ms_json_find_pointer(object, pointer, &value) && is_several(value);
}

/* ---- rules: the meaning of a value that is not empty ---- */

/* Sets the kind, and the library where the value names it. */
typedef ms_status (*rule)(const reading *r, ms_json_value value, ms_sharding *one);

static ms_status of_any(const reading *r, ms_json_value value, ms_sharding *one)
{
    (void)r, (void)value;
    one->kind = MS_SHARDING_SPLITS;
    return MS_OK;
}

static ms_status of_size(const reading *r, ms_json_value value, ms_sharding *one)
{
    (void)r;
    one->kind = is_several(value) ? MS_SHARDING_SPLITS : MS_SHARDING_NONE;
    return MS_OK;
}

static ms_status of_copies(const reading *r, ms_json_value value, ms_sharding *one)
{
    (void)r;
    one->kind = is_several(value) ? MS_SHARDING_COPIES : MS_SHARDING_NONE;
    return MS_OK;
}

/* accelerate's sizes, in files with a prefix. */
static ms_status of_sizes(const reading *r, ms_json_value value, ms_sharding *one)
{
    static const char prefix[] = "parallelism_config_", size[] = "_size", copies[] = "dp_replicate";
    ms_json_value v;
    (void)r;
    for (bool more = ms_json_first(value, &v); more; more = ms_json_next(&v)) {
        const char *name = ms_json_key(v);
        if (strncmp(name, prefix, sizeof prefix - 1) == 0)
            name += sizeof prefix - 1;
        size_t length = strlen(name);
        bool is_size =
            length >= sizeof size && strcmp(name + length - (sizeof size - 1), size) == 0;
        if (is_size && is_several(v) && strncmp(name, copies, sizeof copies - 1) != 0)
            one->kind = MS_SHARDING_SPLITS;
    }
    return MS_OK;
}

/* ---- FSDP ---- */

/* FSDP's strategy that shards nothing, by name or by the number that older files have for it. */
static bool is_no_shard(ms_json_value value)
{
    enum { NO_SHARD = 3 };
    const char *text = ms_training_value_text(value);
    return strcasecmp(text, "no_shard") == 0 || strcmp(text, "3") == 0 ||
           (ms_json_kind_of(value) == MS_JSON_NUMBER &&
            ms_training_value_number(value) == NO_SHARD);
}

/* accelerate's own files alone leave a model whole, for version 1: its launcher hands
 * fsdp_sharding_strategy on, which FSDP2 does not look at. Trainer comes to FULL_SHARD. */
static ms_sharding_kind fsdp_kind(const reading *r)
{
    ms_json_value type, version, strategy;
    bool is_launched = ms_json_find(r->root, "distributed_type", &type) &&
                       strcasecmp(ms_training_value_text(type), fsdp) == 0;
    bool is_second =
        find_either(r->root, "/fsdp_config/fsdp_version", "/fsdp_config/version", &version) &&
        ms_training_value_number(version) == 2;
    bool is_whole = is_launched && !is_second &&
                    find_either(r->root, "/fsdp_config/fsdp_sharding_strategy",
                                "/fsdp_config/sharding_strategy", &strategy) &&
                    is_no_shard(strategy);
    return is_whole ? MS_SHARDING_COPIES : MS_SHARDING_SPLITS;
}

/* true, "full_shard auto_wrap" or a list of such words. */
static ms_status of_fsdp(const reading *r, ms_json_value value, ms_sharding *one)
{
    (void)value;
    one->kind = fsdp_kind(r);
    return MS_OK;
}

/* Only torchtune's distributed recipes read such a key; they shard unless it is switched off. */
static ms_status of_recipe(const reading *r, ms_json_value value, ms_sharding *one)
{
    ms_json_value size;
    bool is_one = ms_json_find(r->root, "data_parallel_shard_dim", &size) && !is_several(size);
    (void)value;
    one->kind = is_one ? MS_SHARDING_COPIES : MS_SHARDING_SPLITS;
    return MS_OK;
}

/* ---- DeepSpeed ---- */

/* Of DeepSpeed's own configuration: without ZeRO every GPU holds everything. */
static ms_sharding_kind configured_kind(ms_json_value config)
{
    ms_json_value optimization, stage;
    if (find_several(config, "/tensor_parallel/autotp_size") ||
        find_several(config, "/sequence_parallel_size"))
        return MS_SHARDING_SPLITS;
    if (!ms_json_find(config, "zero_optimization", &optimization) ||
        ms_training_says_nothing(optimization))
        return MS_SHARDING_COPIES;
    if (ms_json_kind_of(optimization) != MS_JSON_OBJECT)
        return MS_SHARDING_SPLITS;
    bool is_off =
        !ms_json_find(optimization, "stage", &stage) || ms_training_value_number(stage) == 0;
    return is_off ? MS_SHARDING_COPIES : MS_SHARDING_SPLITS;
}

/* MS_ERR_IO, with the reason: it cannot be read. */
static ms_status read_configured(const reading *r, const char *path, ms_sharding_kind *kind,
                                 ms_error *reason)
{
    ms_json_source source;
    char *text = NULL;
    ms_json *document = NULL;
    ms_status status = ms_json_read(ms_arena_inputs(r->arena), path, &source, &text, reason);
    if (status == MS_OK)
        status = ms_json_parse(&source, &document, reason);
    if (status == MS_OK && ms_json_kind_of(ms_json_root(document)) == MS_JSON_OBJECT)
        *kind = configured_kind(ms_json_root(document));
    ms_json_free(document);
    free(text);
    return status;
}

static ms_status of_named(const reading *r, ms_json_value value, ms_sharding_kind *kind)
{
    ms_error reason = {0};
    const char *path = ms_training_value_text(value);
    const char *beside = ms_path_beside(r->arena, ms_json_file_name(value), path);
    if (!beside)
        return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for a path");
    ms_status status = MS_OK;
    *kind = MS_SHARDING_SPLITS;
    if (ms_is_regular_file(beside))
        status = read_configured(r, beside, kind, &reason);
    else if (ms_is_regular_file(path))
        status = read_configured(r, path, kind, &reason);
    if (status == MS_ERR_IO)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, status, "%.160s: %s", reason.file,
                            reason.text);
    return status == MS_ERR_NOMEM ? ms_fail(r->err, status, "out of memory for %.80s", path)
                                  : MS_OK;
}

/* A path, a name of ms-swift's, or the configuration itself. */
static ms_status of_deepspeed(const reading *r, ms_json_value value, ms_sharding *one)
{
    if (*ms_training_value_text(value) && !ms_training_swift_config(value))
        return of_named(r, value, &one->kind);
    one->kind =
        ms_json_kind_of(value) == MS_JSON_OBJECT ? configured_kind(value) : MS_SHARDING_SPLITS;
    return MS_OK;
}

/* The file is DeepSpeed's own. */
static ms_status of_optimization(const reading *r, ms_json_value value, ms_sharding *one)
{
    (void)value;
    one->kind = configured_kind(r->root);
    return MS_OK;
}

/* Of accelerate: ZeRO stage 2 unless it sets another. */
static ms_status deepspeed_kind(const reading *r, ms_sharding_kind *kind)
{
    ms_json_value value;
    if (ms_json_find_pointer(r->root, "/deepspeed_config/deepspeed_config_file", &value) &&
        *ms_training_value_text(value))
        return of_named(r, value, kind);
    bool is_off = ms_json_find_pointer(r->root, "/deepspeed_config/zero_stage", &value) &&
                  ms_training_value_number(value) == 0;
    *kind = is_off ? MS_SHARDING_COPIES : MS_SHARDING_SPLITS;
    return MS_OK;
}

/* ---- accelerate's kinds of distribution ---- */

static ms_status of_type(const reading *r, ms_json_value value, ms_sharding *one)
{
    static const struct {
        const char *name;
        ms_sharding_kind kind;
        const char *library;
    } types[] = {
        {"FSDP", MS_SHARDING_SPLITS, fsdp},
        {"DEEPSPEED", MS_SHARDING_SPLITS, zero},
        {"MEGATRON_LM", MS_SHARDING_SPLITS, parallel},
        {"TP", MS_SHARDING_SPLITS, parallel},
        {"MODEL_PARALLEL", MS_SHARDING_SPLITS, parallel},
        {"DATA_PARALLEL", MS_SHARDING_COPIES, ddp},
        {"TORCHRUN", MS_SHARDING_COPIES, ddp},
    };
    static const char multi[] = "MULTI_"; /* GPU, XPU and so on */
    const char *type = ms_training_value_text(value);
    one->kind = MS_SHARDING_COPIES;
    one->wraps_one = strcasecmp(type, "TORCHRUN") == 0;
    one->library = strncasecmp(type, multi, sizeof multi - 1) == 0 ? ddp : parallel;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcasecmp(type, types[i].name) == 0) {
            one->kind = types[i].kind;
            one->library = types[i].library;
        }
    if (one->library == fsdp)
        one->kind = fsdp_kind(r);
    return one->library == zero ? deepspeed_kind(r, &one->kind) : MS_OK;
}

/* TRL's launcher takes the number from the trainer's settings, and starts them as accelerate does
 * where nothing says how: with DistributedDataParallel. */
static ms_status of_processes(const reading *r, ms_json_value value, ms_sharding *one)
{
    ms_json_value type;
    const bool is_said = ms_json_find(r->root, "distributed_type", &type);
    one->kind = !is_said && is_several(value) ? MS_SHARDING_COPIES : MS_SHARDING_NONE;
    return MS_OK;
}

/* ---- all of it ---- */

typedef struct sharding_row {
    unsigned formats;
    const char *pointer;
    rule says;
    const char *library;
} sharding_row;

/* clang-format off */
static const sharding_row rows[] = {
    {TRAINER | AXOLOTL, "/fsdp",                         of_fsdp,         fsdp},
    {AXOLOTL,           "/fsdp_config",                  of_fsdp,         fsdp},
    {TRAINER | AXOLOTL, "/deepspeed",                    of_deepspeed,    zero},
    {HF,                "/zero_optimization",            of_optimization, zero},
    {TRAINER | AXOLOTL, "/distributed_type",             of_type,         NULL},
    {HF,                "/num_processes",                of_processes,    ddp},
    {TRAINER,           "/parallelism_config",           of_sizes,        parallel},
    {HF,                "/sharded_ddp",                  of_any,          parallel},
    {HF,                "/model_init_kwargs/tp_plan",    of_any,          parallel},
    {HF,                "/model_init_kwargs/tp_size",    of_size,         parallel},
    {AXOLOTL,           "/tensor_parallel_size",         of_size,         parallel},
    {AXOLOTL,           "/context_parallel_size",        of_size,         parallel},
    {AXOLOTL,           "/sequence_parallel_degree",     of_size,         parallel},
    {AXOLOTL,           "/expert_parallel_size",         of_size,         parallel},
    {AXOLOTL,           "/dp_shard_size",                of_size,         fsdp},
    {AXOLOTL,           "/dp_replicate_size",            of_copies,       ddp},
    {SWIFT,             "/sequence_parallel_size",       of_size,         parallel},
    {SWIFT,             "/deepspeed_autotp_size",        of_size,         parallel},
    {FACTORY,           "/tensor_model_parallel_size",   of_size,         parallel},
    {FACTORY,           "/pipeline_model_parallel_size", of_size,         parallel},
    {FACTORY,           "/context_parallel_size",        of_size,         parallel},
    {FACTORY,           "/expert_model_parallel_size",   of_size,         parallel},
    {FACTORY,           "/expert_tensor_parallel_size",  of_size,         parallel},
    {FACTORY,           "/use_distributed_optimizer",    of_any,          parallel},
    {TITAN,             "/training",                     of_any,          fsdp},
    {TITAN,             "/parallelism",                  of_any,          fsdp},
    {TITAN,             "/model",                        of_any,          fsdp},
    {TITAN,             "/activation_checkpoint",        of_any,          fsdp},
    {FACTORY,           "/ray_num_workers",              of_copies,       ddp},
    {TORCHTUNE,         "/tensor_parallel_dim",          of_size,         parallel},
    {TORCHTUNE,         "/context_parallel_dim",         of_size,         parallel},
    {TORCHTUNE,         "/data_parallel_shard_dim",      of_size,         fsdp},
    {TORCHTUNE,         "/fsdp",                         of_recipe,       fsdp},
    {TORCHTUNE,         "/fsdp_cpu_offload",             of_recipe,       fsdp},
    {TORCHTUNE,         "/fsdp_reshard_after_forward",   of_recipe,       fsdp},
    {TORCHTUNE,         "/custom_sharded_layers",        of_recipe,       fsdp},
    {TORCHTUNE,         "/data_parallel_replicate_dim",  of_copies,       fsdp},
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Whether the recipe is a distributed one follows from the key, whatever its value. */
static bool says_nothing(const sharding_row *row, ms_json_value value)
{
    return row->says == of_recipe ? ms_json_kind_of(value) == MS_JSON_NULL
                                  : ms_training_says_nothing(value);
}

static ms_status look(const reading *r, const sharding_row *row, ms_sharding *found)
{
    ms_json_value value;
    ms_sharding one = {.library = row->library};
    if (!ms_json_find_pointer(r->root, row->pointer, &value) || says_nothing(row, value))
        return MS_OK;
    ms_status status = row->says(r, value, &one);
    if (one.kind <= found->kind)
        return status;
    *found = one;
    found->value = value;
    found->has_buckets = one.kind == MS_SHARDING_COPIES && one.library == ddp;
    found->widens = one.kind == MS_SHARDING_COPIES && r->format != MS_TRAINING_TORCHTUNE &&
                    (one.library == zero || one.library == fsdp);
    return status;
}

/* One process shares with no other; the library's own memory is there all the same. DeepSpeed's
 * engine is the same for one. */
static void heed_one_process(const reading *r, ms_sharding *found)
{
    ms_json_value value;
    double processes =
        ms_json_find(r->root, "num_processes", &value) ? ms_training_value_number(value) : 0;
    bool has_engine =
        (found->kind == MS_SHARDING_SPLITS && found->library == zero) || found->wraps_one;
    bool is_count = processes > (has_engine ? 0 : 1) && processes <= MS_MOST_RANKS;
    if (is_count && processes == (double)(uint64_t)processes)
        found->processes = (uint64_t)processes;
    if (processes != 1 || has_engine)
        return;
    bool has_nothing = found->kind == MS_SHARDING_NONE || found->has_buckets;
    found->kind = has_nothing ? MS_SHARDING_NONE : MS_SHARDING_COPIES;
    found->has_buckets = false;
}

ms_status ms_training_sharding(ms_arena *arena, ms_json_value root, ms_training_format format,
                               ms_sharding *sharding, ms_error *err)
{
    const reading r = {arena, root, format, err};
    ms_status status = MS_OK;
    *sharding = (ms_sharding){0};
    for (size_t i = 0; i < ROWS && status == MS_OK; i++)
        if (rows[i].formats & 1U << format)
            status = look(&r, &rows[i], sharding);
    heed_one_process(&r, sharding);
    return status;
}

bool ms_training_key_is_of_sharding(const char *name, ms_training_format format)
{
    for (size_t i = 0; i < ROWS; i++)
        if ((rows[i].formats & 1U << format) && ms_training_key_starts(rows[i].pointer, name))
            return true;
    return false;
}
