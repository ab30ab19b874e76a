/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Limits of a budgets file. Sizes need a unit and shares a percent sign.
 */
#ifndef MS_DECIDE_CHECK_LIMITS_H
#define MS_DECIDE_CHECK_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json/value.h"

/* The quantity that is limited. */
typedef enum ms_measure {
    MS_MEASURE_PEAK, /* upper end of device bytes: reserved memory and context */
    MS_MEASURE_FORWARD,
    MS_MEASURE_BACKWARD,
    MS_MEASURE_OPTIMIZER,
    MS_MEASURE_WEIGHTS,
    MS_MEASURE_ACTIVATIONS,
    MS_MEASURE_RESERVED,
    MS_MEASURE_COUNT
} ms_measure;
extern const char *const ms_measure_names[]; /* "peak": by ms_measure */

enum { MS_SHARE_WHOLE = 1000000 }; /* shares are in millionths */

/* The minimum verdict of the run. */
typedef enum ms_require {
    MS_REQUIRE_UNSAID, /* not set: less than "fits" is a warning */
    MS_REQUIRE_NOTHING,
    MS_REQUIRE_TIGHT,
    MS_REQUIRE_FITS,
    MS_REQUIRE_COUNT
} ms_require;
extern const char *const ms_require_names[]; /* "tight": by ms_require; NULL for the first */

/* A size or a share of something. */
typedef struct ms_amount {
    bool has_bytes, has_share;
    bool needs_both; /* "and": exceeded only if both are */
    uint64_t bytes;
    uint32_t share;
} ms_amount;

typedef struct ms_budget_limit {
    const char *text;      /* as written; NULL: no limit */
    const ms_error *place; /* in the file */
    ms_amount amount;
} ms_budget_limit;

typedef struct ms_limits {
    ms_budget_limit max, warn; /* a size, or a share of the device's memory */
    ms_budget_limit
        increase; /* over the baseline: a size, a share, or "3% and 1 GiB", "3% or 1 GiB" */
    ms_measure measure;
    bool uses_expected; /* else the upper end of the range */
    ms_require require;
    const ms_error *require_place; /* in the file; NULL if absent */
} ms_limits;

/* Reads the members of an object, over existing limits; texts belong to the arena. */
ms_status ms_limits_read(ms_arena *arena, ms_json_value object, ms_limits *limits, ms_error *err);

/* "95%" or "78 GiB"; with `may_be_two` also both, joined by "and" or "or". */
ms_status ms_amount_parse(const char *text, bool may_be_two, ms_amount *amount, ms_error *err);

/* That share of a number, rounded down. */
uint64_t ms_share_of(uint64_t bytes, uint32_t share);

/* An error with only the place of the value, or of its key; NULL when out of memory. */
const ms_error *ms_place_of(ms_arena *arena, ms_json_value value, ms_json_part part);

/* Fails about an unknown key, suggesting the nearest known one. */
ms_status ms_fail_unknown_key(ms_json_value value, const char *const *known, size_t count,
                              ms_error *err);

#endif
