/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of a call.
 */
#ifndef MS_CLI_PARSE_SETTINGS_H
#define MS_CLI_PARSE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/output/guard.h"
#include "cli/output/terminal.h"
#include "cli/parse/grammar.h"
#include "memscope/memscope.h"
#include "memscope/plan.h"
#include "memscope/sweep.h"

typedef struct ms_cli_output {
    const char *format, *path; /* path "-" = stdout */
} ms_cli_output;

enum { MS_CLI_MOST_TAGS = 16 }; /* --offload-tag of probe */

struct ms_cli_settings {
    const ms_cli_grammar *grammar; /* set by ms_cli_run */
    struct ms_cli_given *given;    /* while options are read */
    ms_run *run;
    ms_run *of_second;   /* fields of `diff`'s second side alone; NULL: no -- yet */
    char **second_words; /* as they were given; end with NULL */
    ms_plan *plan;
    const char *config;        /* the bare word, or --budgets; or NULL */
    const char *other;         /* the second bare word, of `diff` */
    const char *format, *file; /* --format, -o */
    ms_cli_output outputs[MS_CLI_MAX_OUTPUTS];
    size_t output_count;
    const char *directory;    /* --out */
    const char *events;       /* --events */
    const char *python;       /* --python, or NULL */
    const char *what;         /* --what, or NULL */
    uint64_t step;            /* --step, --steps; 0: not given */
    uint64_t seconds;         /* --time-limit of capture; 0: not given */
    uint64_t ranks;           /* --world of capture; 0: not given */
    uint64_t rank;            /* --rank of capture, if `has_rank` */
    bool has_rank, all_ranks; /* --rank R, --rank all */
    uint64_t device_count;    /* --device-count of capture; 0: not given */
    bool traces_calls;        /* --trace-calls of capture */
    bool writes_trace;        /* --trace of capture */
    bool hides_paths;         /* --no-paths of capture */
    const char *device;       /* of capture */
    const char *devices;      /* several, of --device; or NULL */
    const char *root;         /* --root of check and baseline, or NULL */
    const char *calibration;  /* of check; elsewhere a field of the run */
    bool is_real;             /* --real of capture */
    const char *loss;         /* --answer-loss of capture, or NULL */
    const char *second;       /* the second report of compare */
    char **program;           /* words after --; ends with NULL */
    uint32_t jobs;            /* -j; 0: not given */
    bool checks_with_capture; /* --check-with capture */
    bool unroll, no_advice, chart, quiet, help, warn_only, no_plans, update;
    ms_sweep *sweep;
    const char **paths; /* the bare words of merge and calibrate */
    size_t path_count;
    const char *backend; /* --backend, --capacity, --device-index; or NULL, 0 */
    const char *capacity;
    uint32_t device_index;
    bool has_device_index;
    bool memory_only, links; /* of probe */
    const char *trace;
    const char *offload_ratio;
    const char *offload_tags[MS_CLI_MOST_TAGS];
    size_t offload_tag_count;
    const char *prefetch, *phase; /* --prefetch, --phase of stream; or NULL */
    const char *weights;          /* --weights of stream; or NULL */
    bool executes;                /* --run of stream */
    struct ms_probe *probe;
    struct ms_inference *inference;
    const char *objectives; /* of merge; NULL: the default ones */
    bool resume, frontier;
    ms_cli_color color;
};

#endif
