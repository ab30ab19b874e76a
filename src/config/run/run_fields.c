/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/run/run_fields.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/adapter/adapter.h"
#include "config/run/attention.h"
#include "config/run/experts.h"
#include "config/treatment/layers.h"
#include "text/nearest.h"
#include "config/treatment/treatment.h"
#include "config/model/unmodelled.h"
#include "text/values.h"
#include "json/number.h"

typedef enum field_kind {
    FIELD_TEXT,    /* const char * */
    FIELD_FILE,    /* const char *, of a file; for the config also of a built-in model */
    FIELD_COUNT,   /* uint64_t, from minimum to maximum */
    FIELD_POWER,   /* uint64_t, a power of two up to maximum; none = 0 */
    FIELD_SOME,    /* the same; none = 0 */
    FIELD_NUMBER,  /* double, from minimum */
    FIELD_SHARE,   /* double, from 0 to 1 */
    FIELD_CLIP,    /* double above 0; none = 0 */
    FIELD_CHOICE,  /* int, an index into choices */
    FIELD_FLAG,    /* int, 0 or 1 */
    FIELD_SIZE,    /* uint64_t, above minimum */
    FIELD_SPLIT,   /* uint64_t, above minimum; none = 0 */
    FIELD_VERSION, /* uint32_t[2] */
    FIELD_LAYERS,  /* const char *, a list of layers */
    FIELD_TREAT,   /* const char *, treatments */
    FIELD_LIGER,   /* uint64_t, bits of ms_liger */
    FIELD_LORA,    /* const char *, an adapter */
    FIELD_QUANTIZE /* ms_quantization */
} field_kind;

/* In the order of the enums of run_config.h. */
static const char *const dtypes[] = {"fp32", "bf16", "fp16", NULL};
static const char *const autocasts[] = {"none", "bf16", "fp16", NULL};
static const char *const accumulations[] = {"same", "fp32", NULL};
static const char *const truths[] = {"false", "true", NULL};
static const char *const answers[] = {"no", "yes", NULL};
static const char *const places[] = {"device", "host", NULL};
static const char *const checkpoint_kinds[] = {"non-reentrant", "reentrant", NULL};
static const char *const allocators[] = {"raw", "cuda", "cuda-expandable", NULL};

/* Other names of the same thing. */
static const char *const synonyms[][2] = {
    {"float32", "fp32"},
    {"bfloat16", "bf16"},
    {"float16", "fp16"},
    {"adamw-torch", "adamw"}, /* what Hugging Face's Trainer calls them */
    {"adamw-bnb-8bit", "adamw-8bit"},
    {"paged-adamw-32bit", "paged-adamw"},
    {"lion-32bit", "lion"},
    {"paged-lion-32bit", "paged-lion"}};

typedef struct field_row {
    const char *name;
    field_kind kind;
    size_t offset;
    uint64_t minimum, maximum;
    const char *const *choices;
} field_row;

#define AT(member) offsetof(ms_run_draft, member)
enum { MAX_BATCH = 1 << 20, MAX_SEQ = 1 << 24, MAX_ACCUMULATE = 1 << 12 };
/* PyTorch refuses a max_split_size_mb of 20 or less: its large segments have that size. */
#define LEAST_SPLIT_BYTES ((UINT64_C(20) << 20) + 1)

