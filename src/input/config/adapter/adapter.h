/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Adapters: weights trained instead of the model's own, as described by PEFT's adapter_config.json
 * or the shorter text of `--lora`. Names are those of the framework's modules.
 */
#ifndef MS_INPUT_CONFIG_ADAPTER_ADAPTER_H
#define MS_INPUT_CONFIG_ADAPTER_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json/value.h"
#include "core/tensor/dtype.h"

typedef enum ms_adapter_kind {
    MS_ADAPTER_LORA, /* W x + B A x: two matrices of rank r next to a linear layer's */
    MS_ADAPTER_IA3,  /* a vector that scales a layer's output or input */
    MS_ADAPTER_KIND_COUNT
} ms_adapter_kind;

typedef enum ms_adapter_bias {
    MS_ADAPTER_BIAS_NONE,
    MS_ADAPTER_BIAS_ALL, /* every bias of the model is trained */
    MS_ADAPTER_BIAS_ONLY /* only those of adapted layers ("lora_only") */
} ms_adapter_bias;

/* A selection of modules: by names, or by a pattern that matches the whole name. For neither, see
 * the member. */
typedef struct ms_module_list {
    const char *const *names;
    uint32_t count;
    const char *pattern; /* NULL: by names */
} ms_module_list;

typedef struct ms_adapter_rank {
    const char *pattern; /* matches the end of a name */
    uint64_t rank;
} ms_adapter_rank;

/* Strings and lists belong to the arena of the reader. */
typedef struct ms_adapter {
    ms_adapter_kind kind;
    uint64_t rank;
    bool all_linear; /* every linear layer but the head */
    /* Without all_linear and targets: the family's defaults. */
    ms_module_list targets, exclude;
    ms_module_list feedforward; /* ia3: of the targets, those whose input is scaled */
    ms_module_list saved;       /* trained in full: a copy next to the frozen original */
    ms_module_list layers_pattern;
    const uint64_t *layers; /* layers_to_transform; layer_count 0: all */
    uint32_t layer_count;
    const ms_adapter_rank *ranks; /* rank_pattern: the first that matches wins */
    uint32_t rank_count;
    ms_adapter_bias bias;
    bool has_bias; /* lora_bias: B has a bias */
    bool is_dora;  /* also a magnitude per output */
    double dropout;
    ms_dtype dtype; /* of its weights; set by the loader */
} ms_adapter;

/* Reads an adapter_config.json. */
ms_status ms_adapter_read(ms_arena *arena, ms_json_value root, ms_adapter *adapter, ms_error *err);

/* ---- which modules ---- */

/* An adapter's patterns, compiled. */
typedef struct ms_adapter_matcher ms_adapter_matcher;

#endif
