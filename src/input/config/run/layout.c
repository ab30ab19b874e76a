/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/layout.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/json/number.h"
#include "base/text/values.h"
#include "input/config/treatment/technique.h"

/* ---- pipeline ---- */

enum { MS_PIPELINE_MOST = 4096 }; /* ranks, stages of each, micro-batches */

static const ms_pipeline_traits kinds[MS_PIPELINE_KINDS] = {
    [MS_PIPELINE_1F1B] = {.name = "1f1b"},
    [MS_PIPELINE_GPIPE] = {.name = "gpipe", .is_same = true},
    [MS_PIPELINE_INTERLEAVED] = {.name = "interleaved", .has_stages = true},
    [MS_PIPELINE_LOOPED_BFS] = {.name = "loopedbfs", .has_stages = true, .is_same = true},
    [MS_PIPELINE_INTERLEAVED_ZB] = {.name = "interleavedzb", .has_stages = true, .is_split = true},
    [MS_PIPELINE_ZBV] = {.name = "zbv", .has_stages = true, .is_split = true, .is_v_shaped = true},
};

const ms_pipeline_traits *ms_pipeline_traits_of(ms_pipeline_kind kind)
{
    return &kinds[kind];
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool pipeline_read_count(const char *text, size_t length, uint64_t *count)
{
    bool is_new = *count == 0;
    return is_new && length > 0 && ms_number_count(text, length, count) == MS_COUNT_OK &&
           *count > 0 && *count <= MS_PIPELINE_MOST;
}

static bool read_kind(const char *text, size_t length, ms_pipeline_layout *pipeline)
{
    bool is_new = !pipeline->has_kind;
    for (int i = 0; i < MS_PIPELINE_KINDS; i++) {
        if (!is_word(text, length, kinds[i].name))
            continue;
        pipeline->kind = (ms_pipeline_kind)i;
        pipeline->has_kind = true;
    }
    return is_new && pipeline->has_kind;
}

/* The number that a key stands for; NULL: none. */
static uint64_t *count_of(const char *key, size_t length, ms_pipeline_layout *pipeline)
{
    const struct {
        const char *key;
        uint64_t *count;
    } keys[] = {
        {"pp", &pipeline->ranks},
        {"microbatches", &pipeline->micro_batches},
        {"stages_per_rank", &pipeline->stages},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_word(key, length, keys[i].key))
            return keys[i].count;
    return NULL;
}

/* Reads one part of a layout, "key=value", if its key is of a pipeline: *is_known. False: the value
 * is no value of that key, or the key was there before. */
static bool pipeline_read(const char *part, size_t length, ms_pipeline_layout *pipeline,
                          bool *is_known)
{
    const char *equals = memchr(part, '=', length);
    size_t key = equals ? (size_t)(equals - part) : length;
    uint64_t *count = equals ? count_of(part, key, pipeline) : NULL;
    bool is_kind = equals && is_word(part, key, "schedule");
    *is_known = count || is_kind;
    if (is_kind)
        return read_kind(equals + 1, length - key - 1, pipeline);
    return !count || pipeline_read_count(equals + 1, length - key - 1, count);
}

static bool is_too_large(const char *part, size_t length)
{
    ms_pipeline_layout none = {0};
    uint64_t count = 0;
    const char *equals = memchr(part, '=', length);
    if (!equals || !count_of(part, (size_t)(equals - part), &none))
        return false;
    size_t digits = length - (size_t)(equals - part) - 1;
    ms_count_result result = ms_number_count(equals + 1, digits, &count);
    return result == MS_COUNT_TOO_LARGE || (result == MS_COUNT_OK && count > MS_PIPELINE_MOST);
}

/* Whether a number of a pipeline in the text of a layout is above MS_PIPELINE_MOST. */
static bool pipeline_is_too_large(const char *layout)
{
    for (size_t length; *layout; layout += length + (layout[length] == ',')) {
        length = strcspn(layout, ",");
        if (is_too_large(layout, length))
            return true;
    }
    return false;
}

/* The text of these parts, in the arena; NULL when out of memory. */
static const char *pipeline_text(ms_arena *arena, const ms_pipeline_layout *pipeline)
{
    const char *stages = "", *micro_batches = "";
    if (pipeline->micro_batches)
        micro_batches = ms_arena_printf(arena, ",microbatches=%" PRIu64, pipeline->micro_batches);
    if (pipeline->stages > 1)
        stages = ms_arena_printf(arena, ",stages_per_rank=%" PRIu64, pipeline->stages);
    if (!stages || !micro_batches)
        return NULL;
    return ms_arena_printf(arena, "pp=%" PRIu64 ",schedule=%s%s%s", pipeline->ranks,
                           kinds[pipeline->kind].name, micro_batches, stages);
}

ms_pipeline_stage ms_pipeline_stage_of(const ms_pipeline_layout *pipeline, uint64_t rank,
                                       uint64_t number, uint64_t layers)
{
    uint64_t stages = pipeline->ranks * (pipeline->stages ? pipeline->stages : 1);
    bool counts_down = kinds[pipeline->kind].is_v_shaped && number > 0;
    uint64_t index = counts_down ? stages - 1 - rank : rank + pipeline->ranks * number;
    return (ms_pipeline_stage){.index = (uint32_t)index,
                               .first = layers * index / stages,
                               .end = layers * (index + 1) / stages,
                               .is_first = index == 0,
                               .is_last = index + 1 == stages};
}

/* ---- layout ---- */

/* The layouts that are predicted, and what an unsupported key stands for. */
typedef struct key_row {
    const char *key;
    ms_parallel_kind kind;
    bool has_copies;         /* "2x8": copies x shards */
    bool has_context;        /* ranks of one sequence */
    const char *unsupported; /* NULL: it is predicted */
} key_row;

static const key_row keys[] = {
    {"dp", MS_PARALLEL_DDP, false, false, NULL},
    {"fsdp", MS_PARALLEL_FSDP2, false, false, NULL},
    {"hsdp", MS_PARALLEL_FSDP2, true, false, NULL},
    {"fsdp1", MS_PARALLEL_FSDP1, false, false, NULL},
    {"hsdp1", MS_PARALLEL_FSDP1, true, false, NULL},
    {"tp", MS_PARALLEL_TP, false, false, NULL},
    {"cp", MS_PARALLEL_FSDP2, false, true, NULL},
    {"ep", MS_PARALLEL_NONE, false, false, "expert parallelism"},
};

const char *const ms_prefetch_names[] = {
    [MS_PREFETCH_PRE] = "pre",
    [MS_PREFETCH_POST] = "post",
    [MS_PREFETCH_NONE] = "none",
    NULL,
};

const char *const ms_fsdp_unit_names[] = {
    [MS_UNITS_LAYERS] = "layers",
    [MS_UNITS_TORCHTITAN] = "torchtitan",
    [MS_UNITS_ACCELERATE] = "accelerate",
    NULL,
};

const char *const ms_build_names[] = {
    [MS_BUILD_META] = "meta",
    [MS_BUILD_DEVICE] = "device",
    [MS_BUILD_HOST] = "host",
    [MS_BUILD_HOST_BASE] = "host-base",
    [MS_BUILD_BROADCAST] = "broadcast",
    [MS_BUILD_DEVICE_MAP] = "device-map",
    NULL,
};

const ms_layout ms_layout_none = {
    .kind = MS_PARALLEL_NONE, .shards = 1, .copies = 1, .tensor = 1, .context = 1};

static const key_row *find_key(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].key) == length && memcmp(keys[i].key, text, length) == 0)
            return &keys[i];
    return NULL;
}

