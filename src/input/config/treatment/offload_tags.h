/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which saved tensors are offloaded, by tag and ratio:
 *
 *     all                 what the layers save
 *     attention, mlp      what a layer saves in that module
 *     norms               what a layer saves in its own norms
 *     0-7, first:8, ...   what these layers save; see layers.h
 *
 * A tensor belongs to the last tag that it fits. The first forward pass measures the bytes of each
 * tag, and offloads a tensor while the offloaded bytes stay within the ratio of the bytes seen so
 * far; later passes, while (already offloaded + this) / all bytes of the tag <= ratio.
 */
#ifndef MS_INPUT_CONFIG_TREATMENT_OFFLOAD_TAGS_H
#define MS_INPUT_CONFIG_TREATMENT_OFFLOAD_TAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum { MS_MOST_OFFLOAD_TAGS = 16, MS_MOST_OFFLOAD_RATIOS = 101 };

/* A module of a layer, by the name of the layer's child. */
typedef enum ms_offload_part {
    MS_OFFLOAD_OTHER, /* none of these, or the layer itself */
    MS_OFFLOAD_ATTENTION,
    MS_OFFLOAD_MLP,
    MS_OFFLOAD_NORMS,
    MS_OFFLOAD_ALL /* of a tag: any */
} ms_offload_part;

typedef struct ms_offload_tag {
    const char *name; /* as given, without the ratio */
    ms_offload_part part;
    const bool *layers; /* [num_layers]; NULL: all */
    double ratio;
    bool has_ratio; /* of its own */
} ms_offload_tag;

typedef struct ms_offload_tags {
    const ms_offload_tag *items;
    uint32_t count; /* 0: nothing is offloaded by tag */
} ms_offload_tags;

/* Of a tag, in one pass: what is saved, and what of it is offloaded. */
typedef struct ms_offload_bytes {
    uint64_t total_bytes, sent_bytes;
} ms_offload_bytes;

/* Reads "mlp=0.5" or "mlp" into the arena. */
ms_status ms_offload_tag_read(const char *text, ms_arena *arena, uint64_t num_layers,
                              ms_offload_tag *tag, ms_error *err);
const char *ms_offload_tag_at(size_t index); /* the words among them; NULL past the last */

/* Reads "0.5", or "0:1:0.1" for 0, 0.1, ... 1. */
ms_status ms_offload_ratios_read(const char *text, double ratios[MS_MOST_OFFLOAD_RATIOS],
                                 uint32_t *count, ms_error *err);

ms_offload_part ms_offload_part_of(const char *module);

/* The index of the tag that a tensor belongs to; `count`: to none. */
uint32_t ms_offload_tags_find(const ms_offload_tags *tags, ms_offload_part part, uint64_t layer);

#endif
