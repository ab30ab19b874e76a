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

/* ---- names ---- */

/* Which weight of a model a stored tensor is, by its name. Files have the names of the class in
 * transformers, or older ones that it renames when it loads (its conversion_mapping.py); experts of
 * a mixture one by one, where the class has them in one tensor; and weights that are quantised in a
 * form of their own, with scales beside them. */

/* What a stored tensor is. */
typedef enum ms_stored_role {
    MS_ROLE_WEIGHT, /* in floating point */
    MS_ROLE_PACKED, /* of 8 bits or fewer for each weight, whatever the type of the file says */
    MS_ROLE_SCALE,  /* scales, zeros and what else quantised weights need */
    MS_ROLE_OTHER,  /* no parameters of the model in config.json */
    MS_ROLE_ROLES
} ms_stored_role;

extern const char *const ms_stored_role_names[]; /* "weights", ...; ends with NULL */

typedef struct ms_stored_place {
    uint32_t weight; /* of the inventory; UINT32_MAX: none */
    ms_stored_role role;
    uint64_t expert; /* of those that the weight has; 0 where it is one tensor */
    uint64_t parts;  /* tensors like this that make the weight */
} ms_stored_place;

/* The weight of the experts that were named last: a layer's tensors come one after the other. */
typedef struct ms_stored_names {
    const ms_inventory *inventory;
    char before[256]; /* "model.layers.3.mlp" */
    size_t before_bytes;
    uint32_t fused[2];
} ms_stored_names;

/* `has_bits`: the type is one of whole numbers, or of 8 bits or fewer. */
ms_stored_place ms_stored_place_of(ms_stored_names *names, const char *name, bool has_bits);

#endif