/* clang-format off */
static const field_row rows[] = {
    {"config",          FIELD_FILE,    AT(config),          0, 0,              NULL},
    {"training-args",   FIELD_FILE,    AT(training_args),   0, 0,              NULL},
    {"ignore-sharding", FIELD_FLAG,    AT(ignore_sharding), 0, 0,              truths},
    {"batch",           FIELD_COUNT,   AT(batch),           1, MAX_BATCH,      NULL},
    {"seq",             FIELD_COUNT,   AT(seq_tokens),      2, MAX_SEQ,        NULL},
    {"dtype",           FIELD_CHOICE,  AT(dtype),           0, 0,              dtypes},
    {"autocast",        FIELD_CHOICE,  AT(autocast),        0, 0,              autocasts},
    {"optimizer",       FIELD_CHOICE,  AT(optimizer),       0, 0,              ms_optimizer_names},
    {"optimizer-impl",  FIELD_CHOICE,  AT(optimizer_impl),  0, 0,              ms_optimizer_impl_names},
    {"optimizer-in-backward", FIELD_CHOICE, AT(optimizer_in_backward), 0, 0,   answers},
    {"optimizer-device", FIELD_CHOICE, AT(optimizer_device), 0, 0,             places},
    {"parameter-device", FIELD_CHOICE, AT(parameter_device), 0, 0,             places},
    {"weight-decay",    FIELD_NUMBER,  AT(weight_decay),    0, 0,              NULL},
    {"accumulate",      FIELD_COUNT,   AT(accumulate),      1, MAX_ACCUMULATE, NULL},
    {"grad-accumulation-dtype", FIELD_CHOICE, AT(grad_accumulation_dtype), 0, 0, accumulations},
    {"clip",            FIELD_CLIP,    AT(clip_norm),       0, 0,              NULL},
    {"label-smoothing", FIELD_SHARE,   AT(label_smoothing), 0, 0,              NULL},
    {"liger",           FIELD_LIGER,   AT(liger),           0, 0,              NULL},
    {"logits-to-keep",  FIELD_SOME,    AT(logits_to_keep),  2, MAX_SEQ,        NULL},
    {"empty-cache-steps", FIELD_SOME,  AT(empty_cache_steps), 1, UINT32_MAX,   NULL},
    {"eval-batch",      FIELD_SOME,    AT(eval_batch),      1, MAX_BATCH,      NULL},
    {"eval-logits",     FIELD_SOME,    AT(eval_logits),     1, MAX_ACCUMULATE, NULL},
    {"checkpointing",   FIELD_LAYERS,  AT(checkpointing),   0, 0,              NULL},
    {"treat",           FIELD_TREAT,   AT(treat),           0, 0,              NULL},
    {"adapter",         FIELD_FILE,    AT(adapter),         0, 0,              NULL},
    {"lora",            FIELD_LORA,    AT(lora),            0, 0,              NULL},
    {"adapter-dtype",   FIELD_CHOICE,  AT(adapter_dtype),   0, 0,              dtypes},
    {"quantize",        FIELD_QUANTIZE, AT(quantize),       0, 0,              NULL},
    {"upcast",          FIELD_CHOICE,  AT(upcast),          0, 0,              answers},
    {"plan",            FIELD_FILE,    AT(plan),            0, 0,              NULL},
    {"checkpoint-kind", FIELD_CHOICE,  AT(checkpoint_kind), 0, 0,              checkpoint_kinds},
    {"attention",       FIELD_CHOICE,  AT(attention),       0, 0,              ms_attention_names},
    {"experts",         FIELD_CHOICE,  AT(experts),         0, 0,              ms_experts_names},
    {"routing",         FIELD_CHOICE,  AT(routing),         0, 0,              ms_routing_names},
    {"device",          FIELD_TEXT,    AT(device),          0, 0,              NULL},
    {"calibration",     FIELD_FILE,    AT(calibration),     0, 0,              NULL},
    {"torch",           FIELD_VERSION, AT(torch),           0, 0,              NULL},
    {"allocator",       FIELD_CHOICE,  AT(allocator),       0, 0,              allocators},
    {"max-split-size",  FIELD_SPLIT,   AT(max_split_size_bytes), LEAST_SPLIT_BYTES, 0, NULL},
    {"roundup-power2-divisions", FIELD_POWER, AT(roundup_power2_divisions), 1, 1024, NULL},
    {"budget",          FIELD_SIZE,    AT(budget_bytes),    1, 0,              NULL},
};
/* clang-format on */
enum { FIELD_COUNT_OF_ROWS = sizeof rows / sizeof rows[0] };

