/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which weight of a model a stored tensor is, by its name. Files have the names of the class in
 * transformers, or older ones that it renames when it loads (its conversion_mapping.py); experts of
 * a mixture one by one, where the class has them in one tensor; and weights that are quantised in a
 * form of their own, with scales beside them.
 */
#ifndef MS_SERVE_INFER_FILES_NAMES_H
#define MS_SERVE_INFER_FILES_NAMES_H

#include "serve/infer/files/inventory.h"

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
