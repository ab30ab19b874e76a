/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A report read from JSON: the members that static and runtime reports share, and those of runtime
 * reports only.
 */
#ifndef MS_INPUT_DOCUMENT_RECORDED_H
#define MS_INPUT_DOCUMENT_RECORDED_H

#include "base/arena.h"
#include "base/json/members.h"
#include "input/document/recorded_step.h"
#include "memscope/recorded.h"

typedef struct ms_recorded_phase {
    const char *name;
    uint64_t micro_step, repeats, start_bytes, peak_bytes, end_bytes, reserved_bytes;
} ms_recorded_phase;

/* Memory of a category at the peak. */
typedef struct ms_recorded_category {
    const char *name;
    uint64_t count, bytes;
    uint64_t rounded_bytes; /* without unsplit slack of blocks, if reported */
} ms_recorded_category;

/* Bytes after `event` allocations and frees of the step, rounded to 512. */
typedef struct ms_recorded_point {
    const char *phase;
    uint64_t event, bytes;
} ms_recorded_point;

/* A source line that reads values back from the device. */
typedef struct ms_recorded_read {
    const char *file, *function;
    uint64_t line, count, played_back;
} ms_recorded_read;

/* A query of tensor values that was answered by an assumption. */
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

/* A device's memory, or the host's pinned memory, of a program without PyTorch. */
typedef struct ms_recorded_memory {
    bool is_on_device;                       /* else on the host */
    uint64_t device, peak_bytes, used_bytes; /* used: what the device needs for it */
} ms_recorded_memory;

/* What is held there for one purpose when the most is. */
typedef struct ms_recorded_buffer {
    bool is_on_device;
    uint64_t device;
    const char *kind;
    uint64_t count, bytes, most_bytes; /* most: at one time */
} ms_recorded_buffer;

/* Modules whose names differ only in numbers. */
typedef struct ms_recorded_group {
    const char *name; /* "layers.*.mlp"; "": the model's own code, or outside it */
    uint64_t count, peak_bytes;
    uint64_t rounded_bytes;                /* as in ms_recorded_category */
    uint64_t saved_bytes, temporary_bytes; /* captured; temporary: the maximum */
} ms_recorded_group;

/* What PyTorch compiled, and what CUDA graphs hold in pools of their own. */
typedef struct ms_recorded_compiled {
    bool is_there;
    uint64_t graphs, breaks;
    uint64_t choices; /* that hung on measured times */
    uint64_t cuda_graphs, pools, pool_bytes;
    uint64_t pool_free_bytes; /* of these; kept for the graphs, and not counted as allocated */
} ms_recorded_compiled;

/* It also takes what compiling needs. 0: not reported. */
typedef struct ms_recorded_first_step {
    uint64_t peak_bytes, reserved_bytes;
} ms_recorded_first_step;

typedef struct ms_recorded_engine ms_recorded_engine; /* recorded_engine.h */

struct ms_recorded {
    ms_arena *arena;
    char *text;        /* of the file, or NULL */
    ms_json *document; /* owns the strings */
    const char *path;
    bool is_static, has_figures;
    const char *outcome, *message, *hint, *mode, *device, *torch, *peak_stage;
    uint64_t world_size, rank; /* of a world; 0: not reported */
    bool has_rank;
    uint64_t steps, start_bytes, peak_bytes, reserved_bytes, retries;
    uint64_t managed_bytes; /* of memory that host and device share, which no other figure holds */
    ms_recorded_phase *phases;
    ms_recorded_category *categories;
    ms_recorded_point *timeline; /* ascending */
    ms_recorded_read *reads;
    ms_recorded_answer *answers;
    ms_recorded_call *calls;
    ms_recorded_tally *tallies;
    ms_recorded_group *groups; /* largest at the peak first */
    uint32_t group_count;
    const char *peak_module, *peak_file; /* where the peak was reached; NULL: not reported */
    uint64_t peak_line, device_bytes;    /* 0: not reported */
    uint64_t events;                     /* allocations and frees of the step; 0: not reported */
    uint32_t phase_count, category_count, point_count, read_count, call_count, tally_count;
    uint32_t answer_count;
    ms_recorded_compiled compiled;
    ms_recorded_first_step first_step;
    ms_recorded_step step;
    ms_recorded_engine *engine; /* NULL: no inference engine */
    const char *ledger;         /* whose allocations it lists: "llama.cpp"; NULL: none */
    ms_recorded_memory *memories;
    ms_recorded_buffer *buffers;
    uint32_t memory_count, buffer_count, note_count;
    const char **notes;
    ms_style style;
};

/* Fills everything except the style. The caller frees with ms_recorded_close, also after a failure.
 */
ms_status ms_recorded_open(ms_recorded *r, const char *path, ms_error *err);
/* The same from a text, which must outlive it. */
ms_status ms_recorded_parse(ms_recorded *r, const ms_json_source *source, ms_error *err);
void ms_recorded_close(ms_recorded *r);

/* What is read of a report; of a captured program; of modules. */
extern const ms_members ms_recorded_table, ms_captured_table;
extern const ms_members ms_captured_modules_table, ms_predicted_modules_table;

/* ---- recorded engine ---- */

/* What a captured inference engine reported: its settings, its cache and its workers. */

/* Bytes of one device; 0: not known, because the engine had not come so far. */
typedef struct ms_recorded_worker {
    uint64_t rank;
    uint64_t requested_bytes; /* its budget */
    uint64_t weights_bytes, buffers_bytes, activation_bytes, non_torch_bytes, graphs_bytes;
    uint64_t cache_bytes;
    uint64_t serving_bytes, beyond_budget_bytes; /* all of them, and by how much that is too much */
    uint64_t free_bytes;                         /* when it is ready */
    bool has_profile; /* otherwise activations, memory outside PyTorch and the sum are not known */
} ms_recorded_worker;

struct ms_recorded_engine {
    const char *name, *version, *model;
    bool has_dummy_weights, has_cache;
    uint64_t tensor_ranks, pipeline_ranks;
    bool is_parallel; /* over several devices */
    uint64_t max_batched_tokens, max_requests, max_tokens_of_request;
    double utilization;
    uint64_t cache_tokens;
    double requests_at_once; /* of the longest */
    ms_recorded_worker *workers;
    uint32_t worker_count;
};

#endif
