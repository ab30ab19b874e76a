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
#include "input/config/model/family.h"

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

/* ---- adapter defaults ---- */

/* The default targets of adapters. */

/* PEFT's default targets for a family (NULL: none): lists[0] has the targets (empty: they must be
 * given), lists[1] those whose input is scaled (ia3). */
void ms_adapter_defaults(const ms_family *family, ms_adapter_kind kind, ms_module_list lists[2]);

/* Targets for a family without LoRA's defaults, joined by "+": its queries and values, by their
 * names in transformers. NULL where there are defaults. Static. */
const char *ms_adapter_usual_targets(const ms_family *family);

/* ---- adapter match ---- */

/* Which modules an adapter applies to. */

/* Whether the adapter treats all layers alike; true for NULL. */
bool ms_adapter_is_uniform(const ms_adapter *adapter);
/* Without targets of its own, an adapter has PEFT's defaults for the family; NULL: it has none. The
 * caller owns *matcher, also on failure; the adapter must outlive it. */
ms_status ms_adapter_matcher_new(const ms_adapter *adapter, const ms_family *family,
                                 ms_adapter_matcher **matcher, ms_error *err);
void ms_adapter_matcher_free(ms_adapter_matcher *matcher);
/* Whether the module of that name ("model.layers.0.self_attn.q_proj") gets an adapter. */
bool ms_adapter_takes(ms_adapter_matcher *matcher, const char *name, bool is_linear, bool is_head);
bool ms_adapter_saves(const ms_adapter_matcher *matcher, const char *name);
bool ms_adapter_scales_input(const ms_adapter_matcher *matcher, const char *name); /* ia3 */
uint64_t ms_adapter_rank_of(ms_adapter_matcher *matcher, const char *name);
/* Whether an answer above may be wrong, because the patterns took MS_PATTERN_MOST_STEPS. */
bool ms_adapter_gave_up(const ms_adapter_matcher *matcher);

/* ---- adapter refused ---- */

/* Targets of an adapter that do not do in PEFT what their names say, which is refused. */

/* Whether PEFT exchanges targets of this family, so that `all-linear` is refused. */
bool ms_adapter_exchanges(const ms_family *family);
/* Whether that target is one of them. */
bool ms_adapter_exchanges_name(const ms_family *family, const char *name);
/* Refuses targets that PEFT 0.21 exchanges for stacked experts and their router before it looks for
 * modules: those that had these names in transformers 4, `all-linear` included
 * (peft/utils/transformers_weight_conversion.py). MS_ERR_CONFIG with other targets to name. */
ms_status ms_adapter_check_experts(ms_adapter_matcher *matcher, const ms_adapter *adapter,
                                   const ms_family *family, uint64_t layers, ms_error *err);

/* Refuses a module that the adapter takes, by the last part of its name: of state-space models. */
ms_status ms_adapter_check_module(const ms_family *family, const char *name, ms_error *err);

#endif
