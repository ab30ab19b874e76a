/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A report read back from its JSON: what static and runtime reports have in common, and what only
 * the latter has.
 */
#ifndef MS_DOCUMENT_RECORDED_H
#define MS_DOCUMENT_RECORDED_H

#include "base/arena.h"
#include "json/value.h"
#include "memscope/recorded.h"

typedef struct ms_recorded_phase {
    const char *name;
    uint64_t micro_step, repeats, start_bytes, peak_bytes, end_bytes, reserved_bytes;
} ms_recorded_phase;

/* What holds memory at the peak. */
typedef struct ms_recorded_category {
    const char *name;
    uint64_t count, bytes;
    uint64_t
        rounded_bytes; /* without ends of blocks that were not split off, where they are reported */
} ms_recorded_category;

/* Bytes after that many allocations and frees of the step, in blocks of 512. */
typedef struct ms_recorded_point {
    const char *phase;
    uint64_t event, bytes;
} ms_recorded_point;

/* A line that read values back from the device. */
typedef struct ms_recorded_read {
    const char *file, *function;
    uint64_t line, count, played_back;
} ms_recorded_read;

/* A question about values that was answered in place of the device. */
typedef struct ms_recorded_answer {
    const char *question, *assumes;
    uint64_t count;
} ms_recorded_answer;

/* A call that the null device does not cover. */
typedef struct ms_recorded_call {
    const char *name, *file;
    uint64_t line;
} ms_recorded_call;

/* A call that the null device answered. */
typedef struct ms_recorded_tally {
    const char *name;
    uint64_t count;
} ms_recorded_tally;

/* Modules whose names differ in numbers alone. */
typedef struct ms_recorded_group {
    const char *name; /* "layers.*.mlp"; "": the model's own code, or outside of it */
    uint64_t count, peak_bytes;
    uint64_t rounded_bytes;                /* of these, as of a category */
    uint64_t saved_bytes, temporary_bytes; /* captured; temporary: the most of one of them */
} ms_recorded_group;

struct ms_recorded {
    ms_arena *arena;
    char *text;        /* of a file that was read, or NULL */
    ms_json *document; /* holds the strings */
    const char *path;
    bool is_static, has_figures;
    const char *outcome, *message, *hint, *mode, *device, *torch, *peak_stage;
    uint64_t world_size; /* 0: not reported */
    uint64_t steps, start_bytes, peak_bytes, reserved_bytes, retries;
    ms_recorded_phase *phases;
    ms_recorded_category *categories;
    ms_recorded_point *timeline; /* ascending */
    ms_recorded_read *reads;
    ms_recorded_answer *answers;
    ms_recorded_call *calls;
    ms_recorded_tally *tallies;
    ms_recorded_group *groups; /* what holds most at the peak first */
    uint32_t group_count;
    const char *peak_module, *peak_file; /* where the peak was made; NULL: not reported */
    uint64_t peak_line, device_bytes;    /* 0: not reported */
    uint64_t events;                     /* allocations and frees of the step; 0: not reported */
    uint32_t phase_count, category_count, point_count, read_count, call_count, tally_count;
    uint32_t answer_count;
    ms_style style;
};

/* Fills all but the style. The caller frees with ms_recorded_close, also after a failure. */
ms_status ms_recorded_open(ms_recorded *r, const char *path, ms_error *err);
/* The same from a text, which must stay. */
ms_status ms_recorded_parse(ms_recorded *r, const ms_json_source *source, ms_error *err);
void ms_recorded_close(ms_recorded *r);

/* Fills the groups from the report's modules. */
ms_status ms_recorded_read_groups(ms_recorded *r, ms_json_value root, ms_error *err);

#endif