static bool read_count(const char *text, size_t length, uint64_t *count)
{
    return length > 0 && ms_number_count(text, length, count) == MS_COUNT_OK && *count > 0 &&
           *count <= MS_MOST_RANKS;
}

static bool read_ranks(const key_row *row, const char *value, size_t length, ms_layout *layout)
{
    uint64_t first = 0, second = 1;
    const char *cross = row->has_copies ? memchr(value, 'x', length) : NULL;
    if (row->has_copies && !cross)
        return false;
    size_t before = cross ? (size_t)(cross - value) : length;
    if (!read_count(value, before, &first) ||
        (cross && !read_count(cross + 1, length - before - 1, &second)))
        return false;
    bool shards = row->kind == MS_PARALLEL_FSDP2 || row->kind == MS_PARALLEL_FSDP1;
    if (row->has_context) {
        layout->context = first;
        return true;
    }
    if (row->kind == MS_PARALLEL_TP) {
        layout->tensor = first;
    } else {
        layout->shards = cross ? second : shards ? first : 1;
        layout->copies = cross || !shards ? first : 1;
    }
    if (row->kind != MS_PARALLEL_TP || layout->kind == MS_PARALLEL_NONE)
        layout->kind = row->kind;
    if (cross && layout->copies < 2) /* fsdp=N says so */
        return false;
    return layout->shards * layout->copies <= MS_MOST_RANKS &&
           ms_layout_world(layout) <= MS_MOST_RANKS;
}

