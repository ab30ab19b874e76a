/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which layers: "none", "all", "first:8", "last:4", "every:2" (0, 2, 4, ...), or a
 * list such as "0,2,5-9".
 */
#ifndef MS_INPUT_CONFIG_TREATMENT_LAYERS_H
#define MS_INPUT_CONFIG_TREATMENT_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Checks the syntax only; layer numbers are checked when the model is known. */
ms_status ms_layer_list_check(const char *text, ms_error *err);

/* Sets layers[0 .. num_layers - 1]; refuses layers the model does not have. */
ms_status ms_layer_list_select(const char *text, uint64_t num_layers, bool *layers, ms_error *err);

#endif