/* The texts stand in the list; a unit test compares the names. */
enum {
    LISTED_FIELDS = 0
#define ONE_MORE(name, value_name, help, default_text, group) +1
    MS_RUN_FIELD_LIST(ONE_MORE)
#undef ONE_MORE
};
_Static_assert((int)LISTED_FIELDS == (int)FIELD_COUNT_OF_ROWS, "a field has no row");
_Static_assert(FIELD_COUNT_OF_ROWS <= 64, "ms_run_draft.said has 64 bits");

/* ---- finding ---- */

int ms_run_field_find(const char *name)
{
    for (int i = 0; i < FIELD_COUNT_OF_ROWS; i++)
        if (ms_name_equal(rows[i].name, name))
            return i;
    return -1;
}

size_t ms_run_field_count(void)
{
    return FIELD_COUNT_OF_ROWS;
}

const char *ms_run_field_name(size_t index)
{
    return index < FIELD_COUNT_OF_ROWS ? rows[index].name : NULL;
}

bool ms_run_field_said(const ms_run_draft *draft, const char *name)
{
    int index = ms_run_field_find(name);
    return index >= 0 && (draft->said >> index & 1) != 0;
}

void ms_run_field_unsay(ms_run_draft *draft, const char *name)
{
    int index = ms_run_field_find(name);
    if (index >= 0)
        draft->said &= ~(UINT64_C(1) << index);
}

/* What is not named is a string, which is 0. */
static const ms_run_field_form forms[] = {
    [FIELD_COUNT] = MS_RUN_FIELD_NUMBER, [FIELD_SOME] = MS_RUN_FIELD_NUMBER,
    [FIELD_POWER] = MS_RUN_FIELD_NUMBER, [FIELD_NUMBER] = MS_RUN_FIELD_NUMBER,
    [FIELD_SHARE] = MS_RUN_FIELD_NUMBER, [FIELD_CLIP] = MS_RUN_FIELD_NUMBER,
    [FIELD_SIZE] = MS_RUN_FIELD_SIZE,    [FIELD_SPLIT] = MS_RUN_FIELD_SIZE,
    [FIELD_FLAG] = MS_RUN_FIELD_FLAG,    [FIELD_QUANTIZE] = MS_RUN_FIELD_STRING, /* the last kind */
};
_Static_assert(sizeof forms / sizeof forms[0] == FIELD_QUANTIZE + 1, "a kind has no form");

ms_run_field_form ms_run_field_form_of(size_t index)
{
    return forms[rows[index].kind];
}

ms_run_field_traits ms_run_field_traits_of(size_t index)
{
    const field_row *row = &rows[index];
    field_kind kind = row->kind;
    return (ms_run_field_traits){.is_count = kind == FIELD_COUNT || kind == FIELD_SOME,
                                 .is_file = kind == FIELD_FILE,
                                 .has_commas = kind == FIELD_TREAT || kind == FIELD_LORA ||
                                               kind == FIELD_LIGER,
                                 .choices = row->choices};
}

const char *ms_run_field_hint(const char *name, char out[MS_RUN_FIELD_HINT_BYTES])
{
    const char *why = ms_unmodelled_setting(name);
    if (why) {
        snprintf(out, MS_RUN_FIELD_HINT_BYTES, ": %s", why);
        return out;
    }
    ms_nearest nearest = ms_nearest_to(name);
    for (size_t i = 0; i < FIELD_COUNT_OF_ROWS; i++)
        ms_nearest_offer(&nearest, rows[i].name);
    return ms_nearest_hint(&nearest, out, MS_RUN_FIELD_HINT_BYTES);
}

/* ---- one setter per kind ---- */

typedef ms_status (*field_setter)(const field_row *row, const char *value, void *member,
                                  ms_arena *arena, ms_error *err);

