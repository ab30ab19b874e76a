/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Quantised bases: linear layers whose frozen weights are stored in few bits, as `--quantize` or a
 * config's quantization_config says.
 */
#ifndef MS_CONFIG_QUANTIZE_H
#define MS_CONFIG_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "json/value.h"
#include "tensor/dtype.h"

typedef enum ms_quantize_kind {
    MS_QUANTIZE_NONE,
    MS_QUANTIZE_NF4, /* bitsandbytes, 4 bits and a scale for every 64 weights */
    MS_QUANTIZE_FP4
} ms_quantize_kind;

typedef struct ms_quantization {
    ms_quantize_kind kind;
    bool is_double; /* the scales are quantised too (bnb_4bit_use_double_quant) */
    /* bnb_4bit_compute_dtype; the text form leaves it to the loader: the type of the weights */
    bool has_compute_dtype;
    ms_dtype compute_dtype;
} ms_quantization;

/* What `--quantize` takes, ending in NULL; and the quantisation of each. */
extern const char *const ms_quantization_choices[];
ms_quantization ms_quantization_of(int choice);
/* The choice that it is; static text. */
const char *ms_quantization_text(const ms_quantization *quantization);

/* Reads a quantization_config; methods that are not modelled are refused by name. */
ms_status ms_quantization_read(ms_json_value value, ms_quantization *quantization, ms_error *err);

#endif
