/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sizes as people write them. A unit is required and never guessed: GB is 10^9, GiB is 2^30.
 */
#ifndef MS_BASE_TEXT_SIZE_H
#define MS_BASE_TEXT_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Larger sizes are refused, so that the sum of a few stays below 2^62. */
#define MS_MOST_SIZE (UINT64_C(1) << 60)

/* Reads "80GiB", "1.5 GiB", "24GB"; a fraction of a byte is dropped. */
ms_status ms_size_parse(const char *text, uint64_t *bytes, ms_error *err);

enum { MS_SIZE_TEXT_BYTES = 24 };

/* Writes "512 B", "1.00 KiB", "79.25 GiB" into at least MS_SIZE_TEXT_BYTES; returns `out`. */
char *ms_size_format(uint64_t bytes, char *out, size_t size);

#endif
