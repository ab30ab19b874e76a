/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/treatment/offload_tags.h"

#include <math.h>
#include <string.h>

#include "input/config/treatment/layers.h"
#include "base/text/values.h"

static const struct tag_word {
    const char *name;
    ms_offload_part part;
} words[] = {{"all", MS_OFFLOAD_ALL},
             {"attention", MS_OFFLOAD_ATTENTION},
             {"mlp", MS_OFFLOAD_MLP},
             {"norms", MS_OFFLOAD_NORMS}};
enum { WORDS = sizeof words / sizeof words[0] };

const char *ms_offload_tag_at(size_t index)
{
    return index < WORDS ? words[index].name : NULL;
}

/* ---- ratios ---- */

static ms_status read_ratio(const char *field, const char *text, double *ratio, ms_error *err)
{
    return ms_value_number(field, text, 0, 1, "a ratio from 0 to 1", ratio, err);
}

/* Moves behind the next ":". NULL: there is none. */
static char *next_part(char *text)
{
    char *colon = strchr(text, ':');
    if (!colon)
        return NULL;
    *colon = '\0';
    return colon + 1;
}

static ms_status fill_grid(const double grid[3], double ratios[MS_MOST_OFFLOAD_RATIOS],
                           uint32_t *count, ms_error *err)
{
    static const double slack = 1e-6, digits = 1e9;
    if (grid[1] < grid[0])
        return ms_fail(err, MS_ERR_USAGE, "--offload-ratio: the last ratio is below the first");
    double steps = grid[2] > 0 ? floor((grid[1] - grid[0]) / grid[2] + slack) : INFINITY;
    if (steps >= MS_MOST_OFFLOAD_RATIOS)
        return ms_fail(err, MS_ERR_USAGE, "--offload-ratio: more than %d ratios: use a larger step",
                       MS_MOST_OFFLOAD_RATIOS);
    *count = (uint32_t)steps + 1;
    for (uint32_t i = 0; i < *count; i++)
        ratios[i] = fmin(rint((grid[0] + i * grid[2]) * digits) / digits, 1);
    return MS_OK;
}

ms_status ms_offload_ratios_read(const char *text, double ratios[MS_MOST_OFFLOAD_RATIOS],
                                 uint32_t *count, ms_error *err)
{
    static const char option[] = "--offload-ratio";
    enum { MOST = 128, PARTS = 3 };
    char copy[MOST];
    double grid[PARTS] = {0};
    uint32_t parts = 0;
    if (strlen(text) >= sizeof copy)
        return ms_fail(err, MS_ERR_USAGE, "%s: '%.40s...' is too long", option, text);
    strcpy(copy, text); /* NOLINT: its length was checked */
    for (char *part = copy, *next; part && parts <= PARTS; part = next, parts++) {
        next = next_part(part);
        if (parts == PARTS)
            continue;
        ms_status status = read_ratio(option, part, &grid[parts], err);
        if (status != MS_OK)
            return status;
    }
    *count = 1;
    ratios[0] = grid[0];
    if (parts == PARTS)
        return fill_grid(grid, ratios, count, err);
    if (parts == 1)
        return MS_OK;
    return ms_fail(err, MS_ERR_USAGE,
                   "%s: found '%.40s', expected a ratio such as 0.5, or FROM:TO:STEP such as "
                   "0:1:0.1",
                   option, text);
}

/* ---- tags ---- */

static ms_status read_layers(ms_offload_tag *tag, ms_arena *arena, uint64_t num_layers,
                             ms_error *err)
{
    bool *layers = ms_arena_array(arena, bool, num_layers);
    if (!layers)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the tags of an offload");
    memset(layers, 0, num_layers * sizeof *layers);
    tag->part = MS_OFFLOAD_ALL;
    tag->layers = layers;
    return ms_layer_list_select(tag->name, num_layers, layers, err);
}

static ms_status read_name(ms_offload_tag *tag, ms_arena *arena, uint64_t num_layers, ms_error *err)
{
    for (size_t i = 0; i < WORDS; i++)
        if (strcmp(words[i].name, tag->name) == 0) {
            tag->part = words[i].part;
            return MS_OK;
        }
    ms_error ignored = {0};
    if (*tag->name && ms_layer_list_check(tag->name, &ignored) == MS_OK)
        return read_layers(tag, arena, num_layers, err);
    return ms_fail(err, MS_ERR_USAGE,
                   "--offload-tag: there is no tag '%.40s'; tags are all, attention, mlp, norms, "
                   "or layers such as 0-7 or first:8",
                   tag->name);
}

ms_status ms_offload_tag_read(const char *text, ms_arena *arena, uint64_t num_layers,
                              ms_offload_tag *tag, ms_error *err)
{
    const char *ratio = strrchr(text, '=');
    size_t length = ratio ? (size_t)(ratio - text) : strlen(text);
    char *name = ms_arena_array(arena, char, length + 1);
    *tag = (ms_offload_tag){.name = name, .has_ratio = ratio != NULL};
    if (!name)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the tags of an offload");
    memcpy(name, text, length);
    name[length] = '\0';
    ms_status status = read_name(tag, arena, num_layers, err);
    if (status == MS_OK && ratio)
        status = read_ratio("--offload-tag", ratio + 1, &tag->ratio, err);
    return status;
}

static bool has_any(const char *name, const char *const *parts)
{
    for (; *parts; parts++)
        if (strstr(name, *parts))
            return true;
    return false;
}

/* "self_attn_layer_norm" is a norm, and "post_mlp_layernorm". */
ms_offload_part ms_offload_part_of(const char *module)
{
    static const char *const norms[] = {"norm", "ln_", NULL};
    static const char *const attention[] = {"attn", "attention", NULL};
    static const char *const mlps[] = {"mlp", "feed_forward", "fc1", "fc2", NULL};
    return has_any(module, norms)       ? MS_OFFLOAD_NORMS
           : has_any(module, attention) ? MS_OFFLOAD_ATTENTION
           : has_any(module, mlps)      ? MS_OFFLOAD_MLP
                                        : MS_OFFLOAD_OTHER;
}

uint32_t ms_offload_tags_find(const ms_offload_tags *tags, ms_offload_part part, uint64_t layer)
{
    for (uint32_t i = tags->count; i-- > 0;) {
        const ms_offload_tag *tag = &tags->items[i];
        if ((tag->part == MS_OFFLOAD_ALL || tag->part == part) &&
            (!tag->layers || tag->layers[layer]))
            return i;
    }
    return tags->count;
}
