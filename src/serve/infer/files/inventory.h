/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parameters and buffers of the model that a config.json describes, by the names that its class
 * in transformers gives them: the model's own program builds them, without data.
 */
#ifndef MS_SERVE_INFER_FILES_INVENTORY_H
#define MS_SERVE_INFER_FILES_INVENTORY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

typedef struct ms_model_config ms_model_config;

enum { MS_INVENTORY_MAX_RANK = 5 };

typedef struct ms_inventory_weight {
    const char *name; /* "model.layers.0.self_attn.q_proj.weight" */
    uint64_t elements;
    uint64_t shape[MS_INVENTORY_MAX_RANK];
    uint32_t rank;
    bool is_buffer;    /* files may leave it out */
    bool is_embedding; /* a table whose rows are looked up */
} ms_inventory_weight;

typedef struct ms_inventory {
    ms_vec(ms_inventory_weight) weights; /* in the order of the class; names of the arena */
    uint32_t *slots;                     /* by digest of the name; UINT32_MAX: free */
    uint32_t capacity;
} ms_inventory;

/* As if no weight were quantised. MS_ERR_CONFIG: the class does not build so. On failure nothing is
 * left to free. */
ms_status ms_inventory_make(ms_arena *arena, const ms_model_config *config, ms_inventory *inventory,
                            ms_error *err);
void ms_inventory_free(ms_inventory *inventory);

/* By a name of so many bytes; UINT32_MAX: there is none. */
uint32_t ms_inventory_find(const ms_inventory *inventory, const char *name, size_t bytes);

#endif
