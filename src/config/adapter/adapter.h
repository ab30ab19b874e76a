/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Adapters: what is trained in the place of the model's own weights, as PEFT's adapter_config.json
 * says it, or the shorter text of `--lora`. Names are those of the framework's modules.
 */
#ifndef MS_CONFIG_ADAPTER_ADAPTER_H
#define MS_CONFIG_ADAPTER_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "json/value.h"
#include "tensor/dtype.h"

typedef enum ms_adapter_kind {
    MS_ADAPTER_LORA, /* W x + B A x: two matrices of rank r next to a linear layer's */
    MS_ADAPTER_IA3,  /* a vector that scales a layer's output, or its input */
    MS_ADAPTER_KIND_COUNT
} ms_adapter_kind;

typedef enum ms_adapter_bias {
    MS_ADAPTER_BIAS_NONE,
    MS_ADAPTER_BIAS_ALL, /* every bias of the model is trained */
    MS_ADAPTER_BIAS_ONLY /* those of adapted layers ("lora_only") */
} ms_adapter_bias;

/* Modules, by names or by a pattern over the whole name; neither: see the member. */
typedef struct ms_module_list {
    const char *const *names;
    uint32_t count;
    const char *pattern; /* NULL: by names */
} ms_module_list;

typedef struct ms_adapter_rank {
    const char *pattern; /* of a name's end */
    uint64_t rank;
} ms_adapter_rank;

/* Strings and lists belong to the arena it was read into. */
typedef struct ms_adapter {
    ms_adapter_kind kind;
    uint64_t rank;
    bool all_linear; /* every linear layer but the head */
    /* Neither all_linear nor targets: the family's own. */
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
    bool is_dora;  /* and a magnitude for each output */
    double dropout;
    ms_dtype dtype; /* of its weights; the loader sets it */
} ms_adapter;

/* Reads "r=16,targets=q_proj+v_proj,dropout=0.05,bias=lora_only,dora,save=embed_tokens". */
ms_status ms_adapter_parse(ms_arena *arena, const char *text, ms_adapter *adapter, ms_error *err);
/* Reads an adapter_config.json. */
ms_status ms_adapter_read(ms_arena *arena, ms_json_value root, ms_adapter *adapter, ms_error *err);

/* The adapter in the words of `--lora`; what those cannot say is counted. NULL: out of memory. */
const char *ms_adapter_text(ms_arena *arena, const ms_adapter *adapter);

/* Whether it treats all layers alike; NULL does. */
bool ms_adapter_is_uniform(const ms_adapter *adapter);

/* ---- which modules ---- */

/* An adapter's patterns, compiled. */
typedef struct ms_adapter_matcher ms_adapter_matcher;

/* What an adapter of a model of that type targets if it does not say: the targets (none: it must
 * say), and those of which the input is scaled. */
void ms_adapter_defaults(const char *model_type, ms_adapter_kind kind, ms_module_list lists[2]);

/* The caller owns *matcher, also on failure; the adapter must outlive it. */
ms_status ms_adapter_matcher_new(const ms_adapter *adapter, const char *model_type,
                                 ms_adapter_matcher **matcher, ms_error *err);
void ms_adapter_matcher_free(ms_adapter_matcher *matcher);
/* Whether the module of that name ("model.layers.0.self_attn.q_proj") gets an adapter. */
bool ms_adapter_takes(ms_adapter_matcher *matcher, const char *name, bool is_linear, bool is_head);
bool ms_adapter_saves(const ms_adapter_matcher *matcher, const char *name);
bool ms_adapter_scales_input(const ms_adapter_matcher *matcher, const char *name); /* ia3 */
uint64_t ms_adapter_rank_of(ms_adapter_matcher *matcher, const char *name);
/* Whether an answer above may be wrong, because the patterns took MS_PATTERN_MOST_STEPS. */
bool ms_adapter_gave_up(const ms_adapter_matcher *matcher);

#endif