static ms_status set_text(const field_row *row, const char *value, void *member, ms_arena *arena,
                          ms_error *err)
{
    if (!*value)
        return ms_fail(err, MS_ERR_USAGE, "%s: the value is empty", row->name);
    return ms_value_text(row->name, value, arena, member, err);
}

static ms_status set_count(const field_row *row, const char *value, void *member, ms_arena *arena,
                           ms_error *err)
{
    (void)arena;
    return ms_value_count(row->name, value, row->minimum, row->maximum, member, err);
}

/* Whether it is "none", which means 0. */
static bool takes_none(const char *value, uint64_t *member)
{
    if (strcmp(value, "none") != 0)
        return false;
    *member = 0;
    return true;
}

static ms_status set_some(const field_row *row, const char *value, void *member, ms_arena *arena,
                          ms_error *err)
{
    return takes_none(value, member) ? MS_OK : set_count(row, value, member, arena, err);
}

static ms_status set_power(const field_row *row, const char *value, void *member, ms_arena *arena,
                           ms_error *err)
{
    if (takes_none(value, member))
        return MS_OK;
    ms_status status = set_count(row, value, member, arena, err);
    uint64_t count = status == MS_OK ? *(uint64_t *)member : 1;
    if ((count & (count - 1)) != 0)
        return ms_fail(err, MS_ERR_USAGE, "%s: %" PRIu64 " is not a power of two", row->name,
                       count);
    return status;
}

static ms_status set_number(const field_row *row, const char *value, void *member, ms_arena *arena,
                            ms_error *err)
{
    (void)arena;
    return ms_value_number(row->name, value, 0, MS_VALUE_LARGEST_NUMBER, "a number of 0 or more",
                           member, err);
}

static ms_status set_share(const field_row *row, const char *value, void *member, ms_arena *arena,
                           ms_error *err)
{
    (void)arena;
    return ms_value_number(row->name, value, 0, 1, "a number from 0 to 1", member, err);
}

static ms_status set_clip(const field_row *row, const char *value, void *member, ms_arena *arena,
                          ms_error *err)
{
    (void)arena;
    if (strcmp(value, "none") != 0)
        return ms_value_number(row->name, value, DBL_TRUE_MIN, MS_VALUE_LARGEST_NUMBER,
                               "a number above 0, such as 1.0, or none", member, err);
    *(double *)member = 0;
    return MS_OK;
}

static ms_status set_choice(const field_row *row, const char *value, void *member, ms_arena *arena,
                            ms_error *err)
{
    (void)arena;
    const char *wanted = value;
    bool is_type = row->choices == dtypes || row->choices == autocasts;
    const char *why = is_type ? ms_unmodelled_type(value) : NULL;
    if (why)
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s': %s", row->name, value, why);
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
        if (ms_name_equal(value, synonyms[i][0]))
            wanted = synonyms[i][1];
    if (wanted != value && ms_value_choice(row->name, wanted, row->choices, member, NULL) == MS_OK)
        return MS_OK;
    return ms_value_choice(row->name, value, row->choices, member, err);
}

static ms_status set_size(const field_row *row, const char *value, void *member, ms_arena *arena,
                          ms_error *err)
{
    (void)arena;
    return ms_value_size(row->name, value, row->minimum, member, err);
}

static ms_status set_split(const field_row *row, const char *value, void *member, ms_arena *arena,
                           ms_error *err)
{
    return takes_none(value, member) ? MS_OK : set_size(row, value, member, arena, err);
}

/* "2.11", "2.11.0", "2.11.0+cu130": the first two numbers count. */
static ms_status set_version(const field_row *row, const char *value, void *member, ms_arena *arena,
                             ms_error *err)
{
    (void)arena;
    const char *point = strchr(value, '.');
    size_t minor_bytes = point ? strspn(point + 1, "0123456789") : 0;
    uint64_t major = 0, minor = 0;
    if (!point || ms_number_count(value, (size_t)(point - value), &major) != MS_COUNT_OK ||
        ms_number_count(point + 1, minor_bytes, &minor) != MS_COUNT_OK || minor > 999 ||
        (point[1 + minor_bytes] != '\0' && !strchr(".+", point[1 + minor_bytes])))
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s', expected a version such as 2.11",
                       row->name, value);
    if (major != 2)
        return ms_fail(err, MS_ERR_USAGE, "%s: %.40s is not supported, only 2.x is", row->name,
                       value);
    uint32_t *version = member; /* major, then minor */
    version[0] = (uint32_t)major;
    version[1] = (uint32_t)minor;
    return MS_OK;
}

