/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Types of weights, and quantised bases, as trainers' files name them.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_ADAPTERS_TRAINING_BITS_H
#define MS_INPUT_CONFIG_TRAINERS_ADAPTERS_TRAINING_BITS_H

#include "input/config/trainers/training_reading.h"

/* "bf16" of "bfloat16", and the like; what is no such name stays as it is. */
const char *ms_training_short_type(const char *name);
/* "bf16", "fp16", or "fp32" of every other type. Static text. */
const char *ms_training_type_of(ms_dtype dtype);
/* The same of the type that the model's config has; fp32 if it has none. */
const char *ms_training_stored_type(const ms_training_reading *r);

/* The number of bits, if the file gives it: 4 or 8, and all else fails at it. */
ms_status ms_training_read_bits(ms_training_reading *r, uint64_t *bits);
/* A value of --quantize for 4 bits of the file's type: "nf4:double:bf16". `doubles`: where the file
 * does not say whether its constants are quantised, too; `storage`: the type of the numbers that
 * hold the bits, "" for bytes. NULL: out of memory. */
const char *ms_training_four_bits(const ms_training_reading *r, bool doubles, const char *storage);
/* Leaves out of the figures, at a given topic, that products of packed weights are computed in
 * another type than the weights. */
ms_status ms_training_check_computing(ms_training_reading *r, ms_training_topic topic,
                                      const char *computed, const char *weights);

#endif