static ms_status refuse_key(const char *text, const key_row *row, ms_error *err)
{
    return ms_fail(err, MS_ERR_USAGE,
                   "found '%.40s': %s is not predicted yet; "
                   "`memscope capture --world N` measures it",
                   text, row->unsupported);
}

static ms_status refuse_combination(const char *text, ms_error *err)
{
    return ms_fail(err, MS_ERR_USAGE,
                   "found '%.40s': this combination is not predicted yet; "
                   "`memscope capture --world N` measures it",
                   text);
}

/* The ranks of a sequence share the parameters as well, alone or with others. False: the layout has
 * more. */
static bool shards_contexts(ms_layout *layout)
{
    if ((layout->kind != MS_PARALLEL_NONE && layout->kind != MS_PARALLEL_FSDP2) ||
        layout->copies > 1 || layout->tensor > 1)
        return false;
    layout->kind = MS_PARALLEL_FSDP2;
    layout->shards *= layout->context;
    return true;
}

/* Tensor parallelism goes with fully_shard; nothing else is combined, but for contexts and stages.
 */
static bool combines(ms_parallel_kind before, ms_parallel_kind kind)
{
    return before == MS_PARALLEL_NONE || (before == MS_PARALLEL_TP && kind == MS_PARALLEL_FSDP2) ||
           (before == MS_PARALLEL_FSDP2 && kind == MS_PARALLEL_TP);
}

/* "zero=K,dp=N" in either order. */
static bool read_zero(const char *text, ms_layout *layout)
{
    static const char *const names[] = {"zero=", "dp="};
    uint64_t values[] = {0, 0};
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        int which = strncmp(at, names[1], 3) == 0;
        size_t name = strlen(names[which]);
        if (length <= name || strncmp(at, names[which], name) != 0 || values[which] ||
            !read_count(at + name, length - name, &values[which]))
            return false;
        at += length + (at[length] == ',');
    }
    *layout = (ms_layout){.kind = MS_PARALLEL_ZERO,
                          .shards = values[1],
                          .copies = 1,
                          .tensor = 1,
                          .context = 1,
                          .stage = (uint32_t)values[0]};
    return values[0] >= 1 && values[0] <= 3 && values[1];
}

/* What goes with stages: tensor parallelism and fully_shard in each of them. */
static ms_status finish_pipeline(const char *text, ms_layout *layout, ms_error *err)
{
    const ms_pipeline_layout *p = &layout->pipeline;
    if (!p->ranks && !p->micro_batches && !p->stages && !p->has_kind)
        return MS_OK;
    if (!p->ranks)
        return ms_fail(err, MS_ERR_USAGE,
                       "found '%.40s': schedule, microbatches and stages_per_rank need pp=N", text);
    if (layout->kind == MS_PARALLEL_NONE)
        layout->kind = MS_PARALLEL_PP;
    else if ((layout->kind != MS_PARALLEL_FSDP2 && layout->kind != MS_PARALLEL_TP) ||
             layout->copies > 1 || layout->context > 1)
        return ms_fail(err, MS_ERR_USAGE,
                       "found '%.40s': stages are predicted alone or with tp=N and fsdp=N; "
                       "`memscope capture --world N` measures this combination",
                       text);
    if (ms_layout_world(layout) <= MS_MOST_RANKS)
        return MS_OK;
    return ms_fail(err, MS_ERR_USAGE, "found '%.40s', expected at most %d ranks", text,
                   MS_MOST_RANKS);
}

/* Reads one "key=value"; *is_read: it could be read. Fails with what is known but not predicted. */
static ms_status read_part(const char *text, const char *part, size_t length, ms_layout *layout,
                           bool *is_read, ms_error *err)
{
    bool is_of_pipeline;
    *is_read = pipeline_read(part, length, &layout->pipeline, &is_of_pipeline);
    if (is_of_pipeline)
        return MS_OK;
    const char *equals = memchr(part, '=', length);
    size_t key = equals ? (size_t)(equals - part) : length;
    const key_row *row = equals ? find_key(part, key) : NULL;
    if (row && row->unsupported)
        return refuse_key(text, row, err);
    bool is_twice = row && row->has_context
                        ? layout->context > 1
                        : row && row->kind == MS_PARALLEL_TP && layout->tensor > 1;
    bool is_new = row && (row->has_context || combines(layout->kind, row->kind));
    if (row && (is_twice || !is_new))
        return refuse_combination(text, err);
    *is_read = row && read_ranks(row, equals + 1, length - key - 1, layout);
    return MS_OK;
}

