/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Numbers as reports print them, the same in every locale.
 */
#ifndef MS_BASE_TEXT_NUMBER_H
#define MS_BASE_TEXT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* bytes / 2^30 with two decimals, rounded half up in integers: "71.31". */
enum { MS_GIB_TEXT = 32 };
const char *ms_gib(uint64_t bytes, char text[MS_GIB_TEXT]);

/* The same in the unit that suits it: "512 B", "4.00 KiB", "117.00 MiB". */
enum { MS_BYTES_TEXT = 32 };
const char *ms_bytes_text(uint64_t bytes, char text[MS_BYTES_TEXT]);

/* Whether a table in GiB with two places shows it as more than 0.00, or it is a thousandth of the
 * whole. */
bool ms_is_seen(uint64_t bytes, uint64_t whole);

/* part / whole in tenths of a percent, rounded: 221 = 22.1 %. */
uint32_t ms_permille(uint64_t part, uint64_t whole);

/* A number with that many digits after the point; "-" for NaN. */
enum { MS_FIXED_TEXT = 40 };
const char *ms_fixed(double value, uint32_t decimals, char text[MS_FIXED_TEXT]);

#endif
