/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports read back from files: a program's memory as `memscope capture` recorded it
 * (runtime_report.json), or as `memscope analyze` predicted it (static_report.json); and two of
 * them side by side.
 *
 *     ms_error err = {0};
 *     ms_recorded *predicted = ms_recorded_load("static_report.json", &err);
 *     ms_recorded *measured = ms_recorded_load("runtime_report.json", &err);
 *     ms_compare_write(predicted, measured, "console", stdout, &err);
 *     ms_recorded_free(predicted);
 *     ms_recorded_free(measured);
 */
#ifndef MEMSCOPE_RECORDED_H
#define MEMSCOPE_RECORDED_H

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_RUNTIME_SCHEMA_VERSION "1.5"
#define MS_COMPARE_SCHEMA_VERSION "1.2"

typedef struct ms_recorded ms_recorded;

/* NULL on failure. "-" is standard input. */
ms_recorded *ms_recorded_load(const char *path, ms_error *err);
void ms_recorded_free(ms_recorded *recorded); /* NULL is fine */

/* How the program ended: "stepped", "few_steps", "served", "out_of_memory", "failed", "modules",
 * "no_step", "no_device", "no_gpu", "no_torch", "interrupted", "crashed" or "time_limit"; of a
 * static report "stepped". */
const char *ms_recorded_outcome(const ms_recorded *recorded);
/* The program's last message, and what can be done about it; or NULL. */
const char *ms_recorded_message(const ms_recorded *recorded);
const char *ms_recorded_hint(const ms_recorded *recorded);
/* Whether the report has figures: a program that never used the device has none. */
bool ms_recorded_has_figures(const ms_recorded *recorded);
/* Optimizer steps that were followed. */
uint64_t ms_recorded_steps(const ms_recorded *recorded);

/* As ms_analysis_set_style. */
void ms_recorded_set_style(ms_recorded *recorded, const ms_style *style);

/* The report as console text. */
ms_status ms_recorded_write(const ms_recorded *recorded, FILE *out, ms_error *err);

/* Writes a verdict with its causes; then both figures, their difference and its shares, for
 * the totals and by phase, category and module; and where the two steps part. The format is
 * "console", "json", "md" or "html". */
ms_status ms_compare_write(const ms_recorded *first, const ms_recorded *second, const char *format,
                           FILE *out, ms_error *err);
const char *ms_compare_format_at(size_t index); /* NULL past the last */

/* A device of the table, as programs see it. */
typedef struct ms_device_facts {
    char name[64], title[128];
    uint32_t compute_capability; /* 80 = 8.0; 0: no CUDA device */
    uint32_t multiprocessors;
    uint64_t total_bytes;
    double bf16_flops, memory_bytes_per_s;    /* 0: not known */
    uint64_t l2_bytes;                        /* level 2 cache; 0: not known */
    uint64_t driver_bytes;                    /* the total that nvidia-smi shows; 0: not known */
    double fp32_flops, host_link_bytes_per_s; /* 0: not known */
} ms_device_facts;
/* A CUDA device by its name. */
ms_status ms_device_find(const char *name, ms_device_facts *facts, ms_error *err);
/* Any device, in the order of the table; its name is "" past the last. */
ms_status ms_device_at(size_t index, ms_device_facts *facts, ms_error *err);

#ifdef __cplusplus
}
#endif
#endif
