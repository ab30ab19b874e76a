/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A report as it was written: static_report.json, or the plan.json of a run. Only what two of them
 * are compared by is kept. Texts belong to the arena.
 */
#ifndef MS_DOCUMENT_REPORT_H
#define MS_DOCUMENT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/reason.h"
#include "json/value.h"

/* The versions that are read: a later minor one only adds members, which are left aside. */
enum { MS_REPORT_MAJOR = 1 };

typedef struct ms_report_field {
    const char *name, *value; /* a string as it is, all else as the file writes it */
} ms_report_field;

typedef struct ms_report_fields {
    const ms_report_field *items;
    uint32_t count;
} ms_report_fields;

/* What takes memory. */
typedef struct ms_report_part {
    const char *name;  /* "activation", "forward", "model.layers.*.mlp.down_proj.mm" */
    const char *where; /* of an operator: its phase, or "recompute"; else "" */
    uint64_t bytes;
} ms_report_part;

typedef struct ms_report_parts {
    const ms_report_part *items;
    uint32_t count;
} ms_report_parts;

typedef struct ms_report {
    const char *name;   /* of the model */
    const char *device; /* "" when it is not given */
    bool is_plan;
    ms_report_fields config;   /* keys of the model's config; none before 1.2 */
    ms_report_fields model;    /* what every version states about the model */
    ms_report_fields settings; /* of the run */
    uint64_t peak_bytes, reserved_bytes, host_bytes;
    uint64_t low_bytes, expected_bytes, high_bytes; /* on the device; a plan has one for all */
    bool has_reason; /* it states why it fits or not: since 1.4, for a plan since 1.1 */
    ms_fit_reason reason;
    const char *peak_phase;
    double step_ms;             /* 0: not known */
    ms_report_parts categories; /* alive at the peak */
    ms_report_parts places;     /* the same by layers and what is outside them */
    ms_report_parts phases;     /* most allocated in each */
    /* Layers that are alike in one, by name and where: what all executions hold at the peak, which
     * reports say since 1.4; and what the layers keep and one execution holds beside it. */
    ms_report_parts operators_at_peak, operators;
    bool has_operators_at_peak;
} ms_report;

/* Whether it is one at all: what a file of another kind has not got. */
bool ms_report_is_one(ms_json_value root);

/* Refuses a newer major version by its name, and an unusable member with its place. */
ms_status ms_report_read(ms_arena *arena, ms_json_value root, ms_report *report, ms_error *err);

/* Its value of a setting of the run; NULL if it has none. */
const char *ms_report_setting(const ms_report *report, const char *name);

/* The bytes of a part of that name; 0 when there is none. */
uint64_t ms_report_part_bytes(const ms_report_parts *parts, const char *name);

#endif
