/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope: predicts how much memory a training step needs, before a GPU is rented.
 *
 * Five calls:
 *
 *     ms_error err = {0};
 *     ms_run *run = ms_run_create();
 *     ms_run_set(run, "config", "llama-3.1-8b", &err);
 *     ms_analysis *analysis = ms_analyze(run, &err);
 *     ms_analysis_write(analysis, "console", stdout, &err);
 *
 *     ms_analysis_free(analysis);
 *     ms_run_free(run);
 *
 * A call that fails, with a status or NULL, fills `err`; the first failure wins, and later calls
 * with the same `err` leave it unchanged. Nothing here prints, exits or keeps state between runs.
 * An ms_run and its ms_analysis belong to one thread at a time.
 *
 * In all public headers: NULL for an object, a text or a stream that a call needs, and for a place
 * that it fills, is refused with MS_ERR_USAGE, or answered with NULL, 0 or false; a setter does
 * nothing, and NULL can be freed. Where NULL means something, its declaration says what.
 */
#ifndef MEMSCOPE_H
#define MEMSCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "memscope/error.h"
#include "memscope/field.h"
#include "memscope/inputs.h"
#include "memscope/watch.h"
#include "memscope/verdict.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_VERSION "0.1.0"
#define MS_REPORT_SCHEMA_VERSION "1.9"

/* ---- a run: the model and everything that decides its memory ---- */

typedef struct ms_run ms_run;

ms_run *ms_run_create(void); /* NULL when out of memory */
void ms_run_free(ms_run *run);

/* Sets one field, by the name of its command-line option without the dashes: "config", "batch",
 * "seq", "dtype", ... A value set here wins over the one in a run file. "config" names a preset, a
 * config.json, a run file, or a directory holding one of them; it is read by ms_analyze. Given
 * again, a value replaces the one before; files of "training-args" are read together. */
ms_status ms_run_set(ms_run *run, const char *field, const char *value, ms_error *err);

/* Records the files that the run is read from in `inputs`, which must outlive the run. NULL ends
 * that. */
void ms_run_set_inputs(ms_run *run, ms_inputs *inputs);

/* ms_analyze and ms_fit_find of this run can be followed and ended by `watch`, which must outlive
 * these calls. NULL ends that. */
void ms_run_set_watch(ms_run *run, ms_watch *watch);

/* One row per field, for help texts and front ends. */
const ms_run_field *ms_run_fields(size_t *count);
/* All values of a field that is a choice, ended by NULL; NULL for any other field. */
const char *const *ms_run_field_choices(const char *name);
/* Example values of a field that is not a choice; NULL past the last, and for fields without
 * examples. */
const char *ms_run_field_example(const char *name, size_t index);

/* Why a setting that trainers have is not a field: for "torch_compile", that it is not modelled.
 * NULL for an unknown name. */
const char *ms_run_field_missing(const char *name);
/* What trainers and engines call settings: row by row, NULL past the last. A word may have more
 * rows than one; the first counts whose field there is. */
const ms_run_word *ms_run_word_at(size_t index);

/* ---- the analysis ---- */

typedef struct ms_analysis ms_analysis;

/* Reads the files, runs the simulated step, fills the records. NULL on failure. The analysis does
 * not refer to `run` afterwards. */
ms_analysis *ms_analyze(const ms_run *run, ms_error *err);
void ms_analysis_free(ms_analysis *analysis);

typedef struct ms_summary {
    uint64_t param_count, trainable_param_count;
    uint64_t active_param_count; /* used by one token: of the experts, only those it is routed to */
    /* On the device; without parameters that are there only while their layer runs. */
    uint64_t weight_memory_bytes, buffer_memory_bytes, grad_memory_bytes;
    uint64_t optimizer_memory_bytes;                          /* of states on the device */
    uint64_t activation_memory_bytes, temporary_memory_bytes; /* alive at the peak */
    uint64_t persistent_memory_bytes; /* weights, buffers, gradients, optimizer states */
    uint64_t saved_bytes;             /* unique storages saved by autograd at the end of forward */
    uint64_t after_build_bytes;       /* allocated once the model is built, before the first step */
    uint64_t start_bytes;             /* allocated when a steady step begins */
    uint64_t peak_memory_bytes;       /* the most allocated at one time in the steady step, as the
                                         allocator counts */
    /* The peak for either routing of tokens, if it matters (eager experts); else 0. */
    uint64_t balanced_peak_bytes, skewed_peak_bytes;
    uint64_t reserved_memory_bytes;
    uint64_t allocator_retries; /* times the allocator gave cached memory back to make room */
    uint64_t low_device_bytes, expected_device_bytes, high_device_bytes; /* what nvidia-smi shows */
    /* Of the evaluation between two steps, if there is one; else 0. The device bytes are those of
     * the step or the evaluation, whichever needs more. */
    uint64_t evaluation_peak_bytes, evaluation_reserved_bytes;
    /* Reserved memory before the steady step, if that is more than during it; else 0. The device
     * bytes take it into account. */
    uint64_t first_step_reserved_bytes;
    /* Reserved on a device that falls behind its host, so that tensors which other streams use come
     * back late; 0 where that makes no difference, or is not known. */
    uint64_t slow_device_reserved_bytes;
    const char *peak_stage; /* "forward", "backward", ... */
    /* The most of the whole job: the build, the first steps, the steady step, the evaluation. What
     * is reserved then is what the device bytes and the verdict count. */
    uint64_t job_peak_memory_bytes, job_reserved_memory_bytes;
    const char *job_peak_stage; /* "build", "first-step", "step", "evaluation" */
    uint64_t budget_bytes;      /* as given, or the device's memory; 0 = unlimited */
    bool fits;                  /* the verdict is not MS_VERDICT_NO */
    ms_fit_verdict verdict;
    ms_fit_reason verdict_reason;
    int64_t headroom_bytes;     /* budget - expected device bytes; negative = short by */
    double step_time_ms;        /* estimate; 0: the device's rates are not known */
    double exposed_copy_ms;     /* of that: waiting for copies, other ranks and updates on the host;
                                   NaN: the rate of a link that it waits for is not known */
    uint64_t host_memory_bytes; /* memory of the host: offloaded tensors; for an optimizer on the
                                   host, its states and its copies of parameters and gradients */
    /* Of that: parameters that are on the device only while their layer runs. */
    uint64_t host_weight_memory_bytes;
    /* Of a step, of all ranks and micro-batches together; 0: too many to count. */
    uint64_t tokens;
    /* Of all ranks together, and that divided by their number; 0: the step's time is not known. */
    double tokens_per_s, tokens_per_s_per_gpu;
} ms_summary;
const ms_summary *ms_analysis_summary(const ms_analysis *analysis);

