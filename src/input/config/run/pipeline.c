/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/pipeline.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/number.h"

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

static bool read_count(const char *text, size_t length, uint64_t *count)
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

bool ms_pipeline_read(const char *part, size_t length, ms_pipeline_layout *pipeline, bool *is_known)
{
    const char *equals = memchr(part, '=', length);
    size_t key = equals ? (size_t)(equals - part) : length;
    uint64_t *count = equals ? count_of(part, key, pipeline) : NULL;
    bool is_kind = equals && is_word(part, key, "schedule");
    *is_known = count || is_kind;
    if (is_kind)
        return read_kind(equals + 1, length - key - 1, pipeline);
    return !count || read_count(equals + 1, length - key - 1, count);
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

bool ms_pipeline_is_too_large(const char *layout)
{
    for (size_t length; *layout; layout += length + (layout[length] == ',')) {
        length = strcspn(layout, ",");
        if (is_too_large(layout, length))
            return true;
    }
    return false;
}

const char *ms_pipeline_text(ms_arena *arena, const ms_pipeline_layout *pipeline)
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
