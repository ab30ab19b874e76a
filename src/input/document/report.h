/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A report read from a file: static_report.json, the plan.json of a run, or the JSON of inference.
 * Only members that comparisons need are kept. Texts belong to the arena.
 */
#ifndef MS_INPUT_DOCUMENT_REPORT_H
#define MS_INPUT_DOCUMENT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/reason.h"
#include "base/json/value.h"

/* The major version that is read. Later minor versions only add members, which are ignored. */
enum { MS_REPORT_MAJOR = 1 };

typedef struct ms_report_field {
    const char *name, *value; /* strings unquoted, other values in their source text */
} ms_report_field;

typedef struct ms_report_fields {
    const ms_report_field *items;
    uint32_t count;
} ms_report_fields;

/* An item that uses memory. */
typedef struct ms_report_part {
    const char *name;  /* "activation", "forward", "model.layers.*.mlp.down_proj.mm" */
    const char *where; /* operators: phase, or "recompute"; else "" */
    uint64_t bytes;
} ms_report_part;

typedef struct ms_report_parts {
    const ms_report_part *items;
    uint32_t count;
} ms_report_parts;

/* Allocated bytes at a place of the step. */
typedef struct ms_report_level {
    uint64_t event, bytes;
} ms_report_level;

typedef struct ms_report {
    const char *name;   /* of the model */
    const char *device; /* "" when it is not given */
    bool is_plan, is_inference;
    uint64_t budget_bytes;     /* of each device; 0: not known */
    ms_report_fields config;   /* keys of the model's config; none before 1.2 */
    ms_report_fields model;    /* facts about the model in every version */
    ms_report_fields settings; /* of the run */
    uint64_t peak_bytes, reserved_bytes, host_bytes;
    uint64_t low_bytes, expected_bytes, high_bytes; /* on the device; equal for a plan */
    struct {
        const char
            *names; /* keys of its files that the figures are without: "qat, rl"; NULL: none */
        bool adds, saves; /* what they may do */
    } left_out;
    bool has_reason; /* it has a verdict reason: since 1.4, for plans since 1.1 */
    ms_fit_reason reason;
    const char *peak_phase;
    double step_ms;             /* 0: not known */
    ms_report_parts categories; /* alive at the peak */
    ms_report_parts places;     /* the same, by layers and outside them */
    ms_report_parts phases;     /* peak of each phase */
    /* Equal layers merged, sorted by name and place: bytes of all executions at the peak
     * (since 1.4); and bytes that the layers keep plus temporaries of one execution. */
    ms_report_parts operators_at_peak, operators;
    bool has_operators_at_peak;
    const ms_report_level *levels; /* the timeline of the step, ascending; a plan has none */
    uint32_t level_count;
} ms_report;

/* Whether the document is a static report, a plan, or a prediction of inference. */
bool ms_report_is_one(ms_json_value root);

/* Refuses a newer major version, and an invalid member with its place. */
ms_status ms_report_read(ms_arena *arena, ms_json_value root, ms_report *report, ms_error *err);

/* The value of a setting of the run; NULL if absent. */
const char *ms_report_setting(const ms_report *report, const char *name);

/* The bytes of the part of that name; 0 if absent. */
uint64_t ms_report_part_bytes(const ms_report_parts *parts, const char *name);

#endif