/* The name of the run's device, as `memscope devices` lists it. */
const char *ms_analysis_device(const ms_analysis *analysis);

/* How many ranks train together, 1 for one device, and the one that the figures are of, from 0;
 * `rank` may be NULL. */
uint64_t ms_analysis_world(const ms_analysis *analysis, uint64_t *rank);

/* Sentences about an accepted input that a user should know; NULL past the last. */
const char *ms_analysis_note(const ms_analysis *analysis, size_t index);

/* Gives each layer its own operator records; without this call, equal layers share them. */
ms_status ms_analysis_unroll(ms_analysis *analysis, ms_error *err);

/* Leaves out of reports what other runs than this one are simulated for: suggestions, notes beside
 * the verdict, and how several ranks compare with one device. They take longer than the rest. */
void ms_analysis_skip_advice(ms_analysis *analysis);

/* How text for people is laid out; without this call 80 columns of plain ASCII. */
typedef struct ms_style {
    uint32_t columns;
    bool color;   /* ANSI escapes */
    bool unicode; /* UTF-8 bars and signs */
    bool chart;   /* draw memory over the step */
} ms_style;
void ms_analysis_set_style(ms_analysis *analysis, const ms_style *style);

/* Writes one report in a format of ms_report_format_at: "console", "json", "html", ... */
ms_status ms_analysis_write(ms_analysis *analysis, const char *format, FILE *out, ms_error *err);

/* One row per format, for help texts; NULL past the last. */
typedef struct ms_report_format {
    const char *name;      /* "md" */
    const char *help;      /* one line */
    const char *file_name; /* "static_report.md": the default name of the file */
} ms_report_format;
const ms_report_format *ms_report_format_at(size_t index);

/* The steady step's allocations and frees as text, one per line. */
ms_status ms_analysis_write_events(const ms_analysis *analysis, FILE *out, ms_error *err);

/* ---- what is built in ---- */

/* A table of the built-in models, or of those with `part` in their name or family, whatever its
 * case; NULL: of all. Where `part` is the name of one, of a family, or of a configuration file,
 * what is predicted for it follows, or why not. Where that many columns are too few, those that
 * tell least are left out; 0: all are there. Fails where there are no such models. */
ms_status ms_write_models(const char *part, uint32_t columns, FILE *out, ms_error *err);
/* The names of the built-in models, from index 0; NULL past the last. */
const char *ms_model_name_at(size_t index);
/* Whether it is one of those, by its name here or on the Hugging Face Hub, or a file or directory.
 */
bool ms_model_is_named(const char *name);
/* Whether built-in models are near a name that is none of theirs, or its family is known not to be
 * predicted; the error then says so, else it is as it was. */
bool ms_model_suggest(const char *name, ms_error *err);
/* The same of devices, by name or title. */
ms_status ms_write_devices(const char *part, uint32_t columns, FILE *out, ms_error *err);
/* The JSON Schema of that name. */
ms_status ms_write_schema(const char *name, FILE *out, ms_error *err);
/* The names of the schemas, from index 0; NULL past the last. */
const char *ms_schema_name(size_t index);
/* The same as a manual page, memscope-PAGE(5). */
ms_status ms_write_schema_page(const char *name, const char *page, FILE *out, ms_error *err);
ms_status ms_write_version(FILE *out, ms_error *err); /* this library and those it uses */

#ifdef __cplusplus
}
#endif
#endif