/* What is wrong with the numbers of a layout, as the rest of a sentence; NULL: nothing. */
static const char *number_fault(const char *text)
{
    static const char too_many[] = "at most 1048576 ranks are predicted";
    _Static_assert(MS_MOST_RANKS == 1048576, "the sentence names another number");
    uint64_t product = 1; /* of the copies and shards, each at most 2^20 */
    for (const char *at = text; *at;) {
        uint64_t count = 0;
        size_t length = strspn(at, "0123456789");
        bool is_number = length && at > text && strchr("=x", at[-1]) && strchr(",x", at[length]);
        ms_count_result result = is_number ? ms_number_count(at, length, &count) : MS_COUNT_OK;
        if (is_number && result == MS_COUNT_OK && count == 0)
            return "each number of a layout is at least 1";
        if (is_number && (result == MS_COUNT_TOO_LARGE || count > MS_MOST_RANKS))
            return too_many;
        if (is_number && (at[-1] == 'x' || at[length] == 'x'))
            product *= count;
        if (product > MS_MOST_RANKS)
            return too_many;
        at += length ? length : 1;
    }
    return NULL;
}

/* A layout that could not be read. */
static ms_status refuse_text(const char *text, ms_error *err)
{
    if (pipeline_is_too_large(text))
        return ms_fail(err, MS_ERR_USAGE,
                       "found '%.40s': pp, microbatches and stages_per_rank are each at most %d",
                       text, (int)MS_PIPELINE_MOST);
    const char *fault = number_fault(text);
    if (fault)
        return ms_fail(err, MS_ERR_USAGE, "found '%.40s': %s", text, fault);
    if (strstr(text, "zero="))
        return ms_fail(err, MS_ERR_USAGE,
                       "found '%.40s', expected zero=STAGE,dp=N: DeepSpeed's stage 1, 2 or 3",
                       text);
    return ms_fail(err, MS_ERR_USAGE,
                   "found '%.40s', expected none or a layout such as dp=8, fsdp=8, hsdp=2x8, "
                   "fsdp1=8, hsdp1=2x8, tp=4, tp=2,fsdp=4, cp=4, zero=2,dp=8 or "
                   "pp=4,schedule=1f1b,microbatches=8",
                   text);
}

ms_status ms_layout_parse(const char *text, ms_layout *layout, ms_error *err)
{
    *layout = ms_layout_none;
    if (strcmp(text, "none") == 0)
        return MS_OK;
    if (ms_value_refuse_twice(text, err) != MS_OK)
        return err->status;
    if (strstr(text, "zero="))
        return read_zero(text, layout) ? MS_OK : refuse_text(text, err);
    bool is_read = true;
    ms_status status = MS_OK;
    for (const char *part = text; is_read && status == MS_OK && part;) {
        const char *comma = strchr(part, ',');
        size_t length = comma ? (size_t)(comma - part) : strlen(part);
        status = read_part(text, part, length, layout, &is_read, err);
        part = comma ? comma + 1 : NULL;
    }
    if (status != MS_OK)
        return status;
    if (is_read && layout->kind == MS_PARALLEL_TP && layout->tensor == 1)
        layout->kind = MS_PARALLEL_NONE;
    if (is_read && layout->context > 1 && !shards_contexts(layout))
        return refuse_combination(text, err);
    if (is_read && ms_layout_world(layout) <= MS_MOST_RANKS)
        return finish_pipeline(text, layout, err);
    return refuse_text(text, err);
}

static const char *shards_text(ms_arena *arena, const ms_layout *layout)
{
    const char *first = layout->kind == MS_PARALLEL_FSDP1 ? "1" : "";
    if (layout->copies == 1)
        return ms_arena_printf(arena, "fsdp%s=%" PRIu64, first, layout->shards);
    return ms_arena_printf(arena, "hsdp%s=%" PRIu64 "x%" PRIu64, first, layout->copies,
                           layout->shards);
}

/* Those that are not empty, with commas; NULL where one is NULL. */
static const char *joined(ms_arena *arena, const char *const *parts, size_t count)
{
    const char *text = "";
    for (size_t i = 0; i < count && text; i++) {
        if (!parts[i])
            return NULL;
        const char *comma = *text && *parts[i] ? "," : "";
        text = ms_arena_printf(arena, "%s%s%s", text, comma, parts[i]);
    }
    return text;
}

