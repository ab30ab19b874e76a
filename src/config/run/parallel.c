/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/run/parallel.h"

#include <inttypes.h>
#include <string.h>

#include "json/number.h"

/* The layouts that are predicted, and what an unsupported key stands for. */
typedef struct key_row {
    const char *key;
    ms_parallel_kind kind;
    bool has_copies;         /* "2x8": copies x shards */
    const char *unsupported; /* NULL: it is predicted */
} key_row;

static const key_row keys[] = {
    {"dp", MS_PARALLEL_DDP, false, NULL},
    {"fsdp", MS_PARALLEL_FSDP2, false, NULL},
    {"hsdp", MS_PARALLEL_FSDP2, true, NULL},
    {"tp", MS_PARALLEL_NONE, false, "tensor parallelism"},
    {"pp", MS_PARALLEL_NONE, false, "pipeline parallelism"},
    {"cp", MS_PARALLEL_NONE, false, "context parallelism"},
    {"ep", MS_PARALLEL_NONE, false, "expert parallelism"},
};

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

static bool read_ranks(const key_row *row, const char *value, ms_layout *layout)
{
    uint64_t first = 0, second = 1;
    const char *cross = row->has_copies ? strchr(value, 'x') : NULL;
    if (row->has_copies && !cross)
        return false;
    size_t length = cross ? (size_t)(cross - value) : strlen(value);
    if (!read_count(value, length, &first) ||
        (cross && !read_count(cross + 1, strlen(cross + 1), &second)))
        return false;
    bool shards = row->kind == MS_PARALLEL_FSDP2;
    layout->kind = row->kind;
    layout->shards = cross ? second : shards ? first : 1;
    layout->copies = cross || !shards ? first : 1;
    return ms_layout_world(layout) <= MS_MOST_RANKS;
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
    *layout = (ms_layout){MS_PARALLEL_ZERO, values[1], 1, (uint32_t)values[0]};
    return values[0] >= 1 && values[0] <= 3 && values[1];
}

ms_status ms_layout_parse(const char *text, ms_layout *layout, ms_error *err)
{
    *layout = (ms_layout){MS_PARALLEL_NONE, 1, 1, 0};
    if (strcmp(text, "none") == 0)
        return MS_OK;
    if (strstr(text, "zero="))
        return read_zero(text, layout)
                   ? MS_OK
                   : ms_fail(
                         err, MS_ERR_USAGE,
                         "found '%.40s', expected zero=STAGE,dp=N: DeepSpeed's stage 1, 2 or 3, "
                         "and at most %d ranks",
                         text, MS_MOST_RANKS);
    const char *value = strchr(text, '=');
    const key_row *row = value ? find_key(text, (size_t)(value - text)) : NULL;
    if (row && row->unsupported)
        return ms_fail(err, MS_ERR_USAGE,
                       "found '%.40s': %s is not predicted yet; "
                       "`memscope capture --world N` measures it",
                       text, row->unsupported);
    if (row && strchr(value, ','))
        return ms_fail(err, MS_ERR_USAGE,
                       "found '%.40s': combinations are not predicted yet; "
                       "`memscope capture --world N` measures them",
                       text);
    if (row && read_ranks(row, value + 1, layout))
        return MS_OK;
    return ms_fail(err, MS_ERR_USAGE,
                   "found '%.40s', expected none, dp=N, fsdp=N, "
                   "hsdp=COPIESxSHARDS or zero=STAGE,dp=N, with at most %d ranks",
                   text, MS_MOST_RANKS);
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
    if (layout->copies == 1)
        return ms_arena_printf(arena, "fsdp=%" PRIu64, layout->shards);
    return ms_arena_printf(arena, "hsdp=%" PRIu64 "x%" PRIu64, layout->copies, layout->shards);
}

const char *ms_layout_name(const ms_layout *layout)
{
    if (layout->kind == MS_PARALLEL_NONE)
        return "one rank";
    if (layout->kind == MS_PARALLEL_DDP)
        return "DistributedDataParallel";
    static const char *const stages[] = {"ZeRO", "ZeRO-1", "ZeRO-2", "ZeRO-3"};
    if (layout->kind == MS_PARALLEL_ZERO)
        return stages[layout->stage];
    return layout->copies == 1 ? "FSDP2" : "HSDP";
}

ms_status ms_parallel_refuse(const ms_parallel *parallel, const char *what, ms_error *err)
{
    if (parallel->layout.kind == MS_PARALLEL_NONE)
        return MS_OK;
    return ms_fail(err, MS_ERR_USAGE, "parallel: %s is for one rank; leave it out", what);
}
