/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A config's quantization_config: one reader for each method, with the names and defaults of
 * transformers' classes (utils/quantization_config.py).
 */
#ifndef MS_INPUT_CONFIG_QUANTIZE_QUANTIZE_READ_H
#define MS_INPUT_CONFIG_QUANTIZE_QUANTIZE_READ_H

#include "input/config/quantize/quantize.h"

/* Reads a quantization_config; unsupported methods are refused by name. Names are copied to the
 * arena. */
ms_status ms_quantization_read(ms_arena *arena, ms_json_value value, ms_quantization *quantization,
                               ms_error *err);

#endif