const char *ms_layout_text(ms_arena *arena, const ms_layout *layout)
{
    if (layout->kind == MS_PARALLEL_NONE)
        return "none";
    if (layout->kind == MS_PARALLEL_DDP)
        return ms_arena_printf(arena, "dp=%" PRIu64, layout->copies);
    if (layout->kind == MS_PARALLEL_ZERO)
        return ms_arena_printf(arena, "zero=%" PRIu32 ",dp=%" PRIu64, layout->stage,
                               layout->shards);
    if (layout->context > 1 && layout->shards == layout->context)
        return ms_arena_printf(arena, "cp=%" PRIu64, layout->context);
    if (layout->context > 1)
        return ms_arena_printf(arena, "cp=%" PRIu64 ",fsdp=%" PRIu64, layout->context,
                               layout->shards / layout->context);
    const char *parts[] = {"", "", ""};
    if (ms_layout_has_stages(layout))
        parts[0] = pipeline_text(arena, &layout->pipeline);
    if (layout->tensor > 1)
        parts[1] = ms_arena_printf(arena, "tp=%" PRIu64, layout->tensor);
    if (ms_layout_shards(layout))
        parts[2] = shards_text(arena, layout);
    return joined(arena, parts, sizeof parts / sizeof *parts);
}

const char *ms_layout_name(const ms_layout *layout)
{
    if (layout->kind == MS_PARALLEL_NONE)
        return "one rank";
    if (layout->kind == MS_PARALLEL_DDP)
        return "DistributedDataParallel";
    if (layout->kind == MS_PARALLEL_FSDP1)
        return layout->copies == 1 ? "FSDP1" : "FSDP1 with HYBRID_SHARD";
    bool is_sharded = layout->kind == MS_PARALLEL_FSDP2;
    if (ms_layout_has_stages(layout) && layout->tensor > 1)
        return is_sharded ? "pipeline parallelism with tensor parallelism and FSDP2"
                          : "pipeline parallelism with tensor parallelism";
    if (layout->kind == MS_PARALLEL_TP)
        return "tensor parallelism";
    if (layout->tensor > 1)
        return "tensor parallelism with FSDP2";
    if (layout->context > 1)
        return "context parallelism";
    if (ms_layout_has_stages(layout))
        return is_sharded ? "pipeline parallelism with FSDP2" : "pipeline parallelism";
    static const char *const stages[] = {"ZeRO", "ZeRO-1", "ZeRO-2", "ZeRO-3"};
    if (layout->kind == MS_PARALLEL_ZERO)
        return stages[layout->stage];
    return layout->copies == 1 ? "FSDP2" : "HSDP";
}

/* What was compared with PyTorch's own figures. DistributedDataParallel refuses MLPs in tiles,
 * whose gradients are ready more than once; FSDP1 has no weights for them then. */
typedef struct treated_row {
    uint32_t techniques;
    const char *words;
} treated_row;

static const treated_row treated_rows[] = {
    [MS_PARALLEL_NONE] = {MS_MAY_ALL, "any"},
    [MS_PARALLEL_DDP] = {MS_MAY_ALL & ~MS_MAY_TILE, "those without tiles"},
    [MS_PARALLEL_FSDP2] = {MS_MAY_CHECKPOINT | MS_MAY_SELECT | MS_MAY_TILE | MS_MAY_CHUNK_LOSS,
                           "checkpoint, selective, tile and a loss in chunks"},
    [MS_PARALLEL_FSDP1] = {MS_MAY_CHECKPOINT | MS_MAY_SELECT | MS_MAY_CHUNK_LOSS,
                           "checkpoint, selective and a loss in chunks"},
    [MS_PARALLEL_TP] = {MS_MAY_CHECKPOINT | MS_MAY_SELECT, "checkpoint and selective"},
    [MS_PARALLEL_ZERO] = {MS_MAY_CHECKPOINT | MS_MAY_SELECT, "checkpoint and selective"},
    [MS_PARALLEL_PP] = {MS_MAY_CHECKPOINT, "checkpoint"},
};

/* Of zero bubble schedules: each gradient of weights would run a checkpoint again. */
static const treated_row untreated = {0, "layers that are kept"};

static const treated_row *treated_row_of(const ms_parallel *parallel)
{
    if (ms_layout_has_stages(&parallel->layout) &&
        ms_pipeline_traits_of(parallel->layout.pipeline.kind)->is_split)
        return &untreated;
    if (ms_layout_has_stages(&parallel->layout) || parallel->has_zero_optimizer ||
        parallel->layout.context > 1) /* a ring is no operator of PyTorch's */
        return &treated_rows[MS_PARALLEL_PP];
    const bool is_tensor = parallel->layout.tensor > 1;
    return &treated_rows[is_tensor ? MS_PARALLEL_TP : parallel->layout.kind];
}

uint32_t ms_parallel_techniques(const ms_parallel *parallel)
{
    return treated_row_of(parallel)->techniques;
}

const char *ms_parallel_treatments(const ms_parallel *parallel)
{
    return treated_row_of(parallel)->words;
}
