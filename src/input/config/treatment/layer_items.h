/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Items "layers=treatment" of a specification as they are applied, one after another.
 */
#ifndef MS_INPUT_CONFIG_TREATMENT_LAYER_ITEMS_H
#define MS_INPUT_CONFIG_TREATMENT_LAYER_ITEMS_H

#include "input/config/treatment/treatment.h"

/* `chosen` and `sizes` have room for each layer, and begin zeroed. */
typedef struct ms_layer_items {
    ms_treatments *out;
    uint64_t count; /* of layers */
    bool *chosen;
    uint64_t *sizes; /* by layer: how many layers the item names that named it last; 0: none */
} ms_layer_items;

/* Treats the layers that the text names (layers.h). Fails where an earlier item gave one of them
 * another treatment, unless this is an exception from it: that item names more layers, and earlier
 * ones name all of these. */
ms_status ms_layer_items_treat(ms_layer_items *items, const char *layers,
                               const ms_treatment *treatment, ms_error *err);

/* The failure of an item that is there twice, with two treatments. */
ms_status ms_layer_items_refuse(const char *layers, ms_error *err);

#endif