static ms_status set_layers(const field_row *row, const char *value, void *member, ms_arena *arena,
                            ms_error *err)
{
    ms_error reason = {0};
    ms_status status = ms_layer_list_check(value, &reason);
    if (status != MS_OK)
        return ms_fail(err, status, "%s: %s", row->name, reason.text);
    return set_text(row, value, member, arena, err);
}

static ms_status set_treat(const field_row *row, const char *value, void *member, ms_arena *arena,
                           ms_error *err)
{
    ms_error reason = {0};
    ms_status status = strcmp(value, "none") ? ms_treatments_check(value, &reason) : MS_OK;
    if (status != MS_OK)
        return ms_fail(err, status, "%s: %s", row->name, reason.text);
    return set_text(row, value, member, arena, err);
}

static ms_status set_liger(const field_row *row, const char *value, void *member, ms_arena *arena,
                           ms_error *err)
{
    (void)arena;
    ms_error reason = {0};
    ms_status status = ms_liger_parse(value, member, &reason);
    return status == MS_OK ? status : ms_fail(err, status, "%s: %s", row->name, reason.text);
}

static ms_status set_lora(const field_row *row, const char *value, void *member, ms_arena *arena,
                          ms_error *err)
{
    ms_error why = {0};
    ms_adapter read;
    ms_status status = strcmp(value, "none") ? ms_adapter_parse(arena, value, &read, &why) : MS_OK;
    if (status != MS_OK)
        return ms_fail(err, status, "%s: %s", row->name, why.text);
    return set_text(row, value, member, arena, err);
}

static ms_status set_quantize(const field_row *row, const char *value, void *member,
                              ms_arena *arena, ms_error *err)
{
    (void)arena;
    ms_error reason = {0};
    ms_status status = ms_quantization_parse(value, member, &reason);
    return status == MS_OK ? status : ms_fail(err, status, "%s: %s", row->name, reason.text);
}

static const field_setter setters[] = {
    [FIELD_TEXT] = set_text,     [FIELD_FILE] = set_text,         [FIELD_COUNT] = set_count,
    [FIELD_POWER] = set_power,   [FIELD_SOME] = set_some,         [FIELD_SHARE] = set_share,
    [FIELD_NUMBER] = set_number, [FIELD_CLIP] = set_clip,         [FIELD_CHOICE] = set_choice,
    [FIELD_SIZE] = set_size,     [FIELD_SPLIT] = set_split,       [FIELD_VERSION] = set_version,
    [FIELD_LAYERS] = set_layers, [FIELD_TREAT] = set_treat,       [FIELD_LORA] = set_lora,
    [FIELD_LIGER] = set_liger,   [FIELD_QUANTIZE] = set_quantize, [FIELD_FLAG] = set_choice,
};

ms_status ms_run_field_set(ms_run_draft *draft, ms_arena *arena, const char *name,
                           const char *value, ms_error *err)
{
    char hint[MS_RUN_FIELD_HINT_BYTES];
    int index = ms_run_field_find(name);
    if (index < 0)
        return ms_fail(err, MS_ERR_USAGE, "unknown field '%.40s'%s", name,
                       ms_run_field_hint(name, hint));
    const field_row *row = &rows[index];
    ms_status status = setters[row->kind](row, value, (char *)draft + row->offset, arena, err);
    if (status == MS_OK)
        draft->said |= UINT64_C(1) << index;
    return status;
}
