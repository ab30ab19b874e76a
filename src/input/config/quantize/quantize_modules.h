/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which linear layers a loader converts: transformers' should_convert_module.
 */
#ifndef MS_INPUT_CONFIG_QUANTIZE_QUANTIZE_MODULES_H
#define MS_INPUT_CONFIG_QUANTIZE_QUANTIZE_MODULES_H

#include "input/config/quantize/quantize.h"

/* Fails if a name is an unsupported pattern. The caller owns *exceptions, NULL after a failure; the
 * quantization must outlive them. */
ms_status ms_exceptions_new(const ms_quantization *quantization, ms_exceptions **exceptions,
                            ms_error *err);
void ms_exceptions_free(ms_exceptions *exceptions); /* NULL is fine */
/* Whether the loader converts a linear layer. Not converted: modules that the file excepts and, by
 * default, the output head. */
bool ms_exceptions_convert(ms_exceptions *exceptions, const char *module, bool is_head);
/* Whether an answer above may be wrong, because the patterns took MS_PATTERN_MOST_STEPS. */
bool ms_exceptions_gave_up(const ms_exceptions *exceptions);

#endif
