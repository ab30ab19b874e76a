/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Differences of two reports, as rows ready to be written. Rows belong to the arena, their texts to
 * the reports.
 */
#ifndef MS_DECIDE_DIFF_DIFF_H
#define MS_DECIDE_DIFF_DIFF_H

#include "input/document/report.h"

typedef enum ms_diff_kind { MS_DIFF_NEW, MS_DIFF_GONE, MS_DIFF_CHANGED } ms_diff_kind;
extern const char *const ms_diff_kind_names[]; /* by ms_diff_kind: "NEW" */

/* A key of the config or a setting of the run. */
typedef struct ms_field_change {
    ms_diff_kind change;
    const char *name, *a, *b; /* a, b: NULL if absent */
} ms_field_change;

/* A changed part of the memory. */
typedef struct ms_part_change {
    ms_diff_kind change;
    const char *name, *where; /* as in ms_report_part */
    uint64_t a_bytes, b_bytes;
} ms_part_change;

typedef enum ms_diff_table {
    MS_DIFF_CATEGORIES, /* at the peak */
    MS_DIFF_PLACES,     /* at the peak: in layers, outside them */
    MS_DIFF_PHASES,
    MS_DIFF_OPERATORS,
    MS_DIFF_TABLES
} ms_diff_table;

/* For headings; keys in JSON. */
typedef struct ms_diff_title {
    const char *title, *key;
} ms_diff_title;
extern const ms_diff_title ms_diff_titles[]; /* by ms_diff_table */

typedef struct ms_diff {
    const ms_report *a, *b;
    const ms_field_change *config, *settings; /* in the order of the files */
    uint32_t config_count, settings_count;
    struct {
        const ms_part_change *items; /* largest change first, then by name */
        uint32_t count;
    } tables[MS_DIFF_TABLES];
    bool is_same; /* no row, and equal peaks */
} ms_diff;

ms_status ms_diff_make(ms_arena *arena, const ms_report *a, const ms_report *b, ms_diff *diff,
                       ms_error *err);

/* The absolute change of a row. */
static inline uint64_t ms_change_bytes(const ms_part_change *c)
{
    return c->a_bytes > c->b_bytes ? c->a_bytes - c->b_bytes : c->b_bytes - c->a_bytes;
}

#endif
